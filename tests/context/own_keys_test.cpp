// Rules in the own keys of models whose code reads no rope_scaling. The oracle is that code's arithmetic, done here on the keys of
// the config that comes out; what the rule on the spec gives must agree with it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/configs.hpp"
#include "context/encoding_of.hpp"
#include "encodings/encoding_checks.hpp"
#include "posenc/config.hpp"
#include "posenc/config_edit.hpp"
#include "posenc/error.hpp"
#include "posenc/rescale.hpp"
#include "posenc/text.hpp"

namespace {

using Json = nlohmann::ordered_json;
using posenc::ConfigChange, posenc::ConfigDialect;
using posenc::test::config_of;

using Frequencies = std::vector<double>;

Frequencies geometric(double base, int lanes) {
  Frequencies out;
  for (int i = 0; i < lanes / 2; ++i) out.push_back(std::pow(base, -2.0 * i / lanes));
  return out;
}
// What the code behind a config computes for a prompt of `length` tokens.
Frequencies by_own_code(const Json& config, double length) {
  const std::string type = config.at("model_type");
  const auto stretched = [](double base, double ratio, int d) { return base * std::pow(ratio, d / (d - 2.0)); };
  if (type == "chatglm") return geometric(10000 * config.value("rope_ratio", 1.0), config.at("kv_channels").get<int>() / 2);
  if (type == "dbrx") return geometric(config.at("attn_config").at("rope_theta"), config.at("d_model").get<int>() / config.at("n_heads").get<int>());
  const double base = config.at("rotary_emb_base");
  if (type == "qwen") {
    const int d = config.at("kv_channels");
    if (!config.value("use_dynamic_ntk", true)) return geometric(base, d);
    return geometric(stretched(base, std::max(std::pow(2, std::ceil(std::log2(length / config.at("seq_length").get<double>()) + 1)) - 1, 1.0), d), d);
  }
  REQUIRE(type == "nomic_bert");
  const int d = config.at("n_embd").get<int>() / config.at("n_head").get<int>();
  const Json& factor = config.at("rotary_scaling_factor");
  const double trained = config.at("max_trained_positions");
  if (factor.is_null() || length <= trained) return geometric(base, d);
  const double f = factor;
  return geometric(stretched(base, f * length / trained - (f - 1), d), d);
}

const posenc::Reading& only(const posenc::ConfigReading& config) {
  REQUIRE(config.readings.size() == 1);
  return config.readings[0];
}
Frequencies of_encoding(posenc::Encoding& encoding, double length) {
  encoding.set("layout", "inv-freq");
  for (const posenc::FieldView& f : encoding.fields())
    if (f.name == "length") encoding.set("length", posenc::print(static_cast<std::int64_t>(length)));
  return testing_support::values_of(encoding);
}
// The exponent 2i/d rounded to binary64 leaves 1.1e-16 ln(base), up to 1.6e-15, in a power; base and products a few 1.1e-16 more.
void alike(const Frequencies& a, const Frequencies& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::fabs(a[i] / b[i] - 1) < 4e-15);
}

std::string refusal(const std::string& text, const ConfigChange& change) {
  try {
    (void)posenc::rescaled_config(text, "config.json", change);
  } catch (const posenc::Error& e) {
    CHECK(e.failure() == posenc::Failure::usage);
    CHECK(std::string(e.what()).find('\n') == std::string::npos);
    return e.what();
  }
  return "taken";
}
void refused(const std::string& text, const ConfigChange& change, std::initializer_list<std::string_view> words) {
  const std::string sentence = refusal(text, change);
  INFO(sentence);
  for (std::string_view word : words) CHECK_MESSAGE(sentence.find(word) != std::string::npos, word);
}

}  // namespace

