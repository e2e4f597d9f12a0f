// The normal distribution in Real: erfc, and the quantile function (the inverse of the distribution function); and the
// quantile in binary64 with a bound, for fills.
#pragma once
#include "numeric/real.hpp"

namespace posenc::num {

/// 1 - erf(x), rigorous at the precision in force. Values below 2^-1000 are known to 2^-1074 absolute only.
Real erfc(const Real& x);
/// Phi(x) = erfc(-x / sqrt 2) / 2.
Real normal_cdf(const Real& x);
/// exp(-x^2 / 2) / sqrt(2 pi).
Real normal_density(const Real& x);
/// x with Phi(x) = p, 0 < p < 1; exact 0 for an exact 1/2.
Real normal_quantile(const Real& p);

/// |quantile - hi - lo| <= bound.
struct Quantile {
  double hi = 0, lo = 0, bound = 0;
};
/// The quantile of p = hi + lo (an exact number, 0 < p <= 1/2, |lo| <= ulp(hi) / 2): about 2^-49, or with `two` about 2^-95.
Quantile normal_quantile(double hi, double lo, bool two);

}  // namespace posenc::num
