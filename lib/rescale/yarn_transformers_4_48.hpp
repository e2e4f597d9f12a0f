// yarn-transformers-4.48: YaRN as transformers 4.48 had it.
#pragma once
#include "yarn.hpp"

namespace posenc::rescale {

/// What differs from yarn: the ramp runs over max_position_embeddings (the config's original length was not looked at) and always
/// between whole pairs; the amplitude knows no mscale and falls below 1 with the factor.
struct YarnTransformers448 {
  static constexpr std::string_view name = "yarn-transformers-4.48";
  static constexpr std::string_view summary = "YaRN of transformers 4.48: the ramp over max_position_embeddings; amplitude 0.1 ln(factor) + 1 whatever factor";
  static constexpr std::string_view source = "huggingface/transformers v4.48, modeling_rope_utils.py, _compute_yarn_parameters";

  Yarn yarn{};  ///< its original length is max_position_embeddings

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    Yarn::fields(s.yarn, [&](const Field& field, auto& member) {
      Field own = field;
      if (field.name == "factor") own.range = at_least(0x1p-14);  // the amplitude is positive above e^-10 = 4.5e-5
      if (field.name == "factor" || field.name == "beta_fast" || field.name == "beta_slow") v(own, member);
    });
    v(Field{.name = "max_position_embeddings", .metavar = "N", .help = "length that the release took for the trained one", .unit = "positions",
            .range = between(1, 0x1p53), .source = "config.max_position_embeddings", .count = true},
      s.yarn.original_max_position_embeddings);
  }
  void check(const RopeGeometry& g) const {
    need(yarn.factor.has_value(), name, "factor");
    need(yarn.original_max_position_embeddings.has_value(), name, "max_position_embeddings");
    yarn.check_but_factor(g, name);
  }

  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t set) const {
    return yarn.inv_freq<T>(g, i, set);
  }
  [[nodiscard]] num::Real attention_factor(const RopeGeometry&) const {
    using num::Real;
    return Real::of(yarn.mscale_coefficient) * log(Real::of(*yarn.factor)) + Real::of(std::int64_t{1});
  }
};

}  // namespace posenc::rescale
