// cos(pi q) and sin(pi q). Where q is rational, multiples of a quarter turn give exact numbers, which cos and sin of a
// product with pi could not tell from their neighbours at any precision.
#pragma once
#include "real.hpp"

namespace posenc::num {

/// Sets r in [-1/2, 1/2) with q = n + r, and tells whether the integer n is odd. q must be exact.
inline bool odd_half_turns(const Real& q, Real& r) {
  const Real two = Real::of(std::int64_t{2});
  const Real n = floor(q + Real::of(0.5));
  r = q - n;
  return !(floor(n / two) * two == n);
}

inline Real sin_half_turns(const Real& q) {
  if (!q.is_exact()) return sin(q * Real::pi());
  Real r;
  const bool odd = odd_half_turns(q, r);
  const Real sine = r == Real::of(-0.5) ? Real::of(std::int64_t{-1}) : sin(r * Real::pi());
  return odd ? Real() - sine : sine;  // no negative zero
}

inline Real cos_half_turns(const Real& q) {
  if (!q.is_exact()) return cos(q * Real::pi());
  Real r;
  const bool odd = odd_half_turns(q, r);
  const Real cosine = r == Real::of(-0.5) ? Real() : cos(r * Real::pi());
  return odd ? Real() - cosine : cosine;
}

}  // namespace posenc::num
