// Configs of real models (tests/configs) all the way to numbers: reading -> spec -> frequencies, amplitude, slopes.
#include <map>

#include "encodings/model.hpp"
#include "encodings/rope.hpp"
#include "golden/golden.hpp"
#include "golden/rules.hpp"
#include "numeric/real.hpp"
#include "support/configs.hpp"

using namespace golden;
using posenc::test::config_manifest, posenc::test::configs;

namespace {

// The manifest's values are computed in binary64 by a power, a quotient and, in blends, a few more operations.
constexpr double tolerance = 1e-12;

posenc::Spec spec_with(const posenc::Table& table, const Settings& more) {
  auto encoding = table.encoding->clone();
  posenc::apply(*encoding, more);
  posenc::Spec spec;
  spec.tables.push_back({"", std::move(encoding)});
  spec.dtype = posenc::DType::f64;
  spec.check();
  return spec;
}

void near(double got, double want) {
  INFO("got ", posenc::print(got), " want ", posenc::print(want));
  CHECK(relative(tolerance).share(0, got, want) <= 1);
}

// Pairs of each class of method llama3: kept, blended, divided by factor.
void compare_bands(const Values& inv_freq, const Values& plain, double factor, const Json& want) {
  int high = 0, low = 0;
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    high += inv_freq[i] == plain[i];
    low += std::fabs(inv_freq[i] * factor / plain[i] - 1) < tolerance;
  }
  CHECK(high == want.at("high").get<int>());
  CHECK(low == want.at("low").get<int>());
  CHECK(static_cast<int>(inv_freq.size()) - high - low == want.at("medium").get<int>());
}

// Pairs before `low` are kept, pairs after `high` divided by factor, those between lie between.
void compare_ramp(const Values& inv_freq, const Values& plain, double factor, const Json& want) {
  const double low = want.at(0), high = want.at(1);
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    const double keep = 1 - std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    near(inv_freq[i], plain[i] * (keep + (1 - keep) / factor));
  }
}

const posenc::Rope& rope_of(const posenc::Spec& spec) {
  return dynamic_cast<const posenc::detail::Model<posenc::Rope>&>(*spec.tables[0].encoding).typed();
}
// Method dynamic at a multiple of the trained length.
Settings at_length(const posenc::Table& table, std::int64_t times) {
  const posenc::Spec spec = spec_with(table, {});
  const auto trained = std::get<posenc::rescale::Dynamic>(rope_of(spec).rule).max_position_embeddings.value();
  return {{"layout", "inv-freq"}, {"length", posenc::print(times * trained)}};
}

void compare_rope(const posenc::Table& table, const Json& want) {
  const Json& check = want.at("inv_freq_check");
  const Settings layout = check.contains("state") ? at_length(table, 1) : Settings{{"layout", "inv-freq"}};
  if (check.contains("state")) REQUIRE(check.at("state") == "length <= original");
  const posenc::Spec spec = spec_with(table, layout);
  const Values inv_freq = produced(spec);
  const auto count = check.at("count").get<std::size_t>();
  REQUIRE(inv_freq.size() == count + check.value("zeros_after", std::size_t{0}));
  near(inv_freq[count - 1], check.at("last"));
  for (std::size_t i = count; i < inv_freq.size(); ++i) CHECK(inv_freq[i] == 0);
  if (check.contains("middle")) near(inv_freq.at(check.at("middle_index")), check.at("middle"));
  if (check.contains("last_long")) near(produced(spec, 1).at(count - 1), check.at("last_long"));

  if (check.contains("last_at_twice_original"))
    near(produced(spec_with(table, at_length(table, 2))).at(count - 1), check.at("last_at_twice_original"));
  for (const auto& [key, value] : check.items())
    CHECK_MESSAGE((key == "count" || key == "last" || key == "middle" || key == "middle_index" || key == "zeros_after" || key == "last_long" ||
                   key == "last_at_twice_original" || key == "state"),
                  key);

  // As golden/rules.hpp's amplitude_rule: a logarithm, a product and a sum in binary64.
  CHECK(amplitude_rule().share(0, posenc::facts(rope_of(spec)).attention_factor, want.at("attention_factor")) <= 1);
  // The amplitude is what a table starts with.
  const Values first = produced(spec_with(table, {{"layout", "half-width"}, {"positions", "1"}}));
  CHECK(first.at(0) == posenc::facts(rope_of(spec)).attention_factor);

  if (want.contains("bands") || want.contains("correction_range")) {
    const Values plain = produced(spec_with(table, {layout[0], {"method", "default"}}));
    const double factor = want.at("factor");
    if (want.contains("bands")) compare_bands(inv_freq, plain, factor, want.at("bands"));
    if (want.contains("correction_range")) compare_ramp(inv_freq, plain, factor, want.at("correction_range"));
  }
}

