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
  std::vector<std::string> also{};  ///< other places of the file that say the same; one that says otherwise is an error
};

/// What holds for one kind of layer (or one tower) of the model.
struct Reading {
  std::string layer_type;  ///< "" when all layers are alike, else "full_attention", "sliding_attention", "vision", ...
  std::string encoding;    ///< its name in posenc: "rope", "alibi", "learned", ..; "none": no positions
  std::vector<Setting> settings;  ///< parameters of the encoding
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
  std::vector<Setting> facts{};             ///< numbers and words that are no parameter: rows of a stored table, heads
  std::vector<std::string> open{};          ///< parameters that no config tells: the grid of a picture
  std::optional<double> attention_factor{};  ///< rope: amplitude of cos and sin, stated or by the rule
};

/// The lengths that a file declares, and how far vLLM serves the model by them.
struct DeclaredLengths {
  std::vector<Setting> keys;  ///< those of vLLM's nine keys that stand in the text model's part
  std::optional<std::int64_t> served;  ///< positions; absent where none of the keys stands
  std::string served_origin;           ///< "rope_scaling.factor * max_position_embeddings"
  std::vector<std::string> findings;   ///< where that is not what the encoding reaches
};

struct ConfigReading {
  std::string model_type;
  std::string dialect;  ///< "v4", "v5", "nested", "legacy"
  std::vector<Reading> readings;
  std::vector<std::string> warnings;  ///< said aloud on stderr: unknown keys under rope_scaling, ...
  DeclaredLengths lengths{};
};

/// `name` is the file's name in messages ("config.json").
[[nodiscard]] ConfigReading read_config(std::string_view json_text, std::string_view name);

}  // namespace posenc
