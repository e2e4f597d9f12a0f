// ntk-fixed: Su's corrected NTK-RoPE, the factor spread evenly over all pairs.
#pragma once
#include "geometry.hpp"

namespace posenc::rescale {

/// base^(-2i/d) * factor^(-2(i+1)/d).
template <class T>
T ntk_fixed_inv_freq(const RopeGeometry& g, double factor, std::int64_t i) {
  const T one = T::of(std::int64_t{1}), base = T::of(g.base), k = T::of(factor);
  // One root of one product: with base 10000 and factor 10 pair 51 of 64 is 10^-4, though neither power is rational.
  if constexpr (std::is_same_v<T, num::Real>)
    return one / pow(pow(base, i, 1) * pow(k, i + 1, 1), 2, g.frequency_denominator);
  else
    return one / (power_of_base(g, base, i) * pow(k, 2 * (i + 1), g.frequency_denominator));
}

struct NtkFixed {
  static constexpr std::string_view name = "ntk-fixed";
  static constexpr std::string_view summary = "Su's NTK-RoPE-fixed: pair i divided by factor^(2(i+1)/d), the last by factor itself";
  static constexpr std::string_view source = "Su 2023, kexue.fm/archives/9706, eq. 6";

  std::optional<double> factor{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "factor", .metavar = "X", .help = "context ratio; divisor of the last frequency", .unit = "ratio", .range = positive,
            .source = "k in the post"},
      s.factor);
  }
  void check(const RopeGeometry&) const { need(factor.has_value(), name, "factor"); }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    return ntk_fixed_inv_freq<T>(g, *factor, i);
  }
};

}  // namespace posenc::rescale
