// Rotary embeddings with every rescaling rule at random parameters, and what tests ask of them.
#pragma once
#include <doctest/doctest.h>

#include <random>

#include "encodings/encoding_checks.hpp"
#include "encodings/rope.hpp"

namespace rescale_tests {

using namespace posenc;
using namespace posenc::rescale;
using Values = std::vector<double>;

inline constexpr DType float_dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16};

inline Values frequencies(Rope rope, DType dtype = DType::f64) {
  rope.layout = RopeLayout::inv_freq;
  rope.check();
  return testing_support::values_of(*erase(rope), dtype);
}
inline Rope with(Rope rope, Rule rule) {
  rope.rule = std::move(rule);
  return rope;
}

struct Random {
  std::mt19937_64 bits;
  double real(double low, double high) { return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53; }
  std::int64_t integer(std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1)); }
  double factor() { return integer(0, 1) == 0 ? static_cast<double>(integer(1, 32)) : real(1, 40); }
  Values list(std::int64_t n, double low, double high) {
    Values out;
    for (std::int64_t k = 0; k < n; ++k) out.push_back(real(low, high));
    return out;
  }
};

// Every rule for a context ratio s, more than once where it has choices.
inline std::vector<Rule> rules(const Rope& rope, Random& random, double s) {
  const std::int64_t original = random.integer(64, 8192), length = std::max<std::int64_t>(original, std::llround(static_cast<double>(original) * s));
  const std::int64_t pairs = rope.rotary() / 2;
  const double fast = random.real(16, 40), slow = random.real(0.5, 4);
  const Values list = s == 1 ? Values(static_cast<std::size_t>(pairs), 1.0) : random.list(pairs, 1, 40);
  Yarn yarn{.factor = s, .original_max_position_embeddings = original, .beta_fast = fast, .beta_slow = slow};
  Yarn smooth = yarn;
  smooth.truncate = false;
  std::vector<Rule> out{
      Plain{},
      Linear{.factor = s},
      Ntk{.factor = s},
      Dynamic{.factor = random.factor(), .max_position_embeddings = original, .length = length},
      Dynamic{.max_position_embeddings = original, .length = length, .variant = DynamicVariant::paper},
      Dynamic{.max_position_embeddings = original, .length = length, .variant = DynamicVariant::qwen},
      yarn,
      smooth,
      Llama3{.factor = s, .original_max_position_embeddings = original, .low_freq_factor = slow, .high_freq_factor = fast},
      LongRope{.short_factor = list, .long_factor = list, .original_max_position_embeddings = original, .factor = s},
      Proportional{.factor = s},
      Base{.new_base = s == 1 ? rope.base : random.real(2, 1e7)},
      Divisors{.divisors = list},
      DynamicLinear{.max_position_embeddings = original, .length = length},
      DynamicYarn{.yarn = yarn, .length = length},
      DynamicYarn{.yarn = smooth, .length = length},
      YarnTransformers448{.yarn = {.factor = s, .original_max_position_embeddings = original, .beta_fast = fast, .beta_slow = slow}},
      LongRopeTransformers448{.longrope = {.short_factor = list, .long_factor = list, .original_max_position_embeddings = original},
                              .max_position_embeddings = length},
      NtkOld{.factor = s},
      NtkFixed{.factor = s},
      NtkMixed{.factor = s, .exponent = random.real(0, 2)},
      NtkMixed{.factor = s},
      NtkByParts{.factor = s, .original_max_position_embeddings = original},
      NtkByParts{.factor = s, .original_max_position_embeddings = original, .beta_fast = fast, .beta_slow = slow},
      NtkByParts{.factor = s, .original_max_position_embeddings = original, .ramp = PartsRamp::index},
      NtkByParts{.factor = s, .original_max_position_embeddings = original, .ramp = PartsRamp::index, .beta_fast = fast, .beta_slow = slow,
                 .ntk_fast = random.real(1, 2), .ntk_slow = random.real(0.25, 1), .ntk_factor = random.real(0, 1),
                 .extrapolation_factor = random.real(0, 1)},
  };
  std::vector<bool> seen(std::variant_size_v<Rule>);
  for (const Rule& rule : out) seen[rule.index()] = true;
  CHECK_MESSAGE(std::ranges::count(seen, false) == 0, "a rule of list.inc is not tested here");
  return out;
}
inline std::string name_of_rule(const Rule& rule) {
  return std::visit([](const auto& r) { return std::string(r.name); }, rule);
}
// Rules that divide every frequency by at most s and at least 1, more the lower it is.
inline bool between_plain_and_linear(const Rule& rule) {
  const std::string name = name_of_rule(rule);
  return name != "base" && name != "divisors" && !name.starts_with("longrope") && name != "dynamic" && name != "ntk-old";
}

// A trained rotary embedding; half of them rotate a part of the head.
inline Rope random_rope(Random& random) {
  const double bases[] = {10000, 500000, 1e6, random.real(1.5, 1e6)};
  Rope rope{.head_dim = 2 * random.integer(2, 40), .base = bases[random.integer(0, 3)], .positions = Positions::range(0, 16)};
  if (random.integer(0, 1) == 1) rope.head_dim += 16, rope.rotary_dim = rope.head_dim - 16;
  return rope;
}
inline void prepare(Rope& rope, const Rule& rule) {
  rope.rule = rule;
  if (std::holds_alternative<Proportional>(rule)) {
    rope.frequency_denominator = rope.head_dim;
    rope.pair_stride = rope.rotary() / 2;  // by itself the rule counts pairs that do not turn
  }
}

/// inv_freq of a pair in scalar type T.
template <class T>
T element(const Rope& rope, std::int64_t i) {
  return std::visit([&](const auto& rule) { return rule.template inv_freq<T>(rope.geometry(), i, 0); }, rope.rule);
}

}  // namespace rescale_tests
