// Every rescaling rule against its formula written again in binary floats of 400 bits; exact results; refusals.
#include <doctest/doctest.h>

#include <map>

#include "numeric/decide.hpp"
#include "posenc/error.hpp"
#include "rescale/formulas.hpp"
#include "rescale/samples.hpp"
#include "support/refusals.hpp"

using namespace rescale_tests;

namespace {

std::string refusal(const Rope& rope) { return posenc::test::refusal_of([&] { rope.check(); }); }

}  // namespace

TEST_CASE("rescale: stored frequencies are the correctly rounded formula, whatever the parameters") {
  Random random{std::mt19937_64(42)};
  std::map<std::string, int> wrong, checked;
  for (int trial = 0; trial < 24; ++trial) {
    const Rope trained = random_rope(random);
    for (const Rule& rule : rules(trained, random, random.factor())) {
      Rope rope = trained;
      prepare(rope, rule);
      const DType dtype = float_dtypes[trial % 4];
      const Values stored = frequencies(rope, dtype);
      for (std::int64_t i = 0; i < rope.rotary() / 2; ++i) {
        ++checked[name_of_rule(rule)];
        if (!oracle::correctly_rounded(dtype, stored[static_cast<std::size_t>(i)], formula(rope, i))) ++wrong[name_of_rule(rule)];
      }
    }
  }
  CHECK(checked.size() == std::variant_size_v<Rule>);
  for (const auto& [name, count] : checked) {
    CHECK_MESSAGE(count > 300, name);
    CHECK_MESSAGE(wrong[name] == 0, name, ": ", wrong[name], " of ", count);
  }
}

TEST_CASE("rescale: the running bound of binary64 holds for every rule") {
  Random random{std::mt19937_64(43)};
  int held = 0, open = 0;
  for (int trial = 0; trial < 10; ++trial) {
    const Rope trained = random_rope(random);
    for (const Rule& rule : rules(trained, random, random.factor())) {
      Rope rope = trained;
      prepare(rope, rule);
      int wrong = 0;
      for (std::int64_t i = 0; i < rope.rotary() / 2; ++i)
        try {
          const num::Bounded f = element<num::Bounded>(rope, i);
          const bool holds = abs(Big(f.v) - formula(rope, i)) <= Big(f.e) && f.e <= 0x1p-40 * f.v;
          ++(holds ? held : wrong);
        } catch (const num::Undecided&) {  // a comparison that binary64 leaves open
          ++open;
        }
      CHECK_MESSAGE(wrong == 0, name_of_rule(rule));
    }
  }
  // Left open: the pair at the end of a ramp, whose quotient is 1 give or take its bound.
  CHECK(open < held / 50);
}

TEST_CASE("rescale: rational frequencies are known exactly") {
  const auto exactly = [](const Rope& rope, std::int64_t i, double numerator, double denominator) {
    num::at_precision(128, [&] {
      const num::Real f = element<num::Real>(rope, i);
      CHECK(f.is_exact());
      CHECK(f == num::Real::of(numerator) / num::Real::of(denominator));
      return 0;
    });
  };
  exactly({.head_dim = 6, .base = 8, .rule = Ntk{.factor = 2}}, 2, 1, 8);                // 8^(4/6) * 2
  exactly({.head_dim = 128, .rule = Ntk{.factor = 10}}, 0, 1, 1);
  exactly({.head_dim = 128, .rule = NtkFixed{.factor = 10}}, 51, 1, 10000);              // 10^((4 * 51 + 52) / 64)
  exactly({.head_dim = 4, .rule = NtkFixed{.factor = 3}}, 1, 1, 300);                    // 10000^(2/4) * 3
  exactly({.head_dim = 4, .rule = NtkOld{.factor = 4}}, 1, 1, 200);                      // 40000^(2/4)
  exactly({.head_dim = 18, .base = 512, .rule = NtkMixed{.factor = 8, .exponent = 0.5}}, 3, 1, 32);  // 512^(6/18) * 8^((4/9)^0.5)
  // Within the blend, whose weights are not rational, 2 pi being the wavelength.
  exactly({.head_dim = 8, .rule = Llama3{.factor = 1, .original_max_position_embeddings = 64, .high_freq_factor = 16}}, 0, 1, 1);
  exactly({.head_dim = 8, .rule = NtkByParts{.factor = 1, .original_max_position_embeddings = 64}}, 0, 1, 1);
}

TEST_CASE("rescale: refusals name what is missing or too much") {
  const Rope rope{.head_dim = 64};
  const auto message = [&](const Rule& rule) { return refusal(with(rope, rule)); };
  CHECK(message(Base{}) == "method base needs new_base");
  CHECK(message(Divisors{}).find("method divisors needs divisors") != std::string::npos);
  CHECK(message(Divisors{.divisors = {1, 2, 3}}) == "divisors has 3 entries, rotary_dim 64 has 32 pairs");
  CHECK(message(Divisors{.divisors = Values(32, 0.0)}).find("divisors") != std::string::npos);
  CHECK(message(DynamicLinear{}) == "method dynamic-linear needs max_position_embeddings");
  CHECK(message(DynamicYarn{}) == "method dynamic-yarn needs original_max_position_embeddings");
  CHECK(message(NtkOld{}) == "method ntk-old needs factor");
  CHECK(message(NtkFixed{}) == "method ntk-fixed needs factor");
  CHECK(message(NtkMixed{}) == "method ntk-mixed needs factor");
  CHECK(message(NtkMixed{.factor = 0}).find("factor") != std::string::npos);
  CHECK(message(NtkMixed{.factor = 2, .exponent = -1}).find("exponent") != std::string::npos);
  CHECK(message(NtkByParts{}) == "method ntk-by-parts needs factor");
  CHECK(message(NtkByParts{.factor = 2}) == "method ntk-by-parts needs original_max_position_embeddings");
  NtkByParts parts{.factor = 2, .original_max_position_embeddings = 2048, .beta_fast = 1, .beta_slow = 2};
  CHECK(message(parts).find("beta_fast") != std::string::npos);
  parts = {.factor = 2, .original_max_position_embeddings = 2048, .ntk_slow = 1};
  CHECK(message(parts).find("ntk_slow belongs to ramp index") != std::string::npos);
  parts.ramp = PartsRamp::index;
  CHECK(message(parts).empty());
  parts.ntk_slow = 2;
  CHECK(message(parts).find("ntk_fast must not be below ntk_slow") != std::string::npos);
  parts.ntk_slow.reset();
  CHECK(refusal({.head_dim = 2, .rule = parts}).find("above 2") != std::string::npos);
  CHECK(refusal({.head_dim = 64, .base = 1, .rule = parts}).find("base above 1") != std::string::npos);
  CHECK(refusal({.head_dim = 64, .base = 1, .rule = DynamicYarn{.yarn = {.original_max_position_embeddings = 64}}}).find("method dynamic-yarn needs a base above 1") !=
        std::string::npos);
}
