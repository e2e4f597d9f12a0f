// YaRN's magnitude: one formula behind the amplitude of cos and sin and behind DeepSeek's factor on the softmax.
#pragma once
#include <cmath>
#include <type_traits>

namespace posenc::rescale {

/// Peng et al. 2023, arXiv:2309.00071, eq. 22.
inline constexpr double yarn_coefficient = 0.1;

namespace detail {
template <class T>
T number(double x) {
  if constexpr (std::is_same_v<T, double>) return x;
  else return T::of(x);
}
}  // namespace detail

/// g(s, m) = c m ln(s) + 1 above s = 1, else 1. The weight m is DeepSeek's; the paper has none. T: a scalar of
/// numeric/scalar.hpp, or double where people read the number.
template <class T>
T yarn_magnitude(const T& s, double m = 1, double c = yarn_coefficient) {
  using std::log;
  const T one = detail::number<T>(1);
  return s <= one ? one : detail::number<T>(c) * detail::number<T>(m) * log(s) + one;
}

/// g(s, m) / g(s, all).
template <class T>
T yarn_ratio(const T& s, double m, double all, double c = yarn_coefficient) {
  // Equal weights give exactly 1; the quotient of two intervals would not show it.
  return m == all ? detail::number<T>(1) : yarn_magnitude(s, m, c) / yarn_magnitude(s, all, c);
}

}  // namespace posenc::rescale
