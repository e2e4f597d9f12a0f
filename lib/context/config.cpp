// read_config: the text becomes JSON, the parts that hold the text model and the image tower are found, and the reader
// of the model's family does the rest.
#include "posenc/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "context/lengths.hpp"
#include "context/lookup.hpp"
#include "context/model_classes.hpp"
#include "context/opened.hpp"
#include "context/readers.hpp"

namespace posenc {
namespace config {
namespace {

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
    case Family::unread:
      model.warn(fmt::format("model_type {}: posenc does not read its positions from a config; give the parameters by hand", known->model_type));
      return {};
    default:
      return read_table(model, *known);
  }
}

std::string dialect_of(const Lookup& model, bool nested, const std::vector<Reading>& readings) {
  const bool rotary = std::any_of(readings.begin(), readings.end(), [](const Reading& r) { return r.encoding == "rope"; });
  if (nested) return "nested";
  for (const Place& block : model.objects("rope_parameters"))
    return std::any_of(block.object->begin(), block.object->end(), [](const Json& value) { return value.is_object(); }) ? "nested"
                                                                                                                        : "v5";
  return rotary && model.has({"rope_theta", "rope_scaling"}) ? "v4" : "legacy";
}

// What follows of a reading once all of it is there.
void finish(Reading& reading, const Log& log) {
  for (std::vector<Setting>* list : {&reading.settings, &reading.facts})
    for (Setting& setting : *list)
      if (const auto it = log.also.find(setting.origin); it != log.also.end()) setting.also = it->second;
  reading.attention_factor = amplitude_of(reading);
}

// One side of an encoder-decoder that is a model of its own: "decoder", or "encoder_stage_0".
std::vector<Reading> read_half(const Lookup& half) {
  const std::string name = half.places().front().name();
  const auto type = half.word({"model_type"});
  if (!type) half.fail(fmt::format("{} has no model_type, so its class is not known; add it", name));
  const ModelClass* known = find_model_class(type->value);
  const Json defaults = known != nullptr ? Json::parse(known->defaults) : Json::object();
  std::vector<Reading> readings = read_family(half.with_defaults(&defaults, type->value), known);
  for (Reading& reading : readings) reading.layer_type = reading.layer_type.empty() ? name : name + "_" + reading.layer_type;
  return readings;
}

}  // namespace

ConfigReading read(std::string_view text, std::string_view name) {
  OpenedConfig opened(text, name);
  const Lookup whole = opened.whole(), model = opened.model();
  ConfigReading result;
  result.model_type = opened.model_type;
  const bool clip = opened.model_type == "clip";
  const std::vector<Place> halves = opened.halves();
  if (halves.empty()) result.readings = read_family(model, opened.known);
  for (const Place& half : halves)
    for (Reading& reading : read_half(whole.at({half}))) result.readings.push_back(std::move(reading));
  if (clip)
    for (Reading& reading : result.readings) reading.layer_type = "text";
  const Lookup around = clip ? whole : whole.at(opened.text);
  for (const Place& tower : around.objects("vision_config"))
    for (Reading& reading : read_vision(whole.at({tower}), result.model_type)) result.readings.push_back(std::move(reading));
  for (const Place& tower : around.objects("audio_config")) whole.warn(fmt::format("{} is not read", tower.name()));
  result.dialect = dialect_of(around, opened.nested, result.readings);
  for (Reading& reading : result.readings) finish(reading, opened.log);
  result.lengths = read_lengths(model, result.readings);
  if (opened.literals > 0)
    opened.log.warnings.push_back(
        fmt::format("{} NaN or Infinity stands in keys that posenc does not read; JSON has no such numbers", opened.literals));
  result.warnings = std::move(opened.log.warnings);
  return result;
}

}  // namespace config

ConfigReading read_config(std::string_view json_text, std::string_view name) { return config::read(json_text, name); }

}  // namespace posenc
