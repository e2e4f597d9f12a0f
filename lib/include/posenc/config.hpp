// A model's config.json -> what it says about position encodings, and where each value came from. Pure: text in, readings
// out; no file is opened here. Nothing is guessed: a missing or contradictory value throws bad_input naming both places.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace posenc {

/// One parameter of an encoding, as text that Encoding::set takes.
struct Setting {
  std::string field;   ///< parameter name of the encoding: "base", "rotary_dim", "factor", "method", ...
  std::string value;   ///< shortest text that reads back to the same number: "5e+05"
  std::string origin;  ///< "rope_scaling.factor", "hidden_size / num_attention_heads", "class default of gemma3_text"
};

/// What holds for one kind of layer (or one tower) of the model.
struct Reading {
  std::string layer_type;  ///< "" when all layers are alike, else "full_attention", "sliding_attention", "vision", ...
  std::string encoding;    ///< "rope", "alibi", "sinusoidal", "learned", "none", ...
  std::vector<Setting> settings;  ///< rope, alibi, sinusoidal: parameters of the encoding; else facts for reports
  std::optional<std::int64_t> context;  ///< positions that the model is declared for
  std::string context_origin;
  std::vector<std::int64_t> layers;  ///< indices of these layers; empty when all, or when the file does not tell
  double softmax_multiplier = 1.0;   ///< on the attention scale; never in the table
  std::string softmax_origin;        ///< "" when it is 1
  std::int64_t rotary_offset = 0;    ///< lanes of a head before the part that head_dim counts (latent attention)
  std::optional<std::int64_t> qk_head_dim;  ///< lanes of a whole query or key head, where it is more than head_dim
  std::vector<std::int64_t> mrope_section;  ///< pairs that follow time, height, width; empty with one position axis
  std::string mrope_layout;                 ///< "" | "chunked" | "interleaved"
  std::string arithmetic;                   ///< "" | "bfloat16": how the model's code computes, whatever its dtype
  std::vector<std::string> notes;           ///< facts beside the table: which layers, temperatures, forms
};

struct ConfigReading {
  std::string model_type;
  std::string dialect;  ///< "v4", "v5", "nested", "legacy"
  std::vector<Reading> readings;
  std::vector<std::string> warnings;  ///< said aloud on stderr: unknown keys under rope_scaling, ...
};

/// `name` is the file's name in messages ("config.json").
[[nodiscard]] ConfigReading read_config(std::string_view json_text, std::string_view name);

/// Whether the settings are parameters of an encoding of posenc; else they are facts for reports.
[[nodiscard]] bool is_generated(const Reading& reading);

}  // namespace posenc
