// Ways to lengthen a sequence's table that have no kernel.
//
// hierarchical (Su Jianlin 2020, kexue.fm/archives/7947): with u_i = (p_i - alpha p_0) / (1 - alpha) row i n + j is
// alpha u_i + (1 - alpha) u_j, that is
//   q[i n + j] = p_j + r (p_i - p_0),   r = alpha / (1 - alpha),
// so that rows below n are the old ones. bert4keras, in binary32, gets them back to within a few ulp only.
//
// stretch (Zhang et al. 2024, arXiv:2403.15378, section 3.1): c rows are kept, row k >= c lies at
//   x = c + (k - c) (n - c) / (N - c)
// linear between old rows and on along the last two beyond them. With N = f n - (f - 1) c, f whole, these are Long-CLIP's
// ((f - r) p[c + i] + r p[c + i + 1]) / f.
#include <algorithm>

#include "axis_map.hpp"

namespace posenc::resampling {

using num::Real;

AxisMap hierarchical_map(std::int64_t n, double alpha) {
  return [n, alpha](std::int64_t k) {
    const std::int64_t i = k / n, j = k % n;
    if (i == 0) return copy_of(j);
    const Real one = Real::of(std::int64_t{1}), r = Real::of(alpha) / (one - Real::of(alpha));
    Taps taps{{0, -r}, {i, r}, {j, one}};
    std::ranges::sort(taps, {}, &Tap::source);
    return gathered(std::move(taps));
  };
}

AxisMap stretch_map(std::int64_t n, std::int64_t new_n, std::int64_t keep) {
  return [=](std::int64_t k) {
    if (k < keep) return copy_of(k);
    const Real x = Real::of(keep) + Real::of((k - keep) * (n - keep)) / Real::of(new_n - keep);
    const std::int64_t below = keep + (k - keep) * (n - keep) / (new_n - keep);
    const Real one = Real::of(std::int64_t{1}), t = x - Real::of(below);
    // Beyond the last row: p + t (p - q), q the row before it.
    if (below == n - 1) return gathered({{n - 2, -t}, {n - 1, one + t}});
    return gathered({{below, one - t}, {below + 1, t}});
  };
}

}  // namespace posenc::resampling
