// read_config against published configs: tests/configs/MANIFEST.json says how each file must be read, bad/ what must be
// refused. Frequencies are compared elsewhere, through the rope encoding.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "context/config_checks.hpp"
#include "posenc/encoding.hpp"
#include "posenc/spec.hpp"

namespace posenc::test {
namespace {

using Json = nlohmann::ordered_json;

// "14,14" for [14,14], "true" for true, "512" for 512.
std::string text_of(const Json& value) {
  if (value.is_array()) {
    std::string list;
    for (const Json& item : value) list += (list.empty() ? "" : ",") + text_of(item);
    return list;
  }
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return print(value.get<bool>());
  if (value.is_number_integer()) return print(value.get<std::int64_t>());
  return print(value.get<double>());
}

void compare_list(const Reading& reading, std::string_view key, const Json& want) {
  const std::vector<double> list = parse_reals(setting(reading, key), key);
  REQUIRE(list.size() == want.at("count").get<std::size_t>());
  CHECK(list.front() == want.at("first").get<double>());
  CHECK(list.back() == want.at("last").get<double>());
}

// The logarithms of attention_factor may differ in the last digit between implementations of log and sqrt.
constexpr double last_digits = 4e-16;

void compare_rope(const Reading& reading, const Json& want) {
  for (const auto& [key, value] : want.items()) {
    INFO(key);
    if (key == "encoding" || key == "inv_freq_check" || key == "bands" || key == "correction_range")
      continue;  // by the rope encoding's test
    if (key == "head_dim" || key == "rotary_dim" || key == "frequency_denominator" || key == "pair_stride") {
      CHECK(setting(reading, key) == text_of(value));
    } else if (key == "base" || key == "mscale" || key == "mscale_all_dim" || key == "beta_fast" || key == "beta_slow" ||
               key == "low_freq_factor" || key == "high_freq_factor") {
      CHECK(number(reading, key, 0) == value.get<double>());
    } else if (key == "rule") {
      // "dynamic_qwen" in the manifest is method dynamic, variant qwen here.
      const std::string variant = setting(reading, "variant");
      const std::string rule = setting(reading, "method") + (variant.empty() ? "" : "_" + variant);
      CHECK(rule == (value == "none" ? "default" : value.get<std::string>()));
    } else if (key == "factor") {
      CHECK(number(reading, key, 1) == value.get<double>());
    } else if (key == "original_max_position_embeddings") {
      const bool by_length = setting(reading, "method").starts_with("dynamic");
      CHECK(setting(reading, by_length ? "max_position_embeddings" : key) == (value.is_null() ? "" : text_of(value)));
    } else if (key == "attention_factor") {
      CHECK(std::abs(attention_factor(reading) / value.get<double>() - 1) <= last_digits);
    } else if (key == "softmax_multiplier") {
      CHECK(std::abs(reading.softmax_multiplier / value.get<double>() - 1) <= last_digits);
      CHECK(reading.softmax_origin.empty() == (value == 1.0));
    } else if (key == "context") {
      CHECK(reading.context == value.get<std::int64_t>());
      CHECK(!reading.context_origin.empty());
    } else if (key == "truncate") {
      CHECK(setting(reading, key) == text_of(value));
    } else if (key == "short_factor" || key == "long_factor") {
      compare_list(reading, key, value);
    } else if (key == "qk_head_dim") {
      CHECK(reading.qk_head_dim == value.get<std::int64_t>());
    } else if (key == "rotary_offset") {
      CHECK(reading.rotary_offset == value.get<std::int64_t>());
    } else if (key == "mrope_section") {
      CHECK(reading.mrope_section == value.get<std::vector<std::int64_t>>());
    } else if (key == "mrope_layout") {
      CHECK(reading.mrope_layout == value.get<std::string>());
    } else if (key == "attention_temperature") {
      CHECK(noted(reading, "attention temperature: the query is multiplied by 1 + 0.1 * ln(1 + floor(position / 16384))"));
    } else if (key == "alpha") {
      CHECK(noted(reading, "alpha = max(2^ceil(log2(length/8192) + 1) - 1, 1)"));
    } else if (key == "logn") {
      CHECK(noted(reading, "log_8192(i) for i > 8192"));
    } else if (key == "rope_ratio") {
      CHECK(noted(reading, "rope_ratio " + text_of(value)));
    } else if (key == "switch") {
      CHECK(noted(reading, "short_factor holds for lengths up to 4096, long_factor above"));
    } else if (key == "n_positions") {
      CHECK(noted(reading, "n_positions " + text_of(value)));
    } else {
      FAIL_CHECK("the manifest expects a key that no comparison knows: ", key);
    }
  }
}

void compare_alibi(const Reading& reading, const Json& want) {
  for (const auto& [key, value] : want.items()) {
    INFO(key);
    if (key == "encoding" || key == "slope_first" || key == "slope_last" || key == "slope_count")
      continue;  // by the alibi encoding's test
    if (key == "heads")
      CHECK(setting(reading, "num_heads") == text_of(value));
    else if (key == "alibi_bias_max")
      CHECK(number(reading, key, 0) == value.get<double>());
    else if (key == "head_dim")
      CHECK(noted(reading, "head_dim " + text_of(value)));
    else if (key == "context")
      CHECK((value.is_null() ? !reading.context : reading.context == value.get<std::int64_t>()));
    else if (key == "arithmetic")
      CHECK(reading.arithmetic == (value == "float32" ? "" : value.get<std::string>()));
    else if (key == "form")
      CHECK(noted(reading, "key's index"));
    else if (key == "scaled_with_scores")
      CHECK(noted(reading, "before the scores are divided"));
    else
      FAIL_CHECK("the manifest expects a key that no comparison knows: ", key);
  }
}

// The manifest's words for what stands under posenc's own names.
const std::map<std::string, std::string> encoding_names{
    {"t5_bias", "t5"}, {"deberta_disentangled", "deberta"}, {"swin_bias", "swin"}, {"beit_bias", "beit"}};
// encoding, key -> settings or facts; a list has one number for each.
const std::map<std::pair<std::string, std::string>, std::vector<std::string>> field_names{
    {{"sinusoidal", "width"}, {"dim"}},
    {{"sinusoidal", "frequency_divisor"}, {"divisor"}},
    {{"sinusoidal", "rows"}, {"positions"}},
    {{"learned", "width"}, {"dim"}},
    {{"swin_bias", "window"}, {"window_height", "window_width"}},
    {{"beit_bias", "window"}, {"window_height", "window_width"}},
    {{"rope_2d", "grid"}, {"height", "width"}},
    {{"rope_2d", "axes"}, {"sharing"}}};
const std::map<std::string, std::string> value_names{{"[sin|cos]", "concatenated"}, {"width/2 - 1", "n-1"}};

std::string said(const Reading& reading, std::string_view field) {
  for (const Setting& s : reading.facts)
    if (s.field == field) return s.value;
  return setting(reading, field);
}

void compare_facts(const Reading& reading, const Json& want) {
  const std::string encoding = want.at("encoding");
  for (const auto& [key, value] : want.items()) {
    INFO(key);
    if (key == "encoding") continue;
    if (key == "context") {
      CHECK((value.is_null() ? !reading.context : reading.context == value.get<std::int64_t>()));
      continue;
    }
    if (key == "attention_temperature") {
      CHECK(noted(reading, "attention temperature: the query is multiplied by 1 + 0.1 * ln(1 + floor((position + 1) / 8192))"));
      continue;
    }
    const auto named = field_names.find({encoding, key});
    const std::vector<std::string> fields = named == field_names.end() ? std::vector<std::string>{key} : named->second;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      INFO(fields[i]);
      const Json item = fields.size() > 1 ? value.at(i) : value;
      const std::string got = said(reading, fields[i]);
      if (encoding == "sinusoidal" && key == "rows")
        CHECK(got == "0:" + text_of(item));
      else if (item.is_number()) {
        REQUIRE(!got.empty());
        CHECK(parse_real(got, key) == item.get<double>());
      } else {
        const std::string text = text_of(item);
        CHECK(got == (value_names.contains(text) ? value_names.at(text) : text));
      }
    }
  }
}

void compare(const ConfigReading& config, const Json& expect) {
  CHECK(config.readings.size() == expect.size());
  for (const auto& [type, want] : expect.items()) {
    INFO(type);
    const Reading& reading = reading_of(config, type == "all" ? "" : type);
    const std::string encoding = want.at("encoding");
    CHECK(reading.encoding == (encoding_names.contains(encoding) ? encoding_names.at(encoding) : encoding));
    if (encoding == "rope")
      compare_rope(reading, want);
    else if (encoding == "alibi")
      compare_alibi(reading, want);
    else
      compare_facts(reading, want);
    for (const auto* list : {&reading.settings, &reading.facts})
      for (const Setting& s : *list) {
        INFO(s.field);
        CHECK(!s.value.empty());
        CHECK(!s.origin.empty());
      }
    // Every setting is a parameter of the encoding, and together they are accepted.
    if (reading.encoding == "none") {
      CHECK(reading.settings.empty());
      continue;
    }
    const auto made = make_encoding(reading.encoding);
    std::vector<std::pair<std::string, std::string>> settings;
    for (const Setting& s : reading.settings) settings.emplace_back(s.field, s.value);
    apply(*made, settings);
    made->check();
  }
}

}  // namespace

