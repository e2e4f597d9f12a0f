// Along one axis a new row is a sum of old rows times weights. A map gives them for one new row; each method is such a map.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "numeric/real.hpp"
#include "posenc/resample.hpp"

namespace posenc::resampling {

struct Tap {
  std::int64_t source;  ///< old row
  num::Real weight;
};
using Taps = std::vector<Tap>;
using AxisMap = std::function<Taps(std::int64_t row)>;
/// Makes a map at the working precision of num::Real, which only weights that are not rational depend on.
using MakeAxisMap = std::function<AxisMap()>;

inline Taps copy_of(std::int64_t source) { return {{source, num::Real::of(std::int64_t{1})}}; }
/// Taps of one source added up, zeros left out. Sources are in ascending order, those of one source side by side.
Taps gathered(Taps taps);

/// What linear and cubic are made of.
struct Kernel {
  bool cubic = false;
  Alignment alignment = Alignment::half_pixel;
  bool antialias = false;
  double a = -0.75;
  EdgeRule edges = EdgeRule::clamp;
  double scale_offset = 0;  ///< half_pixel: N + this is the N of n / N
};

AxisMap tile_map(std::int64_t n);
AxisMap nearest_map(std::int64_t n, std::int64_t new_n, Alignment alignment);
AxisMap kernel_map(std::int64_t n, std::int64_t new_n, const Kernel& kernel);
AxisMap hierarchical_map(std::int64_t n, double alpha);
AxisMap stretch_map(std::int64_t n, std::int64_t new_n, std::int64_t keep);
/// Tables of `n` and `new_n` rows, both 2k + 1 or both 2k, around row k.
AxisMap distances_map(std::int64_t n, std::int64_t new_n, bool linear);
AxisMap geometric_map(std::int64_t n, std::int64_t new_n);
AxisMap geometric_spline_map(std::int64_t n, std::int64_t new_n);

struct Buckets {
  bool bidirectional = true;
  std::int64_t num_buckets = 32, max_distance = 128;
};
AxisMap rebucket_map(const Buckets& old_buckets, const Buckets& new_buckets, std::optional<double> factor);

}  // namespace posenc::resampling
