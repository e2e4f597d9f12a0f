// What the axes and rows of a table are: which are copied, which grid the others form, which grid they become.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "posenc/resample.hpp"

namespace posenc::resampling {

struct Size {
  std::int64_t height = 1, width = 1;  ///< a sequence is a column: width 1
  [[nodiscard]] std::int64_t cells() const { return height * width; }
  bool operator==(const Size&) const = default;
};

struct Layout {
  std::int64_t outer = 1, inner = 1;       ///< values before and after the rows' axes
  std::int64_t prefix = 0, extra = 0;      ///< rows copied at both ends
  Size old_size, new_size;                 ///< rows between them, as a grid
  std::vector<std::int64_t> new_shape;
  std::string text;                        ///< "1 prefix row, grid 14x14 -> 24x24"

  [[nodiscard]] std::int64_t old_rows() const { return prefix + old_size.cells() + extra; }
  [[nodiscard]] std::int64_t new_rows() const { return prefix + new_size.cells() + extra; }
};

/// Throws usage where the shape does not fit `how` or has more than one reading.
Layout read_layout(const std::vector<std::int64_t>& shape, const Resampling& how);

}  // namespace posenc::resampling
