// log(n) / log(base) of integers, recognised where it is rational: exactly when n and base are powers of one integer.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "numeric/real.hpp"

namespace posenc::detail {

/// x = root^exponent with the largest exponent; x >= 2.
struct PerfectPower {
  std::int64_t root, exponent;
};
inline PerfectPower perfect_power(std::int64_t x) {
  for (std::int64_t e = std::bit_width(static_cast<std::uint64_t>(x)) - 1; e > 1; --e) {
    // The e-th root of x < 2^63 is below 2^32, where its rounded binary64 value is within 1 of it.
    const auto root = static_cast<std::int64_t>(std::llround(std::pow(static_cast<double>(x), 1 / static_cast<double>(e))));
    if (root < 2) continue;
    std::int64_t power = 1;
    bool fits = true;
    for (std::int64_t k = 0; k < e && fits; ++k) fits = !__builtin_mul_overflow(power, root, &power);
    if (fits && power == x) return {root, e};
  }
  return {x, 1};
}

/// n >= 1, base >= 2.
inline num::Real log_ratio(std::int64_t n, std::int64_t base) {
  using num::Real;
  if (n == 1) return Real();
  const PerfectPower a = perfect_power(n), b = perfect_power(base);
  if (a.root == b.root) return Real::of(a.exponent) / Real::of(b.exponent);
  return log(Real::of(n)) / log(Real::of(base));
}

}  // namespace posenc::detail
