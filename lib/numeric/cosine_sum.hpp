// f(m) = sum over i of cos(m * theta_i) at integers m: where it is negative. Every sign is decided: by binary32 with a bound on its
// error, where that leaves it open by binary64, and at last in Real. So answers depend on neither machine nor library.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "real.hpp"

namespace posenc::num {

class CosineSum {
 public:
  /// The frequencies at the precision in force; called when a sign needs them.
  using Exact = std::function<std::vector<Real>()>;
  /// Values at positions where a scan found f small, the approximate value first.
  using Low = std::vector<std::pair<float, std::int64_t>>;

  /// Scans and signs are for m below this.
  static constexpr std::int64_t limit = std::int64_t{1} << 30;

  /// Any frequencies, radians per step.
  explicit CosineSum(Exact exact);
  /// base^(-2 i / denominator), i < pairs; base > 0 and not so far from 1 that a frequency leaves [2^-500, 2^20].
  static CosineSum geometric(double base, std::int64_t pairs, std::int64_t denominator);

  [[nodiscard]] std::size_t pairs() const { return frequencies_.size(); }
  /// Whether f(m) < 0. Zero does not occur: m theta_i are algebraic numbers or m is 0 (Lindemann and Weierstrass); frequencies for
  /// which it does would never be decided.
  [[nodiscard]] bool negative(std::int64_t m) const;
  /// The first m in [0, count) with f(m) < 0.
  [[nodiscard]] std::optional<std::int64_t> first_negative(std::int64_t count) const { return scan(count, nullptr, 0); }
  /// The same, but goes on to `count` and collects every m whose f is below `threshold`, more or less; at most some 2^16 of them, where
  /// it stops collecting.
  std::optional<std::int64_t> first_negative(std::int64_t count, Low& low, float threshold) const { return scan(count, &low, threshold); }

 private:
  CosineSum() = default;
  [[nodiscard]] double quick(std::int64_t m) const;
  std::optional<std::int64_t> scan(std::int64_t count, Low* low, float threshold) const;

  std::vector<double> frequencies_;  ///< modulo 2 pi
  double drift_ = 0;  ///< |error of the sum of quick(m)| <= m * drift_ + pairs * quick_error
  Exact exact_;
};

}  // namespace posenc::num
