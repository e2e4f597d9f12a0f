// posenc::rescaled from C++: what it takes from where, in the library's words. The command's tests hold its values.
#include <doctest/doctest.h>

#include <cmath>

#include "encodings/rope.hpp"
#include "encodings/sinusoidal.hpp"
#include "posenc/config_edit.hpp"
#include "posenc/error.hpp"
#include "posenc/rescale.hpp"
#include "posenc/text.hpp"
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

TEST_CASE("reaching: a range with another end") {
  const auto why = [](const std::string& positions, std::int64_t context, bool force) {
    return posenc::test::refusal_of([&] { return reaching(positions, context, force); });
  };
  CHECK(reaching("100", 200, false) == "200");
  CHECK(reaching("1:101", 200, false) == "1:200");
  CHECK(reaching("0:100:2", 200, false) == Positions::parse("0:200:2").text());
  CHECK(reaching("100", 100, false) == "100");
  CHECK(reaching("100", 20, true) == "20");
  CHECK(why("100", 99, false) == "context 99 is less than the length 100 of what is there and would shorten it; give force to take it all the same");
  CHECK(why("1,5,7", 200, true) == "listed positions 1,5,7 have no longer form that ends with context 200; give positions, those of the result");
  CHECK(why("5:100", 5, true) == "context 5 ends before the first position, 5; give positions");
}

TEST_CASE("a factor, a context and an amplitude are judged alike for a table and for a config") {
  using Settings = std::vector<std::pair<std::string, std::string>>;
  // Trained for 8192 both: what is said about the change must be the same, and so must whether it is taken.
  const auto rope = erase(Rope{.head_dim = 128, .base = 500000, .positions = Positions::range(0, 8192)});
  const std::string config = R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"max_position_embeddings":8192,"rope_theta":500000.0})";
  struct Case {
    std::string method;
    std::optional<double> factor;
    std::optional<std::int64_t> context;
    Settings settings;
    bool force, taken;
    std::string_view word;
  };
  for (const Case& c : std::vector<Case>{
           {"llama3", 8, 131072, {}, false, true, ""},  // Llama 3.1 ships 8, 8192 and 131072
           {"dynamic", 2, 32768, {}, false, true, ""},
           {"yarn", 8, 131072, {}, false, false, "factor 8 times the trained length 8192 is 65536, but context says 131072"},
           {"yarn", 8, 131072, {}, true, false, "give one of them"},  // no force makes two numbers one
           {"yarn", 16, 131072, {}, false, true, ""},
           {"linear", 0.5, {}, {}, false, false, "a frequency scale of 0.5 is factor 2; give force"},
           {"linear", 0.5, {}, {}, true, true, ""},
           {"linear", {}, 4096, {}, false, false, "context 4096 is less than the trained length 8192: factor 0.5"},
           {"linear", {}, 4096, {}, true, true, ""},
           {"llama3", 8, 4096, {}, false, false, "context 4096 is less"},
           {"yarn", 4, {}, {{"attention_factor", "4"}}, false, false, "attention_factor 4 multiplies cos and sin"},
           {"yarn", 4, {}, {{"attention_factor", "4"}}, true, true, ""},
           {"yarn", 4, {}, {{"attention_factor", "3"}}, false, true, ""},
       }) {
    INFO(c.method, " ", c.word);
    Rescaling how{.settings = c.settings, .context = c.context, .trained = 8192, .force = c.force};
    how.settings.emplace_back("method", c.method);
    if (c.factor) how.settings.emplace_back("factor", print(*c.factor));
    const std::string table = refusal(*rope, how);
    const std::string written = test::refusal_of(
        [&] { return rescaled_config(config, "c", {.method = c.method, .factor = c.factor, .context = c.context, .settings = c.settings, .force = c.force}); });
    CHECK(table.empty() == c.taken);
    CHECK(written.empty() == c.taken);
    CHECK_MESSAGE((c.taken || table.find(c.word) != std::string::npos), table);
    CHECK_MESSAGE((c.taken || written.find(c.word) != std::string::npos), written);
  }
  const Rescaled made = rescaled(*rope, {.settings = {{"method", "llama3"}, {"factor", "8"}}, .context = 131072, .trained = 8192});
  CHECK(value(*made.encoding, "factor") == "8");
  CHECK(value(*made.encoding, "positions") == "131072");
  CHECK(value(*made.encoding, "original_max_position_embeddings") == "8192");
}

