// A lengthening written into a config's text: where the file keeps its rotary keys, in the dialect that it is written in.
#pragma once
#include <string>
#include <string_view>

#include "context/lengthening.hpp"

namespace posenc::config {

struct LengthenedText {
  std::string text;
  int lengths = 0;  ///< keys that declare a length now
};
/// Throws usage where the dialect cannot single these layers out.
[[nodiscard]] LengthenedText lengthened_text(std::string text, const OpenedConfig& opened, std::string_view name, const Lengthening& what);

}  // namespace posenc::config
