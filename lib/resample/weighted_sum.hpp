// Sums of values times weights in two doubles, with a bound on what is lost. Sums that fit (weights like 1/4 and 3/4) are exact
// and have the bound 0, so that their ties are rounded here and need no second look.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "axis_map.hpp"
#include "numeric/round.hpp"
#include "numeric/two_double.hpp"
#include "posenc/dtype.hpp"

namespace posenc::resampling {

/// A value, |true value - (value.hi + value.lo)| <= error.
struct Bounded2 {
  num::TwoDouble value{};
  double error = 0;
};

struct PlainTap {
  std::int64_t source = 0;
  Bounded2 weight{};
  bool one = false;  ///< weight 1
};
using PlainTaps = std::vector<PlainTap>;

inline PlainTaps plain(const Taps& taps) {
  PlainTaps out;
  for (const Tap& tap : taps) {
    PlainTap p{tap.source};
    p.weight.error = tap.weight.two_double(p.weight.value.hi, p.weight.value.lo);
    p.one = tap.weight.is_exact() && p.weight.value.hi == 1 && p.weight.value.lo == 0;
    out.push_back(p);
  }
  return out;
}
/// Whether the taps pick one row as it is.
inline bool copies(const PlainTaps& taps) { return taps.size() == 1 && taps[0].one; }

/// A product. |a|, |b| within [2^-900, 2^900] or 0 lose at most 7 * 2^-106 of it (two_double.hpp) besides what the operands
/// bring; exact operands of one double lose nothing. Smaller ones may underflow, by a few 2^-1074; larger ones are left open.
inline Bounded2 product(const Bounded2& a, const Bounded2& b) {
  const double x = std::fabs(a.value.hi), y = std::fabs(b.value.hi);
  const bool exact = a.value.lo == 0 && b.value.lo == 0;
  Bounded2 p;
  p.value = exact ? num::two_product(a.value.hi, b.value.hi) : a.value * b.value;
  const double size = x * y;
  if (!exact) p.error = 0x1p-103 * size;
  if (a.error != 0 || b.error != 0) p.error += (x + a.error) * b.error + y * a.error + 0x1p-52 * (x * b.error + y * a.error);
  if (size < 0x1p-900 && x != 0 && y != 0) p.error += 0x1p-1060;
  if (!(size < 0x1p900 && x < 0x1p900 && y < 0x1p900)) p.error = std::numeric_limits<double>::infinity();
  return p;
}

/// a + b. The four parts are added exactly into two doubles and two rests, which the error takes: 0 for what fits.
inline Bounded2 sum(const Bounded2& a, const Bounded2& b) {
  using num::two_sum;
  const num::TwoDouble s = two_sum(a.value.hi, b.value.hi), t = two_sum(a.value.lo, b.value.lo);
  const num::TwoDouble c = two_sum(s.lo, t.hi);
  const num::TwoDouble v = two_sum(s.hi, c.hi);
  const num::TwoDouble w = two_sum(v.lo, t.lo);
  const num::TwoDouble x = two_sum(w.hi, c.lo);
  Bounded2 out;
  out.value = two_sum(v.hi, x.hi);
  out.error = a.error + b.error + std::fabs(w.lo) + std::fabs(x.lo);
  return out;
}

/// `value` rounded to the dtype.
inline double rounded(DType dtype, double value) {
  switch (dtype) {
    case DType::f32: return static_cast<double>(static_cast<float>(value));
    case DType::f16: return num::value_of_f16(num::round_to_f16(value));
    case DType::bf16: return num::value_of_bf16(num::round_to_bf16(value));
    default: return value;
  }
}

/// hi + lo rounded once. A format shorter than a double gets it by way of a double rounded to odd, which no further rounding
/// sees: where something is left (lo) and the last bit of hi is 0, hi gives way to its neighbour on lo's side.
inline double rounded_sum(DType dtype, double hi, double lo) {
  const num::TwoDouble s = num::two_sum(hi, lo);
  if (dtype == DType::f64 || s.lo == 0) return rounded(dtype, s.hi);
  const std::uint64_t bits = num::bits_of(s.hi);
  const bool outwards = (s.hi < 0) == (s.lo < 0);
  return rounded(dtype, (bits & 1) != 0 ? s.hi : num::double_of(outwards ? bits + 1 : bits - 1));
}

/// Rounds once to the dtype; false: the bound leaves it open.
inline bool settle(DType dtype, const Bounded2& x, double& out) {
  const double hi = x.value.hi, lo = x.value.lo;
  if (!std::isfinite(hi) || !std::isfinite(lo)) return false;
  if (x.error == 0) {
    out = rounded_sum(dtype, hi + 0.0, lo);  // a sum of zeros is +0
    return true;
  }
  // Errors were added up in double, 2^-53 relative each, over fewer than 2^20 terms; so are lo -+ slack.
  const double slack = x.error * (1 + 0x1p-30) + 0x1p-52 * (std::fabs(lo) + x.error);
  const double low = rounded_sum(dtype, hi, lo - slack), high = rounded_sum(dtype, hi, lo + slack);
  out = low;
  return low == high && low != 0;  // of a zero the sign is open
}

}  // namespace posenc::resampling
