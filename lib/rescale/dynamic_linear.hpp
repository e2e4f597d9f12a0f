// dynamic-linear: position interpolation by the length in use.
#pragma once
#include "length.hpp"

namespace posenc::rescale {

struct DynamicLinear {
  static constexpr std::string_view name = "dynamic-linear";
  static constexpr std::string_view summary = "position interpolation whose factor is L / max once the length L exceeds the trained one";
  static constexpr std::string_view source = "jquesnelle/yarn, LlamaDynamicScaledRotaryEmbedding; Chen et al. 2023, arXiv:2306.15595, eq. 4";

  std::optional<std::int64_t> max_position_embeddings{};
  std::optional<std::int64_t> length{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "max_position_embeddings", .metavar = "N", .help = "length up to which nothing changes", .unit = "positions",
            .range = between(1, 0x1p53), .source = "config.max_position_embeddings", .count = true},
      s.max_position_embeddings);
    length_field(v, s.length);
  }
  void check(const RopeGeometry&) const { need(max_position_embeddings.has_value(), name, "max_position_embeddings"); }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    return plain_inv_freq(g, T::of(g.base), i) / scalar<T>(length_ratio(g, length, *max_position_embeddings));
  }
};

}  // namespace posenc::rescale
