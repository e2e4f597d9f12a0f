// read_config against published configs: tests/configs/MANIFEST.json says how each file must be read, bad/ what must be
// refused. Frequencies are compared elsewhere, through the rope encoding.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "context/configs.hpp"
#include "context/model_classes.hpp"
#include "posenc/architectures.hpp"
#include "posenc/config.hpp"
#include "posenc/config_edit.hpp"
#include "posenc/encoding.hpp"
#include "posenc/error.hpp"
#include "posenc/spec.hpp"
#include "posenc/text.hpp"

namespace {

using Json = nlohmann::ordered_json;
using posenc::ConfigReading;
using posenc::Reading;
using posenc::Setting;

using context_test::folder, context_test::slurp;

Json manifest() { return Json::parse(slurp(folder + "MANIFEST.json")); }

std::string setting(const Reading& reading, std::string_view field) {
  for (const Setting& s : reading.settings)
    if (s.field == field) return s.value;
  return "";
}
double number(const Reading& reading, std::string_view field, double fallback) {
  const std::string text = setting(reading, field);
  return text.empty() ? fallback : posenc::parse_real(text, field);
}
bool noted(const Reading& reading, std::string_view words) {
  return std::any_of(reading.notes.begin(), reading.notes.end(),
                     [&](const std::string& note) { return note.find(words) != std::string::npos; });
}
const Reading* find(const ConfigReading& config, std::string_view type) {
  for (const Reading& reading : config.readings)
    if (reading.layer_type == (type == "all" ? "" : type)) return &reading;
  return nullptr;
}

// "14,14" for [14,14], "true" for true, "512" for 512.
std::string text_of(const Json& value) {
  if (value.is_array()) {
    std::string list;
    for (const Json& item : value) list += (list.empty() ? "" : ",") + text_of(item);
    return list;
  }
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return posenc::print(value.get<bool>());
  if (value.is_number_integer()) return posenc::print(value.get<std::int64_t>());
  return posenc::print(value.get<double>());
}

// What the rules derive when the file gives no attention_factor: YaRN (Peng et al. 2023) and LongRoPE (Ding et al. 2024).
double attention_factor(const Reading& reading) {
  const double given = number(reading, "attention_factor", 0);
  if (given > 0) return given;
  const double factor = number(reading, "factor", 1);
  const auto g = [&](double m) { return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1.0; };
  if (setting(reading, "method") == "yarn") {
    const double m = number(reading, "mscale", 0), all = number(reading, "mscale_all_dim", 0);
    return m > 0 && all > 0 ? g(m) / g(all) : g(1);
  }
  if (setting(reading, "method") == "longrope")
    return factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(number(reading, "original_max_position_embeddings", 0)));
  return 1.0;
}

void compare_list(const Reading& reading, std::string_view key, const Json& want) {
  const std::vector<double> list = posenc::parse_reals(setting(reading, key), key);
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
        CHECK(posenc::parse_real(got, key) == item.get<double>());
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
    const Reading* reading = find(config, type);
    REQUIRE(reading != nullptr);
    const std::string encoding = want.at("encoding");
    CHECK(reading->encoding == (encoding_names.contains(encoding) ? encoding_names.at(encoding) : encoding));
    if (encoding == "rope")
      compare_rope(*reading, want);
    else if (encoding == "alibi")
      compare_alibi(*reading, want);
    else
      compare_facts(*reading, want);
    for (const auto* list : {&reading->settings, &reading->facts})
      for (const Setting& s : *list) {
        INFO(s.field);
        CHECK(!s.value.empty());
        CHECK(!s.origin.empty());
      }
    // Every setting is a parameter of the encoding, and together they are accepted.
    if (reading->encoding == "none") {
      CHECK(reading->settings.empty());
      continue;
    }
    const auto made = posenc::make_encoding(reading->encoding);
    std::vector<std::pair<std::string, std::string>> settings;
    for (const Setting& s : reading->settings) settings.emplace_back(s.field, s.value);
    posenc::apply(*made, settings);
    made->check();
  }
}

