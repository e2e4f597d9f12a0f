// ntk: NTK-aware scaling, a larger base.
#pragma once
#include <cmath>

#include "posenc/error.hpp"
#include "geometry.hpp"

namespace posenc::rescale {

/// d/(d-2) is the exponent that stretches the last wavelength by exactly the ratio; it needs d > 2.
inline void need_wide_enough(const RopeGeometry& g, std::string_view method) {
  if (g.frequency_denominator <= 2)
    fail_usage(std::string("method ") + std::string(method) +
               " raises to the power d/(d-2) and needs a frequency denominator above 2, got " +
               std::to_string(g.frequency_denominator));
}

/// base * ratio^(d/(d-2)).
inline num::Real stretched_base(const RopeGeometry& g, const num::Real& ratio) {
  return num::Real::of(g.base) * pow(ratio, g.frequency_denominator, g.frequency_denominator - 2);
}

/// Pair i of that base: base^(-2i/d) * ratio^(-2i/(d-2)), the last exactly base^(-(d-2)/d) / ratio.
template <class T>
T stretched_inv_freq(const RopeGeometry& g, const num::Real& ratio, std::int64_t i) {
  // The degrees of the two roots have no common divisor: the product is rational only where both are.
  if constexpr (std::is_same_v<T, num::Real>)
    return plain_inv_freq(g, T::of(g.base), i) / pow(ratio, 2 * i, g.frequency_denominator - 2);
  else
    return plain_inv_freq(g, scalar<T>(stretched_base(g, ratio)), i);
}

struct Ntk {
  static constexpr std::string_view name = "ntk";
  static constexpr std::string_view summary = "NTK-aware: base * factor^(d/(d-2)); the last wavelength grows by exactly factor";
  static constexpr std::string_view source = "bloc97 2023; Peng et al. 2023, arXiv:2309.00071, eq. 16";

  std::optional<double> factor{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "factor", .metavar = "X", .help = "context ratio (exllama's and llama.cpp users' alpha)", .unit = "ratio",
            .range = positive, .source = "alpha in exllama and text-generation-webui"},
      s.factor);
  }
  void check(const RopeGeometry& g) const {
    need(factor.has_value(), name, "factor");
    need_wide_enough(g, name);
  }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    return stretched_inv_freq<T>(g, num::Real::of(*factor), i);
  }
};

}  // namespace posenc::rescale
