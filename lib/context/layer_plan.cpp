#include "context/layer_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace posenc::config {
namespace {

constexpr std::size_t most_types = 16;

void add(std::vector<LayerGroup>& groups, std::string_view type, std::int64_t layer) {
  auto it = std::find_if(groups.begin(), groups.end(), [&](const LayerGroup& g) { return g.type == type; });
  if (it == groups.end()) it = groups.insert(groups.end(), LayerGroup{std::string(type), {}});
  it->layers.push_back(layer);
}

}  // namespace

bool never_rotates(std::string_view layer_type) {
  constexpr std::array<std::string_view, 4> still{"linear_attention", "conv", "mamba", "recurrent"};
  return std::find(still.begin(), still.end(), layer_type) != still.end();
}

std::string_view new_layer_type(std::string_view layer_type) {
  if (layer_type == "global_attention") return "full_attention";
  if (layer_type == "local_attention") return "sliding_attention";
  return layer_type;
}

bool same_layer_type(std::string_view a, std::string_view b) { return new_layer_type(a) == new_layer_type(b); }

void check_layer_type(const Lookup& model, std::string_view layer_type, std::string_view origin) {
  constexpr std::size_t longest = 64;
  const bool plain_name = std::all_of(layer_type.begin(), layer_type.end(),
                                      [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
  if (layer_type.empty() || layer_type.size() > longest || !plain_name)
    model.fail(
        fmt::format("{} names the layer type {}; use up to {} letters, digits, _ and -", origin, in_quotes(layer_type), longest));
}

std::string describe_layers(const std::vector<std::int64_t>& layers, std::int64_t of) {
  constexpr std::size_t shown_first = 3, shown_all = 6;
  std::string text;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers.size() > shown_all && i >= shown_first && i + 1 < layers.size()) {
      if (i == shown_first) text += ", ...";
      continue;
    }
    text += fmt::format("{}{}", i == 0 ? "" : ", ", layers[i]);
  }
  return fmt::format("layers {} ({} of {})", text, layers.size(), of);
}

std::vector<LayerGroup> plan_layers(const Lookup& model, const ModelClass* known) {
  const auto number = model.innermost().count({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, layer_counts);
  const EveryNth pattern = known != nullptr ? known->pattern : EveryNth{};
  std::vector<LayerGroup> groups;

  if (const auto types = model.find({"layer_types"})) {
    if (!types->value->is_array())
      model.fail(fmt::format("{} is {}; write a list of words", types->origin, shown(*types->value)));
    if (number && static_cast<std::int64_t>(types->value->size()) != number->value)
      model.fail(fmt::format("{} has {} entries but {} is {}; make them agree", types->origin, types->value->size(),
                             number->origin, number->value));
    std::int64_t layer = 0;
    for (const Json& type : *types->value) {
      if (!type.is_string()) model.fail(fmt::format("{}[{}] is {}; write a word in quotes", types->origin, layer, shown(type)));
      check_layer_type(model, type.get_ref<const std::string&>(), types->origin);
      add(groups, type.get_ref<const std::string&>(), layer++);
      if (groups.size() > most_types)
        model.fail(fmt::format("{} names more than {} kinds of layers; check it", types->origin, most_types));
    }
    if (groups.empty()) model.fail(fmt::format("{} is empty; name the kind of each layer or remove it", types->origin));
    return groups;
  }

  if (const auto rotates = model.counts({"no_rope_layers"}, {0, 1});
      rotates && !rotates->value.empty()) {  // 1: the layer rotates
    if (number && static_cast<std::int64_t>(rotates->value.size()) != number->value)
      model.fail(fmt::format("{} has {} entries but {} is {}; make them agree", rotates->origin, rotates->value.size(),
                             number->origin, number->value));
    for (std::size_t i = 0; i < rotates->value.size(); ++i)
      add(groups,
          rotates->value[i] == 1 ? (pattern.others.empty() ? "rope" : pattern.others)
                                 : (pattern.chosen.empty() ? "no_rope" : pattern.chosen),
          static_cast<std::int64_t>(i));
    return groups;
  }

  if (pattern.count == 0) return {LayerGroup{}};
  std::int64_t every = pattern.count;
  if (!pattern.key.empty())
    if (const auto given = model.innermost().count({pattern.key}, layer_counts)) every = given->value;
  if (!number) return {LayerGroup{std::string(pattern.chosen), {}}, LayerGroup{std::string(pattern.others), {}}};
  for (std::int64_t i = 0; i < number->value; ++i)
    add(groups, (i + pattern.shift) % every == 0 ? pattern.chosen : pattern.others, i);
  return groups;
}

}  // namespace posenc::config
