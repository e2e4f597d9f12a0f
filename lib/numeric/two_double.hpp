// Unevaluated sums of two doubles, |lo| <= ulp(hi)/2: about 106 bits. Plain operations only (no fma), so the bits are
// the same for every instruction set. Error bounds after Joldes, Muller, Popescu, "Tight and rigorous error bounds for
// basic building blocks of double-word arithmetic" (ACM TOMS 44, 2017): relative, barring underflow.
#pragma once

namespace posenc::num {

struct TwoDouble {
  double hi = 0, lo = 0;
};

/// Exact: a + b = hi + lo (Knuth).
inline TwoDouble two_sum(double a, double b) {
  const double s = a + b;
  const double bb = s - a;
  return {s, (a - (s - bb)) + (b - bb)};
}
/// Exact when |a| >= |b| or a = 0 (Dekker).
inline TwoDouble fast_two_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}
/// Exact: a * b = hi + lo for |a|, |b| < 2^995 and no underflow (Dekker's product over Veltkamp's split).
inline TwoDouble two_product(double a, double b) {
  constexpr double split = 134217729.0;  // 2^27 + 1
  const double p = a * b;
  const double ta = split * a, ah = ta - (ta - a), al = a - ah;
  const double tb = split * b, bh = tb - (tb - b), bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}
/// Relative error at most 2^-104, whatever the signs (AccurateDWPlusDW, theorem 3.1: 3u^2 / (1 - 4u), u = 2^-53).
inline TwoDouble operator+(TwoDouble a, TwoDouble b) {
  const TwoDouble s = two_sum(a.hi, b.hi);
  const TwoDouble t = two_sum(a.lo, b.lo);
  const TwoDouble v = fast_two_sum(s.hi, s.lo + t.hi);
  return fast_two_sum(v.hi, t.lo + v.lo);
}
inline TwoDouble operator-(TwoDouble a) { return {-a.hi, -a.lo}; }
inline TwoDouble operator-(TwoDouble a, TwoDouble b) { return a + -b; }
/// Relative error at most 7 * 2^-106 (DWTimesDW1, theorem 5.1).
inline TwoDouble operator*(TwoDouble a, TwoDouble b) {
  const TwoDouble p = two_product(a.hi, b.hi);
  return fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
/// Relative error at most 2^-104 (DWTimesFP1, theorem 4.1: 3/2 * 2^-106 + 4 * 2^-159).
inline TwoDouble operator*(TwoDouble a, double b) {
  const TwoDouble p = two_product(a.hi, b);
  return fast_two_sum(p.hi, p.lo + a.lo * b);
}

}  // namespace posenc::num
