// Section explain of analyze: FIELD_LOG's right values, and what the other programs would make of the settings it writes:
// transformers' JSON is read back by the config reader, llama.cpp's flags and keys by the few lines of its formula below.
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "analyze/sections.hpp"
#include "encodings/model.hpp"
#include "encodings/rope.hpp"
#include "posenc/config.hpp"
#include "support/configs.hpp"

using namespace posenc;
using namespace analyze_test;
using Json = nlohmann::ordered_json;

namespace posenc::analyze_sections {
std::optional<Section> explain(const Question&);
std::optional<Section> precision(const Question&);
}

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

Section explained(const Encoding& encoding, std::optional<std::int64_t> context = {}, const Reading* reading = nullptr) {
  const auto section = analyze_sections::explain({encoding, reading, {}, context, DType::f32, true});
  REQUIRE(section.has_value());
  check_shape(*section);
  return *section;
}
const Cell& word(const Section& s, std::string_view quantity, std::string_view program) { return cell(grid(s, "words"), quantity, program); }
double value(const Section& s, std::string_view quantity) { return number(word(s, quantity, "value")); }
std::string text(const Cell& c) { return std::get<std::string>(c); }
const Cell& setting(const Section& s, std::string_view program) { return cell(grid(s, "settings"), program, "text"); }

const Rope& rope_of(const Encoding& e) { return dynamic_cast<const detail::Model<Rope>&>(e).typed(); }

std::vector<double> inv_freq(const Encoding& encoding, std::int64_t length) {
  const auto copy = encoding.clone();
  apply(*copy, {{"positions", std::to_string(length)}, {"layout", "inv-freq"}});
  const auto evaluator = copy->evaluator();
  const auto tensors = copy->tensors();
  const std::int64_t pairs = tensors.back().axes[0].size;
  std::vector<double> out;
  for (std::int64_t i = 0; i < pairs; ++i) out.push_back(evaluator->truth(tensors.size() - 1, std::array{i}, DType::f64));
  return out;
}

// What llama.cpp makes of words: frequencies, and the net multiplier of cos and sin.
struct LlamaCpp {
  std::vector<double> inv_freq;
  double multiplier;
};
LlamaCpp llama_cpp(const std::string& type, double base, double factor, double original, double fast, double slow, double attn_factor, int d) {
  LlamaCpp out;
  const double s = type == "none" ? 1 : factor;
  const auto corr = [&](double beta) { return d * std::log(original / (beta * 2 * M_PI)) / (2 * std::log(base)); };
  const double low = std::max(0.0, std::floor(corr(fast))), high = std::min(d - 1.0, std::ceil(corr(slow)));
  for (int i = 0; i < d / 2; ++i) {
    const double f = std::pow(base, -2.0 * i / d);
    const double keep = type == "yarn" ? 1 - std::clamp((i - low) / std::max(0.001, high - low), 0.0, 1.0) : 0;
    out.inv_freq.push_back(f / s * (1 - keep) + f * keep);
  }
  out.multiplier = attn_factor * (type == "yarn" ? 0.1 * std::log(factor) + 1 : 1);
  return out;
}
LlamaCpp from_flags(const std::string& flags, int d) {
  std::map<std::string, std::string> given;
  std::istringstream words(flags);
  double attn = 1;
  for (std::string flag, argument; words >> flag >> argument;) {
    const std::string key = "A.rope.scaling.attn_factor=float:";
    if (flag == "--override-kv") {
      REQUIRE(argument.starts_with(key));
      attn = std::stod(argument.substr(key.size()));
    } else {
      REQUIRE_FALSE(given.contains(flag));
      given[flag] = argument;
    }
  }
  const auto real = [&](const char* flag, double fallback) { return given.contains(flag) ? std::stod(given[flag]) : fallback; };
  return llama_cpp(given.at("--rope-scaling"), std::stod(given.at("--rope-freq-base")), real("--rope-scale", 1), real("--yarn-orig-ctx", 1),
                   real("--yarn-beta-fast", 32), real("--yarn-beta-slow", 1), attn, d);
}
LlamaCpp from_keys(const std::string& keys, int d) {
  std::map<std::string, std::string> given;
  std::istringstream parts(keys);
  for (std::string part; std::getline(parts, part, ';');) {
    std::string key, equals, argument;
    if (std::istringstream(part) >> key >> equals >> argument && equals == "=") given[key] = argument;
  }
  const auto real = [&](const std::string& key, double fallback) { return given.contains(key) ? std::stod(given[key]) : fallback; };
  const std::string a = "A.rope.scaling.";
  return llama_cpp(given.at(a + "type"), real("A.rope.freq_base", 0), real(a + "factor", 1), real(a + "original_context_length", 1),
                   real(a + "yarn_beta_fast", 32), real(a + "yarn_beta_slow", 1), real(a + "attn_factor", 1), d);
}