TEST_CASE("own keys: the code behind the new config turns as the rule on the spec does") {
  struct Case {
    std::string model, method;
    std::vector<std::pair<std::string, std::string>> settings;
    std::optional<double> factor;
    std::optional<std::int64_t> context;
    std::int64_t reach;  ///< what the new config declares
  };
  std::vector<Case> cases;
  for (const auto& [model, trained] : std::vector<std::pair<std::string, std::int64_t>>{
           {"Qwen--Qwen-1_8B-Chat", 8192}, {"THUDM--chatglm3-6b", 8192}, {"THUDM--glm-4-9b-chat", 131072}, {"nomic-ai--nomic-embed-text-v1.5", 2048}, {"databricks--dbrx-base", 32768}}) {
    cases.push_back({model, "ntk", {}, 2, {}, 2 * trained});
    cases.push_back({model, "ntk", {}, {}, 3 * trained, 3 * trained});
    cases.push_back({model, "ntk-old", {}, 4, {}, 4 * trained});
    cases.push_back({model, "base", {{"new_base", "1234567.8"}}, {}, 4 * trained, 4 * trained});
  }
  cases.push_back({"Qwen--Qwen-1_8B-Chat", "dynamic", {{"variant", "qwen"}}, {}, 32768, 32768});
  cases.push_back({"nomic-ai--nomic-embed-text-v1.5", "dynamic", {}, 2, 8192, 8192});  // the model card's
  cases.push_back({"nomic-ai--nomic-embed-text-v1.5", "dynamic", {}, {}, 16384, 16384});
  for (const Case& c : cases) {
    INFO(c.model, " ", c.method);
    const std::string text = config_of(c.model);
    const ConfigChange change{.method = c.method, .factor = c.factor, .context = c.context, .settings = c.settings, .replace = true};
    const std::string longer = posenc::rescaled_config(text, "config.json", change);
    const auto before = posenc::read_config(text, "config.json"), after = posenc::read_config(longer, "config.json");
    CHECK(only(after).context == c.reach);
    posenc::Rescaling how{.settings = c.settings, .context = c.context, .trained = only(before).context, .replace = true};
    how.settings.emplace_back("method", c.method);
    if (c.factor) how.settings.emplace_back("factor", posenc::print(*c.factor));
    const auto ruled = posenc::rescaled(*posenc::config::encoding_of(only(before)), how).encoding;
    const auto read = posenc::config::encoding_of(only(after));
    for (const double length : {512.0, static_cast<double>(c.reach) / 2 + 1, static_cast<double>(c.reach)}) {
      const Frequencies own = by_own_code(Json::parse(longer), length);
      alike(of_encoding(*read, length), own);
      alike(of_encoding(*ruled, length), own);
    }
    // A test that could not fail would pass for the config as it was.
    CHECK(std::fabs(by_own_code(Json::parse(text), static_cast<double>(c.reach)).back() / by_own_code(Json::parse(longer), static_cast<double>(c.reach)).back() - 1) >
          (c.model.starts_with("Qwen") && c.method == "dynamic" ? -1 : 1e-3));
  }
}

TEST_CASE("own keys: only these keys change") {
  const auto differing = [](const std::string& model, ConfigChange change) {
    change.replace = true;
    const Json before = Json::parse(config_of(model)), after = Json::parse(posenc::rescaled_config(before.dump(), "config.json", change));
    std::string keys;
    for (const auto& [key, value] : after.items())
      if (!before.contains(key) || before.at(key) != value) keys += (keys.empty() ? "" : " ") + key;
    return keys;
  };
  CHECK(differing("Qwen--Qwen-1_8B-Chat", {.method = "ntk", .factor = 2}) == "max_position_embeddings rotary_emb_base seq_length use_dynamic_ntk");
  CHECK(differing("Qwen--Qwen-1_8B-Chat", {.method = "dynamic", .factor = 2}) == "max_position_embeddings");
  CHECK(differing("THUDM--glm-4-9b-chat", {.method = "ntk", .factor = 2}) == "rope_ratio seq_length");
  CHECK(differing("THUDM--chatglm3-6b", {.method = "base", .settings = {{"new_base", "5e5"}}}) == "rope_ratio");
  CHECK(differing("nomic-ai--nomic-embed-text-v1.5", {.method = "dynamic", .factor = 2}) == "rotary_scaling_factor");
  CHECK(differing("nomic-ai--nomic-embed-text-v1.5", {.method = "dynamic", .context = 4096}) == "n_positions rotary_scaling_factor");
  CHECK(differing("nomic-ai--nomic-embed-text-v1.5", {.method = "ntk", .factor = 2}) == "max_trained_positions n_positions rotary_emb_base");
  CHECK(differing("databricks--dbrx-base", {.method = "ntk", .factor = 2}) == "attn_config max_seq_len");
  // GLM-4: 10000 * rope_ratio is the base that was asked for.
  CHECK(Json::parse(posenc::rescaled_config(config_of("THUDM--glm-4-9b-chat"), "c", {.method = "base", .settings = {{"new_base", "1e7"}}})).at("rope_ratio") == 1000.0);
  // Turned off again: Nomic's factor goes when a base replaces its rule. A Qwen file that leaves the flag to its class gets it.
  const std::string nomic = posenc::rescaled_config(config_of("nomic-ai--nomic-embed-text-v1.5"), "c", {.method = "dynamic", .factor = 2});
  const Json plain = Json::parse(posenc::rescaled_config(nomic, "c", {.method = "ntk", .factor = 2, .replace = true}));
  CHECK(plain.at("rotary_scaling_factor").is_null());
  CHECK(plain.at("max_trained_positions") == 4096);
  const std::string qwen = R"({"model_type":"qwen","hidden_size":2048,"num_attention_heads":16,"seq_length":2048})";
  CHECK(Json::parse(posenc::rescaled_config(qwen, "c", {.method = "ntk", .factor = 2, .replace = true})).at("use_dynamic_ntk") == false);
  CHECK(Json::parse(posenc::rescaled_config(qwen, "c", {.method = "dynamic", .factor = 2, .replace = true})).at("max_position_embeddings") == 4096);
  // The length is declared for more already.
  const std::string long_qwen = R"({"model_type":"qwen","hidden_size":4096,"num_attention_heads":32,"seq_length":8192,"max_position_embeddings":32768,"use_dynamic_ntk":false})";
  CHECK(Json::parse(posenc::rescaled_config(long_qwen, "c", {.method = "dynamic", .factor = 2, .settings = {{"original_max_position_embeddings", "8192"}}})) ==
        Json::parse(R"({"model_type":"qwen","hidden_size":4096,"num_attention_heads":32,"seq_length":8192,"max_position_embeddings":32768,"use_dynamic_ntk":true})"));
}

