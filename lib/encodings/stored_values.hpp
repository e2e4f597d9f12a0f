// A modest number of values computed once as two doubles each, from which fills copy.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "numeric/real.hpp"
#include "posenc/tensor.hpp"

namespace posenc::detail {

class StoredValues {
 public:
  /// value(i) is the Real number i; `n` of them. An undecided one (num::Undecided) is left to the truth.
  template <class F>
  StoredValues(std::int64_t n, F&& value) : hi_(static_cast<std::size_t>(n)), lo_(hi_.size()) {
    const num::Precision precision(160);
    for (std::size_t i = 0; i < hi_.size(); ++i) {
      try {
        const num::Real v = value(static_cast<std::int64_t>(i));
        const double error = v.two_double(hi_[i], lo_[i]);
        note(hi_[i], std::isnan(error) ? HUGE_VAL : error);
      } catch (const num::Undecided&) {
        hi_[i] = lo_[i] = 0;
        note(0, HUGE_VAL);
      }
    }
  }
  StoredValues() = default;

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(hi_.size()); }
  /// Puts value `from` at offset `to` of a block's row.
  void put(std::int64_t from, double* hi, double* lo) const {
    *hi = hi_[static_cast<std::size_t>(from)];
    if (lo) *lo = lo_[static_cast<std::size_t>(from)];
  }
  void put(std::int64_t from, std::int64_t n, double* hi, double* lo) const {
    std::copy_n(hi_.data() + from, n, hi);
    if (lo) std::copy_n(lo_.data() + from, n, lo);
  }
  /// Relative where the values allow it, which leaves exact zeros exact. The second part is at most half an ulp of the first,
  /// 2^-53 of it.
  [[nodiscard]] ErrorBound bound(bool two) const {
    const double rest = two ? 0 : 0x1.0000000000001p-53;
    return relative_ <= 0x1p-60 ? ErrorBound{at_zero_, relative_ + rest} : ErrorBound{largest_, rest};
  }

 private:
  void note(double value, double error) {
    largest_ = std::max(largest_, error);
    if (value == 0)
      at_zero_ = std::max(at_zero_, error);
    else
      relative_ = std::max(relative_, error / std::fabs(value) * (1 + 0x1p-50));
  }

  std::vector<double> hi_, lo_;
  double largest_ = 0, relative_ = 0, at_zero_ = 0;
};

}  // namespace posenc::detail