void near(const std::vector<double>& got, const std::vector<double>& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(want[i]).epsilon(tolerance));
}

}  // namespace

TEST_CASE("B30: factor, frequency scale, alpha, base are one set of numbers") {
  const auto linear = made("rope", {{"method", "linear"}, {"factor", "8"}});
  CHECK(value(explained(*linear), "freq_scale") == 0.125);
  CHECK(text(word(explained(*linear), "factor", "llama_cpp")) == "--rope-scale 8");
  CHECK(text(word(explained(*linear), "freq_scale", "llama_cpp")) == "or --rope-freq-scale 0.125");
  // Angle of pair 0 at 32767 under factor 8.
  CHECK(32767 * value(explained(*linear), "freq_scale") == 4095.875);

  const struct {
    const char *d, *alpha;
    double base;
  } known[] = {{"128", "2", 20221.2616897}, {"128", "4", 40889.9424325}, {"128", "8", 82684.6226406},
               {"64", "4", 41829.3659289},  {"80", "4", 41447.412846},   {"256", "4", 40439.0198916}};
  for (const auto& k : known) {
    const Section s = explained(*made("rope", {{"head_dim", k.d}, {"method", "ntk"}, {"factor", k.alpha}}));
    CHECK(value(s, "alpha") == std::stod(k.alpha));
    CHECK(value(s, "effective_base") == doctest::Approx(k.base).epsilon(1e-11));
    CHECK(empty(word(s, "base", "llama_cpp")));
    CHECK(empty(word(s, "factor", "llama_cpp")));
    CHECK_FALSE(empty(word(s, "effective_base", "llama_cpp")));
  }
  const auto other_base = made("rope", {{"method", "base"}, {"new_base", "35000"}});
  CHECK(value(explained(*other_base), "alpha") == doctest::Approx(3.43215569788).epsilon(1e-11));
  // alpha multiplied in as it is: 4 times the base is not alpha 4.
  const auto times4 = made("rope", {{"method", "base"}, {"new_base", "40000"}});
  CHECK(has_finding(explained(*times4), "if 4 is meant as NTK's alpha the base is 40889.9424325"));
  CHECK(has_finding(explained(*made("rope", {{"method", "ntk-old"}, {"factor", "4"}})), "the base is 40889.9424325"));
  CHECK_FALSE(has_finding(explained(*other_base), "NTK's alpha"));
  CHECK(has_finding(explained(*made("rope", {{"base", "500000"}, {"method", "ntk"}, {"factor", "4"}})), "base 500000, not to 10000: check that the base was trained with"));
  // The inverse direction.
  const auto inverse = made("rope", {{"method", "linear"}, {"factor", "0.125"}});
  CHECK(has_finding(explained(*inverse), "write 8 if the context is to grow"));
  CHECK_FALSE(has_finding(explained(*linear), "below 1"));
  // The factor typed into the amplitude.
  const auto loud = made("rope", {{"method", "yarn"}, {"factor", "40"}, {"original_max_position_embeddings", "4096"}, {"attention_factor", "40"}});
  CHECK(explained(*loud).findings.front() ==
        "attention_factor is 40, the factor itself: it multiplies every logit by 1600; for factor 40 YaRN's is 1.36888794541, or 1 where mscale "
        "equals mscale_all_dim");
  const auto soft = made("rope", {{"method", "yarn"}, {"factor", "40"}, {"original_max_position_embeddings", "4096"}});
  CHECK_FALSE(has_finding(explained(*soft), "the factor itself"));
  const auto two = made("rope", {{"method", "yarn"}, {"factor", "2"}, {"original_max_position_embeddings", "4096"}, {"attention_factor", "2"}});
  CHECK(has_finding(explained(*two), "attention_factor is 2, the factor itself"));
}

