// longrope-transformers-4.48: LongRoPE as transformers 4.48 had it.
#pragma once
#include "longrope.hpp"

namespace posenc::rescale {

/// What differs from longrope: where the config states an original length at its top level, the amplitude's factor is
/// max / original, whatever factor says; where it does not (one within rope_scaling is not looked at), the original length is
/// max_position_embeddings, so that the long list holds above that only.
struct LongRopeTransformers448 {
  static constexpr std::string_view name = "longrope-transformers-4.48";
  static constexpr std::string_view summary = "LongRoPE of transformers 4.48: the amplitude's factor is max / original, whatever factor says";
  static constexpr std::string_view source = "huggingface/transformers v4.48, modeling_rope_utils.py, _compute_longrope_parameters";

  LongRope longrope{};  ///< its magnitude stays su
  std::optional<std::int64_t> max_position_embeddings{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "max_position_embeddings", .metavar = "N", .help = "length that the model is declared for", .unit = "positions",
            .range = between(1, 0x1p53), .source = "config.max_position_embeddings", .count = true},
      s.max_position_embeddings);
    LongRope::fields(s.longrope, [&](const Field& field, auto& member) {
      Field own = field;
      if (field.name == "magnitude") return;
      if (field.name == "factor") own.help = "context ratio, looked at only where original_max_position_embeddings is absent";
      if (field.name == "original_max_position_embeddings") own.help = "length above which the long list holds; absent: max_position_embeddings";
      v(own, member);
    });
  }
  void check(const RopeGeometry& g) const {
    longrope.check_lists(g, name);
    need(max_position_embeddings.has_value(), name, "max_position_embeddings");
    need(longrope.factor || longrope.original_max_position_embeddings, name, "original_max_position_embeddings, or factor where the config has none");
    longrope.check_amplitude(ratio(), original(), name);
  }
  [[nodiscard]] std::int64_t original() const { return longrope.original_max_position_embeddings.value_or(*max_position_embeddings); }
  [[nodiscard]] num::Real ratio() const {
    using num::Real;
    if (!longrope.original_max_position_embeddings) return Real::of(*longrope.factor);
    return Real::of(*max_position_embeddings) / Real::of(*longrope.original_max_position_embeddings);
  }
  [[nodiscard]] std::vector<std::string> sets(const RopeGeometry& g) const { return longrope.sets(g); }
  [[nodiscard]] std::string switch_text() const { return LongRope::switch_text_at(original()); }

  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t set) const {
    return longrope.inv_freq<T>(g, i, set);
  }
  [[nodiscard]] num::Real attention_factor(const RopeGeometry&) const { return longrope.attention_factor_at(ratio(), original()); }
};

}  // namespace posenc::rescale