bool one_line(std::string_view sentence) {
  return sentence.find_first_of("\n\r") == std::string_view::npos && sentence.size() < 700 &&
         sentence.starts_with("config.json: ");
}

// Reads or throws a posenc::Error with one line about the file; anything else fails the test.
void read_or_refuse(const std::string& text) {
  try {
    const ConfigReading config = posenc::read_config(text, "config.json");
    for (const Reading& reading : config.readings) CHECK(!reading.encoding.empty());
    for (const std::string& warning : config.warnings) CHECK(warning.find('\n') == std::string::npos);
  } catch (const posenc::Error& error) {
    CAPTURE(error.what());
    CHECK(one_line(error.what()));
    CHECK(error.failure() == posenc::Failure::bad_input);
  }
}

// The same of all that writes configs or looks at their tensors.
void change_or_refuse(const std::string& text) {
  const auto attempt = [&](auto&& act) {
    try {
      act();
    } catch (const posenc::Error& error) {
      CAPTURE(error.what());
      CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos);
      CHECK((error.failure() == posenc::Failure::bad_input || error.failure() == posenc::Failure::usage));
    }
  };
  attempt([&] { (void)posenc::architectures_in(text, "config.json"); });
  for (const auto dialect : {posenc::ConfigDialect::v4, posenc::ConfigDialect::v5}) attempt([&] { (void)posenc::in_dialect(text, "config.json", dialect); });
  for (const char* method : {"yarn", "ntk"})
    attempt([&] { (void)posenc::rescaled_config(text, "config.json", {.method = method, .factor = 2, .settings = {{"original_max_position_embeddings", "16"}}, .replace = true}); });
}

std::string refusal(const std::string& text) {
  try {
    (void)posenc::read_config(text, "config.json");
  } catch (const posenc::Error& error) {
    CAPTURE(error.what());
    CHECK(one_line(error.what()));
    return error.what();
  }
  return "";
}
bool refused(const std::string& text, std::initializer_list<std::string_view> words) {
  const std::string sentence = refusal(text);
  INFO(sentence);
  bool all = !sentence.empty();
  for (std::string_view word : words) all = all && sentence.find(word) != std::string::npos;
  CHECK_MESSAGE(all, text, " -> ", sentence);
  return all;
}

std::string llama(const std::string& more) {
  return R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"max_position_embeddings":4096)" + more + "}";
}
std::string unknown(const std::string& more) {
  return R"({"model_type":"brand_new","hidden_size":4096,"num_attention_heads":32)" + more + "}";
}

}  // namespace

TEST_CASE("published configs are read as the manifest says") {
  int real = 0;
  for (const Json& entry : manifest()) {
    if (entry.at("kind") != "real") continue;
    ++real;
    const std::string file = entry.at("file");
    INFO(file);
    const ConfigReading config = posenc::read_config(slurp(folder + file), "config.json");
    CHECK(config.dialect == entry.at("dialect").get<std::string>());
    CHECK(config.warnings.empty());
    compare(config, entry.at("expect"));
  }
  CHECK(real >= 50);
}

