// Where a table's axes lie in an array.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "posenc/tensor.hpp"

namespace posenc::detail {

/// Whether a table has no part of the array's last axis: its own last axis is named among the others.
[[nodiscard]] bool lacks_last_axis(const Tensor& table, const std::vector<std::string>& names);

/// For each leading axis of `table` (all but the last), its place among the array's axes. `names` are the array's axis
/// names, as many as it has axes, or empty: the table's axes are then the array's last ones. Sizes must agree. Throws usage.
[[nodiscard]] std::vector<std::size_t> match_axes(const Tensor& table, const std::vector<std::int64_t>& shape,
                                                  const std::vector<std::string>& names);

/// Finds the table's row for each row of an array (a row: everything along its last axis).
class RowMap {
 public:
  RowMap(const Tensor& table, const std::vector<std::int64_t>& shape, const std::vector<std::string>& names);
  /// Row of the table that row `row` of the array takes; where the table lacks the last axis, its element, counted flat.
  [[nodiscard]] std::int64_t operator()(std::int64_t row) const;
  [[nodiscard]] bool one_value() const { return one_value_; }  ///< the table lacks the last axis

 private:
  bool one_value_;
  std::vector<std::int64_t> shape_;   ///< the array's leading sizes
  std::vector<std::int64_t> stride_;  ///< table rows per step along each; 0 where the table does not have the axis
};

}  // namespace posenc::detail