TEST_CASE("B04: two magnitudes, and the readings of mscale and mscale_all_dim") {
  const auto yarn = [](const char* factor, const char* m, const char* softmax) {
    Settings s{{"head_dim", "64"}, {"method", "yarn"}, {"factor", factor}, {"original_max_position_embeddings", "4096"}, {"mscale", m}, {"mscale_all_dim", m}};
    if (*softmax != 0) s.emplace_back("softmax_multiplier", softmax);
    return made("rope", s);
  };
  const auto row = [](const Section& s, std::size_t i) { return grid(s, "mscale_readings").rows.at(i); };
  // Ministral-3: 16, equal weights that change nothing.
  const Section ministral = explained(*yarn("16", "1", ""));
  CHECK(number(row(ministral, 0)[1]) == doctest::Approx(1.27725887222398).epsilon(1e-14));
  CHECK(number(row(ministral, 0)[3]) == doctest::Approx(1.63139022667487).epsilon(1e-14));
  CHECK(number(row(ministral, 1)[1]) == 1);
  CHECK(std::get<bool>(row(ministral, 1)[4]));
  CHECK(has_finding(ministral, "are read in three ways"));
  CHECK(value(ministral, "attention_factor") == 1);
  // llama.cpp and vLLM multiply their own 1.277 by what they are given.
  CHECK(text(word(ministral, "attention_factor", "gguf")).starts_with("A.rope.scaling.attn_factor = 0.78292664216047"));  // 1 / 1.27725887222398
  CHECK(text(word(ministral, "attention_factor", "vllm")).starts_with("rope_parameters.attn_factor: 0.78292664216047"));
  CHECK(empty(word(ministral, "attention_factor", "transformers_v5")));
  // DeepSeek-V3 and V2-Lite: amplitude 1 and a factor on the softmax.
  const Section v3 = explained(*yarn("40", "1", "1.8738542070926"));
  CHECK(number(row(v3, 2)[1]) == 1);
  CHECK(number(row(v3, 2)[2]) == doctest::Approx(1.8738542070926).epsilon(1e-13));
  CHECK(std::get<bool>(row(v3, 2)[4]));
  CHECK(value(v3, "softmax_multiplier") == 1.8738542070926);
  CHECK(text(word(v3, "mscale_all_dim", "gguf")) == "A.rope.scaling.yarn_log_multiplier = 0.1 (float32)");
  CHECK(empty(word(v3, "attention_factor", "gguf")));
  const Section lite = explained(*yarn("40", "0.707", ""));
  CHECK(number(row(lite, 2)[2]) == doctest::Approx(1.5896261651209).epsilon(1e-13));
  CHECK(number(row(lite, 1)[1]) == 1);
  // No weights, nothing to read.
  const auto plain = made("rope", {{"method", "yarn"}, {"factor", "4"}, {"original_max_position_embeddings", "4096"}});
  for (const Grid& g : explained(*plain).grids) CHECK(g.key != "mscale_readings");
  CHECK(value(explained(*plain), "attention_factor") == doctest::Approx(1.13862943611199).epsilon(1e-14));
}

