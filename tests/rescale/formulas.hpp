// The papers' formulas of the rescaling rules in binary floats of 400 bits; no line of lib/rescale is used but the parameters.
#pragma once
#include "encodings/oracle.hpp"
#include "encodings/rope.hpp"

namespace rescale_tests {

using namespace posenc::rescale;
using oracle::Big;

inline Big powered(const Big& x, const Big& y) { return exp(y * log(x)); }
inline Big clipped(const Big& x) { return x < 0 ? Big(0) : x > 1 ? Big(1) : x; }

// Pair i, in the papers' own letters.
struct Reference {
  Big b;           // base
  std::int64_t d;  // frequency denominator
  std::int64_t i;
  double largest;  // largest position + 1

  Big plain() const { return powered(b, -Big(2 * i) / d); }
  Big ntk(const Big& s) const { return powered(b * powered(s, Big(d) / (d - 2)), -Big(2 * i) / d); }
  Big stretch(std::optional<std::int64_t> length, std::int64_t trained) const {
    const Big l = length ? Big(*length) : Big(largest);
    return l > trained ? Big(l / trained) : Big(1);
  }
  Big index_of(const Big& turns, std::int64_t original) const { return d * log(Big(original) / (2 * oracle::pi() * turns)) / (2 * log(b)); }
  // 1 - ramp
  Big kept(std::int64_t original, double fast, double slow, bool rounded = true) const {
    Big low = index_of(fast, original), high = index_of(slow, original);
    if (rounded) low = floor(low), high = ceil(high);
    if (low < 0) low = 0;
    if (high > d - 1) high = d - 1;
    if (low == high) high += Big(0.001);
    return 1 - clipped((i - low) / (high - low));
  }
  Big yarn(const Yarn& r, const Big& s) const {
    const Big keep = kept(*r.original_max_position_embeddings, r.beta_fast, r.beta_slow, r.truncate);
    return plain() / s * (1 - keep) + plain() * keep;
  }

  Big operator()(const Plain&) const { return plain(); }
  Big operator()(const Linear& r) const { return plain() / *r.factor; }
  Big operator()(const Ntk& r) const { return ntk(*r.factor); }
  Big operator()(const Dynamic& r) const {
    const Big s = stretch(r.length, *r.max_position_embeddings);
    if (s == 1 || r.variant == DynamicVariant::paper) return ntk(s);
    if (r.variant == DynamicVariant::alpha) return ntk(r.factor * s - (Big(r.factor) - 1));
    Big power = 2;  // 2^(ceil(log2 s) + 1)
    while (power / 2 < s) power *= 2;
    return ntk(power - 1);
  }
  Big operator()(const Yarn& r) const { return yarn(r, *r.factor); }
  Big operator()(const DynamicYarn& r) const { return yarn(r.yarn, stretch(r.length, *r.yarn.original_max_position_embeddings)); }
  Big operator()(const DynamicLinear& r) const { return plain() / stretch(r.length, *r.max_position_embeddings); }
  Big operator()(const Llama3& r) const {
    const Big wavelength = 2 * oracle::pi() / plain(), original = *r.original_max_position_embeddings;
    if (wavelength > original / r.low_freq_factor) return plain() / *r.factor;
    if (wavelength < original / r.high_freq_factor) return plain();
    const Big t = (original / wavelength - r.low_freq_factor) / (Big(r.high_freq_factor) - r.low_freq_factor);
    return (1 - t) * plain() / *r.factor + t * plain();
  }
  Big operator()(const LongRope& r) const { return plain() / r.short_factor.at(static_cast<std::size_t>(i)); }
  Big operator()(const YarnTransformers448& r) const { return yarn(r.yarn, *r.yarn.factor); }
  Big operator()(const LongRopeTransformers448& r) const { return (*this)(r.longrope); }
  Big operator()(const Proportional& r) const { return plain() / r.factor; }
  Big operator()(const Base& r) const { return powered(*r.new_base, -Big(2 * i) / d); }
  Big operator()(const Divisors& r) const { return plain() / r.divisors.at(static_cast<std::size_t>(i)); }
  // Su's: beta = b^(2/d), lambda = k^(2/d), m = i + 1.
  Big beta() const { return powered(b, Big(2) / d); }
  Big lambda(const Big& k) const { return powered(k, Big(2) / d); }
  Big operator()(const NtkOld& r) const { return 1 / powered(beta() * lambda(*r.factor), i); }
  Big operator()(const NtkFixed& r) const { return 1 / (lambda(*r.factor) * powered(beta() * lambda(*r.factor), i)); }
  Big operator()(const NtkMixed& r) const {
    const Big a = log(Big(*r.factor)) / powered(Big(d) / 2, r.exponent);
    return 1 / (powered(beta(), i) * exp(a * powered(i + 1, r.exponent)));
  }
  Big operator()(const NtkByParts& r) const {
    const std::int64_t original = *r.original_max_position_embeddings;
    const Big s = *r.factor;
    if (r.ramp == PartsRamp::turns) {
      const Big turns = original * plain() / (2 * oracle::pi()), slow = r.beta_slow.value_or(1), fast = r.beta_fast.value_or(32);
      const Big gamma = clipped((turns - slow) / (fast - slow));
      return (1 - gamma) * plain() / s + gamma * plain();
    }
    const Big n = kept(original, r.ntk_fast.value_or(1.25), r.ntk_slow.value_or(0.75)) * r.ntk_factor.value_or(1);
    const Big p = kept(original, r.beta_fast.value_or(16), r.beta_slow.value_or(2)) * r.extrapolation_factor.value_or(1);
    return (plain() / s * (1 - n) + ntk(s) * n) * (1 - p) + plain() * p;
  }
};

inline Big formula(const posenc::Rope& rope, std::int64_t i) {
  const posenc::RopeGeometry g = rope.geometry();
  return std::visit(Reference{rope.base, g.frequency_denominator, i, g.length}, rope.rule);
}

}  // namespace rescale_tests
