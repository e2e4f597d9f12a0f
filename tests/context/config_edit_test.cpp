// Configs rescaled: what comes out is read back with the rule asked for, the length keys agree, the rest keeps its bytes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "posenc/config.hpp"
#include "posenc/config_edit.hpp"
#include "posenc/error.hpp"
#include "posenc/text.hpp"
#include "support/configs.hpp"
#include "support/refusals.hpp"

namespace {

using Json = nlohmann::ordered_json;
using posenc::ConfigChange;
using posenc::ConfigDialect;
using posenc::Reading;

using posenc::test::config_of, posenc::test::reading_of, posenc::test::setting;

std::string rescaled(const std::string& text, const ConfigChange& change) { return posenc::rescaled_config(text, "config.json", change); }

std::string refusal(const std::string& text, const ConfigChange& change) {
  const std::string sentence = posenc::test::refusal_of([&] { return rescaled(text, change); });
  CHECK_MESSAGE((sentence.empty() || sentence.starts_with("config.json: ")), sentence);
  return sentence;
}
void refused(const std::string& text, const ConfigChange& change, std::initializer_list<std::string_view> words) {
  posenc::test::check_words(refusal(text, change), words);
}

std::string llama(const std::string& more = "") {
  return R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"max_position_embeddings":4096,"rope_theta":10000.0)" + more + "}";
}

}  // namespace

TEST_CASE("yarn: factor, trained length and maximum agree, in Qwen's file") {
  const std::string text = config_of("Qwen--Qwen2.5-7B-Instruct");
  const std::string longer = rescaled(text, {.method = "yarn", .factor = 4});
  const Reading r = reading_of(longer);
  CHECK(setting(r, "method") == "yarn");
  CHECK(setting(r, "factor") == "4");
  CHECK(setting(r, "original_max_position_embeddings") == "32768");
  CHECK(r.context == 131072);
  const Json json = Json::parse(longer);
  CHECK(json.at("max_position_embeddings") == 131072);
  CHECK(json.at("rope_scaling") == Json::parse(R"({"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768})"));
  const auto served = posenc::read_config(longer, "config.json").lengths;
  CHECK(served.served == 131072);
  CHECK(served.findings.empty());
  // The context asked for instead, with settings of the rule.
  const std::string other = rescaled(text, {.method = "yarn", .context = 65536, .settings = {{"beta_fast", "48"}, {"truncate", "false"}, {"attention_factor", "1.5"}}});
  CHECK(Json::parse(other).at("rope_scaling") ==
        Json::parse(R"({"rope_type":"yarn","attention_factor":1.5,"factor":2.0,"original_max_position_embeddings":32768,"beta_fast":48.0,"truncate":false})"));
  CHECK(reading_of(other).attention_factor == 1.5);
  // Every other line is as it was.
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find("max_position_embeddings") == std::string::npos && line.find("vocab_size") == std::string::npos) CHECK_MESSAGE(longer.find(line) != std::string::npos, line);
}

TEST_CASE("B17: a wrong maximum is not taken for the trained length, and stated lengths win") {
  const std::string qwen3 = R"({"model_type":"qwen3","hidden_size":4096,"num_attention_heads":32,"rope_theta":1000000,"max_position_embeddings":40960})";
  const std::string longer = rescaled(qwen3, {.method = "yarn", .factor = 4, .settings = {{"original_max_position_embeddings", "32768"}}});
  const Reading r = reading_of(longer);
  CHECK(setting(r, "original_max_position_embeddings") == "32768");
  CHECK(r.context == 131072);
  CHECK(std::abs(*r.attention_factor - 1.138629436112) < 1e-12);  // 0.1 ln 4 + 1, to the digits given
  CHECK(posenc::read_config(longer, "config.json").warnings.empty());
  // The file as people leave it: 131072 by the factor, 40960 declared; both are told.
  const auto left = posenc::read_config(
      R"({"model_type":"qwen3","hidden_size":4096,"num_attention_heads":32,"rope_theta":1000000,"max_position_embeddings":40960,
          "rope_scaling":{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768}})",
      "config.json");
  std::string reach, declared;
  for (const posenc::Setting& s : left.readings.at(0).facts) (s.field == "reach" ? reach : s.field == "declared" ? declared : reach.empty() ? reach : reach) = s.value;
  CHECK(reach == "131072");
  CHECK(declared == "40960");
  REQUIRE(left.warnings.size() == 1);
  CHECK(left.warnings[0].find("40960") != std::string::npos);
  CHECK(left.warnings[0].find("131072") != std::string::npos);
}

