// read_config: the text becomes JSON, the parts that hold the text model and the image tower are found, and the reader
// of the model's family does the rest.
#include "posenc/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "context/lookup.hpp"
#include "context/model_classes.hpp"
#include "context/readers.hpp"
#include "posenc/error.hpp"
#include "posenc/json.hpp"

namespace posenc {
namespace config {
namespace {

/// Python's json module writes NaN and Infinity, which JSON does not have. Each becomes a marked string of the same
/// length, so that lines and columns stay true; read where a number is wanted, it is refused by its name.
std::string without_literals(std::string_view text, std::size_t& replaced) {
  std::string out(text);
  bool quoted = false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (quoted) {
      if (out[i] == '\\')
        ++i;
      else if (out[i] == '"')
        quoted = false;
      continue;
    }
    if (out[i] == '"') {
      quoted = true;
      continue;
    }
    if (out[i] != 'N' && out[i] != 'I' && out[i] != '-') continue;
    for (std::string_view literal : {"NaN", "Infinity", "-Infinity"}) {
      if (std::string_view(out).substr(i, literal.size()) != literal) continue;
      out[i] = '"';
      out[i + 1] = not_finite_mark;
      for (std::size_t k = i + 2; k + 1 < i + literal.size(); ++k) out[k] = literal == "-Infinity" ? '-' : '+';
      out[i + literal.size() - 1] = '"';
      i += literal.size() - 1;
      ++replaced;
      break;
    }
  }
  return out;
}

// The part that describes the text model, when it is not the whole file.
constexpr std::array<std::string_view, 3> text_parts{"text_config", "llm_config", "language_config"};

struct Parts {
  std::vector<Place> text;  ///< innermost first
  bool nested = false;
};

Parts find_parts(const Lookup& whole) {
  Parts parts;
  Lookup around = whole;
  if (const auto thinker = whole.objects("thinker_config"); !thinker.empty()) {  // Qwen's omni models
    parts.text = thinker;
    around = whole.at(thinker);
  }
  std::vector<Place> inner;
  for (std::string_view part : text_parts)
    for (const Place& place : around.objects(part)) inner.push_back(place);
  if (inner.size() > 1)
    whole.fail(fmt::format("{} and {} both stand; keep the one that describes the text model", inner[0].name(), inner[1].name()));
  parts.nested = !inner.empty() || !parts.text.empty();
  parts.text.insert(parts.text.begin(), inner.begin(), inner.end());
  parts.text.push_back(whole.places().front());
  return parts;
}

// ALiBi in the 13B model, rotary in the 7B; both files look alike but for their widths.
bool baichuan_rotates(const Lookup& model) {
  const auto width = model.need_count({"hidden_size"}, lanes);
  if (width.value == 4096) return true;
  if (width.value == 5120) return false;
  model.fail(fmt::format(
      "{} is {}: Baichuan rotates at 4096 and has ALiBi at 5120, and no other size is known; give the parameters by hand",
      width.origin, width.value));
}

std::vector<Reading> read_family(const Lookup& model, const ModelClass* known) {
  switch (known == nullptr ? Family::rope : known->family) {
    case Family::rope:
    case Family::latent:
    case Family::chatglm:
    case Family::qwen:
    case Family::nomic:
      return read_rope(model, known);
    case Family::baichuan:
      return baichuan_rotates(model) ? read_rope(model, known) : read_alibi(model, *known);
    case Family::falcon:
      return model.flag_or({"alibi"}, false) ? read_alibi(model, *known) : read_rope(model, known);
    case Family::bloom:
      return read_alibi(model, *known);
    case Family::t5:
    case Family::deberta:
    case Family::beit:
    case Family::swin:
      return read_bias(model, *known);
    case Family::image:
      return read_image(model, *known);
    default:
      return read_table(model, *known);
  }
}

std::string dialect_of(const Lookup& whole, const Parts& parts, const std::vector<Reading>& readings) {
  const bool rotary = std::any_of(readings.begin(), readings.end(), [](const Reading& r) { return r.encoding == "rope"; });
  const Lookup model = whole.at(parts.text);
  if (parts.nested) return "nested";
  for (const Place& block : model.objects("rope_parameters"))
    return std::any_of(block.object->begin(), block.object->end(), [](const Json& value) { return value.is_object(); }) ? "nested"
                                                                                                                        : "v5";
  return rotary && model.has({"rope_theta", "rope_scaling"}) ? "v4" : "legacy";
}

// CLIP holds two towers and no text model of its own.
std::vector<Reading> read_clip(const Lookup& whole) {
  std::vector<Reading> readings;
  const auto text = whole.objects("text_config");
  if (text.empty()) whole.fail("model_type clip needs a text_config; add it");
  const ModelClass* known = find_model_class("clip_text_model");
  const Json defaults = Json::parse(known->defaults);
  readings = read_table(whole.at(text).with_defaults(&defaults, known->model_type), *known);
  for (Reading& reading : readings) reading.layer_type = "text";
  return readings;
}

}  // namespace

ConfigReading read(std::string_view text, std::string_view name) {
  ConfigReading result;
  const std::string file(name);
  const auto add_warning = [&](const std::string& sentence) { result.warnings.push_back(sentence); };
  if (text.starts_with("\xEF\xBB\xBF")) {
    text.remove_prefix(3);
    add_warning("starts with a byte-order mark, which JSON does not have; it is skipped");
  }
  std::size_t literals = 0;
  const Json root = json::parse(without_literals(text, literals), name);
  if (!root.is_object()) fail_input(fmt::format("{}: holds {}, not a JSON object; give a model's config", file, shown(root)));

  const Lookup whole(file, result.warnings, {{&root, "", ""}}, nullptr, "");
  const Parts parts = find_parts(whole);
  auto outer = whole.word({"model_type"});
  const auto inner = whole.at({parts.text.front()}).word({"model_type"});
  if (!outer) outer = inner;
  std::string own = inner ? inner->value : outer ? outer->value : "";
  if (!outer) {
    const auto named = whole.find({"architectures"});
    if (!named || !named->value->is_array() || named->value->empty() || !named->value->front().is_string())
      whole.fail("has no model_type and no architectures, so the model's class is not known; add model_type");
    own = named->value->front().get<std::string>();
    whole.warn(fmt::format("has no model_type; the class of {} is not looked up", in_quotes(own)));
  }
  result.model_type = outer ? outer->value : "";

  if (result.model_type == "clip") {
    result.readings = read_clip(whole);
  } else {
    const ModelClass* known = find_model_class(own);
    const Json defaults = known != nullptr ? Json::parse(known->defaults) : Json::object();
    result.readings = read_family(whole.at(parts.text).with_defaults(&defaults, own), known);
  }
  for (const Place& tower : whole.at(parts.text).objects("vision_config"))
    for (Reading& reading : read_vision(whole.at({tower}), result.model_type)) result.readings.push_back(std::move(reading));
  for (const Place& tower : whole.at(parts.text).objects("audio_config")) whole.warn(fmt::format("{} is not read", tower.name()));
  result.dialect = dialect_of(whole, parts, result.readings);
  if (literals > 0)
    add_warning(fmt::format("{} NaN or Infinity stands in keys that posenc does not read; JSON has no such numbers", literals));
  return result;
}

}  // namespace config

ConfigReading read_config(std::string_view json_text, std::string_view name) { return config::read(json_text, name); }

}  // namespace posenc
