// Presets named after runtimes: layout, dtype and tensor names at once, as that runtime loads them.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/plan.hpp"

namespace posenc {

struct Preset {
  std::string_view name, encoding, help, source;
  std::vector<std::pair<std::string, std::string>> settings;  ///< parameters of the encoding
  DType dtype;
  std::map<std::string, std::string> names;  ///< tensor -> name in the file
  ComplexForm complex_form = ComplexForm::native;
};

[[nodiscard]] std::span<const Preset> presets();
[[nodiscard]] const Preset& parse_preset(std::string_view name);

}  // namespace posenc
