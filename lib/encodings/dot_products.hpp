// Dot products in two doubles with a bound on their distance from the truth, for fills; and the same over any scalar type.
#pragma once
#include <cmath>
#include <cstdint>

#include "numeric/two_double.hpp"

namespace posenc::detail {

/// |truth - v| <= e.
struct Near {
  num::TwoDouble v{};
  double e = 0;
};

/// A sum of products that grows term by term. Bounds of each step are in two_double.hpp: a product of two doubles is exact, one
/// of two TwoDoubles off by 7 * 2^-106 of it, a sum by 3 * 2^-106 of its terms' sizes; 2^-1000 covers what underflows. Factors
/// are below 2^450, so that nothing overflows. A factor that is exactly 0 adds nothing, which leaves exact zeros exact.
class DotProduct {
 public:
  void add(double a, double b) {
    if (a == 0 || b == 0) return;
    add(num::two_product(a, b), 0x1p-1000);
  }
  void add(const Near& a, const Near& b) {
    if (is_zero(a) || is_zero(b)) return;
    const double size_a = std::fabs(a.v.hi), size_b = std::fabs(b.v.hi);
    add(a.v * b.v, 0x1p-103 * size_a * size_b + size_a * b.e + size_b * a.e + a.e * b.e + 0x1p-1000);
  }
  void add(double a) { add(num::TwoDouble{a, 0}, 0); }
  [[nodiscard]] Near value() const { return {sum_, (e_ + 0x1p-104 * sizes_) * (1 + 0x1p-40)}; }

 private:
  static bool is_zero(const Near& x) { return x.v.hi == 0 && x.e == 0; }
  void add(num::TwoDouble term, double e) {
    sizes_ += std::fabs(sum_.hi) + std::fabs(term.hi);
    sum_ = sum_ + term;
    e_ += e;
  }

  num::TwoDouble sum_{};
  double sizes_ = 0, e_ = 0;
};

}  // namespace posenc::detail