TEST_CASE("awkward configs are read or refused as the manifest says") {
  int awkward = 0;
  for (const Json& entry : manifest()) {
    if (entry.at("kind") != "awkward") continue;
    ++awkward;
    const std::string file = entry.at("file");
    INFO(file);
    const std::string text = slurp(folder + file);
    const Json& expect = entry.at("expect");
    if (expect.contains("ok")) {
      const ConfigReading config = posenc::read_config(text, "config.json");
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
  const Json entries = Json::parse(slurp(folder + "bad/manifest.json")).at("entries");
  std::set<std::string> accepted;
  for (const Json& entry : entries)
    if (entry.at("expect") == "accept_with_warning") accepted.insert(entry.at("file").get<std::string>());
  CHECK(accepted.size() == 5);
  for (const char* name : {"bom", "conflicting_lengths", "deep", "dup_keys", "float_length", "huge_length", "infinity_elsewhere",
                           "latin1", "nan_value", "negative_length", "no_model_type", "rope_both_keys", "rope_type_and_rope_type",
                           "string_number", "yarn_no_original"}) {
    INFO(name);
    const std::string file = std::string(name) + "/config.json";
    const std::string text = slurp(folder + "bad/" + file);
    if (accepted.contains(file))
      CHECK(!posenc::read_config(text, "config.json").warnings.empty());
    else
      CHECK(!refusal(text).empty());
  }
}

TEST_CASE("any key of a published config may turn into rubbish") {
  constexpr int share = 5;  // of the rubbish that is also rewritten: a prime, so that every value and key has its turn
  int number = 0;
  const Json values = Json::parse(R"([null, "x", -1, 0, 1e300, [], {}, true, 1.5, 3, 9223372036854775807, [0], {"a":1}])");
  for (const Json& entry : manifest()) {
    const std::string file = entry.at("file");
    if (file.find("truncated") != std::string::npos || file.find("duplicate") != std::string::npos) continue;
    INFO(file);
    const Json config = Json::parse(slurp(folder + file));
    std::vector<Json::json_pointer> places;
    const Json flat = config.flatten();
    for (const auto& [place, leaf] : flat.items()) {
      // The leaf, and each object around it.
      for (Json::json_pointer at(place); !at.empty(); at.pop_back()) {
        const std::string name = at.back();
        if (!name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }) && name != "0")
          continue;  // one item of a list is enough
        if (std::find(places.begin(), places.end(), at) == places.end()) places.push_back(at);
      }
    }
    for (const Json::json_pointer& at : places)
      for (const Json& value : values) {
        INFO(at.to_string(), " = ", value.dump());
        Json changed = config;
        changed[at] = value;
        read_or_refuse(changed.dump());
        if (++number % share == 0) change_or_refuse(changed.dump());
        if (value.is_null()) {  // and without it
          Json& parent = changed[at.parent_pointer()];
          if (parent.is_object()) parent.erase(at.back()), read_or_refuse(changed.dump());
        }
      }
  }
}

TEST_CASE("a config that was cut short is refused") {
  for (const Json& entry : manifest()) {
    const std::string file = entry.at("file");
    INFO(file);
    std::string text = slurp(folder + file);
    text.erase(text.find_last_of("}") == std::string::npos ? text.size() : text.find_last_of("}"));
    constexpr std::size_t step = 97;
    for (std::size_t size = 0; size < text.size(); size += step) CHECK(!refusal(text.substr(0, size)).empty());
  }
}

TEST_CASE("size and depth are no danger") {
  constexpr int depth = 10000;
  std::string nest, end;
  for (int i = 0; i < depth; ++i) nest += R"({"a":)", end += "}";
  CHECK(!refusal(nest + "1" + end).empty());
  CHECK(!refusal(std::string(depth, '[') + std::string(depth, ']')).empty());
  const std::string five_megabytes(5 << 20, 'x');
  CHECK(!refusal(R"({"model_type":")" + five_megabytes + R"("})").empty());
  CHECK(!refusal(llama(R"(,"rope_scaling":{"rope_type":")" + five_megabytes + "\"}")).empty());
  CHECK(!refusal(llama(R"(,"rope_theta":")" + five_megabytes + "\"")).empty());
  CHECK(posenc::read_config(llama(R"(,"rope_scaling":{"rope_type":"linear","factor":2,")" + five_megabytes + "\":1}"),
                            "config.json")
            .warnings.size() == 1);
  CHECK(!refusal("").empty());
  CHECK(!refusal("[]").empty());
  CHECK(!refusal("NaN").empty());
  CHECK(!refusal("\xEF\xBB\xBF").empty());
  CHECK(!refusal(R"({"model_type":"gemma3_text","num_hidden_layers":4611686018427387904})").empty());
}

