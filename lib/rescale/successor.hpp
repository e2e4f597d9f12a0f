// From one rule to the next: what a new rule takes over from the one in force. Encodings (rescaled.cpp) and configs
// (context/lengthening.cpp) change their rules by this, so that both keep and count the same.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/field.hpp"

namespace posenc::rescale {

using Settings = std::vector<std::pair<std::string, std::string>>;  ///< (field, text)

/// What rules call the length that the model was trained for.
inline constexpr std::array<std::string_view, 2> trained_fields{"original_max_position_embeddings", "max_position_embeddings"};

/// Parameters that every rule has and that belong to the one in force all the same.
[[nodiscard]] bool is_magnitude(std::string_view field);

/// Whether the frequencies are the plain ones: under no rule, or under one that is nothing but a factor, and that 1 (p-RoPE as
/// trained). Fields are those of the encoding.
[[nodiscard]] bool plain_yet(const std::vector<FieldView>& fields);

/// Whether this parameter stays where a rule replaces itself and does not say it anew: all that is the rule's own (DeepSeek's
/// mscale, gpt-oss' truncate, LongRoPE's lists), but no magnitude, which was worked out for the old factor.
[[nodiscard]] bool stays(const FieldView& field);

/// The trained length, positions: what was said under either of its names, else what the rule in force recorded, else, where
/// none is in force yet, what the config declares (under a rule that is the length after it). Throws usage where it is below 1
/// or said twice in two ways.
[[nodiscard]] std::optional<std::int64_t> said_trained_length(const Settings& said);
[[nodiscard]] std::optional<std::int64_t> trained_length(std::optional<std::int64_t> said, const std::vector<FieldView>& in_force,
                                                         std::optional<std::int64_t> declared);

/// Why this rule cannot follow the one of the layers of a trained model (nothing where it can): p-RoPE leaves pairs still that no
/// other rule knows of, and rotates none otherwise than it was trained.
[[nodiscard]] std::optional<std::string> cannot_follow(std::string_view now, std::string_view next);

/// What a rule that has a factor is asked for, whether it goes into a table or into a config.
struct Asked {
  std::string_view method;
  double factor;                         ///< as said, else context over the trained length
  bool factor_said;
  std::optional<std::int64_t> trained, context;  ///< positions
  std::optional<double> attention_factor;        ///< as said
  bool force;                                    ///< what shortens and a wild amplitude are meant
};

/// Throws usage for a factor and a context that contradict each other (llama3 and dynamic have them apart: Llama 3.1 reaches 16
/// times its length with a factor of 8), and, without force, for what shortens and for an amplitude that is a context ratio.
/// `advice` ends the first of these sentences.
void check_asked(const Asked& asked, std::string_view advice = "");

}  // namespace posenc::rescale
