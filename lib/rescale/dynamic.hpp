// dynamic: NTK-aware scaling by the length in use.
#pragma once
#include "length.hpp"
#include "ntk.hpp"

namespace posenc {
namespace rescale {
enum class DynamicVariant : std::uint8_t { alpha, paper, qwen };
}
template <>
struct EnumNames<rescale::DynamicVariant> {
  static constexpr std::array<EnumName<rescale::DynamicVariant>, 3> values{{
      {rescale::DynamicVariant::alpha, "alpha", "ratio = factor*L/max - (factor-1): transformers, emozilla"},
      {rescale::DynamicVariant::paper, "paper", "ratio = L/max: the YaRN paper's form"},
      {rescale::DynamicVariant::qwen, "qwen", "ratio = 2^ceil(log2(L/max)+1) - 1: Qwen-7B's own code"},
  }};
};

namespace rescale {

struct Dynamic {
  static constexpr std::string_view name = "dynamic";
  static constexpr std::string_view summary = "dynamic NTK: the base grows with the length L once it exceeds the trained one";
  static constexpr std::string_view source = "emozilla 2023; transformers compute_dynamic_ntk_parameters; arXiv:2309.00071, section 3.3";

  double factor = 1;
  std::optional<std::int64_t> max_position_embeddings{};
  std::optional<std::int64_t> length{};
  DynamicVariant variant = DynamicVariant::alpha;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "factor", .metavar = "X", .help = "how fast the base grows with L", .unit = "ratio", .range = positive,
            .source = "rope_scaling.factor"},
      s.factor);
    v(Field{.name = "max_position_embeddings", .metavar = "N", .help = "length below which nothing changes", .unit = "positions",
            .range = between(1, 0x1p53), .source = "config.max_position_embeddings", .count = true},
      s.max_position_embeddings);
    length_field(v, s.length);
    v(Field{.name = "variant", .metavar = "NAME", .help = "how the ratio follows from L"}, s.variant);
  }
  void check(const RopeGeometry& g) const {
    need(max_position_embeddings.has_value(), name, "max_position_embeddings");
    need_wide_enough(g, name);
    if (ratio(g).sign() <= 0)
      fail_usage("method dynamic: factor*L/max - (factor-1) must be positive; with a factor below 1 it is not at this length");
  }
  [[nodiscard]] num::Real ratio(const RopeGeometry& g) const {
    using num::Real;
    const Real one = Real::of(std::int64_t{1});
    const Real excess = length_ratio(g, length, *max_position_embeddings);
    if (excess == one) return one;
    switch (variant) {
      case DynamicVariant::alpha: return Real::of(factor) * excess - (Real::of(factor) - one);
      case DynamicVariant::paper: return excess;
      case DynamicVariant::qwen: break;
    }
    return pow(Real::of(std::int64_t{2}), ceil(log2(excess) + one)) - one;
  }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    return stretched_inv_freq<T>(g, ratio(g), i);
  }
};

}  // namespace rescale
}  // namespace posenc
