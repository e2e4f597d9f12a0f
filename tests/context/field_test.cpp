// Faults that users met in configs, by their numbers in the field log, with the values that are right.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "posenc/config.hpp"
#include "posenc/encoding.hpp"
#include "posenc/error.hpp"
#include "posenc/spec.hpp"
#include "support/configs.hpp"

namespace {

using posenc::ConfigReading;
using posenc::Reading;
using posenc::test::reading_of;

ConfigReading read(const std::string& text) { return posenc::read_config(text, "config.json"); }

// inv_freq of one pair, all the way from a config's text; rounded once to binary64.
double inv_freq(const Reading& reading, std::int64_t pair) {
  const auto rope = posenc::make_encoding(reading.encoding);
  std::vector<std::pair<std::string, std::string>> settings;
  for (const posenc::Setting& s : reading.settings) settings.emplace_back(s.field, s.value);
  settings.emplace_back("layout", "inv-freq");
  posenc::apply(*rope, settings);
  return rope->evaluator()->truth(0, std::vector<std::int64_t>{pair}, posenc::DType::f64);
}

// The log gives 12 digits.
void near(double got, double want) {
  INFO(got, " against ", want);
  CHECK(std::abs(got / want - 1) < 1e-11);
}

}  // namespace

TEST_CASE("B01: the base is found wherever it stands, and nothing falls back to 10000") {
  const char* places[] = {
      R"({{"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"rope_theta":{0}}})",
      R"({{"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"rope_parameters":{{"rope_type":"default","rope_theta":{0}}}}})",
      R"({{"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"rope_scaling":{{"rope_type":"default","rope_theta":{0}}}}})",
      R"({{"model_type":"llava","text_config":{{"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"rope_theta":{0}}}}})",
      R"({{"model_type":"qwen2_5_omni","thinker_config":{{"text_config":{{"model_type":"qwen2","hidden_size":4096,"num_attention_heads":32,"rope_parameters":{{"rope_theta":{0}}}}}}}}})",
      R"({{"model_type":"gpt_neox","hidden_size":4096,"num_attention_heads":32,"rotary_pct":1.0,"rotary_emb_base":{0}}})"};
  for (const char* place : places) {
    INFO(place);
    const ConfigReading million = read(fmt::format(fmt::runtime(place), "1000000.0"));
    near(inv_freq(million.readings.at(0), 1), 0.805842187761);
    near(inv_freq(million.readings.at(0), 63), 1.24093776075e-6);
    const ConfigReading llama3 = read(fmt::format(fmt::runtime(place), "500000"));
    near(inv_freq(llama3.readings.at(0), 16), 0.0376060309309);
    near(inv_freq(llama3.readings.at(0), 32), 0.00141421356237);
    const ConfigReading plain = read(fmt::format(fmt::runtime(place), "1e4"));
    near(inv_freq(plain.readings.at(0), 63), 0.000115478198469);
  }
  CHECK_THROWS_AS((void)read(R"({"model_type":"brand_new","hidden_size":4096,"num_attention_heads":32})"), posenc::Error);
}

TEST_CASE("B13: each kind of layer has its own base and factor") {
  const std::string old = R"({"model_type":"gemma3_text","head_dim":256,"num_hidden_layers":26,"rope_theta":1000000.0,"rope_local_base_freq":10000.0,"rope_scaling":{"rope_type":"linear","factor":8.0}})";
  const std::string fresh =
      R"({"model_type":"gemma3_text","head_dim":256,"num_hidden_layers":26,"rope_parameters":{"full_attention":{"rope_type":"linear","factor":8.0,"rope_theta":1000000.0},"sliding_attention":{"rope_type":"default","rope_theta":10000.0}}})";
  for (const std::string& text : {old, fresh}) {
    const ConfigReading config = read(text);
    const Reading &local = reading_of(config, "sliding_attention"), &global = reading_of(config, "full_attention");
    near(inv_freq(local, 0), 1);
    near(inv_freq(local, 1), 0.93057204093);
    near(inv_freq(local, 127), 0.000107460782832);
    near(inv_freq(global, 0), 0.125);
    near(inv_freq(global, 1), 0.112210891556);
    near(inv_freq(global, 64), 0.000125);
    near(inv_freq(global, 127), 1.39246732499e-7);
    CHECK(global.layers == std::vector<std::int64_t>{5, 11, 17, 23});
  }
}

