// posenc::rescaled from C++: what it takes from where, in the library's words. The command's tests hold its values.
#include <doctest/doctest.h>

#include "encodings/rope.hpp"
#include "encodings/sinusoidal.hpp"
#include "posenc/error.hpp"
#include "posenc/rescale.hpp"
#include "support/refusals.hpp"

namespace {

using namespace posenc;

std::string value(const Encoding& encoding, std::string_view field) {
  for (const FieldView& f : encoding.fields())
    if (f.name == field) return f.present ? f.value : "";
  return "no such field";
}

std::string refusal(const Encoding& encoding, const Rescaling& how) {
  return posenc::test::refusal_of([&] { return rescaled(encoding, how); });
}

}  // namespace

TEST_CASE("rescaled: factor, trained length and positions follow from the context") {
  const auto rope = erase(Rope{.head_dim = 8, .positions = Positions::range(0, 10)});
  const Rescaled made = rescaled(*rope, {.settings = {{"method", "yarn"}}, .context = 12288, .trained = 4096});
  CHECK(value(*made.encoding, "factor") == "3");
  CHECK(value(*made.encoding, "original_max_position_embeddings") == "4096");
  CHECK(value(*made.encoding, "positions") == "12288");
  CHECK(made.changes == "positions 12288 (was 10), method yarn, factor 3, original_max_position_embeddings 4096");
  CHECK(value(*rope, "method") == "default");  // the original is untouched

  // What is said comes before what a config says.
  const Rescaled said = rescaled(
      *rope, {.settings = {{"method", "yarn"}, {"original_max_position_embeddings", "2k"}, {"positions", "7"}}, .context = 12288, .trained = 4096});
  CHECK(value(*said.encoding, "factor") == "6");
  CHECK(value(*said.encoding, "positions") == "7");

  // Under a rule the config's length is the one after it, so that only the rule's own record counts.
  const Rescaling again{.settings = {{"method", "ntk"}}, .context = 24576, .trained = 12288, .replace = true};
  CHECK(value(*rescaled(*made.encoding, again).encoding, "factor") == "6");
  const Rescaled linear = rescaled(*rope, {.settings = {{"method", "linear"}, {"factor", "2"}}});
  CHECK(refusal(*linear.encoding, again) ==
        "the factor is context 24576 over the length that the model was trained for, which nothing here says; give original_max_position_embeddings "
        "or factor");
}

TEST_CASE("rescaled: refusals are sentences about parameters") {
  const auto rope = erase(Rope{.head_dim = 8});
  CHECK(refusal(*rope, {.settings = {{"method", "linear"}}}) == "method linear needs factor or context, the positions that it should reach");
  CHECK(refusal(*rope, {.settings = {{"method", "linear"}, {"factor", "0.25"}}}) ==
        "factor 0.25 would shorten the context, a factor above 1 lengthens: a frequency scale of 0.25 is factor 4; give force to take it all the same");
  CHECK(refusal(*rope, {.settings = {{"method", "linear"}, {"factor", "0.25"}}, .force = true}) == "");
  CHECK(refusal(*rope, {.settings = {{"method", "linear"}}, .context = 0}) == "context must be at least 1, got 0");
  const auto sinusoidal = erase(Sinusoidal{});
  CHECK(refusal(*sinusoidal, {.settings = {{"method", "yarn"}}}) ==
        "sinusoidal has no rules on frequencies, so method yarn means nothing to it; only context makes it longer");
  CHECK(takes_rules(*rope));
  CHECK_FALSE(takes_rules(*sinusoidal));
  CHECK(is_rule_parameter(*rope, "beta_fast"));
  CHECK(is_rule_parameter(*rope, "attention_factor"));
  CHECK_FALSE(is_rule_parameter(*rope, "base"));
  CHECK_FALSE(is_rule_parameter(*sinusoidal, "factor"));
}
