// The ramp over pair indices between two numbers of turns, as the YaRN repository has it.
#pragma once
#include "geometry.hpp"

namespace posenc::rescale {

/// Pair index at which a pair turns `turns` times over `original` positions: d ln(original / (2 pi turns)) / (2 ln base).
inline num::Real pair_of_turns(const RopeGeometry& g, std::int64_t original, double turns) {
  using num::Real;
  const Real two = Real::of(std::int64_t{2});
  return Real::of(g.frequency_denominator) * log(Real::of(original) / (two * Real::pi() * Real::of(turns))) / (two * log(Real::of(g.base)));
}

struct TurnsRamp {
  num::Real low, high;

  /// From the pair of `fast` turns to that of `slow` turns, rounded outward when `truncate`, then kept within [0, d - 1];
  /// equal ends are 0.001 apart.
  TurnsRamp(const RopeGeometry& g, std::int64_t original, double fast, double slow, bool truncate)
      : low(pair_of_turns(g, original, fast)), high(pair_of_turns(g, original, slow)) {
    using num::Real;
    if (truncate) {
      low = floor(low);
      high = ceil(high);
    }
    const Real zero, last = Real::of(g.frequency_denominator - 1);
    if (low < zero) low = zero;
    if (high > last) high = last;
    // Untruncated ends are equal only when the turns are: the same expression, but an interval cannot show it.
    const bool same = !truncate && fast == slow && !low.is_exact() && !high.is_exact();
    if (same || low == high) high = high + Real::of(0.001);
  }
  /// 0 up to low, 1 from high on.
  template <class T>
  T at(std::int64_t i) const {
    const T one = T::of(std::int64_t{1}), zero = T::of(std::int64_t{0});
    T ramp = (T::of(i) - scalar<T>(low)) / scalar<T>(high - low);
    if (ramp < zero) ramp = zero;
    if (ramp > one) ramp = one;
    return ramp;
  }
};

}  // namespace posenc::rescale