TEST_CASE("B16: spellings of one thing make one record, contradictions name both values") {
  const auto record = [](const std::string& scaling) {
    const ConfigReading config = read(R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"max_position_embeddings":131072,"rope_theta":500000.0,"rope_scaling":)" + scaling + "}");
    std::string text;
    for (const posenc::Setting& s : config.readings.at(0).settings) text += s.field + " " + s.value + "\n";
    return text;
  };
  const std::string one = record(R"({"rope_type":"yarn","factor":8.0,"original_max_position_embeddings":8192})");
  CHECK(record(R"({"type":"yarn","factor":8,"original_max_position_embeddings":8192})") == one);
  CHECK(record(R"({"type":"yarn","rope_type":"yarn","factor":8,"original_max_position_embeddings":8192.0})") == one);
  CHECK(record("null") == record(R"({"rope_type":"default"})"));
  // Both spellings are told as places of one value.
  const ConfigReading both = read(R"({"model_type":"llama","rope_theta":1e4,"rope_scaling":{"type":"linear","rope_type":"linear","factor":2}})");
  bool told = false;
  for (const posenc::Setting& s : both.readings.at(0).settings)
    if (s.field == "method") told = s.origin == "rope_scaling.rope_type" && s.also == std::vector<std::string>{"rope_scaling.type"};
  CHECK(told);
  try {
    (void)record(R"({"type":"linear","rope_type":"yarn","factor":8,"original_max_position_embeddings":8192})");
    FAIL("a contradiction passed");
  } catch (const posenc::Error& e) {
    const std::string sentence = e.what();
    CHECK(sentence.find("\"linear\"") != std::string::npos);
    CHECK(sentence.find("\"yarn\"") != std::string::npos);
  }
}

TEST_CASE("B26: rows in front of position 0 are the padding id and one more") {
  const auto usable = [](const std::string& pad) {
    const ConfigReading config = read(R"({"model_type":"roberta","hidden_size":768,"max_position_embeddings":514,"pad_token_id":)" + pad + "}");
    const Reading& r = config.readings.at(0);
    std::string text;
    for (const posenc::Setting& s : r.settings)
      if (s.field == "length" || s.field == "offset" || s.field == "padding_row") text += s.field + " " + s.value + " ";
    return text + fmt::format("context {}", *r.context);
  };
  CHECK(usable("1") == "length 512 offset 2 padding_row 1 context 512");
  CHECK(usable("3") == "length 510 offset 4 padding_row 3 context 510");
}

TEST_CASE("nine length keys: the least caps the model in vLLM, which then multiplies") {
  const auto lengths = [](const std::string& more) { return read(R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"rope_theta":1e4)" + more + "}").lengths; };
  const auto stale = lengths(R"(,"max_position_embeddings":8192,"seq_length":2048,"model_max_length":4096)");
  CHECK(stale.keys.size() == 3);
  CHECK(stale.served == 2048);
  CHECK(stale.served_origin == "seq_length");
  REQUIRE(stale.findings.size() == 1);
  CHECK(stale.findings[0].find("seq_length is 2048") != std::string::npos);
  for (const char* key : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_target_positions", "max_sequence_length", "max_seq_length", "seq_len"})
    CHECK(lengths(fmt::format(R"(,"{}":1000)", key)).served == 1000);
  const auto scaled = [&](const std::string& scaling) { return lengths(R"(,"max_position_embeddings":8192,"rope_scaling":)" + scaling).served; };
  CHECK(scaled(R"({"rope_type":"linear","factor":4})") == 32768);
  CHECK(scaled(R"({"rope_type":"dynamic","factor":4})") == 32768);
  CHECK(scaled(R"({"rope_type":"yarn","factor":4,"original_max_position_embeddings":2048})") == 8192);
  CHECK(scaled(R"({"rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":2048})") == 8192);
  CHECK(read(R"({"model_type":"gemma3_text","max_position_embeddings":8192,"rope_scaling":{"rope_type":"linear","factor":8}})").lengths.served == 8192);
  // A length that says there is none; nobody but the reader of lengths would look.
  CHECK(read(R"({"model_type":"bert","max_position_embeddings":512,"hidden_size":8,"seq_len":1000000000000000019884624838656})").lengths.keys.size() == 1);
}
