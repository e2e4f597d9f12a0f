#include <algorithm>
#include <cmath>

#include "apply/evaluators.hpp"

namespace posenc::detail {

void TableRows::fetch(const Evaluator& evaluator, std::size_t tensor, const RowMap& map, std::int64_t row, std::int64_t rows,
                      std::int64_t col, std::int64_t cols, bool two_doubles, std::int64_t columns) {
  cols_ = cols;
  at_.clear();
  // Rows of the array that share a table row (heads after positions) share a row here; table rows that follow each other
  // (positions after heads) are filled together.
  std::vector<std::int64_t> wanted;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = map(row + r);
    if (wanted.empty() || wanted.back() != at) wanted.push_back(at);
    at_.push_back(static_cast<std::int64_t>(wanted.size()) - 1);
  }
  const std::size_t count = wanted.size() * static_cast<std::size_t>(cols);
  hi_.resize(count);
  if (two_doubles) lo_.resize(count);
  bounds_.assign(wanted.size(), {});
  for (std::size_t i = 0; map.one_value() && i < wanted.size(); ++i) {
    const std::size_t offset = i * static_cast<std::size_t>(cols);
    Block block{{wanted[i] / columns, 1, wanted[i] % columns, 1}, hi_.data() + offset, two_doubles ? lo_.data() + offset : nullptr, bounds_.data() + i};
    evaluator.fill(tensor, block);
    if (block.column_weight != nullptr) bounds_[i].absolute = *block.column_weight == 0 ? 0 : bounds_[i].absolute * *block.column_weight;
    std::fill_n(block.hi, cols, *block.hi);
    if (two_doubles) std::fill_n(block.lo, cols, *block.lo);
  }
  if (map.one_value()) return;
  for (std::size_t first = 0; first < wanted.size();) {
    std::size_t end = first + 1;
    while (end < wanted.size() && wanted[end] == wanted[end - 1] + 1) ++end;
    const auto run = static_cast<std::int64_t>(end - first);
    const std::size_t offset = first * static_cast<std::size_t>(cols);
    Block block{{wanted[first], run, col, cols}, hi_.data() + offset, two_doubles ? lo_.data() + offset : nullptr, bounds_.data() + first};
    evaluator.fill(tensor, block);
    if (block.column_weight != nullptr) {
      const double most = *std::max_element(block.column_weight, block.column_weight + cols);
      for (std::size_t i = first; i < end; ++i) bounds_[i].absolute = most == 0 ? 0 : bounds_[i].absolute * most;
    }
    first = end;
  }
}

double largest_finite(const double* values, std::int64_t count) {
  double most = 0;
  for (std::int64_t i = 0; i < count; ++i)
    if (const double v = std::fabs(values[i]); std::isfinite(v)) most = std::max(most, v);
  return most;
}

}  // namespace posenc::detail
