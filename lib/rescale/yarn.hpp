// yarn: interpolate low frequencies, keep high ones, ramp between; two magnitudes.
#pragma once
#include <type_traits>

#include "posenc/error.hpp"
#include "geometry.hpp"

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
  double mscale_coefficient = 0.1;
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
    need(original_max_position_embeddings.has_value(), name, "original_max_position_embeddings");
    if (beta_fast < beta_slow) fail_usage("beta_fast must not be below beta_slow");
    if (!(g.base > 1)) fail_usage("method yarn needs a base above 1, got " + std::to_string(g.base));
    if (mscale_rule == MscaleRule::ratio && !(mscale && mscale_all_dim))
      fail_usage("mscale_rule ratio needs both mscale and mscale_all_dim");
  }

  /// Pair index at which a pair turns `turns` times over the original length: d ln(L0 / (2 pi turns)) / (2 ln base).
  [[nodiscard]] num::Real correction(const RopeGeometry& g, double turns) const {
    using num::Real;
    const Real two = Real::of(std::int64_t{2});
    return Real::of(g.frequency_denominator) *
           log(Real::of(*original_max_position_embeddings) / (two * Real::pi() * Real::of(turns))) / (two * log(Real::of(g.base)));
  }
  /// Ends of the ramp in pairs: floor and ceil when truncate, then kept within [0, d - 1]; equal ends are 0.001 apart.
  void ramp_ends(const RopeGeometry& g, num::Real& low, num::Real& high) const {
    using num::Real;
    low = correction(g, beta_fast);
    high = correction(g, beta_slow);
    if (truncate) {
      low = floor(low);
      high = ceil(high);
    }
    const Real zero, last = Real::of(g.frequency_denominator - 1);
    if (low < zero) low = zero;
    if (high > last) high = last;
    // Untruncated ends are equal only when the betas are: the same expression, but an interval cannot show it.
    const bool same = !truncate && beta_fast == beta_slow && !low.is_exact() && !high.is_exact();
    if (same || low == high) high = high + Real::of(0.001);
  }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    num::Real low, high;
    ramp_ends(g, low, high);
    const T one = T::of(std::int64_t{1}), zero = T::of(std::int64_t{0});
    T ramp = (T::of(i) - scalar<T>(low)) / scalar<T>(high - low);
    if (ramp < zero) ramp = zero;
    if (ramp > one) ramp = one;
    const T keep = one - ramp;
    const T power = power_of_base(g, T::of(g.base), i);
    return one / (T::of(*factor) * power) * (one - keep) + one / power * keep;
  }

  /// g(s, m) = c m ln(s) + 1 above s = 1, else 1.
  [[nodiscard]] num::Real magnitude(double m) const {
    using num::Real;
    const Real one = Real::of(std::int64_t{1});
    if (*factor <= 1) return one;
    return Real::of(mscale_coefficient) * Real::of(m) * log(Real::of(*factor)) + one;
  }
  [[nodiscard]] num::Real attention_factor(const RopeGeometry&) const {
    switch (mscale_rule) {
      case MscaleRule::one: return num::Real::of(std::int64_t{1});
      case MscaleRule::paper: return magnitude(1);
      case MscaleRule::ratio: return ratio();
      case MscaleRule::automatic: break;
    }
    return mscale.value_or(0) != 0 && mscale_all_dim.value_or(0) != 0 ? ratio() : magnitude(1);
  }

 private:
  [[nodiscard]] num::Real ratio() const {
    // Equal keys give exactly 1; the quotient of two intervals would not show it.
    return *mscale == *mscale_all_dim ? num::Real::of(std::int64_t{1}) : magnitude(*mscale) / magnitude(*mscale_all_dim);
  }
};

}  // namespace rescale
}  // namespace posenc