TEST_CASE("B17: the factor, the original length and what they reach") {
  const Settings qwen3{{"base", "1000000"}, {"method", "yarn"}, {"factor", "4"}, {"original_max_position_embeddings", "32768"}};
  const Section right = explained(*made("rope", qwen3), 131072);
  CHECK(count(word(right, "reach", "value")) == 131072);
  CHECK(right.findings.empty());
  const Section ratio = explained(*made("rope", qwen3), 40960);
  CHECK(has_finding(ratio, "factor 4 times 32768 reaches 131072 positions, not 40960, whose ratio is 1.25 (amplitude 1.02231435513)"));
  // A wrong original: the raised length stands where the trained one belongs.
  Reading file;
  file.context = 163840;
  const auto raised = made("rope", {{"head_dim", "64"}, {"method", "yarn"}, {"factor", "40"}, {"original_max_position_embeddings", "163840"}});
  CHECK(has_finding(explained(*raised, 163840, &file), "original_max_position_embeddings is 163840, not below the 163840 positions declared"));
  CHECK_FALSE(has_finding(explained(*raised, 163840), "not below"));
  // A table up to the trained length: what is declared is what the rule reaches.
  CHECK(count(word(explained(*made("rope", qwen3), 2048), "declared", "value")) == 131072);
  // vLLM's doubling.
  const Section linear = explained(*made("rope", {{"method", "linear"}, {"factor", "4"}}), 16384);
  CHECK(has_finding(linear, "vLLM serves 65536 positions"));
  CHECK_FALSE(has_finding(right, "vLLM"));
  // Ends of the ramp.
  const Section flat = explained(*made("rope", {{"method", "yarn"}, {"factor", "4"}, {"original_max_position_embeddings", "4096"}, {"beta_fast", "2"}, {"beta_slow", "2"}}));
  CHECK(has_finding(flat, "beta_fast 2 is not above beta_slow 2"));
}

TEST_CASE("explain: Qwen3's YaRN, word for word") {
  const auto qwen3 = made("rope", {{"base", "1000000"}, {"method", "yarn"}, {"factor", "4"}, {"original_max_position_embeddings", "32768"}});
  const Section s = explained(*qwen3, 131072);
  CHECK(text(setting(s, "llama_cpp")) == "--rope-scaling yarn --rope-scale 4 --rope-freq-base 1000000 --yarn-orig-ctx 32768 --ctx-size 131072");
  CHECK(text(setting(s, "vllm")) ==
        R"(--hf-overrides '{"rope_parameters":{"rope_type":"yarn","factor":4.0,"rope_theta":1000000.0,"original_max_position_embeddings":32768}}' )"
        "--max-model-len 131072");
  CHECK(text(setting(s, "vllm_before_0.12")).starts_with(R"(--rope-scaling '{"rope_type":"yarn","factor":4.0,)"));
  CHECK(text(setting(s, "gguf")) ==
        "A.rope.scaling.type = yarn (string); A.rope.scaling.factor = 4 (float32); A.rope.freq_base = 1000000 (float32); "
        "A.rope.scaling.original_context_length = 32768 (uint32); A.context_length = 131072 (uint32); A.rope.dimension_count = 128 (uint32)");
  CHECK(text(word(s, "factor", "transformers_v4")) == "rope_scaling.factor: 4.0");
  CHECK(text(word(s, "base", "transformers_v4")) == "rope_theta: 1000000.0");
  CHECK(text(word(s, "base", "transformers_v5")) == "rope_parameters.rope_theta: 1000000.0");
}

