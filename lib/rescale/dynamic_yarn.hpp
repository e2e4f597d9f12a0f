// dynamic-yarn: YaRN whose factor is the length in use over the trained one.
#pragma once
#include "length.hpp"
#include "yarn.hpp"

namespace posenc::rescale {

struct DynamicYarn {
  static constexpr std::string_view name = "dynamic-yarn";
  static constexpr std::string_view summary = "YaRN with factor L / original once the length L exceeds the trained one; amplitude likewise";
  static constexpr std::string_view source = "Peng et al. 2023, arXiv:2309.00071, section 3.3; jquesnelle/yarn, LlamaDynamicYaRNScaledRotaryEmbedding";

  Yarn yarn{};  ///< its factor is not looked at
  std::optional<std::int64_t> length{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    Yarn::fields(s.yarn, [&](const Field& field, auto& member) {
      if (field.name != "factor") v(field, member);
    });
    length_field(v, s.length);
  }
  void check(const RopeGeometry& g) const { yarn.check_but_factor(g, name); }
  [[nodiscard]] num::Real ratio(const RopeGeometry& g) const { return length_ratio(g, length, *yarn.original_max_position_embeddings); }

  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    const num::Real s = ratio(g);
    // The original keeps its plain table until the length is exceeded.
    if (s == num::Real::of(std::int64_t{1})) return plain_inv_freq(g, T::of(g.base), i);
    return yarn.inv_freq_at<T>(g, s, i);
  }
  [[nodiscard]] num::Real attention_factor(const RopeGeometry& g) const { return yarn.attention_factor_at(ratio(g)); }
};

}  // namespace posenc::rescale
