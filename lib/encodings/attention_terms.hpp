// What the encodings share that make attention scores of given queries and keys: vectors of several heads, dot products, the
// softmax, and a table whose values come a row at a time.
//
// Queries, keys and values are [head, position, lane]; a batch axis of size 1 in front of them does not count. Scores are
// [head, query, key]. Sums of products of given numbers are rational, which a Real keeps; a part that is not rational is
// arranged so that it vanishes where the true value is rational, as each place says.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "encodings/distance_rows.hpp"
#include "encodings/span_laws.hpp"
#include "numeric/real.hpp"
#include "numeric/scalar.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"
#include "posenc/law.hpp"

namespace posenc::detail {

/// Whether T takes the steps of model code rather than standing for the real number.
template <class T>
inline constexpr bool imitates = !std::is_same_v<T, num::Real> && !std::is_same_v<T, num::Bounded>;

/// Throws usage unless the array is [heads, count, lanes], none of them 0; -1 is any size.
inline void check_vectors(const Array& array, std::int64_t heads, std::int64_t count, std::int64_t lanes, std::string_view what) {
  if (array.shape.size() == 4)
    check_shape(array, {1, heads, count, lanes}, what);
  else
    check_shape(array, {heads, count, lanes}, what);
  if (array.values.empty()) fail_usage(fmt::format("{} has no values; give it the shape [head, position, lane]", what));
}

/// A checked array as vectors of several heads. The array must outlive it.
class HeadVectors {
 public:
  HeadVectors() = default;
  explicit HeadVectors(const Array& array) : values_(array.values) {
    const std::size_t axes = array.shape.size();
    for (std::size_t i = 0; i < 3 && axes >= 3; ++i) sizes_[i] = array.shape[axes - 3 + i];
  }
  [[nodiscard]] std::int64_t heads() const { return sizes_[0]; }
  [[nodiscard]] std::int64_t count() const { return sizes_[1]; }
  [[nodiscard]] std::int64_t lanes() const { return sizes_[2]; }
  [[nodiscard]] std::span<const double> at(std::int64_t head, std::int64_t position) const {
    return values_.subspan(static_cast<std::size_t>((head * count() + position) * lanes()), static_cast<std::size_t>(lanes()));
  }

 private:
  std::span<const double> values_;
  std::array<std::int64_t, 3> sizes_{};
};

/// Row `row` of a matrix whose rows have `columns` numbers.
inline std::span<const double> row_of(const Array& array, std::int64_t row, std::int64_t columns) {
  return std::span<const double>(array.values).subspan(static_cast<std::size_t>(row * columns), static_cast<std::size_t>(columns));
}

template <class T>
std::vector<T> lifted(std::span<const double> values) {
  std::vector<T> out;
  for (const double v : values) out.push_back(T::of(v));
  return out;
}

/// Sum of products from the first to the last. Not of empty spans.
template <class T>
T dot(std::span<const T> a, std::span<const T> b) {
  T sum = a[0] * b[0];
  for (std::size_t i = 1; i < a.size(); ++i) sum = sum + a[i] * b[i];
  return sum;
}
template <class T>
T dot(const std::vector<T>& a, std::span<const double> b) {
  T sum = a[0] * T::of(b[0]);
  for (std::size_t i = 1; i < a.size(); ++i) sum = sum + a[i] * T::of(b[i]);
  return sum;
}
template <class T>
T dot(std::span<const double> a, std::span<const double> b) {
  T sum = T::of(a[0]) * T::of(b[0]);
  for (std::size_t i = 1; i < a.size(); ++i) sum = sum + T::of(a[i]) * T::of(b[i]);
  return sum;
}

/// The numbers of a row over sqrt(size).
template <class T>
void divide_by_root(std::vector<T>& row, std::int64_t size) {
  const T root = sqrt(T::of(size));
  for (T& x : row) x = x / root;
}

/// exp(x_j / root) over their sum, for given x_j, rational ones where T is Real. The greatest is subtracted first, as model code
/// does. Only the size of the exponentials depends on it, so that the middles of Bounded numbers may choose.
/// Rational only where it is recognised: exponentials of different algebraic numbers are linearly independent over the
/// rationals (Lindemann, Weierstrass), so that a weight is rational only where all x_j are equal, and then all are exp 0 = 1.
template <class T>
std::vector<T> softmax(const std::vector<T>& x, const T& root) {
  std::size_t top = 0;
  for (std::size_t j = 1; j < x.size(); ++j)
    if constexpr (std::is_same_v<T, num::Real>)
      top = x[j] > x[top] ? j : top;
    else
      top = x[j].to_double() > x[top].to_double() ? j : top;
  std::vector<T> out;
  for (const T& one : x) {
    if constexpr (imitates<T>)
      out.push_back(exp(one / root - x[top] / root));
    else
      out.push_back(exp((one - x[top]) / root));
  }
  T sum = out[0];
  for (std::size_t j = 1; j < out.size(); ++j) sum = sum + out[j];
  for (T& e : out) e = e / sum;
  return out;
}

/// For each x_j the first that equals it, itself included; the x_j are rational.
inline std::vector<std::size_t> equals(const std::vector<num::Real>& x) {
  std::vector<std::size_t> order(x.size()), first(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return x[i] < x[j]; });
  for (std::size_t k = 0; k < order.size(); ++k) first[order[k]] = k > 0 && x[order[k]] == x[order[k - 1]] ? first[order[k - 1]] : order[k];
  return first;
}