TEST_CASE("nothing is guessed: a base, a rule, a width") {
  refused(unknown(""), {"brand_new", "rope_theta", "rotary_emb_base"});
  refused(R"({"model_type":"brand_new","rope_theta":10000.0})", {"hidden_size"});
  refused(llama(R"(,"rope_theta":null)"), {"rope_theta"});
  refused(llama(R"(,"rope_scaling":{"factor":2.0})"), {"rope_scaling.factor", "rope_type"});
  refused(llama(R"(,"rope_scaling":{"rope_type":"ntk","factor":2.0})"), {"rope_scaling.rope_type", "ntk"});
  refused(llama(R"(,"rope_scaling":{"rope_type":"yarm","factor":2.0})"), {"yarm", "did you mean 'yarn'"});
  refused(
      llama(
          R"(,"rope_scaling":{"rope_type":"longrope","factor":2.0,"original_max_position_embeddings":2048,"short_factor":[1],"long_factor":[1]})"),
      {"rope_scaling.short_factor", "1 ", "64"});
  refused(R"({"model_type":"llama","hidden_size":4097,"num_attention_heads":32})",
          {"hidden_size 4097", "num_attention_heads 32"});
  const ConfigReading assumed = posenc::read_config(unknown(R"(,"rope_theta":500000)"), "config.json");
  CHECK(assumed.warnings.size() == 1);
  CHECK(setting(assumed.readings.front(), "base") == posenc::print(500000.0));
}

TEST_CASE("two places that disagree are an error naming both") {
  refused(llama(R"(,"rope_theta":10000.0,"rope_parameters":{"rope_type":"default","rope_theta":500000.0})"),
          {"rope_parameters.rope_theta", "500000", "rope_theta is 10000"});
  refused(llama(R"(,"rope_theta":10000.0,"rotary_emb_base":500000)"), {"rope_theta", "10000", "rotary_emb_base", "500000"});
  refused(R"({"model_type":"llava","rope_theta":1e6,"text_config":{"model_type":"llama","rope_theta":1e4}})",
          {"text_config.rope_theta", "rope_theta is 1"});
  refused(
      llama(
          R"(,"original_max_position_embeddings":1024,"rope_scaling":{"rope_type":"yarn","factor":2.0,"original_max_position_embeddings":2048})"),
      {"rope_scaling.original_max_position_embeddings is 2048", "original_max_position_embeddings is 1024"});
  refused(llama(R"(,"rotary_dim":64,"partial_rotary_factor":0.25)"), {"rotary_dim is 64", "partial_rotary_factor 0.25", "32"});
  refused(
      llama(
          R"(,"rope_scaling":{"rope_type":"linear","factor":2.0},"rope_parameters":{"rope_type":"linear","factor":4.0,"rope_theta":1e4})"),
      {"rope_parameters.factor", "rope_scaling.factor"});
  refused(R"({"model_type":"deepseek_v3","qk_rope_head_dim":64,"qk_nope_head_dim":128,"qk_head_dim":128})",
          {"qk_head_dim is 128", "192"});
  refused(R"({"model_type":"llama","text_config":{"model_type":"llama"},"llm_config":{"model_type":"llama"}})",
          {"text_config", "llm_config"});
  // Equal values in two places are one value.
  CHECK(posenc::read_config(
            llama(R"(,"rope_theta":500000,"rope_parameters":{"rope_type":"default","type":"default","rope_theta":500000.0})"),
            "config.json")
            .readings.size() == 1);
  // LongRoPE's class reads the outer trained length.
  const ConfigReading phi = posenc::read_config(
      R"({"model_type":"phi3","hidden_size":8,"num_attention_heads":2,"max_position_embeddings":64,"original_max_position_embeddings":16,
          "rope_scaling":{"type":"su","short_factor":[1,1],"long_factor":[2,2],"original_max_position_embeddings":32}})",
      "config.json");
  CHECK(setting(phi.readings.front(), "original_max_position_embeddings") == "16");
  CHECK(phi.warnings.size() == 1);
}

