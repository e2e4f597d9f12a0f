// The readers of the families: each turns a config into readings. What they share stands here.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "context/lookup.hpp"
#include "context/model_classes.hpp"
#include "posenc/config.hpp"
#include "posenc/text.hpp"

namespace posenc::config {

inline const std::vector<std::string_view> hidden_keys{"hidden_size", "n_embd", "n_embed", "d_model"};
inline const std::vector<std::string_view> head_keys{"num_attention_heads", "n_head", "n_heads", "num_heads"};
inline const std::vector<std::string_view> context_keys{
    "max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length", "model_max_length", "n_ctx"};

inline void put(Reading& reading, std::string_view field, std::int64_t value, std::string_view origin) {
  reading.settings.push_back({std::string(field), print(value), std::string(origin)});
}
inline void put(Reading& reading, std::string_view field, double value, std::string_view origin) {
  reading.settings.push_back({std::string(field), print(value), std::string(origin)});
}
inline void put(Reading& reading, std::string_view field, bool value, std::string_view origin) {
  reading.settings.push_back({std::string(field), print(value), std::string(origin)});
}
inline void put(Reading& reading, std::string_view field, std::string_view value, std::string_view origin) {
  reading.settings.push_back({std::string(field), std::string(value), std::string(origin)});
}
inline void put(Reading& reading, std::string_view field, const char* value, std::string_view origin) {
  put(reading, field, std::string_view(value), origin);
}

/// A parameter of the reading; null where it has none of that name.
[[nodiscard]] inline const Setting* find_setting(const Reading& reading, std::string_view field) {
  const auto it = std::find_if(reading.settings.begin(), reading.settings.end(), [&](const Setting& s) { return s.field == field; });
  return it == reading.settings.end() ? nullptr : &*it;
}

/// What is told and is no parameter of the encoding.
template <class T>
void put_fact(Reading& reading, std::string_view field, const T& value, std::string_view origin) {
  put(reading, field, value, origin);
  reading.facts.push_back(std::move(reading.settings.back()));
  reading.settings.pop_back();
}

/// hidden_size / num_attention_heads, refused unless it is whole.
[[nodiscard]] Given<std::int64_t> width_per_head(const Lookup& model);
/// How the class starts a learned table off, when the file says it: initializer_range.
void put_spread(Reading& reading, const Lookup& model);
/// The amplitude of cos and sin; nothing for other encodings and for parameters that make no table.
[[nodiscard]] std::optional<double> amplitude_of(const Reading& reading);
/// The declared number of positions, when there is one.
void put_context(Reading& reading, const Lookup& model);

/// One reading per kind of layer.
[[nodiscard]] std::vector<Reading> read_rope(const Lookup& model, const ModelClass* known);
[[nodiscard]] std::vector<Reading> read_alibi(const Lookup& model, const ModelClass& known);
[[nodiscard]] std::vector<Reading> read_bias(const Lookup& model, const ModelClass& known);
[[nodiscard]] std::vector<Reading> read_table(const Lookup& model, const ModelClass& known);
/// A model that is an image tower and nothing else.
[[nodiscard]] std::vector<Reading> read_image(const Lookup& model, const ModelClass& known);
/// The image tower; `top` is the model_type around it. No reading (and a warning) when its class is not known.
[[nodiscard]] std::vector<Reading> read_vision(const Lookup& tower, std::string_view top);

}  // namespace posenc::config
