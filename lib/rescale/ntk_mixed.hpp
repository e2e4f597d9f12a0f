// ntk-mixed: Su's NTK-RoPE between position interpolation and ntk-fixed.
#pragma once
#include "ntk_fixed.hpp"

namespace posenc::rescale {

struct NtkMixed {
  static constexpr std::string_view name = "ntk-mixed";
  static constexpr std::string_view summary = "Su's NTK-RoPE-mixed: pair i divided by factor^((2(i+1)/d)^exponent), high frequencies less than low ones";
  static constexpr std::string_view source = "Su 2023, kexue.fm/archives/9706, eq. 10-13; bojone/rerope, ntk_patch.py";

  std::optional<double> factor{};
  double exponent = 0.625;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "factor", .metavar = "X", .help = "context ratio; divisor of the last frequency", .unit = "ratio", .range = positive,
            .source = "k in the post, 8; 12 in bojone/rerope"},
      s.factor);
    v(Field{.name = "exponent", .metavar = "X", .help = "how fast the divisor grows over the pairs: 0 is method linear, 1 is ntk-fixed",
            .range = at_least(0), .source = "b, 0.625 in the post, 0.75 in bojone/rerope"},
      s.exponent);
  }
  void check(const RopeGeometry&) const { need(factor.has_value(), name, "factor"); }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    using num::Real;
    const Real half = Real::of(g.frequency_denominator) / Real::of(std::int64_t{2});
    if constexpr (std::is_same_v<T, Real>) {
      if (exponent == 1) return ntk_fixed_inv_freq<T>(g, *factor, i);
      const T share = pow(Real::of(i + 1) / half, Real::of(exponent));
      return plain_inv_freq(g, T::of(g.base), i) / pow(Real::of(*factor), share);
    } else {
      // a (d/2)^b = ln k and the steps of ntk_patch.py.
      const T a = scalar<T>(log(Real::of(*factor)) / pow(half, Real::of(exponent)));
      return pow(T::of(g.base), -2 * i, g.frequency_denominator) * exp(-(a * pow(T::of(i + 1), T::of(exponent))));
    }
  }
};

}  // namespace posenc::rescale