/// sum_j weights_j y_j with the weights of softmax(x). By the same theorem it is rational only where the mean of y over keys of
/// equal x is one number for all of them; a Real takes the means first, so that it is recognised. `alike` is equals(x) then.
template <class T>
T weighted_sum(const std::vector<std::size_t>& alike, const std::vector<T>& weights, const std::vector<T>& y) {
  if constexpr (std::is_same_v<T, num::Real>) {
    std::vector<T> sums(y.size());
    std::vector<std::int64_t> counts(y.size());
    for (std::size_t j = 0; j < y.size(); ++j) {
      sums[alike[j]] += y[j];
      ++counts[alike[j]];
    }
    const T mean = sums[0] / T::of(counts[0]);  // no key is before the first
    T out = mean;
    for (std::size_t j = 1; j < y.size(); ++j)
      if (counts[j] > 0) out += weights[j] * (counts[j] == 1 ? sums[j] - mean : sums[j] - T::of(counts[j]) * mean);
    return out;
  } else {
    T out = weights[0] * y[0];
    for (std::size_t j = 1; j < y.size(); ++j) out = out + weights[j] * y[j];
    return out;
  }
}

/// `count` columns of a row from `first` on.
struct Columns {
  std::int64_t first, count;
  [[nodiscard]] std::int64_t end() const { return first + count; }
};

/// Computes the values of an encoding whose rows are made as a whole. Rows has
///   std::vector<Tensor> tensors
///   template <class T> std::vector<T> row(std::size_t tensor, std::span<const std::int64_t> leading, Columns) const
///   std::int64_t integer(tensor, index) const                                        where a tensor is of integers
/// Copies share it.
template <class Rows>
class RowTable {
 public:
  explicit RowTable(std::shared_ptr<const Rows> rows) : rows_(std::move(rows)) {}

  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const {
    return rows_->template row<T>(tensor, index.first(index.size() - 1), Columns{index.back(), 1})[0];
  }
  std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const
    requires requires(const Rows& rows) { rows.integer(tensor, index); }
  {
    return rows_->integer(tensor, index);
  }
  void fill(std::size_t tensor, Block& block) const {
    const Tensor& shape = rows_->tensors[tensor];
    const Extent& e = block.extent;
    std::vector<std::int64_t> index(shape.axes.size());
    for (std::int64_t r = 0; r < e.rows; ++r) {
      shape.row_index(e.row + r, index);
      const OneRow row{*rows_, tensor, std::span<const std::int64_t>(index).first(index.size() - 1), {e.col, e.cols}};
      block.bounds[r] = distance_values(row, 0, e.col, e.cols, block.hi + r * e.cols, block.lo ? block.lo + r * e.cols : nullptr);
    }
  }

 private:
  // A row for distance_values, with the column for the distance. Made when first asked for.
  struct OneRow {
    static constexpr bool is_exact = false;
    template <class T>
    T bias(std::int64_t, std::int64_t column) const {
      std::vector<T>& values = std::get<std::vector<T>>(made);
      if (values.empty()) values = rows.template row<T>(tensor, leading, columns);
      return values[static_cast<std::size_t>(column - columns.first)];
    }
    const Rows& rows;
    std::size_t tensor;
    std::span<const std::int64_t> leading;
    Columns columns;
    mutable std::tuple<std::vector<num::Bounded>, std::vector<num::Real>> made{};
  };

  std::shared_ptr<const Rows> rows_;
};

/// Rows of `parts` add up to the row of `sum`. Each value is off by u of itself and half the smallest step; the additions here
/// round by 2^-53 each.
inline Law sum_law(std::string name, std::string text, std::string source, std::int64_t rows, std::vector<std::size_t> parts, std::size_t sum) {
  return {std::move(name), std::move(text), std::move(source), [=](const Stored& stored) -> Failed {
            const double u = stored.unit_roundoff(sum) + 0x1p-53 * static_cast<double>(parts.size());
            for (const std::int64_t r : spread(rows)) {
              const auto total = stored.row(sum, r);
              if (!total) return {};
              std::vector<std::vector<double>> terms;
              for (const std::size_t p : parts) {
                auto row = stored.row(p, r);
                if (!row) return {};
                terms.push_back(std::move(*row));
              }
              for (std::size_t c = 0; c < total->size(); ++c) {
                double added = 0, size = std::fabs((*total)[c]);
                for (const auto& term : terms) {
                  added += term[c];
                  size += std::fabs(term[c]);
                }
                if (!std::isfinite(size)) continue;  // masked, or beyond the dtype
                const double allowed = u * size * (1 + 4 * u) + floor_of(stored.unit_roundoff(sum)) * static_cast<double>(parts.size() + 1);
                if (!(std::fabs(added - (*total)[c]) <= allowed))
                  return fmt::format("row {}, column {}: the terms add up to {:.9g}, stored is {:.9g}", r, c, added, (*total)[c]);
              }
            }
            return {};
          }};
}

}  // namespace posenc::detail