TEST_CASE("explain: what it writes for transformers reads back to the same table") {
  const std::string four = "1,1.5,2,4", long_four = "1,2,8,16";
  const Settings rules[] = {
      {},
      {{"method", "linear"}, {"factor", "3"}},
      {{"method", "ntk"}, {"factor", "4"}},
      {{"method", "base"}, {"new_base", "123456"}},
      {{"method", "ntk-old"}, {"factor", "6"}},
      {{"method", "dynamic"}, {"factor", "2"}, {"max_position_embeddings", "2048"}},
      {{"method", "yarn"}, {"factor", "5"}, {"original_max_position_embeddings", "2048"}},
      {{"method", "yarn"}, {"factor", "5"}, {"original_max_position_embeddings", "2048"}, {"truncate", "false"}, {"beta_fast", "20"}},
      {{"method", "yarn"}, {"factor", "5"}, {"original_max_position_embeddings", "2048"}, {"attention_factor", "1.25"}},
      {{"method", "yarn"}, {"factor", "5"}, {"original_max_position_embeddings", "2048"}, {"mscale_coefficient", "0.07"}},
      {{"method", "yarn"}, {"factor", "5"}, {"original_max_position_embeddings", "2048"}, {"mscale", "1"}, {"mscale_all_dim", "0.8"}},
      {{"method", "yarn"}, {"factor", "5"}, {"original_max_position_embeddings", "2048"}, {"mscale", "1"}, {"mscale_all_dim", "1"}, {"mscale_rule", "paper"}},
      {{"method", "llama3"}, {"factor", "8"}, {"original_max_position_embeddings", "2048"}, {"low_freq_factor", "1"}, {"high_freq_factor", "4"}},
      {{"method", "longrope"}, {"short_factor", four}, {"long_factor", long_four}, {"original_max_position_embeddings", "2048"}, {"factor", "4"}},
      {{"method", "longrope"}, {"short_factor", four}, {"long_factor", long_four}, {"original_max_position_embeddings", "2048"}, {"factor", "4"}, {"attention_factor", "1.5"}},
  };
  const std::int64_t length = 8192;
  for (const Settings& rule : rules) {
    Settings settings{{"head_dim", "8"}, {"base", "50000"}};
    settings.insert(settings.end(), rule.begin(), rule.end());
    const auto rope = made("rope", settings);
    const Section s = explained(*rope, length);
    for (const char* program : {"transformers_v4", "transformers_v5"}) {
      CAPTURE(program);
      CAPTURE(rule.empty() ? "default" : rule[0].second);
      Json config = Json::parse(text(setting(s, program)));
      config["model_type"] = "llama";
      config["hidden_size"] = 64;
      config["num_attention_heads"] = 8;
      const ConfigReading read = read_config(config.dump(), "config.json");
      REQUIRE(read.readings.size() == 1);
      Settings back;
      for (const Setting& x : read.readings[0].settings) back.emplace_back(x.field, x.value);
      const auto again = made("rope", back);
      // A base is rounded to binary64 on the way; its power can be off by as much.
      near(inv_freq(*again, length), inv_freq(*rope, length), 1e-14);
      CHECK(facts(rope_of(*again)).attention_factor == doctest::Approx(facts(rope_of(*rope)).attention_factor).epsilon(1e-14));
    }
  }
}

TEST_CASE("explain: what it writes for llama.cpp makes the same table by llama.cpp's formula") {
  std::mt19937_64 random(9);
  const auto uniform = [&](double a, double b) { return std::uniform_real_distribution<double>(a, b)(random); };
  for (int trial = 0; trial < 60; ++trial) {
    const int d = 8 + 2 * static_cast<int>(random() % 60);
    const std::string factor = print(std::exp2(uniform(0.1, 6))), original = std::to_string(1024 + random() % 32768);
    Settings settings{{"head_dim", std::to_string(d)}, {"base", print(std::exp2(uniform(12, 22)))}};
    const std::vector<Settings> rules{
        {},
        {{"method", "linear"}, {"factor", factor}},
        {{"method", "ntk"}, {"factor", factor}},
        {{"method", "yarn"}, {"factor", factor}, {"original_max_position_embeddings", original}},
        {{"method", "yarn"}, {"factor", factor}, {"original_max_position_embeddings", original}, {"beta_fast", "24.5"}, {"beta_slow", "1.5"}, {"attention_factor", print(uniform(0.5, 2))}},
        {{"method", "yarn"}, {"factor", factor}, {"original_max_position_embeddings", original}, {"mscale", "1"}, {"mscale_all_dim", "1"}},
        {{"method", "linear"}, {"factor", factor}, {"attention_factor", "1.5"}},
    };
    const Settings& rule = rules[static_cast<std::size_t>(trial) % rules.size()];
    settings.insert(settings.end(), rule.begin(), rule.end());
    const auto rope = made("rope", settings);
    const Section s = explained(*rope, 65536);
    for (const LlamaCpp& got : {from_flags(text(setting(s, "llama_cpp")), d), from_keys(text(setting(s, "gguf")), d)}) {
      near(got.inv_freq, inv_freq(*rope, 65536), 1e-12);
      CHECK(got.multiplier == doctest::Approx(facts(rope_of(*rope)).attention_factor).epsilon(1e-12));
    }
  }
}