TEST_CASE("published configs are read as the manifest says") {
  int real = 0;
  for (const Json& entry : config_manifest()) {
    if (entry.at("kind") != "real") continue;
    ++real;
    const std::string file = entry.at("file");
    INFO(file);
    const ConfigReading config = read_config(slurp(configs + file), "config.json");
    CHECK(config.dialect == entry.at("dialect").get<std::string>());
    CHECK(config.warnings.empty());
    compare(config, entry.at("expect"));
  }
  CHECK(real >= 50);
}

TEST_CASE("awkward configs are read or refused as the manifest says") {
  int awkward = 0;
  for (const Json& entry : config_manifest()) {
    if (entry.at("kind") != "awkward") continue;
    ++awkward;
    const std::string file = entry.at("file");
    INFO(file);
    const std::string text = slurp(configs + file);
    const Json& expect = entry.at("expect");
    if (expect.contains("ok")) {
      const ConfigReading config = read_config(text, "config.json");
      CHECK(config.dialect == entry.at("dialect").get<std::string>());
      compare(config, expect.at("ok"));
      continue;
    }
    const std::string sentence = refusal(text);
    CHECK(!sentence.empty());
    for (const Json& word : expect.at("must_name"))
      CHECK_MESSAGE(sentence.find(word.get<std::string>()) != std::string::npos, sentence);
  }
  CHECK(awkward >= 15);
}

TEST_CASE("bad configs are refused, or read with a warning where the manifest allows it") {
  const Json entries = Json::parse(slurp(configs + "bad/manifest.json")).at("entries");
  std::set<std::string> accepted;
  for (const Json& entry : entries)
    if (entry.at("expect") == "accept_with_warning") accepted.insert(entry.at("file").get<std::string>());
  CHECK(accepted.size() == 5);
  for (const char* name : {"bom", "conflicting_lengths", "deep", "dup_keys", "float_length", "huge_length", "infinity_elsewhere",
                           "latin1", "nan_value", "negative_length", "no_model_type", "rope_both_keys", "rope_type_and_rope_type",
                           "string_number", "yarn_no_original"}) {
    INFO(name);
    const std::string file = std::string(name) + "/config.json";
    const std::string text = slurp(configs + "bad/" + file);
    if (accepted.contains(file))
      CHECK(!read_config(text, "config.json").warnings.empty());
    else
      CHECK(!refusal(text).empty());
  }
}

}  // namespace posenc::test
