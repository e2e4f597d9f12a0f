// The bound of a row of values that each have their own.
#pragma once
#include <algorithm>
#include <cmath>

#include "posenc/tensor.hpp"

namespace posenc::detail {

/// Relative where the values allow it, which leaves exact zeros (masked keys, above all) exact.
class RowBound {
 public:
  void note(double value, double error) {
    if (std::isnan(value) || std::isnan(error)) error = HUGE_VAL;
    error *= 1 + 0x1p-50;
    largest_ = std::max(largest_, error);
    if (value == 0)
      at_zero_ = std::max(at_zero_, error);
    else
      relative_ = std::max(relative_, error / std::fabs(value) * (1 + 0x1p-50));
  }
  [[nodiscard]] ErrorBound value() const { return relative_ <= 0x1p-40 ? ErrorBound{at_zero_, relative_} : ErrorBound{largest_, 0}; }

 private:
  double largest_ = 0, at_zero_ = 0, relative_ = 0;
};

}  // namespace posenc::detail
