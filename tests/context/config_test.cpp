// read_config: what it refuses to guess, how dialects and places of one thing become one reading, in what words it refuses.
#include <cmath>

#include "context/config_checks.hpp"
#include "posenc/config_edit.hpp"

namespace posenc::test {
namespace {

using Json = nlohmann::ordered_json;

void refused(const std::string& text, std::initializer_list<std::string_view> words) { check_words(refusal(text), words); }

std::string unknown(const std::string& more) {
  return R"({"model_type":"brand_new","hidden_size":4096,"num_attention_heads":32)" + more + "}";
}

}  // namespace

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
  const ConfigReading assumed = read_config(unknown(R"(,"rope_theta":500000)"), "config.json");
  CHECK(assumed.warnings.size() == 1);
  CHECK(setting(assumed.readings.front(), "base") == print(500000.0));
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
  CHECK(read_config(
            llama(R"(,"rope_theta":500000,"rope_parameters":{"rope_type":"default","type":"default","rope_theta":500000.0})"),
            "config.json")
            .readings.size() == 1);
  // LongRoPE's class reads the outer trained length.
  const ConfigReading phi = read_config(
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
  const std::string with_su = config_of("microsoft--Phi-3-mini-128k-instruct");
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
    return setting(read_config(llama(R"(,"rope_theta":1e4,"rope_scaling":)" + scaling), "config.json").readings.front(),
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
  const ConfigReading nested = read_config(
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
  const ConfigReading qwen3 = read_config(
      R"({"model_type":"qwen3","hidden_size":4096,"num_attention_heads":32,"rope_theta":1000000,"max_position_embeddings":40960,
          "rope_scaling":{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768}})",
      "config.json");
  CHECK(qwen3.readings.front().context == 131072);
  REQUIRE(qwen3.warnings.size() == 1);  // 40960 is neither the trained length nor the reach
  CHECK(qwen3.warnings.front().find("40960") != std::string::npos);
  // DeepSeek-V2-Lite: table 1.0, softmax (0.1 * 0.707 * ln 40 + 1)^2.
  const ConfigReading lite = read_config(
      R"({"model_type":"deepseek_v2","qk_rope_head_dim":64,"qk_nope_head_dim":128,"rope_theta":10000,"max_position_embeddings":163840,
          "rope_scaling":{"type":"yarn","factor":40,"original_max_position_embeddings":4096,"mscale":0.707,"mscale_all_dim":0.707}})",
      "config.json");
  CHECK(attention_factor(lite.readings.front()) == 1.0);
  CHECK(std::abs(lite.readings.front().softmax_multiplier - 1.5896261651209) < 1e-13);  // the log's 14 digits
  const ConfigReading extra = read_config(
      llama(R"(,"rope_scaling":{"rope_type":"linear","factor":2.0,"finetuned":true,"beta_fast":32})"), "config.json");
  REQUIRE(extra.warnings.size() == 1);
  CHECK(extra.warnings.front().find("finetuned") != std::string::npos);
  CHECK(extra.warnings.front().find("beta_fast") != std::string::npos);
}

TEST_CASE("Gemma-3: the factor reaches the full layers only, and layers are named") {
  const ConfigReading gemma = read_config(
      R"({"model_type":"gemma3_text","num_hidden_layers":26,"rope_scaling":{"rope_type":"linear","factor":8.0}})", "config.json");
  const Reading &full = reading_of(gemma, "full_attention"), &local = reading_of(gemma, "sliding_attention");
  CHECK(full.layers == std::vector<std::int64_t>{5, 11, 17, 23});
  CHECK(local.layers.size() == 22);
  CHECK(setting(full, "method") == "linear");
  CHECK(setting(local, "method") == "default");
  CHECK(number(local, "base", 0) == 10000);
  // The same model as transformers 5 writes it.
  const ConfigReading v5 = read_config(
      R"({"model_type":"gemma3_text","num_hidden_layers":26,"rope_parameters":{"full_attention":{"rope_type":"linear","factor":8.0,"rope_theta":1000000.0},
          "sliding_attention":{"rope_type":"default","rope_theta":10000.0}}})",
      "config.json");
  CHECK(v5.dialect == "nested");
  CHECK(setting(reading_of(v5, "full_attention"), "method") == "linear");
  CHECK(number(reading_of(v5, "sliding_attention"), "base", 0) == 10000);
}

TEST_CASE("an encoder and a decoder that are models of their own") {
  const std::string donut =
      R"({"model_type":"vision-encoder-decoder","encoder":{"model_type":"donut-swin","image_size":224,"patch_size":4,"window_size":7,"depths":[2,2],"num_heads":[4,8]},
          "decoder":{"model_type":"gpt2","n_positions":1024,"n_embd":768}})";
  const ConfigReading config = read_config(donut, "config.json");
  REQUIRE(config.readings.size() == 3);
  CHECK(config.readings[0].layer_type == "encoder_stage_0");
  CHECK(config.readings[1].encoding == "swin");
  CHECK(config.readings[2].layer_type == "decoder");
  CHECK(setting(config.readings[2], "length") == "1024");
  CHECK(config.readings[2].settings[0].origin == "decoder.n_positions");
  refused(R"({"model_type":"encoder-decoder","encoder":{},"decoder":{}})", {"encoder has no model_type"});
}

}  // namespace posenc::test