TEST_CASE("linear raises the maximum, dynamic keeps it, ntk is another base") {
  std::vector<std::string> remarks;
  const std::string linear = posenc::rescaled_config(llama(), "config.json", {.method = "linear", .factor = 2}, &remarks);
  CHECK(linear == R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"max_position_embeddings":8192,"rope_theta":10000.0,"rope_scaling":{"rope_type":"linear","factor":2.0}})");
  CHECK(reading_of(linear).context == 8192);
  REQUIRE(!remarks.empty());  // vLLM would serve 16384
  CHECK(remarks[0].find("--max-model-len 8192") != std::string::npos);
  CHECK(posenc::read_config(linear, "config.json").lengths.served == 16384);
  CHECK(posenc::read_config(linear, "config.json").lengths.findings.size() == 1);

  remarks.clear();
  const std::string dynamic = posenc::rescaled_config(llama(), "config.json", {.method = "dynamic", .factor = 2, .context = 65536}, &remarks);
  REQUIRE(!remarks.empty());  // no key of the file holds the 65536
  CHECK(remarks[0].find("stays 4096") != std::string::npos);
  CHECK(remarks[0].find("vLLM serves factor times that, 8192") != std::string::npos);
  CHECK(Json::parse(dynamic).at("max_position_embeddings") == 4096);
  CHECK(setting(reading_of(dynamic), "max_position_embeddings") == "4096");
  CHECK(posenc::read_config(dynamic, "config.json").lengths.served == 8192);

  // 10000 * 4^(128/126) by Python's decimal at 40 digits; the nearest double.
  const std::string ntk = rescaled(llama(), {.method = "ntk", .factor = 4});
  const double base = Json::parse(ntk).at("rope_theta").get<double>();
  CHECK(base == 40889.942432486216413);
  CHECK(!Json::parse(ntk).contains("rope_scaling"));
  CHECK(reading_of(ntk).context == 16384);
  CHECK(Json::parse(rescaled(llama(), {.method = "ntk-old", .factor = 4})).at("rope_theta") == 40000.0);
  const std::string base_only = rescaled(llama(), {.method = "base", .settings = {{"new_base", "500000"}}});
  CHECK(Json::parse(base_only).at("rope_theta") == 500000.0);
  CHECK(Json::parse(base_only).at("max_position_embeddings") == 4096);
  CHECK(Json::parse(rescaled(llama(), {.method = "base", .context = 32768, .settings = {{"new_base", "5e5"}}})).at("max_position_embeddings") == 32768);
}

TEST_CASE("llama3: factor and reach are two numbers") {
  const std::string longer = rescaled(config_of("meta-llama--Meta-Llama-3-8B"),
                                      {.method = "llama3", .factor = 8, .context = 131072, .settings = {{"low_freq_factor", "1"}, {"high_freq_factor", "4"}}});
  CHECK(Json::parse(longer).at("rope_scaling") ==
        Json::parse(R"({"rope_type":"llama3","factor":8.0,"original_max_position_embeddings":8192,"low_freq_factor":1.0,"high_freq_factor":4.0})"));
  CHECK(reading_of(longer).context == 131072);
  // As Llama 3.1 itself is read.
  const Reading real = reading_of(config_of("meta-llama--Llama-3.1-8B")), made = reading_of(longer);
  for (const char* field : {"method", "factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor", "base"}) CHECK(setting(made, field) == setting(real, field));
}

