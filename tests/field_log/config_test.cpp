// Field log, configs: the spellings of one thing are one reading.
#include "field_log/field_log.hpp"

using namespace field_log;

namespace {

std::string llama(const std::string& more) {
  return R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"max_position_embeddings":131072,)" + more + "}";
}
// The parameters without where they came from.
Settings values(const posenc::Reading& reading) {
  Settings out;
  for (const posenc::Setting& s : reading.settings) out.emplace_back(s.field, s.value);
  std::ranges::sort(out);
  return out;
}

}  // namespace

TEST_CASE("B16: dialects of rope_scaling read alike, conflicts name both values, unknown keys are said") {
  const std::string base = R"("rope_theta":500000.0,)", rest = R"("low_freq_factor":1.0,"high_freq_factor":4.0)";
  const Settings want = values(reading_of(config_of("meta-llama--Llama-3.1-8B")));
  CHECK(!want.empty());
  for (const std::string& text :
       {llama(base + R"("rope_scaling":{"rope_type":"llama3","factor":8,"original_max_position_embeddings":8192,)" + rest + "}"),
        llama(base + R"("rope_scaling":{"type":"llama3","factor":8.0,"original_max_position_embeddings":8192.0,)" + rest + "}"),
        llama(base + R"("rope_scaling":{"type":"llama3","rope_type":"llama3","factor":8,"original_max_position_embeddings":8192,)" + rest + "}"),
        llama(base + R"("rope_scaling":null,"rope_parameters":{"rope_type":"llama3","factor":8,"original_max_position_embeddings":8192,)" + rest + "}"),
        llama(R"("rope_parameters":{"rope_theta":500000,"rope_type":"llama3","factor":8,"original_max_position_embeddings":8192,)" + rest + "}"),
        R"({"model_type":"llava","text_config":)" +
            llama(base + R"("rope_scaling":{"rope_type":"llama3","factor":8,"original_max_position_embeddings":8192,)" + rest + "}") + "}"}) {
    INFO(text);
    CHECK(values(reading_of(text)) == want);
  }
  // null means none.
  CHECK(values(reading_of(llama(base + R"("rope_scaling":null)"))) == values(reading_of(llama(R"("rope_theta":500000.0)"))));
  // su is longrope.
  const auto phi3 = [](const std::string& type) {
    return reading_of(R"({"model_type":"phi3","hidden_size":16,"num_attention_heads":4,"max_position_embeddings":64,"original_max_position_embeddings":16,
                       "rope_theta":10000.0,"rope_scaling":{"type":")" + type + R"(","short_factor":[1,2],"long_factor":[3,4]}})");
  };
  CHECK(values(phi3("su")) == values(phi3("longrope")));
  // Per-layer dictionaries, all alike, are the flat one for each kind.
  const std::string nested = llama(R"("num_hidden_layers":2,"layer_types":["sliding_attention","full_attention"],"rope_parameters":{
      "sliding_attention":{"rope_type":"linear","factor":2,"rope_theta":1e4},"full_attention":{"rope_type":"linear","factor":2.0,"rope_theta":10000}})");
  const Settings flat = values(reading_of(llama(R"("rope_parameters":{"rope_type":"linear","factor":2,"rope_theta":10000.0})")));
  CHECK(values(reading_of(nested, "sliding_attention")) == flat);
  CHECK(values(reading_of(nested, "full_attention")) == flat);

  refused(llama(base + R"("rope_scaling":{"type":"linear","rope_type":"yarn","factor":8})"), {"linear", "yarn"});
  refused(llama(base + R"("rope_scaling":{"rope_type":"linear","factor":8},"rope_parameters":{"rope_type":"linear","factor":4,"rope_theta":500000.0})"),
          {"8", "4", "factor"});
  const auto strange = posenc::read_config(llama(base + R"("rope_scaling":{"rope_type":"linear","factor":8,"fcator":4})"), "config.json");
  REQUIRE(strange.warnings.size() == 1);
  CHECK(strange.warnings[0].find("fcator") != std::string::npos);
}
