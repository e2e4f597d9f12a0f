// Re-bucketing of T5's tables (lib/encodings/t5.hpp has the buckets). A new bucket holds the distances from its least one, d, on
// and takes the row of the old bucket in which d / factor falls: the old bias, stretched. Buckets of real numbers begin where
// those of integers do before rounding up: bucket e + k at e (D / e)^(k / (B - e)).
#include <algorithm>

#include "axis_map.hpp"
#include "encodings/log_buckets.hpp"
#include "numeric/decide.hpp"

namespace posenc::resampling {
namespace {

using num::Real;

// One side's buckets.
struct Side {
  std::int64_t buckets, exact, max_distance;
  explicit Side(const Buckets& b) : buckets(b.bidirectional ? b.num_buckets / 2 : b.num_buckets), exact(buckets / 2), max_distance(b.max_distance) {}

  [[nodiscard]] std::int64_t least(std::int64_t bucket) const {
    return bucket < exact ? bucket : detail::ladder_ceil(exact, max_distance, bucket - exact, buckets - exact);
  }
  [[nodiscard]] std::int64_t bucket(const Real& distance) const {
    const Real e = Real::of(exact);
    if (distance < e) return static_cast<std::int64_t>(floor(distance).to_double());
    const std::int64_t steps = buckets - exact;
    std::int64_t k = 0, above = steps;  // bucket k begins at or below the distance
    while (above - k > 1) {
      const std::int64_t middle = k + (above - k) / 2;
      (distance < e * pow(Real::of(max_distance) / e, middle, steps) ? above : k) = middle;
    }
    return exact + k;
  }
};

}  // namespace

AxisMap rebucket_map(const Buckets& old_buckets, const Buckets& new_buckets, std::optional<double> factor) {
  return [=, from = Side(old_buckets), to = Side(new_buckets)](std::int64_t k) {
    const std::int64_t after = k / to.buckets, least = to.least(k % to.buckets);
    return copy_of(after * from.buckets + num::at_precision(128, [&] {
      const Real ratio = factor ? Real::of(*factor) : Real::of(to.max_distance) / Real::of(from.max_distance);
      return from.bucket(Real::of(least) / ratio);
    }));
  };
}

}  // namespace posenc::resampling
