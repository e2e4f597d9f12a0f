// posenc inspect: what a file, a spec or a model's config says.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "posenc/architectures.hpp"
#include "posenc/config.hpp"
#include "posenc/config_edit.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/json.hpp"
#include "posenc/resample.hpp"
#include "posenc/text.hpp"
#include "report.hpp"
#include "sources.hpp"

namespace posenc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string file, dialect;
};

Json array_file(const std::string& path, bool json) {
  const auto reader = formats::open(path);
  const std::optional<Spec> spec = spec_in(*reader, path);
  Json tensors = Json::array();
  for (const StoredTensor& t : reader->tensors()) {
    Json entry{{"name", t.name}, {"dtype", name_of(t.dtype)}, {"shape", t.shape}, {"bytes", t.bytes()}};
    if (!t.axis_names.empty()) entry["axes"] = t.axis_names;
    if (t.is_complex) entry["complex"] = true;
    tensors.push_back(std::move(entry));
  }
  const std::vector<std::string> skipped = formats::skipped(*reader);
  Json out{{"file", path}, {"kind", "arrays"}, {"format", reader->format()}, {"tensors", std::move(tensors)}};
  if (!skipped.empty()) out["skipped"] = skipped;
  const std::vector<std::string> remarks = formats::remarks(*reader), faults = formats::faults(*reader);
  if (!remarks.empty()) out["remarks"] = remarks;
  if (!faults.empty()) out["faults"] = faults;
  if (spec) out["spec"] = Json::parse(spec->json());
  const auto record_of = [&](std::string_view key) {
    const auto found = reader->metadata().find(std::string(key));
    return found == reader->metadata().end() ? Json() : json::parse(found->second, fmt::format("{}: its {}", path, key));
  };
  const Json applied = record_of(applied_key), resampled = record_of(resampled_key);
  if (applied.is_object()) out["applied"] = applied;
  if (resampled.is_object()) out["resampled"] = resampled;
  if (json) return out;
  fmt::print("{}: {}\n", path, reader->format());
  for (const StoredTensor& t : reader->tensors()) fmt::print("  {:<24} {:<36} {}\n", t.name, form_text(t), human_bytes(static_cast<std::uint64_t>(t.bytes())));
  for (const std::string& s : skipped) fmt::print("  left out: {}\n", s);
  for (const std::string& s : remarks) fmt::print("  {}\n", s);
  for (const std::string& s : faults) fmt::print("  fault: {}\n", s);
  if (spec)
    fmt::print("made by posenc {} from\n{}\n", reader->metadata().contains(std::string(version_key)) ? reader->metadata().at(std::string(version_key)) : "?", spec->json(2));
  else if (applied.is_object())
    fmt::print("made by posenc apply: {}\n", json_text(applied));
  else if (resampled.is_object())
    fmt::print("made by posenc rescale: {}\n", json_text(resampled));
  else
    fmt::print("carries no spec\n");
  return out;
}

// {"value", "from", "also"?} under each name.
Json values_json(const std::vector<Setting>& settings) {
  Json out = Json::object();
  for (const Setting& s : settings) {
    out[s.field] = {{"value", s.value}, {"from", s.origin}};
    if (!s.also.empty()) out[s.field]["also"] = s.also;
  }
  return out;
}

Json reading_json(const Reading& r) {
  Json entry{{"layer_type", r.layer_type}, {"encoding", r.encoding}, {"settings", values_json(r.settings)}};
  entry["context"] = r.context ? Json(*r.context) : Json();
  entry["softmax_multiplier"] = r.softmax_multiplier;
  entry["notes"] = r.notes;
  entry["context_from"] = r.context_origin;
  entry["softmax_multiplier_from"] = r.softmax_origin;
  entry["attention_factor"] = r.attention_factor ? Json(*r.attention_factor) : Json();
  entry["layers"] = r.layers;
  entry["facts"] = values_json(r.facts);
  entry["open"] = r.open;
  return entry;
}

Json lengths_json(const DeclaredLengths& lengths) {
  Json out{{"keys", values_json(lengths.keys)}, {"served", lengths.served ? Json(*lengths.served) : Json()}, {"served_from", lengths.served_origin}};
  out["findings"] = lengths.findings;
  return out;
}