TEST_CASE("longrope: Phi-3 keeps the trained length beside its three keys") {
  std::string ones = "1", twos = "2";
  for (int i = 1; i < 48; ++i) ones += ",1", twos += ",2";
  const ConfigChange change{.method = "longrope", .context = 131072, .settings = {{"short_factor", ones}, {"long_factor", twos}}};
  const Json phi = Json::parse(rescaled(config_of("microsoft--Phi-3-mini-4k-instruct"), change));
  CHECK(phi.at("rope_scaling").size() == 3);
  CHECK(phi.at("rope_scaling").at("type") == "longrope");
  CHECK(phi.at("original_max_position_embeddings") == 4096);
  CHECK(phi.at("max_position_embeddings") == 131072);
  CHECK(setting(reading_of(phi.dump()), "factor") == "32");
  // A file that has a top-level original of another kind of model gets it there too, as it would win.
  const std::string other = rescaled(
      R"({"model_type":"llama","hidden_size":8,"num_attention_heads":2,"max_position_embeddings":64,"rope_theta":1e4,"original_max_position_embeddings":64})",
      {.method = "longrope", .factor = 2, .settings = {{"short_factor", "1,1"}, {"long_factor", "2,3"}, {"original_max_position_embeddings", "32"}}});
  CHECK(Json::parse(other).at("original_max_position_embeddings") == 32);
  CHECK(Json::parse(other).at("rope_scaling").at("original_max_position_embeddings") == 32);
  CHECK(reading_of(other).context == 64);
  refused(config_of("microsoft--Phi-3-mini-4k-instruct"), {.method = "yarn", .factor = 2}, {"phi3", "longrope"});
  refused(llama(), {.method = "longrope", .factor = 2}, {"short_factor"});
}

TEST_CASE("layer types: the full ones by default, in the dialect asked for") {
  const std::string gemma = R"({"model_type":"gemma3_text","num_hidden_layers":26,"rope_theta":1e6,"rope_local_base_freq":1e4,"max_position_embeddings":32768})";
  const std::string old = rescaled(gemma, {.method = "linear", .factor = 4});
  CHECK(setting(reading_of(old, "full_attention"), "factor") == "4");
  CHECK(setting(reading_of(old, "sliding_attention"), "method") == "default");
  const Json fresh = Json::parse(rescaled(gemma, {.method = "linear", .factor = 4, .dialect = ConfigDialect::v5}));
  CHECK(fresh.at("rope_parameters").at("full_attention") == Json::parse(R"({"rope_type":"linear","rope_theta":1e6,"factor":4.0})"));
  CHECK(fresh.at("rope_parameters").at("sliding_attention") == Json::parse(R"({"rope_type":"default","rope_theta":1e4})"));
  const std::string local = rescaled(fresh.dump(), {.method = "linear", .factor = 2, .layer_types = {"sliding_attention"}});
  CHECK(setting(reading_of(local, "sliding_attention"), "factor") == "2");
  CHECK(setting(reading_of(local, "full_attention"), "factor") == "4");
  refused(gemma, {.method = "linear", .factor = 4, .layer_types = {"sliding_attention"}}, {"rope_scaling", "full_attention", "dialect 5"});
  refused(gemma, {.method = "linear", .factor = 4, .layer_types = {"nonsense"}}, {"nonsense", "full_attention"});
  refused(config_of("answerdotai--ModernBERT-base"), {.method = "linear", .factor = 4}, {"dialect 5"});
  const Json modern = Json::parse(rescaled(config_of("answerdotai--ModernBERT-base"), {.method = "yarn", .factor = 4, .dialect = ConfigDialect::v5}));
  CHECK(modern.at("rope_parameters").at("full_attention").at("rope_type") == "yarn");
  CHECK(modern.at("rope_parameters").at("sliding_attention").at("rope_type") == "default");
  CHECK(modern.at("max_position_embeddings") == 32768);
  // ModernBERT's global base alone.
  CHECK(Json::parse(rescaled(config_of("answerdotai--ModernBERT-base"), {.method = "base", .settings = {{"new_base", "1e6"}}})).at("global_rope_theta") == 1e6);
  // One block for all kinds of layers.
  refused(config_of("google--gemma-2-9b"), {.method = "linear", .factor = 2, .layer_types = {"full_attention"}}, {"all layers"});
  CHECK(setting(reading_of(rescaled(config_of("google--gemma-2-9b"), {.method = "linear", .factor = 2}), "sliding_attention"), "factor") == "2");
  // Gemma-4's full layers have a rule of their own, which takes a factor.
  const std::string gemma4 = rescaled(config_of("google--gemma-4-31B"), {.method = "proportional", .factor = 2});
  CHECK(setting(reading_of(gemma4, "full_attention"), "factor") == "2");
  CHECK(reading_of(gemma4, "full_attention").context == 524288);
  refused(config_of("google--gemma-4-31B"), {.method = "yarn", .factor = 2}, {"proportional"});
}

