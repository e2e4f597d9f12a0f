// ntk-old: Su's first NTK-RoPE, the base times factor.
#pragma once
#include "geometry.hpp"

namespace posenc::rescale {

struct NtkOld {
  static constexpr std::string_view name = "ntk-old";
  static constexpr std::string_view summary = "Su's NTK-RoPE-old: base * factor; the last wavelength falls short of factor by factor^(2/d)";
  static constexpr std::string_view source = "Su 2023, kexue.fm/archives/9706, eq. 4";

  std::optional<double> factor{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "factor", .metavar = "X", .help = "context ratio; the base is multiplied by it", .unit = "ratio", .range = positive,
            .source = "k in the post"},
      s.factor);
  }
  void check(const RopeGeometry&) const { need(factor.has_value(), name, "factor"); }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    return plain_inv_freq(g, scalar<T>(num::Real::of(g.base) * num::Real::of(*factor)), i);
  }
};

}  // namespace posenc::rescale
