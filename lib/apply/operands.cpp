#include "apply/evaluators.hpp"

namespace posenc::detail {

std::int64_t Operands::row_of(std::span<const std::int64_t> index) const {
  std::int64_t row = 0;
  for (std::size_t i = 0; i + 1 < index.size(); ++i) row = row * input->shape()[i] + index[i];
  return row;
}

double Operands::input_at(std::int64_t row, std::int64_t lane) const {
  // Elements are asked for one by one where an arithmetic is imitated: read a row for all of them.
  struct Row {
    std::int64_t number = -1;
    std::vector<double> values;
  };
  Row& kept = num::kept_for<Row>(number, [] { return std::make_unique<Row>(); });
  if (kept.number != row) {
    kept.number = -1;
    kept.values.resize(static_cast<std::size_t>(input->shape().back()));
    input->read(row * input->shape().back(), kept.values);
    kept.number = row;
  }
  return kept.values[static_cast<std::size_t>(lane)];
}

std::vector<std::int64_t> Operands::table_index(std::size_t tensor, std::int64_t row, std::int64_t column) const {
  std::vector<std::int64_t> at(tensors[tensor].axes.size());
  tensors[tensor].row_index(row, at);
  at.back() = column;
  return at;
}

}  // namespace posenc::detail
