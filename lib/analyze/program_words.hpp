// How other programs spell the settings of a rope: the tables of section explain, one row per quantity or rule.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace posenc::analyze_sections::program_words {

enum Program : std::size_t { transformers4, transformers5, vllm, llama_flags, gguf };
struct ProgramName {
  std::string_view key, label;
};
inline constexpr std::array<ProgramName, 5> programs{{{"transformers_v4", "transformers 4 config.json"},
                                                      {"transformers_v5", "transformers 5 config.json"},
                                                      {"vllm", "vLLM (from 0.12)"},
                                                      {"llama_cpp", "llama.cpp flags"},
                                                      {"gguf", "GGUF keys (A: architecture)"}}};

// How the programs spell a quantity; "" where they have no word for it. vLLM's words are those of transformers 5 in
// --hf-overrides, or flags. For llama.cpp and GGUF: under which of their own rules the word has an effect ("" any).
struct Spelling {
  std::string_view quantity;
  std::array<std::string_view, programs.size()> words;
  std::string_view flag_rules = "", gguf_type = "float32", gguf_rules = "";
  bool alternative = false;  ///< says again what another row has said
  bool optional = false;     ///< left out where it is the default, which is the same everywhere
};
#define POSENC_BLOCK(name) "rope_scaling." name, "rope_parameters." name, "rope_parameters." name
inline constexpr std::array<Spelling, 21> spellings{{
    {"rule", {POSENC_BLOCK("rope_type"), "--rope-scaling", "rope.scaling.type"}, "", "string"},
    {"factor", {POSENC_BLOCK("factor"), "--rope-scale", "rope.scaling.factor"}, "linear yarn", "float32", "linear yarn"},
    {"freq_scale", {"", "", "", "--rope-freq-scale", ""}, "linear yarn", "", "", true},
    {"base", {"rope_theta", "rope_parameters.rope_theta", "rope_parameters.rope_theta", "--rope-freq-base", "rope.freq_base"}},
    {"effective_base", {"rope_theta", "rope_parameters.rope_theta", "rope_parameters.rope_theta", "--rope-freq-base", "rope.freq_base"}},
    {"original_max_position_embeddings",
     {POSENC_BLOCK("original_max_position_embeddings"), "--yarn-orig-ctx", "rope.scaling.original_context_length"},
     "yarn", "uint32", "yarn longrope"},
    {"declared", {"max_position_embeddings", "max_position_embeddings", "max_position_embeddings", "", ""}},
    {"context", {"", "", "--max-model-len", "--ctx-size", "context_length"}, "", "uint32"},
    {"partial_rotary_factor", {"partial_rotary_factor", "rope_parameters.partial_rotary_factor", "rope_parameters.partial_rotary_factor", "", ""}},
    {"rotary_dim", {"", "", "", "", "rope.dimension_count"}, "", "uint32"},
    {"attention_factor",
     {"rope_scaling.attention_factor", "rope_parameters.attention_factor", "rope_parameters.attn_factor",
      "--override-kv A.rope.scaling.attn_factor=float:", "rope.scaling.attn_factor"}},
    {"beta_fast", {POSENC_BLOCK("beta_fast"), "--yarn-beta-fast", "rope.scaling.yarn_beta_fast"}, "yarn", "float32", "yarn", false, true},
    {"beta_slow", {POSENC_BLOCK("beta_slow"), "--yarn-beta-slow", "rope.scaling.yarn_beta_slow"}, "yarn", "float32", "yarn", false, true},
    {"truncate", {POSENC_BLOCK("truncate"), "", ""}, "", "", "", false, true},
    {"mscale", {POSENC_BLOCK("mscale"), "", ""}},
    {"mscale_all_dim", {POSENC_BLOCK("mscale_all_dim"), "", "rope.scaling.yarn_log_multiplier"}, "", "float32", "yarn"},
    {"low_freq_factor", {POSENC_BLOCK("low_freq_factor"), "", ""}},
    {"high_freq_factor", {POSENC_BLOCK("high_freq_factor"), "", ""}},
    {"mrope_section", {POSENC_BLOCK("mrope_section"), "", "rope.dimension_sections"}, "", "int32 array"},
    {"mrope_interleaved", {POSENC_BLOCK("mrope_interleaved"), "", ""}},
    {"divisors", {"", "", "", "", "tensor rope_freqs.weight"}},
}};
// Lists of longrope: JSON, or tensors of divisors.
inline constexpr std::array<Spelling, 2> lists{{
    {"short_factor", {POSENC_BLOCK("short_factor"), "", "tensor rope_factors_short.weight"}},
    {"long_factor", {POSENC_BLOCK("long_factor"), "", "tensor rope_factors_long.weight"}},
}};
#undef POSENC_BLOCK

[[nodiscard]] inline const Spelling* spelling_of(std::string_view quantity) {
  for (const Spelling& s : spellings)
    if (s.quantity == quantity) return &s;
  for (const Spelling& s : lists)
    if (s.quantity == quantity) return &s;
  return nullptr;
}

// How the programs call a rule; "" where they do not have it. `by_base`: it is the default rule with another base.
struct Naming {
  std::string_view method, json, flags, gguf;
  bool by_base = false;
  bool new_to_5 = false;  ///< transformers 4 does not have it
};
inline constexpr std::array<Naming, 10> namings{{
    {"default", "default", "none", "none"},
    {"base", "default", "none", "none", true},
    {"ntk", "default", "none", "none", true},
    {"ntk-old", "default", "none", "none", true},
    {"linear", "linear", "linear", "linear"},
    {"yarn", "yarn", "yarn", "yarn"},
    {"longrope", "longrope", "", "longrope"},
    {"dynamic", "dynamic", "", ""},
    {"llama3", "llama3", "", "none"},
    {"proportional", "proportional", "", "", false, true},
}};
// Any other rule: llama.cpp still takes its divisors of the plain frequencies, as it does for llama3.
inline constexpr Naming unknown{"", "", "", "none"};
inline constexpr Naming nothing{"", "", "", ""};
// vLLM multiplies max_position_embeddings by factor under these rules (under yarn, the original length).
inline constexpr std::array<std::string_view, 3> multiplied_by_vllm{"linear", "dynamic", "yarn"};

// GGUF keys of layers that attend within a window; they are not rescaled.
struct WindowWord {
  std::string_view quantity, word;
};
inline constexpr std::array<WindowWord, 2> window_words{{{"base", "rope.freq_base_swa"}, {"rotary_dim", "rope.dimension_count_swa"}}};

/// Whether `word` is one of those of `list`, which spaces separate.
[[nodiscard]] inline bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace posenc::analyze_sections::program_words
