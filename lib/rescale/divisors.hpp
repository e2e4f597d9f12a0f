// divisors: one divisor per pair, given as a list.
#pragma once
#include <fmt/format.h>

#include "posenc/error.hpp"
#include "geometry.hpp"

namespace posenc::rescale {

struct Divisors {
  static constexpr std::string_view name = "divisors";
  static constexpr std::string_view summary = "explicit divisors of the frequencies, one per pair (what layout divisors stores)";
  static constexpr std::string_view source = "llama.cpp, rope_freqs.weight; Ding et al. 2024, arXiv:2402.13753";

  std::vector<double> divisors{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "divisors", .metavar = "LIST", .help = "what the plain frequencies are divided by, one per turning pair; 1 keeps one",
            .unit = "ratio", .range = positive, .source = "rope_freqs.weight in a GGUF file; one list of LongRoPE"},
      s.divisors);
  }
  void check(const RopeGeometry& g) const {
    need(!divisors.empty(), name, "divisors, a list with one entry per pair");
    if (static_cast<std::int64_t>(divisors.size()) != g.rotary_dim / 2)
      fail_usage(fmt::format("divisors has {} entries, rotary_dim {} has {} pairs", divisors.size(), g.rotary_dim, g.rotary_dim / 2));
  }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    return plain_inv_freq(g, T::of(g.base), i) / T::of(divisors[static_cast<std::size_t>(i)]);
  }
};

}  // namespace posenc::rescale