TEST_CASE("own keys: what the code cannot be told is refused with what it reads") {
  refused(config_of("EleutherAI--gpt-j-6b"), {.method = "base", .settings = {{"new_base", "1e6"}}}, {"gptj", "n_positions", "rotary_dim", "is no key about frequencies", "posenc generate"});
  refused(config_of("microsoft--phi-2-msft"), {.method = "ntk", .factor = 2}, {"phi-msft", "n_positions", "rotary_dim"});
  refused(config_of("baichuan-inc--Baichuan2-7B-Base"), {.method = "linear", .factor = 2}, {"baichuan", "max_position_embeddings"});
  refused(config_of("THUDM--chatglm3-6b"), {.method = "yarn", .factor = 2}, {"rope_ratio", "ntk, ntk-old or base", "'yarn' cannot"});
  refused(config_of("THUDM--chatglm3-6b"), {.method = "ntk-fixed", .factor = 2}, {"'ntk-fixed' cannot"});
  refused(config_of("nomic-ai--nomic-embed-text-v1.5"), {.method = "linear", .factor = 2}, {"rotary_emb_base and rotary_scaling_factor", "base or dynamic"});
  refused(config_of("Qwen--Qwen-1_8B-Chat"), {.method = "linear", .factor = 2}, {"rotary_emb_base and use_dynamic_ntk"});
  refused(config_of("Qwen--Qwen-1_8B-Chat"), {.method = "ntk", .factor = 2}, {"already under method dynamic", "replace"});
  refused(config_of("Qwen--Qwen-1_8B-Chat"), {.method = "dynamic", .factor = 2, .settings = {{"variant", "alpha"}}, .replace = true}, {"variant qwen"});
  refused(config_of("nomic-ai--nomic-embed-text-v1.5"), {.method = "dynamic", .factor = 2, .settings = {{"variant", "qwen"}}}, {"variant"});
  refused(config_of("databricks--dbrx-base"), {.method = "yarn", .factor = 2}, {"attn_config.rope_theta", "dialect 5"});
  // Baichuan 13B has ALiBi, where the length keys are all.
  const std::string large = R"({"model_type":"baichuan","hidden_size":5120,"num_attention_heads":40,"model_max_length":4096})";
  CHECK(Json::parse(posenc::rescaled_config(large, "c", {.factor = 2})).at("model_max_length") == 8192);
}

TEST_CASE("own keys: other dialects") {
  for (const char* model : {"EleutherAI--gpt-j-6b", "Qwen--Qwen-1_8B-Chat", "THUDM--chatglm3-6b", "nomic-ai--nomic-embed-text-v1.5", "baichuan-inc--Baichuan2-7B-Base", "google-t5--t5-base"})
    for (const ConfigDialect dialect : {ConfigDialect::v4, ConfigDialect::v5}) {
      INFO(model);
      std::vector<std::string> remarks;
      CHECK(posenc::in_dialect(config_of(model), "config.json", dialect, &remarks) == config_of(model));
      REQUIRE(remarks.size() == 1);
      CHECK(remarks[0].starts_with("config.json: "));
      CHECK(remarks[0].find("nothing changes") != std::string::npos);
    }
  std::vector<std::string> none;
  (void)posenc::in_dialect(config_of("meta-llama--Llama-2-7b-hf"), "config.json", ConfigDialect::v4, &none);
  CHECK(none.empty());
  // DBRX: transformers 5 looks into rope_parameters, where transformers 4 has attn_config.
  const std::string dbrx = config_of("databricks--dbrx-base"), v5 = posenc::in_dialect(dbrx, "c", ConfigDialect::v5);
  CHECK(Json::parse(v5).at("rope_parameters") == Json::parse(R"({"rope_type":"default","rope_theta":500000.0})"));
  CHECK(posenc::in_dialect(v5, "c", ConfigDialect::v4) == dbrx.substr(0, dbrx.find("500000")) + "500000.0" + dbrx.substr(dbrx.find("500000") + 6));
  const std::string yarn = posenc::rescaled_config(dbrx, "c", {.method = "yarn", .factor = 2, .dialect = ConfigDialect::v5});
  CHECK(only(posenc::read_config(yarn, "c")).context == 65536);
  CHECK(Json::parse(yarn).at("rope_parameters").at("rope_type") == "yarn");
  CHECK_THROWS_AS((void)posenc::in_dialect(yarn, "c", ConfigDialect::v4), posenc::Error);
  // Both places of the base move together.
  const Json base = Json::parse(posenc::rescaled_config(v5, "c", {.method = "base", .settings = {{"new_base", "1e6"}}}));
  CHECK(base.at("rope_parameters").at("rope_theta") == 1e6);
  CHECK(base.at("attn_config").at("rope_theta") == 1e6);
}
