// A config.json opened: its JSON, where the text model's keys stand, and which class reads them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "context/lookup.hpp"
#include "context/model_classes.hpp"

namespace posenc::config {

class OpenedConfig {
 public:
  /// Throws bad_input for what is no JSON object; `name` is the file's in messages.
  OpenedConfig(std::string_view json_text, std::string_view name);
  OpenedConfig(const OpenedConfig&) = delete;
  OpenedConfig& operator=(const OpenedConfig&) = delete;

  Log log;
  std::size_t literals = 0;    ///< NaN and Infinity in the text
  std::string model_type;      ///< of the whole file, else of its text part; "" when it has none
  std::string text_type;       ///< of the text part; the class's name where there is no model_type
  std::vector<Place> text;     ///< where the text model's keys stand, innermost first
  bool nested = false;         ///< the text model is a part of the file
  const ModelClass* known;     ///< the class of text_type; null when it is not in the list

  /// "encoder" and "decoder" where each is a model of its own (encoder-decoder, vision-encoder-decoder); else nothing.
  [[nodiscard]] std::vector<Place> halves();
  [[nodiscard]] Lookup whole() { return {file_, log, {{&root_, "", ""}}, nullptr, ""}; }
  /// The text model's keys, with the defaults of its class.
  [[nodiscard]] Lookup model() { return {file_, log, text, &defaults_, text_type}; }

 private:
  std::string file_;
  Json root_, defaults_;
};

}  // namespace posenc::config
