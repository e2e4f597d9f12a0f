// add, multiply, multiply-plus-one: one table value for each value of the input.
#include <cmath>
#include <stdexcept>

#include "apply/evaluators.hpp"
#include "numeric/decide.hpp"
#include "numeric/scalar.hpp"
#include "numeric/two_double.hpp"

namespace posenc::detail {
namespace {

using num::TwoDouble;

template <class T>
T combined(Operation operation, const T& x, const T& t) {
  switch (operation) {
    case Operation::add: return x + t;
    case Operation::multiply: return x * t;
    default: return x * (t + T::of(std::int64_t{1}));
  }
}

double combined(Operation operation, double x, double t) {
  return operation == Operation::add ? x + t : (operation == Operation::multiply ? x * t : x * (t + 1));
}

class Combine final : public Evaluator {
 public:
  Combine(Operands operands, std::size_t tensor, Operation operation, const std::vector<std::string>& axes)
      : o_(std::move(operands)), tensor_(tensor), operation_(operation), map_(o_.tensors[tensor], o_.input->shape(), axes) {}

  // Bounds, with x exact, |t - true| <= a + r|t| and u = 2^-53 for each rounding (2^-100 for an operation on two doubles):
  //   x + t         a + r max|t|, and u of the result
  //   x t           max|x| a, and (r + u) of the result, times (1 + 2^-50) for the products of bounds
  //   x (t + 1)     max|x| (a + r max|t| + u max|t + 1|), and u of the result
  void fill(std::size_t, Block& block) const override {
    const Extent& e = block.extent;
    const std::int64_t lanes = o_.input->shape().back();
    thread_local TableRows table;
    thread_local std::vector<double> x;
    table.fetch(*o_.evaluator, tensor_, map_, e.row, e.rows, e.col, e.cols, block.lo != nullptr, o_.tensors[tensor_].columns());
    x.resize(static_cast<std::size_t>(e.elements()));
    o_.input->read(e.row * lanes + e.col, x);
    const double u = block.lo ? 0x1p-100 : 0x1p-52;
    for (std::int64_t r = 0; r < e.rows; ++r) {
      const double* t = table.hi(r);
      const double* row = x.data() + r * e.cols;
      double* hi = block.hi + r * e.cols;
      // What overflows on the way is left to truth(); infinities and NaN of the input have no second part.
      bool overflow = false, exact = operation_ == Operation::add && table.bound(r).absolute == 0 && table.bound(r).relative == 0;
      if (block.lo) {
        const double* tl = table.lo(r);
        double* lo = block.lo + r * e.cols;
        for (std::int64_t c = 0; c < e.cols; ++c) {
          const TwoDouble y = of_two(row[c], {t[c], tl[c]});
          const bool lost = !std::isfinite(y.hi) && std::isfinite(row[c]) && std::isfinite(t[c]);
          hi[c] = std::isfinite(y.hi) ? y.hi : lost ? 0 : combined(operation_, row[c], t[c]);
          lo[c] = std::isfinite(y.hi) ? y.lo : 0;
          overflow |= lost;
        }
      } else {
        for (std::int64_t c = 0; c < e.cols; ++c) {
          hi[c] = combined(operation_, row[c], t[c]);
          // Sums of f32 or f16 numbers and simple biases are exact doubles, and ties of the dtype as often as not.
          if (exact && num::two_sum(row[c], t[c]).lo != 0) exact = false;
          if (std::isfinite(hi[c]) || !std::isfinite(row[c]) || !std::isfinite(t[c])) continue;
          hi[c] = 0;
          overflow = true;
        }
      }
      const ErrorBound& b = table.bound(r);
      ErrorBound& out = block.bounds[r];
      // Below the smallest normal double a product is off by 2^-1074, not relatively.
      constexpr double tiny = 0x1p-1070;
      if (exact && !block.lo)
        out = {};
      else if (operation_ == Operation::add)
        out = {b.absolute + (b.relative == 0 ? 0 : b.relative * largest_finite(t, e.cols)), u};
      else if (operation_ == Operation::multiply)
        out = {largest_finite(row, e.cols) * b.absolute * (1 + 0x1p-50) + tiny, (b.relative + u) * (1 + 0x1p-50)};
      else
        out = {largest_finite(row, e.cols) * (b.absolute + (b.relative + u) * (largest_finite(t, e.cols) + 1)) * (1 + 0x1p-50) + tiny, u};
      if (overflow) out.absolute = HUGE_VAL;
    }
  }

  bool rounded(std::size_t, const Extent&, DType, void*, std::vector<std::uint32_t>&) const override { return false; }

  num::Real element(std::size_t, std::span<const std::int64_t> index) const override {
    return combined(operation_, num::Real::of(input_at(index)), o_.evaluator->element(tensor_, table_index(index)));
  }

  double truth(std::size_t tensor, std::span<const std::int64_t> index, DType dtype) const override {
    const double x = input_at(index), t = o_.evaluator->truth(tensor_, table_index(index), DType::f64);
    if (!std::isfinite(x) || !std::isfinite(t)) return combined(operation_, x, t);
    return num::decide(dtype, [&] { return element(tensor, index); });
  }

  double imitate(Arithmetic arithmetic, std::size_t, std::span<const std::int64_t> index) const override {
    const double x = input_at(index), t = o_.evaluator->imitate(arithmetic, tensor_, table_index(index));
    if (arithmetic == Arithmetic::float32) return combined(operation_, num::Float32::of(x), num::Float32::of(t)).to_double();
    return combined(operation_, num::BFloat16::of(x), num::BFloat16::of(t)).to_double();
  }

  void integers(std::size_t, const Extent&, std::int64_t*) const override { throw std::logic_error("an applied tensor is real"); }

 private:
  [[nodiscard]] TwoDouble of_two(double x, TwoDouble t) const {
    if (operation_ == Operation::add) return t + TwoDouble{x, 0};
    if (operation_ == Operation::multiply) return t * x;
    return (t + TwoDouble{1, 0}) * x;
  }
  [[nodiscard]] double input_at(std::span<const std::int64_t> index) const { return o_.input_at(o_.row_of(index), index.back()); }
  [[nodiscard]] std::vector<std::int64_t> table_index(std::span<const std::int64_t> index) const {
    const std::int64_t at = map_(o_.row_of(index)), columns = o_.tensors[tensor_].columns();
    return map_.one_value() ? o_.table_index(tensor_, at / columns, at % columns) : o_.table_index(tensor_, at, index.back());
  }

  Operands o_;
  std::size_t tensor_;
  Operation operation_;
  RowMap map_;
};

}  // namespace

std::unique_ptr<Evaluator> combining(Operands operands, std::size_t tensor, Operation operation, const std::vector<std::string>& axes) {
  return std::make_unique<Combine>(std::move(operands), tensor, operation, axes);
}

}  // namespace posenc::detail
