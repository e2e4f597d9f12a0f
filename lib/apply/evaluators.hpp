// What computes an applied tensor: shared parts of combine.cpp (add, multiply) and rotate.cpp.
#pragma once
#include <memory>
#include <vector>

#include "apply/axes.hpp"
#include "numeric/per_thread.hpp"
#include "posenc/apply.hpp"

namespace posenc::detail {

/// The encoding whose tables are applied, its evaluator and the input.
struct Operands {
  std::shared_ptr<const Encoding> tables;
  std::vector<Tensor> tensors;
  std::unique_ptr<Evaluator> evaluator;
  std::shared_ptr<const Input> input;

  std::uint64_t number = num::new_owner();  ///< whose rows a thread keeps

  /// Row of the array (all axes but the last) that an element lies in.
  [[nodiscard]] std::int64_t row_of(std::span<const std::int64_t> index) const;
  /// One value of the input, from a row that the thread keeps.
  [[nodiscard]] double input_at(std::int64_t row, std::int64_t lane) const;
  /// Coordinates of an element of a table.
  [[nodiscard]] std::vector<std::int64_t> table_index(std::size_t tensor, std::int64_t row, std::int64_t column) const;
};

/// y = x + t, x * t, x * (t + 1) with table `tensor`.
[[nodiscard]] std::unique_ptr<Evaluator> combining(Operands operands, std::size_t tensor, Operation operation,
                                                   const std::vector<std::string>& axes);
/// Pairs of lanes turned by tables `cos` and `sin`.
[[nodiscard]] std::unique_ptr<Evaluator> rotating(Operands operands, std::size_t cos, std::size_t sin, Pairing pairing, bool back,
                                                  const std::vector<std::string>& axes);

/// Values of some columns of table rows, as fill gives them, with one bound for each row that covers all its columns.
class TableRows {
 public:
  /// Columns [col, col + cols) of the rows that `map` finds for array rows [row, row + rows); where the table lacks the
  /// array's last axis, its one value for each row, `cols` times. `columns`: of the table.
  void fetch(const Evaluator& evaluator, std::size_t tensor, const RowMap& map, std::int64_t row, std::int64_t rows, std::int64_t col,
             std::int64_t cols, bool two_doubles, std::int64_t columns);
  [[nodiscard]] const double* hi(std::int64_t r) const { return hi_.data() + at_[static_cast<std::size_t>(r)] * cols_; }
  [[nodiscard]] const double* lo(std::int64_t r) const { return lo_.data() + at_[static_cast<std::size_t>(r)] * cols_; }
  /// |true - (hi + lo)| <= absolute + relative |hi| in row r.
  [[nodiscard]] const ErrorBound& bound(std::int64_t r) const { return bounds_[static_cast<std::size_t>(at_[static_cast<std::size_t>(r)])]; }

 private:
  std::int64_t cols_ = 0;
  std::vector<std::int64_t> at_;  ///< array row -> row held here
  std::vector<double> hi_, lo_;
  std::vector<ErrorBound> bounds_;
};

/// Largest finite magnitude.
[[nodiscard]] double largest_finite(const double* values, std::int64_t count);

}  // namespace posenc::detail
