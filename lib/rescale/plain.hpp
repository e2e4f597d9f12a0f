// default: the frequencies as they are.
#pragma once
#include "geometry.hpp"

namespace posenc::rescale {

struct Plain {
  static constexpr std::string_view name = "default";
  static constexpr std::string_view summary = "the frequencies as trained: base^(-2i/d)";
  static constexpr std::string_view source = "Su et al. 2021, arXiv:2104.09864, eq. 15";
  template <class Self, class V>
  static void fields(Self&, V&&) {}
  void check(const RopeGeometry&) const {}
  template <class T>
  T inv_freq(const RopeGeometry& g, std::int64_t i, std::size_t) const {
    return plain_inv_freq(g, T::of(g.base), i);
  }
};

}  // namespace posenc::rescale
