#include "context/reached_layers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "context/dialect.hpp"
#include "context/layer_plan.hpp"
#include "context/lengthening.hpp"
#include "posenc/config_edit.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace config {
namespace {

constexpr std::string_view every = "all";

// Kinds of layers with positions, the image tower's left out.
std::vector<const Reading*> kinds_of(const ConfigReading& config) {
  std::vector<const Reading*> out;
  for (const Reading& r : config.readings)
    if (r.layer_type != "vision" && r.encoding != "none") out.push_back(&r);
  return out;
}

const Reading* of_type(const std::vector<const Reading*>& kinds, std::string_view type) {
  const auto at = std::find_if(kinds.begin(), kinds.end(), [&](const Reading* r) { return same_layer_type(r->layer_type, type); });
  return at == kinds.end() ? nullptr : *at;
}

const Reading* usual(const std::vector<const Reading*>& kinds) {
  const Reading* full = of_type(kinds, "full_attention");
  return full != nullptr ? full : kinds.front();
}

}  // namespace

bool speaks_for_all(const OpenedConfig& opened) { return !has_layer_blocks(opened) && !two_bases(opened); }

std::vector<const Reading*> target_readings(const ConfigReading& before, const OpenedConfig& opened, std::string_view name,
                                            const std::vector<std::string>& asked) {
  const std::vector<const Reading*> kinds = kinds_of(before);
  if (kinds.empty()) refuse_change(name, "describes no positions that a rule could lengthen");
  if (asked.empty()) return {usual(kinds)};
  std::vector<const Reading*> out;
  for (const Reading* r : kinds)
    if (std::any_of(asked.begin(), asked.end(), [&](const std::string& type) { return type == every || same_layer_type(r->layer_type, type); }))
      out.push_back(r);
  for (const std::string& type : asked) {
    if (type == every || of_type(kinds, type) != nullptr) continue;
    std::vector<std::string> types;
    for (const Reading* r : kinds) types.push_back(r->layer_type);
    refuse_change(name, fmt::format("has no layer type {} whose positions are encoded{}", quoted_word(type), kinds.size() > 1 ? "; there are " + one_of(types) : ""));
  }
  if (!speaks_for_all(opened) || out.front()->encoding != "rope") return out;
  if (out.size() < kinds.size())
    refuse_change(name, fmt::format("its one block is for all layers, so that no rule can be for {} alone; leave layer_type out", fmt::join(asked, " and ")));
  return {usual(kinds)};
}

}  // namespace config

std::vector<std::string> layer_types_reached(std::string_view json_text, std::string_view name) {
  const ConfigReading config = read_config(json_text, name);
  const config::OpenedConfig opened(json_text, name);
  std::vector<std::string> out;
  const std::vector<const Reading*> kinds = config::kinds_of(config);
  for (const Reading* r : kinds)
    if (r->encoding == "rope" && (config::speaks_for_all(opened) || r == config::usual(kinds))) out.push_back(r->layer_type);
  return out;
}

}  // namespace posenc