TEST_CASE("layer types: those that a change for none in particular reaches") {
  using Types = std::vector<std::string>;
  const auto reached = [](const std::string& text) {
    Types types = posenc::layer_types_reached(text, "config.json");
    std::sort(types.begin(), types.end());
    return types;
  };
  const Types both{"full_attention", "sliding_attention"};
  CHECK(reached(llama()) == Types{""});
  CHECK(reached(config_of("google--gemma-2-9b")) == both);
  CHECK(reached(config_of("openai--gpt-oss-20b")) == both);
  CHECK(reached(config_of("google--gemma-3-4b-it")) == Types{"full_attention"});  // the sliding layers have another base
  CHECK(reached(config_of("google--gemma-4-31B")) == Types{"full_attention"});
  CHECK(reached(config_of("answerdotai--ModernBERT-base")) == Types{"global_attention"});
  CHECK(reached(config_of("bigscience--bloom-560m")).empty());
  // What is read back under another rule is what was reached.
  for (const Json& entry : posenc::test::config_manifest()) {
    if (entry.at("expect").contains("error")) continue;
    std::string model = entry.at("file");
    model.resize(model.find('/'));
    INFO(model);
    const std::string text = config_of(model);
    std::string longer;
    try {
      longer = rescaled(text, {.method = "linear", .factor = 7, .settings = {{"original_max_position_embeddings", "2048"}}, .replace = true});
    } catch (const posenc::Error&) {
      continue;
    }
    Types changed;
    for (const Reading& r : posenc::read_config(longer, "config.json").readings)
      if (setting(r, "factor") == "7") changed.push_back(r.layer_type);
    std::sort(changed.begin(), changed.end());
    CHECK(changed == reached(text));
  }
}

TEST_CASE("layer types: several at once are decided by what stands in the file, and declare one length") {
  const auto text = [](const std::string& full, const std::string& sliding) {
    return R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"num_hidden_layers":2,"max_position_embeddings":4096,
      "layer_types":["sliding_attention","full_attention"],"rope_parameters":{"full_attention":)" + full + R"(,"sliding_attention":)" + sliding + "}}";
  };
  const std::string plain = R"({"rope_type":"default","rope_theta":1e6})", local = R"({"rope_type":"default","rope_theta":1e4})";
  const std::string yarn = R"({"rope_type":"yarn","rope_theta":1e4,"factor":2.0,"original_max_position_embeddings":2048})";
  const ConfigChange all{.method = "yarn", .factor = 4, .replace = true, .layer_types = {"all"}};
  const Json made = Json::parse(rescaled(text(plain, local), all));
  CHECK(made.at("max_position_embeddings") == 16384);
  for (const char* type : {"full_attention", "sliding_attention"}) {
    CHECK(made.at("rope_parameters").at(type).at("factor") == 4.0);
    CHECK(made.at("rope_parameters").at(type).at("original_max_position_embeddings") == 4096);  // not that of the first one's result
  }
  refused(text(plain, yarn), all, {"full_attention", "sliding_attention", "different lengths", "context"});
  const Json context = Json::parse(rescaled(text(plain, yarn), {.method = "yarn", .context = 16384, .replace = true, .layer_types = {"all"}}));
  CHECK(context.at("rope_parameters").at("full_attention").at("factor") == 4.0);
  CHECK(context.at("rope_parameters").at("sliding_attention").at("factor") == 8.0);
}

