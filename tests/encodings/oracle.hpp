// An evaluation of rotary values that shares no line with lib: Boost's decimal-free binary floats at 400 bits, the
// frequency as exp(-(2i/d) log base).
#pragma once
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "posenc/dtype.hpp"

namespace oracle {

namespace mp = boost::multiprecision;
using Big = mp::number<mp::cpp_bin_float<400, mp::digit_base_2>, mp::et_off>;

inline Big pi() { return 4 * atan(Big(1)); }

/// Half the distance between neighbours of x in the format: how far a correctly rounded value may be from the truth.
inline bool correctly_rounded(posenc::DType dtype, double stored, const Big& truth) {
  int digits = 53, emin = -1022, emax = 1023;
  switch (dtype) {
    case posenc::DType::f32: digits = 24, emin = -126, emax = 127; break;
    case posenc::DType::f16: digits = 11, emin = -14, emax = 15; break;
    case posenc::DType::bf16: digits = 8, emin = -126, emax = 127; break;
    default: break;
  }
  if (truth == 0) return stored == 0;
  // Exponent of the truth's binade, then the two neighbours of the truth on the format's grid.
  int e = 0;
  (void)frexp(truth, &e);
  e = std::max(e - 1, emin);
  const Big step = ldexp(Big(1), e - digits + 1);
  const Big below = floor(truth / step) * step;
  const Big above = below + step;
  const Big down = truth - below, up = above - truth;
  Big nearest = down < up ? below : above;
  if (down == up) nearest = fmod(floor(truth / step), Big(2)) == 0 ? below : above;
  if (abs(nearest) >= ldexp(Big(1), emax + 1)) return std::isinf(stored);
  return Big(stored) == nearest;
}

}  // namespace oracle
