// base: another base, said outright.
#pragma once
#include "geometry.hpp"

namespace posenc::rescale {

struct Base {
  static constexpr std::string_view name = "base";
  static constexpr std::string_view summary = "another base: new_base^(-2i/d)";
  static constexpr std::string_view source = "Code Llama, arXiv:2308.12950; adjusted base frequency, arXiv:2309.16039; arXiv:2405.14591";

  std::optional<double> new_base{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "new_base", .metavar = "X", .help = "base in place of the trained one; equal to it, nothing changes", .range = positive,
            .source = "1e6 in Code Llama, 500000 in arXiv:2309.16039"},
      s.new_base);
  }
  void check(const RopeGeometry&) const { need(new_base.has_value(), name, "new_base"); }
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    return plain_inv_freq(g, T::of(*new_base), i);
  }
};

}  // namespace posenc::rescale