TEST_CASE("a config under a rule is refused unless it is to be replaced") {
  const std::string yarn = config_of("Qwen--Qwen2.5-7B-Instruct-yarn");
  refused(yarn, {.method = "linear", .factor = 2}, {"yarn", "factor 4", "replace"});
  const Json json = Json::parse(rescaled(yarn, {.method = "yarn", .factor = 2, .replace = true}));
  CHECK(json.at("rope_scaling").at("factor") == 2.0);
  CHECK(json.at("rope_scaling").at("original_max_position_embeddings") == 32768);
  CHECK(json.at("max_position_embeddings") == 65536);
  CHECK(json.at("rope_scaling").contains("type"));  // the file's own spelling stays, beside the new one
  CHECK(json.at("rope_scaling").at("rope_type") == "yarn");
  // The same rule with another factor keeps its ramp and magnitudes; another rule does not.
  const Json deep = Json::parse(rescaled(config_of("deepseek-ai--DeepSeek-V3"), {.method = "yarn", .factor = 60, .replace = true}));
  CHECK(deep.at("rope_scaling").at("mscale_all_dim") == 1.0);
  CHECK(deep.at("max_position_embeddings") == 245760);
  CHECK(Json::parse(rescaled(config_of("openai--gpt-oss-20b"), {.method = "yarn", .factor = 64, .replace = true})).at("rope_scaling").at("truncate") == false);
  // What is said anew alone changes: the factor too stays.
  const Json ramp = Json::parse(rescaled(yarn, {.method = "yarn", .settings = {{"beta_fast", "48"}}, .replace = true}));
  CHECK(ramp.at("rope_scaling").at("factor") == 4.0);
  CHECK(ramp.at("rope_scaling").at("beta_fast") == 48.0);
  CHECK(ramp.at("max_position_embeddings") == 131072);
  // LongRoPE's lists are the rule's own.
  const std::string lists = R"({"model_type":"llama","hidden_size":8,"num_attention_heads":2,"max_position_embeddings":64,"rope_theta":1e4,
    "rope_scaling":{"rope_type":"longrope","short_factor":[1,1],"long_factor":[2,3],"factor":2.0,"original_max_position_embeddings":32}})";
  const Json longer = Json::parse(rescaled(lists, {.method = "longrope", .context = 128, .replace = true}));
  CHECK(longer.at("rope_scaling") ==
        Json::parse(R"({"rope_type":"longrope","short_factor":[1.0,1.0],"long_factor":[2.0,3.0],"original_max_position_embeddings":32,"factor":4.0})"));
  // Under the proportional rule the declared length is the trained one as long as its factor is 1.
  const std::string twice = rescaled(config_of("google--gemma-4-31B"), {.method = "proportional", .factor = 2});
  refused(twice, {.method = "proportional", .factor = 4}, {"proportional", "factor 2", "replace"});
  refused(twice, {.method = "proportional", .context = 1048576, .replace = true}, {"trained for"});
  // Factor 1 is no rule yet to the same rule.
  const std::string once = R"({"model_type":"llama","hidden_size":8,"num_attention_heads":2,"max_position_embeddings":64,"rope_theta":1e4,"rope_scaling":{"rope_type":"linear","factor":1.0}})";
  CHECK(setting(reading_of(rescaled(once, {.method = "linear", .factor = 2})), "factor") == "2");
  refused(once, {.method = "yarn", .factor = 2}, {"linear", "replace"});
  std::vector<std::string> remarks;
  const Json linear = Json::parse(posenc::rescaled_config(config_of("deepseek-ai--DeepSeek-V3"), "config.json", {.method = "linear", .factor = 2, .replace = true}, &remarks));
  CHECK(!linear.at("rope_scaling").contains("mscale_all_dim"));
  REQUIRE(!remarks.empty());
  CHECK(remarks[0].find("mscale_all_dim 1") != std::string::npos);
  // By the class alone: gpt-oss.
  const std::string oss = R"({"model_type":"gpt_oss","hidden_size":2880,"num_attention_heads":64,"num_hidden_layers":2,"max_position_embeddings":131072})";
  refused(oss, {.method = "linear", .factor = 2}, {"yarn", "class default of gpt_oss"});
  const std::string plain_base = rescaled(oss, {.method = "ntk", .factor = 2, .replace = true});
  CHECK(Json::parse(plain_base).at("rope_scaling").is_null());
  CHECK(setting(reading_of(plain_base, "full_attention"), "method") == "default");
  // Under linear nothing says the trained length.
  const std::string coder = config_of("deepseek-ai--deepseek-coder-6.7b-base");
  refused(coder, {.method = "yarn", .factor = 8, .replace = true}, {"original_max_position_embeddings"});
  const std::string given = rescaled(coder, {.method = "yarn", .factor = 8, .settings = {{"original_max_position_embeddings", "4096"}}, .replace = true});
  CHECK(Json::parse(given).at("max_position_embeddings") == 32768);
  // A rule is dropped for a base; what is no rule stays.
  const Json vl = Json::parse(rescaled(config_of("Qwen--Qwen2-VL-7B-Instruct"), {.method = "yarn", .factor = 2}));
  CHECK(vl.at("rope_scaling").at("mrope_section") == Json::parse("[16,24,24]"));
  CHECK(vl.at("rope_scaling").at("type") == "yarn");
}

