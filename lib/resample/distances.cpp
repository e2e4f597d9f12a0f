// Tables of distances around a centre: 2k + 1 rows for -k .. k (Shaw, arXiv:1803.02155), 2k for -k .. k - 1 (DeBERTa v1,
// arXiv:2006.03654, equation 3). Row k, distance 0, stays. A side of m rows becomes one of M:
//   replicate  distance r has the row of r clipped to the old side, as the model had it
//   linear     distance r has the row at r m / M, so that the outermost rows stay outermost
#include <algorithm>
#include <cstdlib>

#include "axis_map.hpp"

namespace posenc::resampling {

using num::Real;

AxisMap distances_map(std::int64_t n, std::int64_t new_n, bool linear) {
  return [=](std::int64_t k) {
    const std::int64_t centre = n / 2, new_centre = new_n / 2, r = k - new_centre;
    if (r == 0) return copy_of(centre);
    if (!linear) return copy_of(std::clamp<std::int64_t>(centre + r, 0, n - 1));
    const std::int64_t side = r < 0 ? centre : n - 1 - centre, new_side = r < 0 ? new_centre : new_n - 1 - new_centre, step = r < 0 ? -1 : 1;
    const std::int64_t whole = std::abs(r) * side / new_side, rest = std::abs(r) * side % new_side;
    const Real t = Real::of(rest) / Real::of(new_side), one = Real::of(std::int64_t{1});
    if (rest == 0) return copy_of(centre + step * whole);
    Taps taps{{centre + step * whole, one - t}, {centre + step * (whole + 1), t}};
    if (step < 0) std::swap(taps[0], taps[1]);
    return taps;
  };
}

}  // namespace posenc::resampling