TEST_CASE("with_method: what both rules have stays, the rest is told") {
  const auto yarn = rescaled(*erase(Rope{.head_dim = 8, .positions = Positions::range(0, 16)}),
                             {.settings = {{"method", "yarn"}, {"factor", "4"}, {"original_max_position_embeddings", "4096"}, {"beta_fast", "48"}, {"attention_factor", "1.2"}}})
                        .encoding;
  const Rescaled linear = with_method(*yarn, {{"method", "linear"}});
  CHECK(value(*linear.encoding, "factor") == "4");
  CHECK(value(*linear.encoding, "attention_factor").empty());
  CHECK(linear.changes == "method linear in the place of yarn; factor 4 stays; attention_factor 1.2, original_max_position_embeddings 4096, beta_fast 48 dropped with the rule that they belonged to");
  // The trained length has two names; what is said anew is neither kept nor dropped.
  const Rescaled dynamic = with_method(*yarn, {{"factor", "2"}, {"method", "dynamic"}, {"attention_factor", "1"}});
  CHECK(value(*dynamic.encoding, "max_position_embeddings") == "4096");
  CHECK(value(*dynamic.encoding, "factor") == "1");  // the caller's to set
  CHECK(dynamic.changes == "method dynamic in the place of yarn; original_max_position_embeddings 4096 stays; beta_fast 48 dropped with the rule that it belonged to");
  const Rescaled none = with_method(*yarn, {{"method", "default"}});
  CHECK(value(*none.encoding, "method") == "default");
  CHECK(none.changes.find("factor 4") != std::string::npos);
  // The same method, no method, and an amplitude that belongs to no rule.
  CHECK(value(*with_method(*yarn, {{"method", "yarn"}, {"factor", "8"}}).encoding, "beta_fast") == "48");
  CHECK(with_method(*yarn, {{"method", "yarn"}}).changes.empty());
  CHECK(value(*with_method(*yarn, {{"factor", "8"}}).encoding, "attention_factor") == "1.2");
  // DeepSeek's factor on the attention scale, (0.1 m ln s + 1)^2, follows the factor where it followed the old one, and only there.
  const auto scale = [](double s) { return (0.1 * std::log(s) + 1) * (0.1 * std::log(s) + 1); };
  const auto deep = [&](const std::string& softmax) {
    return rescaled(*erase(Rope{.head_dim = 8, .positions = Positions::range(0, 16)}),
                    {.settings = {{"method", "yarn"}, {"factor", "40"}, {"original_max_position_embeddings", "4096"}, {"mscale", "1"}, {"mscale_all_dim", "1"},
                                  {"softmax_multiplier", softmax}}})
        .encoding;
  };
  const Rescaled four = with_method(*deep(print(scale(40))), {{"factor", "4"}});
  CHECK(std::stod(value(*four.encoding, "softmax_multiplier")) == doctest::Approx(scale(4)).epsilon(1e-14));
  CHECK(four.changes.starts_with("softmax_multiplier 1.29"));
  CHECK(value(*with_method(*deep("1.5"), {{"factor", "4"}}).encoding, "softmax_multiplier") == "1.5");
  CHECK(with_method(*deep(print(scale(40))), {{"factor", "4"}, {"softmax_multiplier", "2"}}).changes.empty());
  CHECK(with_method(*deep(print(scale(40))), {{"factor", "40"}}).changes.empty());
  const auto loud = erase(Rope{.head_dim = 8, .attention_factor = 1.5});
  CHECK(value(*with_method(*loud, {{"method", "linear"}}).encoding, "attention_factor") == "1.5");
  CHECK(with_method(*loud, {{"method", "linear"}}).changes.empty());
}
