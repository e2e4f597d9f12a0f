// yarn: interpolate low frequencies, keep high ones, ramp between; two magnitudes.
#pragma once
#include <type_traits>

#include "posenc/error.hpp"
#include "turns_ramp.hpp"
#include "yarn_magnitude.hpp"

namespace posenc {
namespace rescale {
enum class MscaleRule : std::uint8_t { automatic, paper, ratio, one };
}
template <>
struct EnumNames<rescale::MscaleRule> {
  static constexpr std::array<EnumName<rescale::MscaleRule>, 4> values{{
      {rescale::MscaleRule::automatic, "auto", "ratio when mscale and mscale_all_dim are both given and not 0, else paper: transformers"},
      {rescale::MscaleRule::paper, "paper", "0.1 ln(factor) + 1: the YaRN paper"},
      {rescale::MscaleRule::ratio, "ratio", "g(factor, mscale) / g(factor, mscale_all_dim): DeepSeek"},
      {rescale::MscaleRule::one, "one", "1: the amplitude is left alone"},
  }};
};

namespace rescale {

struct Yarn {
  static constexpr std::string_view name = "yarn";
  static constexpr std::string_view summary = "YaRN: low frequencies interpolated, high ones kept, a ramp between; amplitude 0.1 ln(factor) + 1";
  static constexpr std::string_view source = "Peng et al. 2023, arXiv:2309.00071, eq. 19-22; transformers compute_yarn_parameters";

  std::optional<double> factor{};
  std::optional<std::int64_t> original_max_position_embeddings{};
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;
  std::optional<double> mscale{}, mscale_all_dim{};
  double mscale_coefficient = yarn_coefficient;
  MscaleRule mscale_rule = MscaleRule::automatic;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "factor", .metavar = "X", .help = "context ratio", .unit = "ratio", .range = positive,
            .source = "rope_scaling.factor"},
      s.factor);
    v(Field{.name = "original_max_position_embeddings", .metavar = "N", .help = "length that the model was pretrained for",
            .unit = "positions", .range = between(1, 0x1p53), .source = "rope_scaling.original_max_position_embeddings", .count = true},
      s.original_max_position_embeddings);
    v(Field{.name = "beta_fast", .metavar = "X", .help = "pairs that turn more often than this over the original length are kept",
            .unit = "turns", .range = positive, .source = "arXiv:2309.00071, section 3.2 (beta)"},
      s.beta_fast);
    v(Field{.name = "beta_slow", .metavar = "X", .help = "pairs that turn less often than this are interpolated", .unit = "turns",
            .range = positive, .source = "arXiv:2309.00071, section 3.2 (alpha)"},
      s.beta_slow);
    v(Field{.name = "truncate", .metavar = "BOOL", .help = "round the ends of the ramp outward to whole pairs; gpt-oss says false",
            .source = "transformers; the YaRN repository always rounds"},
      s.truncate);
    v(Field{.name = "mscale", .metavar = "X", .help = "numerator of the amplitude's ratio; alone it is ignored, as in transformers",
            .range = at_least(0), .source = "DeepSeek-V2, V3"},
      s.mscale);
    v(Field{.name = "mscale_all_dim", .metavar = "X", .help = "denominator of the amplitude's ratio; its square also scales DeepSeek's softmax",
            .range = at_least(0), .source = "DeepSeek-V2, V3"},
      s.mscale_all_dim);
    v(Field{.name = "mscale_coefficient", .metavar = "X", .help = "c in g(s, m) = c m ln(s) + 1",
            .range = at_least(0), .source = "0.1 in the paper, 0.07 in the YaRN repository's Mistral file, 0.05 in ChunkLlama"},
      s.mscale_coefficient);
    v(Field{.name = "mscale_rule", .metavar = "NAME", .help = "which amplitude multiplies cos and sin"}, s.mscale_rule);
  }
  void check(const RopeGeometry& g) const {
    need(factor.has_value(), name, "factor");
    check_but_factor(g, name);
  }
  /// For a rule that finds the factor itself.
  void check_but_factor(const RopeGeometry& g, std::string_view method) const {
    need(original_max_position_embeddings.has_value(), method, "original_max_position_embeddings");
    if (beta_fast < beta_slow) fail_usage("beta_fast must not be below beta_slow");
    if (!(g.base > 1)) fail_usage("method " + std::string(method) + " needs a base above 1, got " + std::to_string(g.base));
    if (mscale_rule == MscaleRule::ratio && !(mscale && mscale_all_dim))
      fail_usage("mscale_rule ratio needs both mscale and mscale_all_dim");
  }

  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    return inv_freq_at<T>(g, num::Real::of(*factor), i);
  }
  [[nodiscard]] num::Real attention_factor(const RopeGeometry&) const { return attention_factor_at(num::Real::of(*factor)); }

  /// The same for factor s.
  template <class T>
  T inv_freq_at(const RopeGeometry& g, const num::Real& s, std::int64_t i) const {
    const T one = T::of(std::int64_t{1});
    const T power = power_of_base(g, T::of(g.base), i);
    // The weights of an untruncated ramp are not rational; they add up to 1 all the same.
    if constexpr (std::is_same_v<T, num::Real>)
      if (s == one) return one / power;
    const T keep = one - TurnsRamp(g, *original_max_position_embeddings, beta_fast, beta_slow, truncate).at<T>(i);
    return one / (scalar<T>(s) * power) * (one - keep) + one / power * keep;
  }
  [[nodiscard]] num::Real attention_factor_at(const num::Real& s) const {
    switch (mscale_rule) {
      case MscaleRule::one: return num::Real::of(std::int64_t{1});
      case MscaleRule::paper: return yarn_magnitude(s, 1, mscale_coefficient);
      case MscaleRule::ratio: return ratio(s);
      case MscaleRule::automatic: break;
    }
    return mscale.value_or(0) != 0 && mscale_all_dim.value_or(0) != 0 ? ratio(s) : yarn_magnitude(s, 1, mscale_coefficient);
  }

 private:
  [[nodiscard]] num::Real ratio(const num::Real& s) const { return yarn_ratio(s, *mscale, *mscale_all_dim, mscale_coefficient); }
};

}  // namespace rescale
}  // namespace posenc
