// What a rescaling rule may look at, and the frequencies it starts from.
//
// A rule is a struct in lib/rescale/X.hpp, named in list.inc:
//   static constexpr std::string_view name, summary, source;
//   static void fields(self, visit)                      parameters (posenc/field.hpp)
//   void check(const RopeGeometry&) const                throws usage
//   template <class T> T inv_freq(const RopeGeometry&, std::int64_t i, std::size_t set) const   radians per position
// and, where it has something to say,
//   std::vector<std::string> sets(const RopeGeometry&) const   names of its frequency sets
//   std::string switch_text() const                            where a model changes from one set to the next
//   num::Real attention_factor(const RopeGeometry&) const      amplitude of cos and sin
// Formulas are written over the scalar type T (numeric/scalar.hpp): the real number, or binary32 step by step in the order
// of the model code. Scalars that model code keeps in Python doubles are computed in Real and enter through T::of(double).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../numeric/scalar.hpp"
#include "posenc/field.hpp"

namespace posenc {

struct RopeGeometry {
  std::int64_t head_dim, rotary_dim;   ///< lanes
  std::int64_t frequency_denominator;  ///< exponent of pair i is 2 i / this
  double base;                         ///< rope_theta
  double length;                       ///< positions in use: largest + 1
};

namespace rescale {

/// base^(2 i / denominator): the wavelength of pair i over 2 pi.
template <class T>
T power_of_base(const RopeGeometry& g, T base, std::int64_t i) {
  return pow(base, 2 * i, g.frequency_denominator);
}

/// theta_i = base^(-2 i / denominator): Su et al. 2021, arXiv:2104.09864, section 3.2.2.
template <class T>
T plain_inv_freq(const RopeGeometry& g, T base, std::int64_t i) {
  return T::of(std::int64_t{1}) / power_of_base(g, base, i);
}

/// A scalar that model code holds in a Python double: exact in Real, through binary64 elsewhere.
template <class T>
T scalar(const num::Real& value) {
  if constexpr (std::is_same_v<T, num::Real>) {
    return value;
  } else if constexpr (std::is_same_v<T, num::Bounded>) {
    const double v = value.to_double();
    if (value.is_exact() && value == num::Real::of(v)) return {v, 0};
    return {v, std::fabs(v) * 0x1p-52};
  } else {
    return T::of(value.to_double());
  }
}

/// Frequency sets of a rule: one without a name, unless the rule says otherwise.
template <class R>
std::vector<std::string> sets_of(const R& rule, const RopeGeometry& g) {
  if constexpr (requires { rule.sets(g); })
    return rule.sets(g);
  else
    return {""};
}
/// Where a model changes from one frequency set to the next.
template <class R>
std::string switch_text_of(const R& rule) {
  if constexpr (requires { rule.switch_text(); })
    return rule.switch_text();
  else
    return "";
}
/// Amplitude of cos and sin: 1, unless the rule says otherwise.
template <class R>
num::Real attention_factor_of(const R& rule, const RopeGeometry& g) {
  if constexpr (requires { rule.attention_factor(g); })
    return rule.attention_factor(g);
  else
    return num::Real::of(std::int64_t{1});
}

/// Throws usage: "method yarn needs factor".
void need(bool given, std::string_view method, std::string_view field);

}  // namespace rescale
}  // namespace posenc
