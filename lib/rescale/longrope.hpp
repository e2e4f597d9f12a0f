// longrope: one divisor per pair, one list for short and one for long prompts.
#pragma once
#include <fmt/format.h>

#include "posenc/error.hpp"
#include "geometry.hpp"

namespace posenc::rescale {

struct LongRope {
  static constexpr std::string_view name = "longrope";
  static constexpr std::string_view summary = "LongRoPE: a searched divisor per pair, two lists switched at the original length";
  static constexpr std::string_view source = "Ding et al. 2024, arXiv:2402.13753; transformers compute_longrope_parameters";

  std::vector<double> short_factor{}, long_factor{};
  std::optional<std::int64_t> original_max_position_embeddings{};
  std::optional<double> factor{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "short_factor", .metavar = "LIST", .help = "divisors up to the original length, one per pair", .unit = "ratio",
            .range = positive, .source = "rope_scaling.short_factor"},
      s.short_factor);
    v(Field{.name = "long_factor", .metavar = "LIST", .help = "divisors above the original length, one per pair", .unit = "ratio",
            .range = positive, .source = "rope_scaling.long_factor"},
      s.long_factor);
    v(Field{.name = "original_max_position_embeddings", .metavar = "N", .help = "length above which the long list holds",
            .unit = "positions", .range = between(1, 0x1p53), .source = "config.original_max_position_embeddings", .count = true},
      s.original_max_position_embeddings);
    v(Field{.name = "factor", .metavar = "X", .help = "context ratio, for the amplitude sqrt(1 + ln(factor)/ln(original))",
            .unit = "ratio", .range = positive, .source = "max_position_embeddings / original_max_position_embeddings"},
      s.factor);
  }
  void check(const RopeGeometry& g) const {
    need(!short_factor.empty() && !long_factor.empty(), name, "short_factor and long_factor");
    need(original_max_position_embeddings.has_value(), name, "original_max_position_embeddings");
    need(factor.has_value(), name, "factor");
    for (const auto& [field, list] : {std::pair{"short_factor", &short_factor}, std::pair{"long_factor", &long_factor}})
      if (static_cast<std::int64_t>(list->size()) != g.rotary_dim / 2)
        fail_usage(fmt::format("{} has {} entries, rotary_dim {} has {} pairs", field, list->size(), g.rotary_dim, g.rotary_dim / 2));
    if (*factor > 1 && *original_max_position_embeddings < 2)
      fail_usage("method longrope needs original_max_position_embeddings above 1: the amplitude divides by its logarithm");
  }
  [[nodiscard]] std::vector<std::string> sets(const RopeGeometry&) const { return {"short", "long"}; }
  [[nodiscard]] std::string switch_text() const {
    return fmt::format("short up to {} positions, long above", *original_max_position_embeddings);
  }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t set) const {
    const std::vector<double>& divisors = set == 0 ? short_factor : long_factor;
    return T::of(std::int64_t{1}) / (T::of(divisors[static_cast<std::size_t>(i)]) * power_of_base(g, T::of(g.base), i));
  }
  [[nodiscard]] num::Real attention_factor(const RopeGeometry&) const {
    using num::Real;
    const Real one = Real::of(std::int64_t{1});
    if (*factor <= 1) return one;
    return sqrt(one + log(Real::of(*factor)) / log(Real::of(*original_max_position_embeddings)));
  }
};

}  // namespace posenc::rescale
