#include "apply/evaluators.hpp"

namespace posenc::detail {

std::int64_t Operands::row_of(std::span<const std::int64_t> index) const {
  std::int64_t row = 0;
  for (std::size_t i = 0; i + 1 < index.size(); ++i) row = row * input->shape()[i] + index[i];
  return row;
}

double Operands::input_at(std::int64_t row, std::int64_t lane) const {
  double x = 0;
  input->read(row * input->shape().back() + lane, std::span(&x, 1));
  return x;
}

std::vector<std::int64_t> Operands::table_index(std::size_t tensor, std::int64_t row, std::int64_t column) const {
  std::vector<std::int64_t> at(tensors[tensor].axes.size());
  tensors[tensor].row_index(row, at);
  at.back() = column;
  return at;
}

}  // namespace posenc::detail