TEST_CASE("explain: what cannot be said is said") {
  const auto gpt_oss = made("rope", {{"head_dim", "64"}, {"base", "150000"}, {"method", "yarn"}, {"factor", "32"}, {"original_max_position_embeddings", "4096"}, {"truncate", "false"}});
  CHECK(has_finding(explained(*gpt_oss), "truncate = false cannot be said to llama.cpp"));
  const auto llama3 = made("rope", {{"base", "500000"}, {"method", "llama3"}, {"factor", "8"}, {"original_max_position_embeddings", "8192"}});
  const Section llama = explained(*llama3, 131072);
  CHECK(has_finding(llama, "llama.cpp has no llama3 rule"));
  CHECK(text(word(llama, "divisors", "gguf")) == "tensor rope_freqs.weight [64 numbers]");
  CHECK(empty(setting(llama, "llama_cpp")));
  const Section dynamic = explained(*made("rope", {{"method", "dynamic"}, {"factor", "2"}, {"max_position_embeddings", "2048"}}), 4096);
  // B11: base 30527.736748807 at length 4096.
  CHECK(has_finding(dynamic, "--rope-scaling none --rope-freq-base 30527.7367 is its table of 4096 positions"));
  CHECK(text(word(dynamic, "declared", "transformers_v5")) == "max_position_embeddings: 2048");
  const Section qwen = explained(*made("rope", {{"method", "dynamic"}, {"variant", "qwen"}, {"max_position_embeddings", "2048"}}), 4096);
  CHECK(has_finding(qwen, "method dynamic in its variant qwen is not a setting"));
  CHECK(empty(setting(qwen, "transformers_v5")));
  CHECK(has_finding(explained(*made("rope", {{"method", "ntk-mixed"}, {"factor", "8"}})), "method ntk-mixed is not a setting"));
  CHECK(has_finding(explained(*made("rope", {{"head_dim", "4"}, {"inv_freq", "1,0.01"}})), "explicit inv_freq is not a setting"));
  CHECK(has_finding(explained(*made("rope", {{"method", "linear"}, {"factor", "2"}, {"attention_factor", "1.5"}})), "1.5 cannot be said with linear"));
  // Only when asked, only for rope.
  CHECK_FALSE(analyze_sections::explain({*llama3, nullptr, {}, {}, DType::f32, false}).has_value());
  const auto alibi = made("alibi", {});
  CHECK_FALSE(analyze_sections::explain({*alibi, nullptr, {}, {}, DType::f32, true}).has_value());
}

TEST_CASE("explain and precision take every config at hand") {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::configs)) {
    ConfigReading config;
    if (!std::filesystem::exists(entry.path() / "config.json")) continue;  // a folder of more
    try {
      config = read_config(test::slurp(entry.path() / "config.json"), "config.json");
    } catch (const Error&) {
      continue;  // those that are to be refused
    }
    for (const Reading& r : config.readings) {
      if (r.encoding != "rope") continue;
      Settings settings;
      for (const Setting& s : r.settings) settings.emplace_back(s.field, s.value);
      const auto rope = made("rope", settings);
      CAPTURE(entry.path().string());
      const Section s = explained(*rope, r.context, &r);
      CHECK(value(s, "softmax_multiplier") == r.softmax_multiplier);
      const auto p = analyze_sections::precision({*rope, &r, r.context, r.context, DType::bf16, true});
      REQUIRE(p.has_value());
      check_shape(*p);
      ++seen;
    }
  }
  CHECK(seen > 30);
}

TEST_CASE("explain: windowed layers keep their own base, under the key that the file has for it") {
  const std::string dialect4 = R"({"model_type": "gemma3_text", "head_dim": 256, "hidden_size": 2560, "num_attention_heads": 8, "num_hidden_layers": 6,
    "max_position_embeddings": 131072, "rope_theta": 1000000.0, "rope_local_base_freq": 20000.0, "sliding_window_pattern": 6, "sliding_window": 1024,
    "rope_scaling": {"rope_type": "linear", "factor": 8.0}})";
  bool seen = false;
  const ConfigReading config = read_config(dialect4, "config.json");
  for (const Reading& r : config.readings) {
    Settings settings;
    for (const Setting& s : r.settings) settings.emplace_back(s.field, s.value);
    const Section s = explained(*made("rope", settings), r.context, &r);
    CHECK(has_finding(s, "these are the settings of " + r.layer_type + " layers"));
    if (r.layer_type != "sliding_attention") {
      CHECK(text(word(s, "rule", "llama_cpp")) == "--rope-scaling linear");
      CHECK(text(word(s, "base", "transformers_v4")) == "rope_theta: 1000000.0");
      continue;
    }
    seen = true;
    CHECK(text(word(s, "base", "transformers_v4")) == "rope_local_base_freq: 20000.0");
    CHECK(text(word(s, "base", "gguf")) == "A.rope.freq_base_swa = 20000 (float32)");
    CHECK(empty(word(s, "rule", "transformers_v4")));
    CHECK(empty(setting(s, "llama_cpp")));
  }
  CHECK(seen);
}

