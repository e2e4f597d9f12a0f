// The configs that are kept as tests/configs/, as text.
#pragma once
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace context_test {

inline const std::string folder = std::string(POSENC_TEST_DATA) + "/configs/";

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}
/// By the model's folder: "Qwen--Qwen2.5-7B-Instruct".
inline std::string config_of(const std::string& model) { return slurp(folder + model + "/config.json"); }

}  // namespace context_test
