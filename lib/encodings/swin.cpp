// swin: values; window.hpp has the index.
#include "encodings/swin.hpp"

#include "encodings/model.hpp"

namespace posenc {

template <class T>
T Swin::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const detail::WindowMatrix& m = rows_->matrix();
  return T::of(m.bias_table.values[static_cast<std::size_t>(rows_->row(index[1], index[2]) * m.heads() + index[0])]);
}

void Swin::Table::fill(std::size_t, Block& block) const {
  const detail::WindowMatrix& m = rows_->matrix();
  const double* table = m.bias_table.values.data();
  const std::int64_t heads = m.heads();
  rows_->each(block.extent, [&](std::int64_t row, std::int64_t head, std::int64_t at) { block.hi[at] = table[row * heads + head] + 0.0; });
  if (block.lo) std::fill_n(block.lo, block.extent.elements(), 0.0);
  std::fill_n(block.bounds, block.extent.rows, ErrorBound{});
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(swin, Swin)