TEST_CASE("explain: a block that is replaced keeps the position axes") {
  const std::string start = R"({"model_type": "qwen2_vl", "hidden_size": 3584, "num_attention_heads": 28, "max_position_embeddings": 32768, "rope_theta": 1000000.0,
    "rope_scaling": {"type": "mrope", "mrope_section": )";
  for (const bool interleaved : {false, true}) {
    const std::string parts = interleaved ? "[24,20,20]" : "[16,24,24]";
    const ConfigReading config = read_config(start + parts + (interleaved ? R"(, "mrope_interleaved": true}})" : "}}"), "config.json");
    const Reading& r = config.readings.at(0);
    Settings settings;
    for (const Setting& s : r.settings) settings.emplace_back(s.field, s.value);
    const Section s = explained(*made("rope", settings), r.context, &r);
    const Json sections = Json::parse(parts);
    const Json four = Json::parse(text(setting(s, "transformers_v4"))), five = Json::parse(text(setting(s, "transformers_v5")));
    CHECK(four.at("rope_scaling").at("mrope_section") == sections);
    CHECK(five.at("rope_parameters").at("mrope_section") == sections);
    CHECK(five.at("rope_parameters").contains("mrope_interleaved") == interleaved);
    CHECK(text(setting(s, "vllm")).find("\"mrope_section\":" + parts) != std::string::npos);
    CHECK(text(setting(s, "vllm_before_0.12")).find(R"(--rope-scaling '{"rope_type":"default","mrope_section":)" + parts) != std::string::npos);
    CHECK(text(word(s, "mrope_section", "gguf")) == "A.rope.dimension_sections = " + parts.substr(0, parts.size() - 1) + ",0] (int32 array)");
  }
}

TEST_CASE("explain: the share that turns stands under the key that the class reads") {
  const ConfigReading config = read_config(R"({"model_type": "gpt_neox", "hidden_size": 6144, "num_attention_heads": 64, "max_position_embeddings": 2048,
    "rotary_emb_base": 10000, "rotary_pct": 0.25})", "config.json");
  const Reading& r = config.readings.at(0);
  Settings settings;
  for (const Setting& s : r.settings) settings.emplace_back(s.field, s.value);
  const Section s = explained(*made("rope", settings), r.context, &r);
  const Json four = Json::parse(text(setting(s, "transformers_v4")));
  CHECK(four.at("rotary_pct") == 0.25);
  CHECK(four.at("rotary_emb_base") == 10000);
  CHECK_FALSE(four.contains("partial_rotary_factor"));
  CHECK(Json::parse(text(setting(s, "transformers_v5"))).at("rope_parameters").at("partial_rotary_factor") == 0.25);
}

TEST_CASE("explain: ends of the ramp that a GGUF file hardly says") {
  const Settings yarn{{"method", "yarn"}, {"factor", "4"}, {"original_max_position_embeddings", "8192"}};
  Settings other = yarn;
  other.emplace_back("beta_fast", "16");
  CHECK_FALSE(has_finding(explained(*made("rope", yarn)), "yarn_beta_fast"));
  CHECK(has_finding(explained(*made("rope", other)), "are read by the loaders of a few architectures only"));
}

TEST_CASE("explain: numbers at the edge stay numbers") {
  for (const Settings& s : {Settings{{"method", "linear"}, {"factor", "1e-320"}}, Settings{{"method", "linear"}, {"factor", "1e300"}},
                            Settings{{"method", "ntk"}, {"factor", "1e300"}}, Settings{{"base", "1e308"}, {"method", "ntk"}, {"factor", "1e10"}},
                            Settings{{"head_dim", "2"}, {"base", "0.5"}}, Settings{{"attention_factor", "1e300"}},
                            Settings{{"method", "yarn"}, {"factor", "1e300"}, {"original_max_position_embeddings", "9007199254740992"}}})
    (void)explained(*made("rope", s), max_position);
}
