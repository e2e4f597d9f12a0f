// Taps put together, and what picks one old row: tile, nearest.
#include <algorithm>

#include "axis_map.hpp"

namespace posenc::resampling {

Taps gathered(Taps taps) {
  Taps out;
  for (Tap& tap : taps) {
    if (!out.empty() && out.back().source == tap.source)
      out.back().weight += tap.weight;
    else
      out.push_back(std::move(tap));
  }
  std::erase_if(out, [](const Tap& tap) { return tap.weight.is_exact() && tap.weight.sign() == 0; });
  return out;
}

AxisMap tile_map(std::int64_t n) {
  return [n](std::int64_t k) { return copy_of(k % n); };
}

AxisMap nearest_map(std::int64_t n, std::int64_t new_n, Alignment alignment) {
  return [=](std::int64_t k) {
    return copy_of(std::min(alignment == Alignment::half_pixel ? (2 * k + 1) * n / (2 * new_n) : k * n / new_n, n - 1));
  };
}

}  // namespace posenc::resampling