void compare_alibi(const posenc::Table& table, const Json& want) {
  const Values slopes = produced(spec_with(table, {{"form", "slopes"}}));
  REQUIRE(slopes.size() == want.at("slope_count").get<std::size_t>());
  near(slopes.front(), want.at("slope_first"));
  near(slopes.back(), want.at("slope_last"));
}

}  // namespace

TEST_CASE("golden: configs give the frequencies, amplitudes and slopes of their models") {
  int ropes = 0, alibis = 0;
  for (const Json& entry : config_manifest()) {
    const Json& expect = entry.at("expect");
    if (entry.at("kind") == "awkward" && !expect.contains("ok")) continue;
    const Json& readings = entry.at("kind") == "awkward" ? expect.at("ok") : expect;
    const std::string file = entry.at("file");
    const auto config = posenc::read_config(slurp(configs + file), file);
    for (const auto& [type, want] : readings.items()) {
      const std::string encoding = want.at("encoding");
      if (encoding != "rope" && encoding != "alibi") continue;
      INFO(file, " ", type);
      const auto reading = std::ranges::find(config.readings, type == "all" ? "" : type, &posenc::Reading::layer_type);
      REQUIRE(reading != config.readings.end());
      REQUIRE(reading->encoding == encoding);
      try {
        const posenc::Table table = table_of(*reading, {});
        if (encoding == "rope") {
          compare_rope(table, want);
          ++ropes;
        } else {
          compare_alibi(table, want);
          ++alibis;
        }
      } catch (const posenc::Error& error) {
        FAIL_CHECK(std::string(error.what()));
      } catch (const posenc::num::Undecided&) {
        FAIL_CHECK("num::Undecided escapes from the library");
      }
    }
  }
  CHECK(ropes >= 50);
  CHECK(alibis >= 3);
}

// The reading of a config that a golden case is about.
const posenc::Reading& reading_for(const posenc::ConfigReading& config, const std::string& id) {
  const std::string type = id.ends_with("_full") ? "full_attention" : id.ends_with("_sliding") ? "sliding_attention" : "";
  for (const std::string& wanted : {type, std::string("full_attention")})
    for (const posenc::Reading& r : config.readings)
      if (r.layer_type == wanted && r.encoding == "rope") return r;
  FAIL("no rotary table for ", id);
  return config.readings.front();
}

TEST_CASE("golden: configs give the frequencies that transformers computed for their models") {
  std::map<std::string, Case> known;
  for (const Case& c : cases("hf")) known.emplace(c.id(), c);
  int compared = 0;
  double worst = 0;
  for (const Json& entry : config_manifest()) {
    if (!entry.contains("golden")) continue;
    const std::string file = entry.at("file");
    const auto config = posenc::read_config(slurp(configs + file), file);
    for (const Json& name : entry.at("golden")) {
      const std::string id = name;
      INFO(file, " ", id);
      const auto at = known.find(id);
      if (at == known.end() || !at->second.family().starts_with("rope_invfreq_")) continue;
      const Values want = at->second.values("inv_freq");
      const posenc::Reading& reading = reading_for(config, id);
      const posenc::Spec spec = spec_with(table_of(reading, {}), {{"layout", "inv-freq"}});
      const Values got = produced(spec, id.ends_with("_long") ? 1 : 0);
      REQUIRE(got.size() == want.size());
      if (entry.value("golden_difference", "").ends_with("a different table")) {  // GLM-4: base 10000, this file means 5e6
        CHECK(got != want);
        continue;
      }
      // rules.hpp's bound of a blend, and hf_rope.hpp's for a denominator that is no power of two and for LongRoPE's lists.
      const double error = rule_a_blend + (std::log(rope_of(spec).base) + 2) * half_ulp;
      for (std::size_t i = 0; i < want.size(); ++i) {
        const double share = relative(error).share(i, got[i], want[i]);
        worst = std::max(worst, share);
        CHECK_MESSAGE(share <= 1, i, ": ", posenc::print(got[i]), " want ", posenc::print(want[i]));
      }
      ++compared;
    }
  }
  CHECK(compared >= 12);
  MESSAGE(compared, " tables, at most ", worst, " of what is allowed");
}
