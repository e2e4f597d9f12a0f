// Independent truth for tests: raw MPFR at 768 bits, its own rounding to the stored formats, and what the tests of
// encodings share around it. Nothing here uses lib/numeric.
#pragma once
#include <mpfr.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "posenc/encoding.hpp"
#include "posenc/error.hpp"

namespace reference {

/// A number at 768 bits, rounded to nearest after each operation.
class Number {
 public:
  Number() { mpfr_init2(v_, 768), mpfr_set_zero(v_, 1); }
  Number(double x) : Number() { mpfr_set_d(v_, x, MPFR_RNDN); }  // NOLINT: arithmetic with literals
  Number(const Number& other) : Number() { mpfr_set(v_, other.v_, MPFR_RNDN); }
  Number& operator=(const Number& other) {
    mpfr_set(v_, other.v_, MPFR_RNDN);
    return *this;
  }
  ~Number() { mpfr_clear(v_); }

  friend Number operator+(const Number& a, const Number& b) { return apply(mpfr_add, a, b); }
  friend Number operator-(const Number& a, const Number& b) { return apply(mpfr_sub, a, b); }
  friend Number operator*(const Number& a, const Number& b) { return apply(mpfr_mul, a, b); }
  friend Number operator/(const Number& a, const Number& b) { return apply(mpfr_div, a, b); }
  friend Number sin(const Number& a) { return apply(mpfr_sin, a); }
  friend Number tan(const Number& a) { return apply(mpfr_tan, a); }
  friend Number exp2(const Number& a) { return apply(mpfr_exp2, a); }
  friend Number log2(const Number& a) { return apply(mpfr_log2, a); }
  friend Number abs(const Number& a) { return apply(mpfr_abs, a); }
  friend bool operator<=(const Number& a, const Number& b) { return mpfr_lessequal_p(a.v_, b.v_) != 0; }
  [[nodiscard]] double to_double() const { return mpfr_get_d(v_, MPFR_RNDN); }

  /// Nearest value of the dtype, ties to even: a whole number of steps of the format at this magnitude.
  [[nodiscard]] double rounded(posenc::DType dtype) const {
    if (mpfr_zero_p(v_)) return 0;
    if (mpfr_inf_p(v_)) return mpfr_get_d(v_, MPFR_RNDN);
    int digits = 53, emin = -1022, emax = 1023;
    if (dtype == posenc::DType::f32) digits = 24, emin = -126, emax = 127;
    if (dtype == posenc::DType::f16) digits = 11, emin = -14, emax = 15;
    if (dtype == posenc::DType::bf16) digits = 8, emin = -126, emax = 127;
    const long step = std::max<long>(mpfr_get_exp(v_) - digits, emin - digits + 1);
    Number steps(*this);
    mpfr_mul_2si(steps.v_, steps.v_, -step, MPFR_RNDN);
    mpfr_rint(steps.v_, steps.v_, MPFR_RNDN);
    mpfr_mul_2si(steps.v_, steps.v_, step, MPFR_RNDN);
    const bool overflow = mpfr_get_exp(steps.v_) > emax + 1 && mpfr_regular_p(steps.v_);
    if (overflow) return mpfr_sgn(v_) < 0 ? -HUGE_VAL : HUGE_VAL;
    return mpfr_get_d(steps.v_, MPFR_RNDN);
  }

 private:
  template <class F>
  static Number apply(F f, const Number& a) {
    Number r;
    f(r.v_, a.v_, MPFR_RNDN);
    return r;
  }
  template <class F>
  static Number apply(F f, const Number& a, const Number& b) {
    Number r;
    f(r.v_, a.v_, b.v_, MPFR_RNDN);
    return r;
  }
  mpfr_t v_;
};

inline constexpr posenc::DType float_dtypes[] = {posenc::DType::f64, posenc::DType::f32, posenc::DType::f16, posenc::DType::bf16};

/// One filled extent.
struct Filled {
  std::vector<double> hi, lo, weight;
  std::vector<posenc::ErrorBound> bounds;
};
inline Filled fill(const posenc::Evaluator& evaluator, posenc::Extent extent, bool two) {
  Filled f;
  f.hi.assign(static_cast<std::size_t>(extent.elements()), std::nan(""));
  f.lo.assign(f.hi.size(), two ? std::nan("") : 0.0);
  f.bounds.resize(static_cast<std::size_t>(extent.rows));
  posenc::Block block{.extent = extent, .hi = f.hi.data(), .lo = two ? f.lo.data() : nullptr, .bounds = f.bounds.data()};
  evaluator.fill(0, block);
  f.weight.assign(static_cast<std::size_t>(extent.cols), 1.0);
  if (block.column_weight) f.weight.assign(block.column_weight, block.column_weight + extent.cols);
  return f;
}
/// Whether a filled value is as near the truth as its bound says, with |lo| <= ulp(hi) / 2.
inline bool within(const Filled& f, std::size_t row, std::size_t col, std::size_t cols, const Number& truth) {
  const std::size_t at = row * cols + col;
  const double hi = f.hi[at], lo = f.lo[at];
  if (std::isinf(hi)) return truth.to_double() == hi && lo == 0;
  if (hi + lo != hi) return false;
  const double absolute = f.bounds[row].absolute * f.weight[col];
  if (std::isinf(absolute)) return true;
  return abs(truth - (Number(hi) + Number(lo))) <= Number(absolute) + Number(f.bounds[row].relative) * abs(Number(hi));
}

/// A table of correctly rounded values of tensor 0, one of which can be changed.
class Values final : public posenc::Stored {
 public:
  Values(const posenc::Encoding& encoding, posenc::DType dtype) : tensor_(encoding.tensors()[0]), dtype_(dtype) {
    const auto evaluator = encoding.evaluator();
    std::vector<std::int64_t> index(tensor_.axes.size(), 0);
    for (std::int64_t r = 0; r < tensor_.rows(); ++r) {
      tensor_.row_index(r, index);
      for (index.back() = 0; index.back() < tensor_.columns(); ++index.back()) values_.push_back(evaluator->truth(0, index, dtype));
    }
  }
  double& at(std::int64_t row, std::int64_t col) { return values_[static_cast<std::size_t>(row * tensor_.columns() + col)]; }
  [[nodiscard]] std::optional<std::vector<double>> row(std::size_t, std::int64_t row) const override {
    const auto first = values_.begin() + row * tensor_.columns();
    return std::vector<double>(first, first + tensor_.columns());
  }
  [[nodiscard]] double unit_roundoff(std::size_t) const override {
    return dtype_ == posenc::DType::f64   ? 0x1p-53
           : dtype_ == posenc::DType::f32 ? 0x1p-24
           : dtype_ == posenc::DType::f16 ? 0x1p-11
                                          : 0x1p-8;
  }
  /// Names of the laws that fail, joined by spaces.
  [[nodiscard]] std::string broken(const posenc::Encoding& encoding) const {
    std::string names;
    for (const posenc::Law& law : encoding.laws())
      if (law.check(*this)) names += (names.empty() ? "" : " ") + law.name;
    return names;
  }

 private:
  posenc::Tensor tensor_;
  posenc::DType dtype_;
  std::vector<double> values_;
};

/// The sentence with which check() refuses; "" when it does not.
inline std::string refusal(const posenc::Encoding& encoding) {
  try {
    encoding.check();
  } catch (const posenc::Error& error) {
    return error.failure() == posenc::Failure::usage ? error.what() : "not a usage error";
  }
  return "";
}

}  // namespace reference