TEST_CASE("wrong kinds and sizes are named with key and value") {
  refused(llama(R"(,"rope_theta":"10000")"), {"rope_theta", "\"10000\""});
  refused(llama(R"(,"rope_theta":NaN)"), {"rope_theta", "NaN"});
  refused(llama(R"(,"rope_theta":-Infinity)"), {"rope_theta", "-Infinity"});
  refused(llama(R"(,"rope_theta":0)"), {"rope_theta is 0"});
  refused(llama(R"(,"rope_theta":1e300)"), {"rope_theta is 1e+300"});
  refused(llama(R"(,"head_dim":true)"), {"head_dim is true"});
  refused(llama(R"(,"head_dim":128.5)"), {"head_dim is 128.5"});
  refused(llama(R"(,"rope_scaling":{"rope_type":"linear","factor":"8"})"), {"rope_scaling.factor", "\"8\""});
  refused(llama(R"(,"rope_scaling":{"rope_type":"linear","factor":-8})"), {"rope_scaling.factor is -8"});
  refused(llama(R"(,"rope_scaling":5)"), {"rope_scaling is 5"});
  refused(llama(R"(,"rope_scaling":{"rope_type":4})"), {"rope_scaling.rope_type is 4"});
}

TEST_CASE("Phi-3's first files: yarn with two lists is longrope") {
  // Phi3Config of transformers turns "su" and "yarn" into longrope; the same file with the new word must be read alike.
  const std::string with_su = slurp(folder + "microsoft--Phi-3-mini-128k-instruct/config.json");
  const auto named = [&](const std::string& word, const std::string& model = "phi3") {
    Json json = Json::parse(with_su);
    json["model_type"] = model;
    json["rope_scaling"].erase("type"), json["rope_scaling"].erase("rope_type");
    json["rope_scaling"]["type"] = word;
    return json.dump();
  };
  const ConfigReading now = posenc::read_config(named("longrope"), "config.json"), old = posenc::read_config(named("yarn"), "config.json");
  REQUIRE(old.readings.size() == 1);
  CHECK(setting(old.readings[0], "method") == "longrope");
  REQUIRE(old.readings[0].settings.size() == now.readings[0].settings.size());
  for (const Setting& s : now.readings[0].settings) CHECK(setting(old.readings[0], s.field) == s.value);
  CHECK(old.readings[0].attention_factor == now.readings[0].attention_factor);
  CHECK(noted(old.readings[0], "rope_scaling.type is \"yarn\", which the class of phi3 reads as longrope"));
  CHECK(!noted(now.readings[0], "yarn"));
  // In the new dialect it has its own name; another class means YaRN by it.
  CHECK(Json::parse(posenc::in_dialect(named("yarn"), "config.json", posenc::ConfigDialect::v5)).at("rope_parameters").at("rope_type") == "longrope");
  CHECK_THROWS_AS((void)posenc::read_config(named("yarn", "phimoe"), "config.json"), posenc::Error);
  // Both words at once say the same.
  Json both = Json::parse(named("yarn"));
  both["rope_scaling"]["rope_type"] = "longrope";
  CHECK(setting(posenc::read_config(both.dump(), "config.json").readings.at(0), "method") == "longrope");
}

