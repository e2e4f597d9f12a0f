// longrope: one divisor per pair, one list for short and one for long prompts.
#pragma once
#include <fmt/format.h>

#include "posenc/error.hpp"
#include "geometry.hpp"
#include "yarn_magnitude.hpp"

namespace posenc {
namespace rescale {
enum class LongRopeMagnitude : std::uint8_t { su, yarn };
}
template <>
struct EnumNames<rescale::LongRopeMagnitude> {
  static constexpr std::array<EnumName<rescale::LongRopeMagnitude>, 2> values{{
      {rescale::LongRopeMagnitude::su, "su", "sqrt(1 + ln(factor)/ln(original)): Phi-3, transformers"},
      {rescale::LongRopeMagnitude::yarn, "yarn", "0.1 ln(factor) + 1: YaRN's"},
  }};
};

namespace rescale {

struct LongRope {
  static constexpr std::string_view name = "longrope";
  static constexpr std::string_view summary = "LongRoPE: a searched divisor per pair, two lists switched at the original length";
  static constexpr std::string_view source = "Ding et al. 2024, arXiv:2402.13753; transformers compute_longrope_parameters";

  std::vector<double> short_factor{}, long_factor{};
  std::optional<std::int64_t> original_max_position_embeddings{};
  std::optional<double> factor{};
  LongRopeMagnitude magnitude = LongRopeMagnitude::su;

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
    v(Field{.name = "factor", .metavar = "X", .help = "context ratio, for the amplitude", .unit = "ratio", .range = positive,
            .source = "max_position_embeddings / original_max_position_embeddings"},
      s.factor);
    v(Field{.name = "magnitude", .metavar = "NAME", .help = "which amplitude multiplies cos and sin; a number is attention_factor's",
            .source = "magnitude_scaling_policy in microsoft/LongRoPE"},
      s.magnitude);
  }
  void check(const RopeGeometry& g) const {
    check_lists(g, name);
    need(original_max_position_embeddings.has_value(), name, "original_max_position_embeddings");
    need(factor.has_value(), name, "factor");
    check_amplitude(num::Real::of(*factor), *original_max_position_embeddings, name);
  }
  /// For a rule that finds the rest itself.
  void check_lists(const RopeGeometry& g, std::string_view method) const {
    need(!short_factor.empty() && !long_factor.empty(), method, "short_factor and long_factor");
    for (const auto& [field, list] : {std::pair{"short_factor", &short_factor}, std::pair{"long_factor", &long_factor}})
      if (static_cast<std::int64_t>(list->size()) != g.rotary_dim / 2)
        fail_usage(fmt::format("{} has {} entries, rotary_dim {} has {} pairs", field, list->size(), g.rotary_dim, g.rotary_dim / 2));
  }
  void check_amplitude(const num::Real& s, std::int64_t original, std::string_view method) const {
    if (magnitude == LongRopeMagnitude::su && original < 2 && s > num::Real::of(std::int64_t{1}))
      fail_usage(fmt::format("method {} needs original_max_position_embeddings above 1: the amplitude divides by its logarithm", method));
  }
  [[nodiscard]] std::vector<std::string> sets(const RopeGeometry&) const { return {"short", "long"}; }
  [[nodiscard]] std::string switch_text() const { return switch_text_at(*original_max_position_embeddings); }
  [[nodiscard]] static std::string switch_text_at(std::int64_t original) {
    return fmt::format("short up to {} positions, long above", original);
  }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t set) const {
    const std::vector<double>& divisors = set == 0 ? short_factor : long_factor;
    return T::of(std::int64_t{1}) / (T::of(divisors[static_cast<std::size_t>(i)]) * power_of_base(g, T::of(g.base), i));
  }
  [[nodiscard]] num::Real attention_factor(const RopeGeometry&) const {
    return attention_factor_at(num::Real::of(*factor), *original_max_position_embeddings);
  }
  /// The same for factor s over `original` positions.
  [[nodiscard]] num::Real attention_factor_at(const num::Real& s, std::int64_t original) const {
    using num::Real;
    const Real one = Real::of(std::int64_t{1});
    if (s <= one) return one;
    return magnitude == LongRopeMagnitude::yarn ? yarn_magnitude(s) : sqrt(one + log(s) / log(Real::of(original)));
  }
};

}  // namespace rescale
}  // namespace posenc
