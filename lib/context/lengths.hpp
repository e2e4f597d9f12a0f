// The keys under which configs declare a length, and what vLLM makes of them: it takes the least, then multiplies.
#pragma once
#include <array>
#include <string_view>
#include <vector>

#include "context/lookup.hpp"
#include "posenc/config.hpp"

namespace posenc::config {

/// vLLM, _get_and_verify_max_len: the least of these caps the model.
inline constexpr std::array<std::string_view, 9> capping_keys{
    "max_position_embeddings", "n_positions",         "max_seq_len",    "seq_length", "model_max_length",
    "max_target_positions",    "max_sequence_length", "max_seq_length", "seq_len"};

/// `model` looks at the text model's part; `readings` are what was read of it.
[[nodiscard]] DeclaredLengths read_lengths(const Lookup& model, const std::vector<Reading>& readings);

}  // namespace posenc::config
