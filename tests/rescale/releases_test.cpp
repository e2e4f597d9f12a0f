// Rules of old releases and LongRoPE's amplitudes: what differs from today's rules, in numbers worked out by hand.
#include <doctest/doctest.h>

#include <cmath>

#include "posenc/error.hpp"
#include "rescale/formulas.hpp"
#include "rescale/samples.hpp"
#include "support/refusals.hpp"

using namespace rescale_tests;

namespace {

double amplitude(const Rope& rope) {
  rope.check();
  return facts(rope).attention_factor;
}
// Correctly rounded 0.1 ln(s) + 1 with binary64's 0.1, and sqrt(1 + ln(s) / ln(n)).
bool is_yarn(double stored, const Big& s) { return oracle::correctly_rounded(DType::f64, stored, Big(0.1) * log(s) + 1); }
bool is_su(double stored, const Big& s, std::int64_t n) { return oracle::correctly_rounded(DType::f64, stored, sqrt(1 + log(s) / log(Big(n)))); }

std::string refusal(const Rule& rule) { return posenc::test::refusal_of([&] { with({.head_dim = 4}, rule).check(); }); }

}  // namespace

TEST_CASE("rescale: yarn of transformers 4.48 takes its ramp from the declared length and its amplitude from factor alone") {
  const Rope trained{.head_dim = 128, .base = 1e6};
  const auto old_rule = [](double s, std::int64_t n) { return YarnTransformers448{.yarn = {.factor = s, .original_max_position_embeddings = n}}; };
  const auto new_rule = [](double s, std::int64_t n) { return Yarn{.factor = s, .original_max_position_embeddings = n}; };
  // Qwen's 4 over 32768 in a file that declares 131072: today's ramp is the trained length's, the old one four times as long.
  CHECK(frequencies(with(trained, old_rule(4, 131072))) == frequencies(with(trained, new_rule(4, 131072))));
  CHECK(frequencies(with(trained, old_rule(4, 131072))) != frequencies(with(trained, new_rule(4, 32768))));
  CHECK(is_yarn(amplitude(with(trained, old_rule(4, 131072))), 4));
  // Below 1 the amplitude goes on falling; today it stays at 1.
  CHECK(is_yarn(amplitude(with(trained, old_rule(0.5, 4096))), Big(0.5)));
  CHECK(amplitude(with(trained, old_rule(0.5, 4096))) < 1);
  CHECK(amplitude(with(trained, new_rule(0.5, 4096))) == 1);
  CHECK(amplitude(with(trained, old_rule(0x1p-14, 4096))) > 0);
  CHECK(refusal(old_rule(0x1p-15, 4096)).find("factor") != std::string::npos);
  CHECK(refusal(YarnTransformers448{}) == "method yarn-transformers-4.48 needs factor");
  CHECK(refusal(YarnTransformers448{.yarn = {.factor = 2}}) == "method yarn-transformers-4.48 needs max_position_embeddings");
  // What the release did not know is no parameter.
  auto encoding = erase(Rope{});
  encoding->set("method", "yarn-transformers-4.48");
  CHECK_THROWS_AS(apply(*encoding, {{"mscale", "1"}}), Error);
  CHECK_THROWS_AS(apply(*encoding, {{"truncate", "false"}}), Error);
  CHECK_THROWS_AS(apply(*encoding, {{"original_max_position_embeddings", "4096"}}), Error);
}

TEST_CASE("rescale: longrope of transformers 4.48 takes max / original for the factor, or the declared length for the original") {
  const Rope trained{.head_dim = 4};
  const LongRope lists{.short_factor = {1, 2}, .long_factor = {3, 5}};
  const auto rule = [&](std::int64_t most, std::optional<std::int64_t> original, std::optional<double> factor) {
    LongRopeTransformers448 out{.longrope = lists, .max_position_embeddings = most};
    out.longrope.original_max_position_embeddings = original;
    out.longrope.factor = factor;
    return out;
  };
  CHECK(is_su(amplitude(with(trained, rule(131072, 4096, {}))), 32, 4096));
  CHECK(amplitude(with(trained, rule(131072, 4096, 16.0))) == amplitude(with(trained, rule(131072, 4096, {}))));
  CHECK(is_su(amplitude(with(trained, rule(100000, 4096, 2.0))), Big(100000) / 4096, 4096));
  CHECK(is_su(amplitude(with(trained, rule(131072, {}, 32.0))), 32, 131072));
  CHECK(amplitude(with(trained, rule(4096, 4096, 8.0))) == 1);
  CHECK(amplitude(with(trained, rule(2048, 4096, {}))) == 1);
  CHECK(facts(with(trained, rule(131072, 4096, {}))).switch_text == "short up to 4096 positions, long above");
  CHECK(facts(with(trained, rule(131072, {}, 32.0))).switch_text == "short up to 131072 positions, long above");
  // The lists hold as they do today.
  LongRope today = lists;
  today.original_max_position_embeddings = 4096, today.factor = 32;
  Rope a = with(trained, rule(131072, 4096, {})), b = with(trained, today);
  a.layout = b.layout = RopeLayout::inv_freq;
  REQUIRE(a.tensors().size() == 2);
  for (std::size_t tensor = 0; tensor < 2; ++tensor)
    for (std::int64_t pair = 0; pair < 2; ++pair) {
      const std::int64_t index[] = {pair};
      CHECK(erase(a)->evaluator()->truth(tensor, index, DType::f64) == erase(b)->evaluator()->truth(tensor, index, DType::f64));
    }
  CHECK(refusal(LongRopeTransformers448{}).find("needs short_factor and long_factor") != std::string::npos);
  CHECK(refusal(LongRopeTransformers448{.longrope = lists}).find("needs max_position_embeddings") != std::string::npos);
  CHECK(refusal(rule(131072, {}, {})).find("needs original_max_position_embeddings, or factor") != std::string::npos);
  CHECK(refusal(rule(2, 1, {})).find("above 1") != std::string::npos);
}

TEST_CASE("rescale: longrope's amplitude is su's, yarn's or a number") {
  Random random{std::mt19937_64(49)};
  Rope rope{.head_dim = 4};
  for (int trial = 0; trial < 50; ++trial) {
    const double s = random.real(1, 100);
    const std::int64_t n = random.integer(2, 1 << 20);
    LongRope rule{.short_factor = {1, 2}, .long_factor = {3, 5}, .original_max_position_embeddings = n, .factor = s};
    CHECK(is_su(amplitude(with(rope, rule)), s, n));
    rule.magnitude = LongRopeMagnitude::yarn;
    CHECK(is_yarn(amplitude(with(rope, rule)), s));
    rope.attention_factor = s;
    CHECK(amplitude(with(rope, rule)) == s);
    rope.attention_factor.reset();
    rule.factor = 1 / s;
    CHECK(amplitude(with(rope, rule)) == 1);
    // yarn's does not divide by ln(original).
    rule.factor = 2, rule.original_max_position_embeddings = 1;
    CHECK(amplitude(with(rope, rule)) > 1);
    rule.magnitude = LongRopeMagnitude::su;
    CHECK(refusal(rule).find("above 1") != std::string::npos);
  }
}