TEST_CASE("interleaved sections that reach beyond the last pair are refused with what they would give") {
  // Model code takes pairs 1, 4, .. below 3 * height, 2, 5, .. below 3 * width, of those that there are, and the time elsewhere.
  // Counted here pair by pair.
  const auto config = [](const std::string& section, int head_dim) {
    return fmt::format(R"({{"model_type":"qwen3_vl_text","hidden_size":4096,"num_attention_heads":32,"head_dim":{},"rope_theta":5e6,
                           "rope_scaling":{{"rope_type":"default","mrope_section":{}}}}})", head_dim, section);
  };
  const auto counted = [](std::array<int, 3> section, int pairs, const char* form) {
    std::array<int, 3> n{};
    for (int i = 0; i < pairs; ++i) ++n[static_cast<std::size_t>(i % 3 == 1 && i < 3 * section[1] ? 1 : i % 3 == 2 && i < 3 * section[2] ? 2 : 0)];
    return fmt::format(fmt::runtime(form), n[0], n[1], n[2]);
  };
  const char* would = "{} would follow time, {} height, {} width";
  refused(config("[16,24,24]", 128), {"mrope_section is [16, 24, 24]", counted({16, 24, 24}, 64, would)});
  refused(config("[3,4,5]", 24), {"mrope_section is [3, 4, 5]", counted({3, 4, 5}, 12, would)});
  refused(config("[24,20,24]", 128), {"mrope_section", "64 pairs"});
  for (const auto& [section, parts] : {std::pair("[24,20,20]", std::array{24, 20, 20}), std::pair("[22,21,21]", std::array{22, 21, 21})})
    CHECK(noted(posenc::read_config(config(section, 128), "config.json").readings.at(0),
                counted(parts, 64, "{} pairs follow time, {} height, {} width")));
}

TEST_CASE("the dialects of one thing read alike") {
  const auto method = [](const std::string& scaling) {
    return setting(posenc::read_config(llama(R"(,"rope_theta":1e4,"rope_scaling":)" + scaling), "config.json").readings.front(),
                   "method");
  };
  CHECK(method("null") == "default");
  CHECK(method("{}") == "default");
  CHECK(method(R"({"type":"default"})") == "default");
  CHECK(method(R"({"type":"linear","factor":8})") == "linear");
  CHECK(method(R"({"rope_type":"linear","type":"linear","factor":8.0})") == "linear");
  CHECK(method(R"({"type":"mrope","rope_type":"default","mrope_section":[16,24,24]})") == "default");
  CHECK(method(R"({"type":"dynamic","alpha":1000.0,"factor":1.0})") == "ntk");
  refused(llama(R"(,"rope_scaling":{"type":"mrope","mrope_section":[16,24,25]})"), {"mrope_section", "64"});
  refused(llama(R"(,"rope_scaling":{"type":"mrope","mrope_section":[16,48]})"), {"mrope_section", "three numbers"});
  refused(llama(R"(,"rope_scaling":{"type":"mrope","mrope_section":[]})"), {"mrope_section", "empty"});
  // One flat base may repeat the base of one layer type, and blocks per layer type may be null.
  const ConfigReading nested = posenc::read_config(
      llama(
          R"(,"rope_theta":1e6,"layer_types":["a","b"],"num_hidden_layers":2,"rope_parameters":{"a":null,"b":{"rope_type":"default","rope_theta":1e6}})"),
      "config.json");
  REQUIRE(nested.readings.size() == 2);
  CHECK(nested.readings[0].encoding == "none");
  CHECK(nested.readings[1].layers == std::vector<std::int64_t>{1});
  refused(llama(R"(,"layer_types":["a","../b"],"num_hidden_layers":2)"), {"layer_types", "../b"});
  refused(llama(R"(,"layer_types":["a","b"],"rope_parameters":{"a":{"rope_theta":1e6}})"), {"rope_parameters", "\"b\""});
}