TEST_CASE("lengths stand in many places and all of them move") {
  const Json json = Json::parse(rescaled(
      R"({"model_type":"llava","max_position_embeddings":4096,"text_config":{"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"rope_theta":1e4,"max_position_embeddings":4096,"max_sequence_length":4096}})",
      {.method = "yarn", .factor = 2}));
  CHECK(json.at("max_position_embeddings") == 8192);
  CHECK(json.at("text_config").at("max_position_embeddings") == 8192);
  CHECK(json.at("text_config").at("max_sequence_length") == 8192);
  CHECK(json.at("text_config").at("rope_scaling").at("rope_type") == "yarn");
  CHECK(!json.contains("rope_scaling"));
  // A file that leaves its length to the class gets it written down.
  CHECK(Json::parse(rescaled(R"({"model_type":"llama","rope_theta":10000.0})", {.method = "linear", .factor = 2})).at("max_position_embeddings") == 4096);
  // The new dialect, flat.
  const Json fresh = Json::parse(rescaled(llama(), {.method = "yarn", .factor = 2, .dialect = ConfigDialect::v5}));
  CHECK(fresh.at("rope_parameters") == Json::parse(R"({"rope_type":"yarn","rope_theta":10000.0,"factor":2.0,"original_max_position_embeddings":4096})"));
  CHECK(!fresh.contains("rope_theta"));
}