Json architecture_json(const ConfigArchitecture& part) {
  const auto number = [](const std::optional<std::int64_t>& n) { return n ? Json(*n) : Json(); };
  Json tensors = Json::array();
  for (const TensorRows& t : part.tensors)
    tensors.push_back({{"name", t.tensor.name}, {"kind", name_of(t.tensor.kind)}, {"axis", t.tensor.axis}, {"square", t.tensor.square}, {"rows", number(t.rows)}, {"rows_rule", t.tensor.rows},
                       {"offset", number(t.offset)}, {"offset_rule", t.tensor.offset}, {"suffix", number(t.suffix)}, {"usable", number(t.usable())}});
  return {{"part", part.part}, {"model_type", part.model_type}, {"architecture", part.architecture->name}, {"tensors", std::move(tensors)},
          {"keys", part.architecture->keys}, {"buffers", part.architecture->buffers}, {"note", part.architecture->note}};
}

void print_value(std::string_view field, std::string_view text, std::string_view origin, const std::vector<std::string>& also = {}) {
  const std::string value = text.size() > 40 ? std::string(text.substr(0, 37)) + "..." : std::string(text);
  fmt::print("  {:<34} {:<20} {}{}\n", field, value, origin, also.empty() ? "" : fmt::format("; also {}", fmt::join(also, ", ")));
}

void print_reading(const Reading& r) {
  fmt::print("{}{}\n", r.layer_type.empty() ? "" : r.layer_type + ": ", r.encoding);
  for (const Setting& s : r.settings) print_value(s.field, s.value, s.origin, s.also);
  for (const std::string& field : r.open) print_value(field, "?", "no config tells it");
  for (const Setting& s : r.facts) print_value(s.field, s.value, s.origin, s.also);
  if (r.context) print_value("context", print(*r.context), r.context_origin);
  const bool stated = std::any_of(r.settings.begin(), r.settings.end(), [](const Setting& s) { return s.field == "attention_factor"; });
  if (r.attention_factor && !stated) print_value("attention_factor", print(*r.attention_factor), "by the method: amplitude of cos and sin");
  if (r.encoding == "rope") print_value("softmax_multiplier", print(r.softmax_multiplier), r.softmax_multiplier == 1 ? "the attention scale is not changed" : r.softmax_origin);
  for (const std::string& note : r.notes) fmt::print("  {}\n", note);
}

void print_architecture(const ConfigArchitecture& part) {
  fmt::print("to lengthen {}{}{}\n", part.part, part.part.empty() ? "" : ", ", part.model_type);
  for (const TensorRows& t : part.tensors) {
    std::string rows = t.rows ? fmt::format("{} rows", *t.rows) : "rows by the tensor";
    if (t.rows && t.tensor.rows.find_first_of("+-*/ ") != std::string_view::npos) rows += fmt::format(" = {}", t.tensor.rows);
    if (t.offset.value_or(0) > 0) rows += fmt::format(", {} in front", *t.offset) + (t.tensor.offset.find_first_of("+-*/ ") != std::string_view::npos ? fmt::format(" = {}", t.tensor.offset) : "");
    if (t.suffix.value_or(0) > 0) rows += fmt::format(", {} behind", *t.suffix);
    if (t.usable() && *t.usable() != *t.rows) rows += fmt::format(", {} for positions", *t.usable());
    fmt::print("  tensor {} ({}): {}\n", t.tensor.name, name_of(t.tensor.kind), rows);
  }
  if (part.tensors.empty()) fmt::print("  no tensor changes\n");
  if (!part.architecture->keys.empty()) fmt::print("  keys {}\n", fmt::join(part.architecture->keys, ", "));
  if (!part.architecture->buffers.empty()) fmt::print("  buffers {}\n", fmt::join(part.architecture->buffers, ", "));
  if (!part.architecture->note.empty()) fmt::print("  {}\n", part.architecture->note);
}

