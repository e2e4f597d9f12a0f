// The list of architectures, and its rows for one config.
#include "posenc/architectures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "context/expression.hpp"
#include "context/opened.hpp"
#include "posenc/config.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace config {
namespace {

using Json = nlohmann::ordered_json;

// "attn_config.alibi" in the places, else what the class says.
const Json* value_of(const Lookup& model, std::string_view key) {
  const auto inside = [&](const Json* at) -> const Json* {
    for (std::string_view rest = key;;) {
      const std::size_t dot = rest.find('.');
      const auto it = at->find(std::string(rest.substr(0, dot)));
      if (it == at->end()) return nullptr;
      at = &*it;
      if (dot == std::string_view::npos) return at;
      if (!at->is_object()) return nullptr;
      rest.remove_prefix(dot + 1);
    }
  };
  for (const Place& place : model.places())
    if (const Json* found = inside(place.object); found != nullptr && !found->is_null()) return found;
  return model.defaults() == nullptr ? nullptr : inside(model.defaults());
}

bool holds(const Lookup& model, std::string_view condition) {
  if (condition.empty()) return true;
  const std::size_t equals = condition.find('=');
  const Json* found = value_of(model, condition.substr(0, equals));
  if (found == nullptr) return false;
  const std::string text = found->is_string() ? found->get<std::string>() : found->dump();
  for (std::string_view rest = condition.substr(equals + 1); !rest.empty();) {
    const std::size_t bar = rest.find('|');
    if (rest.substr(0, bar) == text) return true;
    rest = bar == std::string_view::npos ? "" : rest.substr(bar + 1);
  }
  return false;
}

ConfigArchitecture evaluated(const Lookup& model, std::string part, const ModelClass& known, const Architecture& architecture, std::optional<std::int64_t> rotary_pairs) {
  const Values values = [&](std::string_view name) -> std::optional<std::int64_t> {
    if (name == "extra_tokens") return known.extra_tokens;
    if (name == "rotary_pairs") return rotary_pairs;
    const Json* found = value_of(model, name);
    if (found == nullptr || !found->is_number_integer()) return std::nullopt;
    if (found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(positions.max)) return std::nullopt;
    return found->get<std::int64_t>();
  };
  const auto number = [&](std::string_view expression) { return expression.empty() ? std::nullopt : evaluate(expression, values); };
  ConfigArchitecture out{std::move(part), std::string(known.model_type), &architecture, {}};
  for (const PositionTensor& tensor : architecture.tensors)
    if (holds(model, tensor.when)) out.tensors.push_back({tensor, number(tensor.rows), number(tensor.offset), number(tensor.suffix)});
  return out;
}

std::optional<std::int64_t> rotary_pairs(std::string_view text, std::string_view name) {
  for (const Reading& reading : read_config(text, name).readings)
    for (const Setting& s : reading.settings)
      if (reading.encoding == "rope" && s.field == "rotary_dim") return parse_int(s.value, s.field) / 2;
  return std::nullopt;
}

std::vector<ConfigArchitecture> read_architectures(std::string_view text, std::string_view name) {
  OpenedConfig opened(text, name);
  std::vector<ConfigArchitecture> out;
  const auto add = [&](const Lookup& model, const std::string& part, std::string_view type) {
    const ModelClass* known = find_model_class(type);
    const Architecture* architecture = architecture_of(type);
    if (architecture == nullptr) return;
    const Json defaults = Json::parse(known->defaults);
    const bool rotates = std::any_of(architecture->tensors.begin(), architecture->tensors.end(), [](const PositionTensor& t) { return t.rows == "rotary_pairs"; });
    out.push_back(evaluated(model.with_defaults(&defaults, type), part, *known, *architecture, rotates ? rotary_pairs(text, name) : std::nullopt));
  };
  add(opened.model(), opened.text.front().name(), opened.text_type);
  for (const Place& half : opened.halves())
    if (const auto type = opened.whole().at({half}).word({"model_type"})) add(opened.whole().at({half}), half.name(), type->value);
  for (const Place& tower : opened.whole().objects("vision_config")) {
    const auto named = opened.whole().at({tower}).word({"model_type"});
    // CLIP's file need not name its towers' types.
    add(opened.whole().at({tower}), tower.name(), named ? named->value : opened.model_type == "clip" ? "clip_vision_model" : "");
  }
  return out;
}

}  // namespace
}  // namespace config

std::string_view name_of(TensorKind kind) {
  switch (kind) {
    case TensorKind::learned: return "learned";
    case TensorKind::sinusoid: return "sinusoid";
    case TensorKind::relative: return "relative";
    case TensorKind::buckets: return "buckets";
    case TensorKind::frequencies: break;
  }
  return "frequencies";
}

std::span<const Architecture> architectures() {
  static const std::vector<Architecture> list{
#include "context/architectures.inc"
  };
  return list;
}

const Architecture* architecture_of(std::string_view model_type) {
  const config::ModelClass* known = config::find_model_class(model_type);
  if (known == nullptr) return nullptr;
  const auto list = architectures();
  const auto it = std::find_if(list.begin(), list.end(), [&](const Architecture& a) { return a.name == known->architecture; });
  return it == list.end() ? nullptr : &*it;
}

std::vector<ConfigArchitecture> architectures_in(std::string_view json_text, std::string_view name) { return config::read_architectures(json_text, name); }

}  // namespace posenc
