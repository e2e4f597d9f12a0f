// linear: position interpolation.
#pragma once
#include "geometry.hpp"

namespace posenc::rescale {

struct Linear {
  static constexpr std::string_view name = "linear";
  static constexpr std::string_view summary = "position interpolation: every frequency divided by factor";
  static constexpr std::string_view source = "Chen et al. 2023, arXiv:2306.15595, eq. 4; kaiokendev";

  std::optional<double> factor{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "factor", .metavar = "X", .help = "context ratio; every frequency is divided by it", .unit = "ratio",
            .range = positive, .source = "rope_scaling.factor"},
      s.factor);
  }
  void check(const RopeGeometry&) const { need(factor.has_value(), name, "factor"); }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    return plain_inv_freq(g, T::of(g.base), i) / T::of(*factor);
  }
};

}  // namespace posenc::rescale
