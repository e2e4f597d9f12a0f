// ntk-by-parts: high frequencies kept, low ones interpolated, blended between.
#pragma once
#include "posenc/error.hpp"
#include "ntk.hpp"
#include "turns_ramp.hpp"

namespace posenc {
namespace rescale {
enum class PartsRamp : std::uint8_t { turns, index };
}
template <>
struct EnumNames<rescale::PartsRamp> {
  static constexpr std::array<EnumName<rescale::PartsRamp>, 2> values{{
      {rescale::PartsRamp::turns, "turns", "linear in the turns over the original length, linear <-> plain: the YaRN paper"},
      {rescale::PartsRamp::index, "index", "linear in the pair index, linear <-> ntk <-> plain: the YaRN repository's LlamaPartNTKScaledRotaryEmbedding"},
  }};
};

namespace rescale {

struct NtkByParts {
  static constexpr std::string_view name = "ntk-by-parts";
  static constexpr std::string_view summary = "pairs that turn often kept, pairs that turn seldom divided by factor, a ramp between; no amplitude";
  static constexpr std::string_view source = "bloc97 2023; Peng et al. 2023, arXiv:2309.00071, section 3.2; jquesnelle/yarn";

  std::optional<double> factor{};
  std::optional<std::int64_t> original_max_position_embeddings{};
  PartsRamp ramp = PartsRamp::turns;
  std::optional<double> beta_fast{}, beta_slow{}, ntk_fast{}, ntk_slow{}, ntk_factor{}, extrapolation_factor{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "factor", .metavar = "X", .help = "context ratio", .unit = "ratio", .range = positive, .source = "scale in the repository"},
      s.factor);
    v(Field{.name = "original_max_position_embeddings", .metavar = "N", .help = "length that the model was pretrained for",
            .unit = "positions", .range = between(1, 0x1p53), .source = "max_position_embeddings in the repository", .count = true},
      s.original_max_position_embeddings);
    v(Field{.name = "ramp", .metavar = "NAME", .help = "along what the blend runs"}, s.ramp);
    v(Field{.name = "beta_fast", .metavar = "X",
            .help = "pairs that turn more often than this over the original length are kept; absent: 32, with ramp index 16", .unit = "turns",
            .range = positive, .source = "beta in arXiv:2309.00071, gamma_0 in the repository"},
      s.beta_fast);
    v(Field{.name = "beta_slow", .metavar = "X", .help = "pairs that turn less often keep nothing of plain; absent: 1, with ramp index 2",
            .unit = "turns", .range = positive, .source = "alpha in arXiv:2309.00071, gamma_1 in the repository"},
      s.beta_slow);
    v(Field{.name = "ntk_fast", .metavar = "X", .help = "ramp index: pairs that turn more often are ntk's; absent: 1.25", .unit = "turns",
            .range = positive, .source = "beta_0 in the repository"},
      s.ntk_fast);
    v(Field{.name = "ntk_slow", .metavar = "X", .help = "ramp index: pairs that turn less often are linear's; absent: 0.75", .unit = "turns",
            .range = positive, .source = "beta_1 in the repository"},
      s.ntk_slow);
    v(Field{.name = "ntk_factor", .metavar = "X", .help = "ramp index: weight of ntk against linear; absent: 1", .range = between(0, 1),
            .source = "the repository"},
      s.ntk_factor);
    v(Field{.name = "extrapolation_factor", .metavar = "X", .help = "ramp index: weight of the plain frequencies; absent: 1", .range = between(0, 1),
            .source = "the repository"},
      s.extrapolation_factor);
  }
  void check(const RopeGeometry& g) const {
    need(factor.has_value(), name, "factor");
    need(original_max_position_embeddings.has_value(), name, "original_max_position_embeddings");
    if (fast() < slow()) fail_usage("beta_fast must not be below beta_slow");
    if (ramp == PartsRamp::turns) {
      for (const auto& [field, member] : {std::pair{"ntk_fast", &ntk_fast}, std::pair{"ntk_slow", &ntk_slow}, std::pair{"ntk_factor", &ntk_factor},
                                          std::pair{"extrapolation_factor", &extrapolation_factor}})
        if (member->has_value()) fail_usage(std::string(field) + " belongs to ramp index of method ntk-by-parts; the ramp here is turns");
      return;
    }
    if (ntk_fast.value_or(1.25) < ntk_slow.value_or(0.75)) fail_usage("ntk_fast must not be below ntk_slow");
    if (!(g.base > 1)) fail_usage("method ntk-by-parts with ramp index needs a base above 1, got " + std::to_string(g.base));
    need_wide_enough(g, name);
  }
  [[nodiscard]] double fast() const { return beta_fast.value_or(ramp == PartsRamp::turns ? 32 : 16); }
  [[nodiscard]] double slow() const { return beta_slow.value_or(ramp == PartsRamp::turns ? 1 : 2); }

  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    return ramp == PartsRamp::turns ? by_turns<T>(g, i) : by_index<T>(g, i);
  }

 private:
  template <class T>
  T by_turns(const RopeGeometry& g, std::int64_t i) const {
    const T one = T::of(std::int64_t{1}), f = plain_inv_freq(g, T::of(g.base), i), s = T::of(*factor);
    if (*factor == 1) return f;  // whatever the weights
    const T turns = T::of(*original_max_position_embeddings) * f / (T::of(std::int64_t{2}) * T::pi());
    const T least = T::of(slow()), most = T::of(fast());
    if (turns <= least) return f / s;
    if (turns >= most) return f;
    const T keep = (turns - least) / (most - least);
    return (one - keep) * f / s + keep * f;
  }
  template <class T>
  T by_index(const RopeGeometry& g, std::int64_t i) const {
    const T one = T::of(std::int64_t{1}), power = power_of_base(g, T::of(g.base), i);
    const std::int64_t original = *original_max_position_embeddings;
    const TurnsRamp to_linear(g, original, ntk_fast.value_or(1.25), ntk_slow.value_or(0.75), true);
    const TurnsRamp to_scaled(g, original, fast(), slow(), true);
    const T ntk = (one - to_linear.at<T>(i)) * T::of(ntk_factor.value_or(1));
    const T scaled = one / (T::of(*factor) * power) * (one - ntk) + stretched_inv_freq<T>(g, num::Real::of(*factor), i) * ntk;
    const T plain = (one - to_scaled.at<T>(i)) * T::of(extrapolation_factor.value_or(1));
    return scaled * (one - plain) + one / power * plain;
  }
};

}  // namespace rescale
}  // namespace posenc
