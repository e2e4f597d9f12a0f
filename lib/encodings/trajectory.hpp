// A sequence of states each of which follows from the one before, in any scalar type: computed once as far as it was asked
// for, and kept. Real is kept for every precision that was asked for.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "numeric/scalar.hpp"

namespace posenc::detail {

template <class T>
class Trajectory {
 public:
  using State = std::vector<T>;
  /// Part `at` of state `n`; first() gives state 0, next(state, n) state n + 1 from state n.
  template <class First, class Next>
  T at(std::size_t n, std::size_t part, First&& first, Next&& next) const {
    const std::lock_guard lock(mutex_);
    std::vector<State>& states = kept_[precision()];
    if (states.empty()) states.push_back(first());
    while (states.size() <= n) states.push_back(next(states.back(), states.size() - 1));
    return states[n][part];
  }

 private:
  static int precision() {
    if constexpr (std::is_same_v<T, num::Real>)
      return num::Precision::bits();
    else
      return 0;
  }
  mutable std::mutex mutex_;
  mutable std::map<int, std::vector<State>> kept_;
};

/// One of each scalar type.
class Trajectories {
 public:
  template <class T>
  const Trajectory<T>& of() const {
    if constexpr (std::is_same_v<T, num::Real>)
      return real_;
    else if constexpr (std::is_same_v<T, num::Float32>)
      return float32_;
    else if constexpr (std::is_same_v<T, num::BFloat16>)
      return bfloat16_;
    else
      return bounded_;
  }

 private:
  Trajectory<num::Real> real_;
  Trajectory<num::Float32> float32_;
  Trajectory<num::BFloat16> bfloat16_;
  Trajectory<num::Bounded> bounded_;
};

}  // namespace posenc::detail
