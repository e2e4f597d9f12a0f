// llama3: three bands by wavelength.
#pragma once
#include "posenc/error.hpp"
#include "geometry.hpp"

namespace posenc::rescale {

struct Llama3 {
  static constexpr std::string_view name = "llama3";
  static constexpr std::string_view summary = "Llama 3.1: short wavelengths kept, long ones divided by factor, blended between";
  static constexpr std::string_view source = "meta-llama/llama-models apply_scaling; transformers compute_llama3_parameters";

  std::optional<double> factor{};
  std::optional<std::int64_t> original_max_position_embeddings{};
  double low_freq_factor = 1, high_freq_factor = 4;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "factor", .metavar = "X", .help = "divisor of the long wavelengths' frequencies", .unit = "ratio",
            .range = positive, .source = "rope_scaling.factor: 8 in Llama 3.1, 32 in 3.2, 16 in Llama 4 Scout"},
      s.factor);
    v(Field{.name = "original_max_position_embeddings", .metavar = "N", .help = "length that the model was pretrained for",
            .unit = "positions", .range = between(1, 0x1p53), .source = "rope_scaling.original_max_position_embeddings", .count = true},
      s.original_max_position_embeddings);
    v(Field{.name = "low_freq_factor", .metavar = "X", .help = "wavelengths above original / this are divided by factor",
            .unit = "turns", .range = positive, .source = "rope_scaling.low_freq_factor"},
      s.low_freq_factor);
    v(Field{.name = "high_freq_factor", .metavar = "X", .help = "wavelengths below original / this are kept", .unit = "turns",
            .range = positive, .source = "rope_scaling.high_freq_factor"},
      s.high_freq_factor);
  }
  void check(const RopeGeometry&) const {
    need(factor.has_value(), name, "factor");
    need(original_max_position_embeddings.has_value(), name, "original_max_position_embeddings");
    if (high_freq_factor < low_freq_factor) fail_usage("high_freq_factor must not be below low_freq_factor");
  }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    const T f = plain_inv_freq(g, T::of(g.base), i);
    const T one = T::of(std::int64_t{1});
    const T wavelength = T::of(std::int64_t{2}) * T::pi() / f;
    const T original = T::of(*original_max_position_embeddings), low = T::of(low_freq_factor), high = T::of(high_freq_factor);
    // The weights of the blend are not rational; they add up to 1 all the same.
    if constexpr (std::is_same_v<T, num::Real>)
      if (*factor == 1) return f;
    if (wavelength > original / low) return f / T::of(*factor);
    if (wavelength < original / high) return f;
    // low == high leaves no band; a wavelength exactly on the edge cannot occur (2 pi times a radical is irrational).
    const T smooth = (original / wavelength - low) / (high - low);
    return (one - smooth) * f / T::of(*factor) + smooth * f;
  }
};

}  // namespace posenc::rescale
