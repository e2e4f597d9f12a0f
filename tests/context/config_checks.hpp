// What the tests of read_config share: refusals, numbers of a reading, a config to add keys to.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "posenc/config.hpp"
#include "posenc/text.hpp"
#include "support/configs.hpp"
#include "support/refusals.hpp"

namespace posenc::test {

/// The one line about the file with which a config is refused; "" when it is read, and then its warnings are of one line too.
inline std::string refusal(const std::string& text) {
  const std::string sentence = refusal_of(
      [&] {
        const ConfigReading config = read_config(text, "config.json");
        for (const Reading& reading : config.readings) CHECK(!reading.encoding.empty());
        for (const std::string& warning : config.warnings) CHECK(!mentions(warning, "\n"));
      },
      Failure::bad_input);
  CHECK_MESSAGE((sentence.empty() || (sentence.size() < 700 && sentence.starts_with("config.json: "))), sentence);
  return sentence;
}

inline double number(const Reading& reading, std::string_view field, double fallback) {
  const std::string text = setting(reading, field);
  return text.empty() ? fallback : parse_real(text, field);
}

/// What the rules derive when the file gives no attention_factor: YaRN (Peng et al. 2023) and LongRoPE (Ding et al. 2024).
inline double attention_factor(const Reading& reading) {
  const double given = number(reading, "attention_factor", 0);
  if (given > 0) return given;
  const double factor = number(reading, "factor", 1);
  const auto g = [&](double m) { return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1.0; };
  if (setting(reading, "method") == "yarn") {
    const double m = number(reading, "mscale", 0), all = number(reading, "mscale_all_dim", 0);
    return m > 0 && all > 0 ? g(m) / g(all) : g(1);
  }
  if (setting(reading, "method") == "longrope")
    return factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(number(reading, "original_max_position_embeddings", 0)));
  return 1.0;
}

inline std::string llama(const std::string& more) {
  return R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"max_position_embeddings":4096)" + more + "}";
}

/// Whether one of the reading's notes has these words.
inline bool noted(const Reading& reading, std::string_view words) {
  return std::any_of(reading.notes.begin(), reading.notes.end(),
                     [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

}  // namespace posenc::test