Json config_file(const std::string& text, const std::string& path, bool json) {
  const ConfigReading config = read_config(text, path);
  const std::vector<ConfigArchitecture> parts = architectures_in(text, path);
  Json readings = Json::array(), architectures = Json::array();
  for (const Reading& r : config.readings) readings.push_back(reading_json(r));
  for (const ConfigArchitecture& part : parts) architectures.push_back(architecture_json(part));
  Json out{{"file", path}, {"kind", "config"}, {"model_type", config.model_type}, {"dialect", config.dialect}, {"readings", std::move(readings)}, {"warnings", config.warnings}};
  out["lengths"] = lengths_json(config.lengths);
  out["architectures"] = std::move(architectures);
  if (json) return out;
  fmt::print("{}: config of {} ({} spelling)\n", path, config.model_type.empty() ? "an unnamed model type" : config.model_type, config.dialect);
  for (const Reading& r : config.readings) print_reading(r);
  if (!config.lengths.keys.empty()) {
    fmt::print("declared lengths\n");
    for (const Setting& s : config.lengths.keys) print_value(s.field, s.value, s.origin, s.also);
    if (config.lengths.served) print_value("vLLM serves", print(*config.lengths.served), config.lengths.served_origin);
    for (const std::string& finding : config.lengths.findings) fmt::print("  {}\n", finding);
  }
  for (const ConfigArchitecture& part : parts) print_architecture(part);
  for (const std::string& w : config.warnings) fmt::print("warning: {}\n", w);
  return out;
}

Json spec_file(const std::string& text, const std::string& path, bool json) {
  const Spec spec = Spec::parse(text, path);
  spec.check();
  Json tensors = Json::array();
  for (const PlannedTensor& p : plan(spec, ComplexForm::pair)) {
    if (!json) fmt::print("  {:<24} {}\n", p.stored.name, form_text(p.stored));
    tensors.push_back({{"name", p.stored.name}, {"dtype", name_of(p.stored.dtype)}, {"shape", p.stored.shape}});
  }
  if (!json) fmt::print("{}\n", spec.json(2));
  return {{"file", path}, {"kind", "spec"}, {"tensors", std::move(tensors)}, {"spec", Json::parse(spec.json())}};
}

// The whole config again, in the dialect asked for.
int print_dialect(const std::string& path, ConfigDialect dialect, const Common& common) {
  if (common.json) fail_usage("--config-dialect prints the config itself; leave --json out");
  if (!starts_like_json(path)) fail_usage(fmt::format("--config-dialect wants a config.json; {} is no JSON text", path));
  const std::string text = read_text(path);
  if (is_spec(text)) fail_usage(fmt::format("--config-dialect wants a model's config.json; {} is a spec", path));
  std::vector<std::string> remarks;
  fmt::print("{}", in_dialect(text, path, dialect, &remarks));
  if (!common.quiet)
    for (const std::string& remark : remarks) say(remark);
  return 0;
}

int run(const Options& o, const Common& common) {
  if (o.file.empty()) fail_usage("inspect wants a file or a model's folder (see posenc inspect --help)");
  const std::string path = config_path(o.file);
  if (!o.dialect.empty()) return print_dialect(path, parse_config_dialect(o.dialect, "--config-dialect"), common);
  Json out;
  if (!starts_like_json(path)) {
    out = array_file(path, common.json);
  } else {
    const std::string text = read_text(path);
    out = is_spec(text) ? spec_file(text, path, common.json) : config_file(text, path, common.json);
  }
  if (common.json) fmt::print("{}\n", json_text(out));
  return 0;
}

}  // namespace

Command add_inspect(CLI::App& app, Common& common) {
  CLI::App* sub = app.add_subcommand("inspect", "show what a file, a spec or a model's config.json says, and from where");
  auto o = std::make_shared<Options>();
  add_text(*sub, "file", o->file, "FILE", "an array file, a spec, a config.json or its folder");
  add_text(*sub, "--config-dialect", o->dialect, "4|5", "print the config again, its rotary keys as transformers 4 or 5 spells them");
  add_common(*sub, common);
  return {sub, [o, &common] { return run(*o, common); }};
}

}  // namespace posenc::cli