TEST_CASE("ALiBi: the length key and nothing else; stored tables: nothing") {
  const std::string mpt = R"({"model_type": "mpt", "n_heads": 32, "d_model": 4096, "max_seq_len": 2048, "attn_config": {"alibi": true}})";
  CHECK(rescaled(mpt, {.context = 65536}) == R"({"model_type": "mpt", "n_heads": 32, "d_model": 4096, "max_seq_len": 65536, "attn_config": {"alibi": true}})");
  CHECK(Json::parse(rescaled(mpt, {.factor = 4})).at("max_seq_len") == 8192);
  refused(mpt, {.method = "yarn", .factor = 4}, {"ALiBi", "yarn"});
  refused(mpt, {}, {"context"});
  refused(config_of("google-bert--bert-base-uncased"), {.method = "linear", .factor = 2}, {"learned", "posenc rescale"});
  refused(config_of("openai--whisper-small"), {.factor = 2}, {"sinusoidal", "posenc rescale"});
  refused(config_of("google-t5--t5-base"), {.factor = 2}, {"buckets"});
  refused(config_of("microsoft--swin-base-patch4-window7-224"), {.factor = 2}, {"swin", "posenc rescale"});
}

TEST_CASE("changes that make no sense, or that no config says") {
  refused(llama(), {}, {"method"});
  refused(llama(), {.method = "yarn"}, {"factor", "context"});
  refused(llama(), {.method = "ntk-by-parts", .factor = 2}, {"ntk-by-parts", "rope_type", "yarn"});
  refused(llama(), {.method = "yarm", .factor = 2}, {"yarm", "did you mean"});
  refused(llama(), {.method = "yarn", .factor = 2, .context = 4096 * 3}, {"factor 2", "8192", "12288"});
  refused(llama(), {.method = "yarn", .context = 2048}, {"2048", "4096"});
  refused(llama(), {.method = "linear", .factor = 0.5}, {"0.5"});
  refused(llama(), {.method = "linear", .factor = std::nan("")}, {"factor"});
  refused(llama(), {.method = "linear", .factor = 2, .settings = {{"beta_fast", "3"}}}, {"beta_fast"});
  refused(llama(), {.method = "linear", .factor = 2, .settings = {{"attention_factor", "1.5"}}}, {"attention_factor"});
  refused(llama(), {.method = "yarn", .factor = 2, .settings = {{"mscale_rule", "one"}}}, {"mscale_rule", "attention_factor"});
  refused(llama(), {.method = "dynamic", .factor = 2, .settings = {{"variant", "paper"}}}, {"variant"});
  refused(llama(), {.method = "yarn", .factor = 2, .settings = {{"beta_fast", "x"}}}, {"beta_fast"});
  refused(config_of("EleutherAI--gpt-j-6b"), {.method = "linear", .factor = 2}, {"gptj"});
  refused(config_of("Qwen--Qwen-1_8B-Chat"), {.method = "yarn", .factor = 2}, {"qwen"});
  refused(R"({"model_type":"xlnet"})", {.method = "yarn", .factor = 2}, {"no positions"});
  CHECK_THROWS_AS((void)rescaled("{", {.method = "yarn", .factor = 2}), posenc::Error);
}

TEST_CASE("every rotary config takes yarn, or says why not, and is read back so") {
  int done = 0;
  for (const Json& entry : posenc::test::config_manifest()) {
    if (entry.at("expect").contains("error")) continue;
    std::string model = entry.at("file");
    model.resize(model.find('/'));
    INFO(model);
    const std::string text = config_of(model);
    for (const char* method : {"yarn", "linear", "dynamic", "ntk"})
      for (const auto dialect : {std::optional<ConfigDialect>(), std::optional(ConfigDialect::v4), std::optional(ConfigDialect::v5)}) {
        ConfigChange change{.method = method, .factor = 2, .settings = {{"original_max_position_embeddings", "2048"}}, .replace = true, .dialect = dialect};
        try {
          const std::string longer = rescaled(text, change);
          const auto config = posenc::read_config(longer, "config.json");
          int under = 0;
          for (const Reading& r : config.readings) under += r.encoding == "rope" && setting(r, "method") == (std::string(method) == "ntk" ? "default" : method);
          CHECK(under >= 1);
          ++done;
        } catch (const posenc::Error& e) {
          CHECK(e.failure() == posenc::Failure::usage);
          CHECK(std::string(e.what()).find('\n') == std::string::npos);
        }
      }
  }
  CHECK(done >= 200);
}
