// A small array given as a parameter: weights, tables, per-head numbers. On the command line a file (FILE or FILE#TENSOR);
// in specs and metadata the text below, so that a file stays verifiable by itself.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace posenc {

struct Array {
  std::vector<std::int64_t> shape;  ///< empty: not given
  std::vector<double> values;       ///< row-major, finite

  [[nodiscard]] bool given() const { return !shape.empty(); }
  /// "2x3:1,2,3,4,5,6"; the shape may be left out for one axis. Throws usage naming `what`.
  static Array parse(std::string_view text, std::string_view what);
  [[nodiscard]] std::string text() const;
  bool operator==(const Array&) const = default;
};

/// Throws usage: "`what` wants shape [32, 12], got [12, 32]"; -1 in `wanted` is any size.
void check_shape(const Array& array, const std::vector<std::int64_t>& wanted, std::string_view what);

}  // namespace posenc
