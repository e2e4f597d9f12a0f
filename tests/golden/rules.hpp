// Comparison rules: how far a value may be from the golden one. Each says so in words and gives the share of what it allows
// that a difference uses up; a share above 1 fails.
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "posenc/pipeline.hpp"

namespace golden {

struct Rule {
  std::string text;
  std::function<double(std::size_t at, double got, double want)> share;
};

namespace detail {
inline double share_of(double got, double want, double allowed) {
  if (got == want) return 0;  // infinities too
  const double off = std::fabs(got - want);
  return std::isnan(off) || !(allowed > 0) ? HUGE_VAL : off / allowed;
}
}  // namespace detail

inline Rule exact() {
  return {"equal", [](std::size_t, double got, double want) { return detail::share_of(got, want, 0); }};
}
inline Rule absolute(double t) {
  return {fmt::format("within {:.2g}", t), [t](std::size_t, double got, double want) { return detail::share_of(got, want, t); }};
}
inline Rule relative(double t) {
  return {fmt::format("within {:.2g} relative", t),
          [t](std::size_t, double got, double want) { return detail::share_of(got, want, t * std::fabs(want)); }};
}
/// The tolerances of papers/manifest.json: allclose as numpy has it.
inline Rule close(double atol, double rtol) {
  const std::string text = rtol == 0 ? fmt::format("within {:.2g}", atol) : fmt::format("within {:.2g} relative", rtol);
  return {text + " (manifest)",
          [=](std::size_t, double got, double want) { return detail::share_of(got, want, atol + rtol * std::fabs(want)); }};
}
inline Rule within(std::vector<double> allowed, std::string text) {
  return {std::move(text), [allowed = std::move(allowed)](std::size_t at, double got, double want) {
            return detail::share_of(got, want, allowed.at(at));
          }};
}

/// TRANSFORMERS.md section 0 (f): a cast to a 16-bit format is the round-to-nearest-even of a binary32 value. Both sides'
/// binary32 values are neighbours at most (rule b), so that their casts are equal or, across a tie, neighbours.
inline Rule one_ulp(posenc::DType dtype) {
  return {fmt::format("1 ulp of {}", posenc::name_of(dtype)),
          [dtype](std::size_t, double got, double want) { return posenc::ulp_distance(dtype, got, want); }};
}

constexpr double half_ulp = 0x1p-24;  ///< of binary32, relative: what one rounding may change

/// (a) Frequencies of model code in binary32 against the same steps correctly rounded: the power function of the C library
/// may be off by one ulp, which the quotient 1 / x keeps: 2 ulp = 4 half_ulp.
constexpr double rule_a = 4 * half_ulp;
/// (a) Blends of two frequencies (yarn, llama3) add two products, two roundings of the weight and a sum.
constexpr double rule_a_blend = 5e-7;

/// (b) cos, sin of the same binary32 angle, times the amplitude: neighbours in binary32, at most 2^-23 = 1.2e-7 apart below 2.
inline Rule rule_b(double amplitude) { return absolute(1.2e-7 * amplitude); }

/// (c) cos, sin against exact mathematics. The golden angle is the binary32 product of a binary32 frequency, so that
///   |d angle| <= position * d inv_freq + half an ulp of the angle, d inv_freq = frequency_error * inv_freq,
/// and |d cos|, |d sin| <= |d angle|. The golden cos adds an ulp, its product with the amplitude and our one rounding half an
/// ulp each: 2^-23 together, times the amplitude. `columns[c]` is the pair of column c.
inline Rule rule_c(const std::vector<double>& positions, const std::vector<double>& inv_freq, const std::vector<std::size_t>& columns,
                   double frequency_error, double amplitude) {
  std::vector<double> allowed;
  for (const double p : positions)
    for (const std::size_t pair : columns) {
      const double angle = std::fabs(p * inv_freq.at(pair));
      int exponent = 0;
      (void)std::frexp(angle, &exponent);  // angle < 2^exponent: half an ulp is 2^(exponent - 25)
      allowed.push_back(amplitude * (angle * frequency_error + (angle == 0 ? 0 : std::ldexp(1.0, exponent - 25)) + 0x1p-23));
    }
  return within(std::move(allowed), fmt::format("angle within {:.2g} relative + 1/2 ulp, value 1.2e-07", frequency_error));
}

/// The amplitude is made of a logarithm, a product and a sum in binary64 there: 2 ulp.
inline Rule amplitude_rule() { return relative(0x1p-51); }

}  // namespace golden
