// The configs that are kept as tests/configs/, and looking into what is read from a config.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "posenc/config.hpp"
#include "support/files.hpp"

namespace posenc::test {

inline const std::string configs = data + "/configs/";

/// By the model's folder: "Qwen--Qwen2.5-7B-Instruct".
inline std::string config_of(const std::string& model) { return slurp(configs + model + "/config.json"); }
/// What every one of them says, as MANIFEST.json has it.
inline nlohmann::ordered_json config_manifest() { return nlohmann::ordered_json::parse(slurp(configs + "MANIFEST.json")); }

/// What a config says of one type of layers; "" where it makes no difference.
inline const Reading& reading_of(const ConfigReading& config, std::string_view layers = "") {
  for (const Reading& reading : config.readings)
    if (reading.layer_type == layers) return reading;
  FAIL("no layers of type '", layers, "'");
  return config.readings.front();
}
const Reading& reading_of(ConfigReading&& config, std::string_view layers = "") = delete;
inline Reading reading_of(const std::string& text, std::string_view layers = "") {
  const ConfigReading config = read_config(text, "config.json");
  return reading_of(config, layers);
}

/// "" when it is not set.
inline std::string setting(const Reading& reading, std::string_view field) {
  for (const Setting& s : reading.settings)
    if (s.field == field) return s.value;
  return "";
}

}  // namespace posenc::test
