// Correctly rounded binary32 functions for the float32 arithmetic.
#include <cmath>

#include "numeric/scalar.hpp"

namespace posenc::num {
namespace {

// The C library's binary64 result is within 2^-51 of the truth (2 ulp, see Bounded); where rounding both ends of that
// range to binary32 agrees, the result is decided. Otherwise Real decides.
template <class Exact>
float guarded(double v, Exact&& exact) {
  if (!std::isfinite(v)) return static_cast<float>(v);
  const double e = std::fabs(v) * 0x1p-51;
  const float low = static_cast<float>(v - e), high = static_cast<float>(v + e);
  if (low == high) return low;
  for (int bits = 128;; bits *= 2) {
    const Precision precision(bits);
    double a = 0, b = 0;
    exact().rounded(24, -126, 127, a, b);
    if (a == b) return static_cast<float>(a);
  }
}

}  // namespace

float cos_f32(float x) {
  if (!std::isfinite(x)) return std::cos(x);
  return guarded(std::cos(static_cast<double>(x)), [&] { return cos(Real::of(static_cast<double>(x))); });
}
float sin_f32(float x) {
  if (!std::isfinite(x)) return std::sin(x);
  return guarded(std::sin(static_cast<double>(x)), [&] { return sin(Real::of(static_cast<double>(x))); });
}
float exp_f32(float x) {
  return guarded(std::exp(static_cast<double>(x)), [&] { return exp(Real::of(static_cast<double>(x))); });
}
float log_f32(float x) {
  return guarded(std::log(static_cast<double>(x)), [&] { return log(Real::of(static_cast<double>(x))); });
}
float log1p_f32(float x) {
  return guarded(std::log1p(static_cast<double>(x)), [&] { return log1p(Real::of(static_cast<double>(x))); });
}
float log2_f32(float x) {
  return guarded(std::log2(static_cast<double>(x)), [&] { return log2(Real::of(static_cast<double>(x))); });
}
float pow_f32(float x, float y) {
  return guarded(std::pow(static_cast<double>(x), static_cast<double>(y)),
                 [&] { return pow(Real::of(static_cast<double>(x)), Real::of(static_cast<double>(y))); });
}

}  // namespace posenc::num