TEST_CASE("YaRN reports its reach and its two magnitudes") {
  const ConfigReading qwen3 = posenc::read_config(
      R"({"model_type":"qwen3","hidden_size":4096,"num_attention_heads":32,"rope_theta":1000000,"max_position_embeddings":40960,
          "rope_scaling":{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768}})",
      "config.json");
  CHECK(qwen3.readings.front().context == 131072);
  REQUIRE(qwen3.warnings.size() == 1);  // 40960 is neither the trained length nor the reach
  CHECK(qwen3.warnings.front().find("40960") != std::string::npos);
  // DeepSeek-V2-Lite: table 1.0, softmax (0.1 * 0.707 * ln 40 + 1)^2.
  const ConfigReading lite = posenc::read_config(
      R"({"model_type":"deepseek_v2","qk_rope_head_dim":64,"qk_nope_head_dim":128,"rope_theta":10000,"max_position_embeddings":163840,
          "rope_scaling":{"type":"yarn","factor":40,"original_max_position_embeddings":4096,"mscale":0.707,"mscale_all_dim":0.707}})",
      "config.json");
  CHECK(attention_factor(lite.readings.front()) == 1.0);
  CHECK(std::abs(lite.readings.front().softmax_multiplier - 1.5896261651209) < 1e-13);  // the log's 14 digits
  const ConfigReading extra = posenc::read_config(
      llama(R"(,"rope_scaling":{"rope_type":"linear","factor":2.0,"finetuned":true,"beta_fast":32})"), "config.json");
  REQUIRE(extra.warnings.size() == 1);
  CHECK(extra.warnings.front().find("finetuned") != std::string::npos);
  CHECK(extra.warnings.front().find("beta_fast") != std::string::npos);
}

TEST_CASE("Gemma-3: the factor reaches the full layers only, and layers are named") {
  const ConfigReading gemma = posenc::read_config(
      R"({"model_type":"gemma3_text","num_hidden_layers":26,"rope_scaling":{"rope_type":"linear","factor":8.0}})", "config.json");
  const Reading* full = find(gemma, "full_attention");
  const Reading* local = find(gemma, "sliding_attention");
  REQUIRE((full != nullptr && local != nullptr));
  CHECK(full->layers == std::vector<std::int64_t>{5, 11, 17, 23});
  CHECK(local->layers.size() == 22);
  CHECK(setting(*full, "method") == "linear");
  CHECK(setting(*local, "method") == "default");
  CHECK(number(*local, "base", 0) == 10000);
  // The same model as transformers 5 writes it.
  const ConfigReading v5 = posenc::read_config(
      R"({"model_type":"gemma3_text","num_hidden_layers":26,"rope_parameters":{"full_attention":{"rope_type":"linear","factor":8.0,"rope_theta":1000000.0},
          "sliding_attention":{"rope_type":"default","rope_theta":10000.0}}})",
      "config.json");
  CHECK(v5.dialect == "nested");
  CHECK(setting(*find(v5, "full_attention"), "method") == "linear");
  CHECK(number(*find(v5, "sliding_attention"), "base", 0) == 10000);
}

TEST_CASE("an encoder and a decoder that are models of their own") {
  const std::string donut =
      R"({"model_type":"vision-encoder-decoder","encoder":{"model_type":"donut-swin","image_size":224,"patch_size":4,"window_size":7,"depths":[2,2],"num_heads":[4,8]},
          "decoder":{"model_type":"gpt2","n_positions":1024,"n_embd":768}})";
  const ConfigReading config = posenc::read_config(donut, "config.json");
  REQUIRE(config.readings.size() == 3);
  CHECK(config.readings[0].layer_type == "encoder_stage_0");
  CHECK(config.readings[1].encoding == "swin");
  CHECK(config.readings[2].layer_type == "decoder");
  CHECK(setting(config.readings[2], "length") == "1024");
  CHECK(config.readings[2].settings[0].origin == "decoder.n_positions");
  refused(R"({"model_type":"encoder-decoder","encoder":{},"decoder":{}})", {"encoder has no model_type"});
}

TEST_CASE("the list of model classes is well formed") {
  std::set<std::string> seen;
  for (const posenc::config::ModelClass& entry : posenc::config::model_classes()) {
    INFO(entry.model_type);
    CHECK(seen.insert(std::string(entry.model_type)).second);
    CHECK(Json::parse(entry.defaults).is_object());
    CHECK(entry.pattern.chosen.empty() == (entry.pattern.count == 0));
    // Every class reads or refuses a config that says nothing but its name.
    read_or_refuse(fmt::format(R"({{"model_type":"{}"}})", entry.model_type));
  }
}
