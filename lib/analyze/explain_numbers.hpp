// The numbers of section explain: one equivalent set of a rope's settings, each worked out from the parameters once. No word
// of any other program stands here.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/section.hpp"
#include "encodings/rope_state.hpp"

namespace posenc::analyze_sections {

struct ExplainNumbers {
  /// Both outlive this; `length` is the number of positions in use.
  ExplainNumbers(const Question& question, const Rope& rope, std::int64_t length);

  const Question& question;
  const Rope& rope;
  const RopeState state;
  const std::int64_t length;
  const RopeFacts facts;
  std::map<std::string, FieldView, std::less<>> fields;  ///< of the rule, those that are given
  std::string layer;  ///< type of the layers; "" when all are alike
  double amplitude = 1, softmax = 1;  ///< the two magnitudes
  std::optional<double> factor;
  std::optional<double> alpha, effective_base;  ///< NTK's: the base that alone stretches the last wavelength by alpha
  std::optional<std::int64_t> original;         ///< positions trained for, where the rule has them
  std::optional<std::int64_t> reach;            ///< factor times the positions trained for
  std::optional<std::int64_t> context;          ///< positions to serve

  [[nodiscard]] std::optional<double> number(std::string_view field) const;
  [[nodiscard]] bool yarn() const { return facts.method == "yarn"; }
  [[nodiscard]] bool deepseek() const { return softmax != 1; }
  /// Whether mscale and mscale_all_dim both count.
  [[nodiscard]] bool weighted() const { return number("mscale").value_or(0) != 0 && number("mscale_all_dim").value_or(0) != 0; }
  /// Whether these are layers with a window that a rescaling of the others does not reach (Gemma-3, ModernBERT).
  [[nodiscard]] bool in_window() const { return facts.method == "default" && (layer == "sliding_attention" || layer == "local_attention"); }
  /// The amplitude that transformers would take by itself.
  [[nodiscard]] double usual_amplitude() const;
  /// The same of vLLM's and llama.cpp's plain YaRN, which multiply what they are given onto it.
  [[nodiscard]] double own_amplitude() const;
};

/// One way to read the pair mscale, mscale_all_dim.
struct MscaleReading {
  std::string_view name;
  double amplitude, softmax;
};
/// Its three readings; nothing where mscale_all_dim says nothing.
[[nodiscard]] std::vector<MscaleReading> mscale_readings(const ExplainNumbers& numbers);

/// Equal but for the last digits.
[[nodiscard]] bool close(double a, double b);

}  // namespace posenc::analyze_sections
