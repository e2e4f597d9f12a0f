// What computes the values of swin and beit: they differ in the window's matrix only.
#pragma once
#include <algorithm>
#include <memory>
#include <span>

#include "window.hpp"

namespace posenc::detail {

/// The table's numbers, or its rows as an index. Copies share their state.
class WindowTable {
 public:
  explicit WindowTable(const WindowMatrix& matrix) : rows_(std::make_shared<const WindowRows>(matrix)) {}

  template <class T>
  T element(std::size_t, std::span<const std::int64_t> index) const {
    const WindowMatrix& m = rows_->matrix();
    return T::of(m.bias_table.values[static_cast<std::size_t>(rows_->row(index[1], index[2]) * m.heads() + index[0])]);
  }
  void fill(std::size_t, Block& block) const {
    const WindowMatrix& m = rows_->matrix();
    const double* table = m.bias_table.values.data();
    const std::int64_t heads = m.heads();
    rows_->each(block.extent, [&](std::int64_t row, std::int64_t head, std::int64_t at) { block.hi[at] = table[row * heads + head] + 0.0; });
    if (block.lo) std::fill_n(block.lo, block.extent.elements(), 0.0);
    std::fill_n(block.bounds, block.extent.rows, ErrorBound{});
  }
  std::int64_t integer(std::size_t, std::span<const std::int64_t> index) const { return rows_->row(index[0], index[1]); }

 private:
  std::shared_ptr<const WindowRows> rows_;
};

}  // namespace posenc::detail
