// The sinusoids that relative encodings borrow from the absolute ones: pair i has frequency base^(-2i / dim).
#pragma once
#include <type_traits>

#include "../numeric/decide.hpp"
#include "../numeric/scalar.hpp"

namespace posenc::detail {

/// base^(-2 pair / dim), radians per position; in imitated arithmetics the quotient 1 / base^(2 pair / dim).
template <class T>
T sinusoid_frequency(double base, std::int64_t pair, std::int64_t dim) {
  if constexpr (std::is_same_v<T, num::Real> || std::is_same_v<T, num::Bounded>)
    return pow(T::of(base), -2 * pair, dim);
  else
    return T::of(std::int64_t{1}) / pow(T::of(base), T::of(2 * pair) / T::of(dim));
}
/// The same as NEZHA's and others' code writes it, exp(2 pair * c), c = -log(base) / dim in binary64.
template <class T>
T sinusoid_frequency_exp(double base, std::int64_t pair, std::int64_t dim) {
  if constexpr (std::is_same_v<T, num::Real> || std::is_same_v<T, num::Bounded>) {
    return sinusoid_frequency<T>(base, pair, dim);
  } else {
    const double log_base = num::decide(DType::f64, [&] { return log(num::Real::of(base)); });
    return exp(T::of(2 * pair) * T::of(-(log_base / static_cast<double>(dim))));
  }
}

}  // namespace posenc::detail
