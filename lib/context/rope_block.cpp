#include "context/rope_block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "context/layer_plan.hpp"
#include "posenc/text.hpp"

namespace posenc::config {
namespace {

constexpr std::array<std::string_view, 2> block_keys{"rope_parameters", "rope_scaling"};

// Sorts one dictionary into flat or per layer; a mixture of both has no one meaning.
void sort_block(const Lookup& model, const Place& block, RopeBlocks& blocks) {
  const std::string* inner = nullptr;
  const std::string* plain = nullptr;
  for (const auto& [key, value] : block.object->items()) {
    if (value.is_object())
      inner = &key;
    else if (!value.is_null())
      plain = &key;
  }
  if (inner != nullptr && plain != nullptr)
    model.fail(fmt::format("{} holds both a block {} and the plain key {}; write either one block per layer type or none",
                           block.name(), in_quotes(*inner), in_quotes(*plain)));
  if (inner == nullptr) {
    if (!block.object->empty()) blocks.flat.push_back(block);
    return;
  }
  for (const auto& [key, value] : block.object->items()) check_layer_type(model, key, block.name());
  for (const auto& [key, value] : block.object->items())
    blocks.per_layer.push_back({key, Place{value.is_null() ? nullptr : &value, block.prefix + key + ".", block.label}});
}

std::string common_name(std::string_view word, std::string_view model_type) {
  if (word == "su" || is_old_longrope(word, model_type)) return "longrope";
  if (word == "mrope") return "default";  // several position axes, plain frequencies
  return std::string(word);
}

}  // namespace

bool is_old_longrope(std::string_view word, std::string_view model_type) { return word == "yarn" && model_type == "phi3"; }

RopeBlocks find_rope_blocks(const Lookup& model) {
  RopeBlocks blocks;
  for (std::string_view key : block_keys)
    for (const Place& place : model.objects(key)) sort_block(model, place, blocks);
  if (blocks.nested() && !blocks.flat.empty())
    model.fail(fmt::format("{} is for all layers but {} is per layer type; remove one", blocks.flat.front().name(),
                           blocks.per_layer.front().second.name()));
  for (std::size_t i = 0; i < blocks.per_layer.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const auto& [a, first] = blocks.per_layer[k];
      const auto& [b, second] = blocks.per_layer[i];
      const bool equal =
          (first.object == nullptr) == (second.object == nullptr) && (first.object == nullptr || *first.object == *second.object);
      if (a == b && !equal) model.fail(fmt::format("{} and {} disagree; remove one", first.name(), second.name()));
    }
  if (!model.has({"rope_parameters", "rope_scaling"}) && model.defaults() != nullptr)
    if (const auto it = model.defaults()->find("rope_scaling"); it != model.defaults()->end())
      blocks.flat.push_back({&*it, "rope_scaling.", "class default of " + model.owner()});
  return blocks;
}

RopeRule rope_rule(const Lookup& block) {
  static const std::vector<std::string> rules{"default", "linear", "dynamic", "yarn", "llama3", "longrope", "proportional"};
  std::optional<Given<std::string>> rule;
  for (const Place& place : block.places())
    for (std::string_view key : {"rope_type", "type"}) {
      const auto word = block.at({place}).explicit_only().word({key});
      if (!word) continue;
      if (rule && common_name(rule->value, block.owner()) != common_name(word->value, block.owner()))
        block.fail(fmt::format("{} is {} but {} is {}; remove the wrong one", word->origin, in_quotes(word->value), rule->origin,
                               in_quotes(rule->value)));
      if (!rule)
        rule = word;
      else
        block.agree(rule->origin, word->origin);
    }
  if (!rule) {
    if (block.has({"factor", "short_factor", "long_factor"}))
      block.fail(fmt::format("{}factor stands without {}rope_type; name the rule", block.places().front().prefix,
                             block.places().front().prefix));
    return {{"default", block.places().empty() ? "no rope_scaling" : "no rope_type"}};
  }
  const std::string name = common_name(rule->value, block.owner());
  if (name == "ntk")
    block.fail(fmt::format(
        "{} is \"ntk\", a name that several model codes give to different rules; state rope_theta after scaling, or use dynamic",
        rule->origin));
  if (std::find(rules.begin(), rules.end(), name) == rules.end())
    block.fail(fmt::format("{} is {}, an unknown rope_type{}; use {}", rule->origin, in_quotes(rule->value),
                           did_you_mean(name.substr(0, 64), rules), one_of(rules)));
  return {{name, rule->origin}, rule->value};
}

}  // namespace posenc::config
