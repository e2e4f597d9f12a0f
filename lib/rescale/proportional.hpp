// proportional: partial rotation whose exponents run over the whole head.
#pragma once
#include "posenc/error.hpp"
#include "geometry.hpp"

namespace posenc::rescale {

struct Proportional {
  static constexpr std::string_view name = "proportional";
  static constexpr std::string_view summary = "p-RoPE: only the highest frequencies turn, exponents over the full head, partners half a head apart";
  static constexpr std::string_view source = "Barbero et al. 2024, arXiv:2410.06205; transformers, Gemma 4 full attention";

  double factor = 1;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "factor", .metavar = "X", .help = "context ratio; every frequency is divided by it", .unit = "ratio",
            .range = positive, .source = "rope_parameters.factor"},
      s.factor);
  }
  void check(const RopeGeometry& g) const {
    if (g.frequency_denominator != g.head_dim)
      fail_usage("method proportional counts exponents over the whole head: frequency_denominator must be head_dim " +
                 std::to_string(g.head_dim) + ", got " + std::to_string(g.frequency_denominator));
  }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    return plain_inv_freq(g, T::of(g.base), i) / T::of(factor);
  }
};

}  // namespace posenc::rescale
