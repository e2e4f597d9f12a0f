// Which layers a reading is for, and what comes from the model's class: tests/configs/MANIFEST.json says both in words
// (layer_pattern, from_model_class), which are worked out here.
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "posenc/config.hpp"
#include "support/configs.hpp"

namespace {

using Json = nlohmann::ordered_json;
using posenc::ConfigReading;
using posenc::Reading;

using posenc::test::config_manifest, posenc::test::configs, posenc::test::reading_of, posenc::test::slurp;

struct Pattern {
  int layers;
  std::string type, other;
  std::function<bool(int)> is_type;
};
const std::map<std::string, Pattern> patterns{
    {"meta-llama/Llama-4-Scout-17B-16E-Instruct", {48, "full_attention", "chunked_attention", [](int i) { return (i + 1) % 4 == 0; }}},
    {"Qwen/Qwen3-Next-80B-A3B-Thinking", {48, "full_attention", "linear_attention", [](int i) { return (i + 1) % 4 == 0; }}},
    {"openai/gpt-oss-20b", {24, "sliding_attention", "full_attention", [](int i) { return i % 2 == 0; }}},
    {"google/gemma-2-9b", {42, "sliding_attention", "full_attention", [](int i) { return i % 2 == 0; }}},
    {"google/gemma-3-4b-it", {34, "full_attention", "sliding_attention", [](int i) { return (i + 1) % 6 == 0; }}},
    {"google/gemma-4-31B", {60, "full_attention", "sliding_attention", [](int i) { return i % 6 == 5; }}},
    {"answerdotai/ModernBERT-base", {22, "global_attention", "local_attention", [](int i) { return i % 3 == 0; }}},
};

}  // namespace

TEST_CASE("published configs: each kind of layer names its layers") {
  std::size_t seen = 0;
  for (const Json& entry : config_manifest()) {
    const std::string model = entry.at("model");
    INFO(model);
    const auto pattern = patterns.find(model);
    REQUIRE((pattern != patterns.end()) == entry.contains("layer_pattern"));
    if (pattern == patterns.end()) continue;
    ++seen;
    const ConfigReading config = posenc::read_config(slurp(configs + entry.at("file").get<std::string>()), "config.json");
    std::vector<std::int64_t> these, others;
    for (int i = 0; i < pattern->second.layers; ++i) (pattern->second.is_type(i) ? these : others).push_back(i);
    CHECK(reading_of(config, pattern->second.type).layers == these);
    CHECK(reading_of(config, pattern->second.other).layers == others);
  }
  CHECK(seen == patterns.size());
}

TEST_CASE("published configs: a base that the file does not state is said to be the class's") {
  int from_class = 0, stated = 0;
  for (const Json& entry : config_manifest()) {
    if (entry.at("kind") != "real") continue;
    INFO(entry.at("model").get<std::string>());
    bool expected = false;
    if (entry.contains("from_model_class"))
      for (const Json& words : entry.at("from_model_class")) {
        const std::string text = words;
        expected = expected || text.starts_with("base ") || text.starts_with("rope_theta ");
      }
    for (const Reading& r : posenc::read_config(slurp(configs + entry.at("file").get<std::string>()), "config.json").readings) {
      if (r.encoding != "rope") continue;
      for (const posenc::Setting& s : r.settings) {
        if (s.field != "base") continue;
        const bool said = s.origin.find("class") != std::string::npos;
        ++(said ? from_class : stated);
        CHECK_MESSAGE((!said || expected), s.origin);
      }
    }
  }
  CHECK(from_class >= 6);
  CHECK(stated >= 30);
}
