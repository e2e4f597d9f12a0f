// linear and cubic: a kernel around the position x of a new row.
//   linear   w(t) = 1 - |t| for |t| < 1
//   cubic    w(t) = (a + 2)|t|^3 - (a + 3)|t|^2 + 1 for |t| < 1,   a|t|^3 - 5a|t|^2 + 8a|t| - 4a for 1 <= |t| < 2
//            (Keys 1981; a = -0.75 in torch, -0.5 in Keys, torch's antialias, JAX, TensorFlow 2, Pillow)
// Old row j has weight w((j - x) / s) with s = max(n / N, 1) under antialias, else 1; renormalised weights are divided by their
// sum. Clamped ones keep it: without antialias it is 1.
#include <algorithm>

#include "axis_map.hpp"

namespace posenc::resampling {
namespace {

using num::Real;

Real of(std::int64_t value) { return Real::of(value); }

Real linear_weight(const Real& t) { return t < of(1) ? of(1) - t : Real(); }
Real cubic_weight(const Real& t, const Real& a) {
  if (t < of(1)) return ((a + of(2)) * t - (a + of(3))) * t * t + of(1);
  if (t < of(2)) return ((t - of(5)) * t + of(8)) * t * a - of(4) * a;
  return {};
}

// n / N, which DINOv2 takes with N + 0.1 to be safe from rounding.
Real scale_of(const Kernel& kernel, std::int64_t n, std::int64_t new_n) { return of(n) / (of(new_n) + Real::of(kernel.scale_offset)); }

// x of new row k of N among n old rows.
Real source_position(const Kernel& kernel, std::int64_t k, std::int64_t n, std::int64_t new_n) {
  switch (kernel.alignment) {
    case Alignment::half_pixel: return (of(2 * k + 1) * scale_of(kernel, n, new_n) - of(1)) / of(2);
    case Alignment::corners: return new_n == 1 ? Real() : of(k * (n - 1)) / of(new_n - 1);
    case Alignment::stride: return of(k * n) / of(new_n);
  }
  return {};
}

}  // namespace

AxisMap kernel_map(std::int64_t n, std::int64_t new_n, const Kernel& kernel) {
  return [=](std::int64_t k) {
    const Real x = source_position(kernel, k, n, new_n), step = scale_of(kernel, n, new_n);
    const Real scale = kernel.antialias && step > of(1) ? step : of(1);
    const Real reach = of(kernel.cubic ? 2 : 1) * scale, a = Real::of(kernel.a);
    // Rows strictly within reach; those at its end have weight 0.
    const auto first = static_cast<std::int64_t>(floor(x - reach).to_double()) + 1;
    const auto last = static_cast<std::int64_t>(ceil(x + reach).to_double()) - 1;
    Taps taps;
    Real sum;
    for (std::int64_t j = first; j <= last; ++j) {
      if (kernel.edges == EdgeRule::renormalize && (j < 0 || j >= n)) continue;
      const Real t = abs(of(j) - x) / scale;
      taps.push_back({std::clamp<std::int64_t>(j, 0, n - 1), kernel.cubic ? cubic_weight(t, a) : linear_weight(t)});
      sum += taps.back().weight;
    }
    if (kernel.edges == EdgeRule::renormalize)
      for (Tap& tap : taps) tap.weight /= sum;
    return gathered(std::move(taps));
  };
}

}  // namespace posenc::resampling
