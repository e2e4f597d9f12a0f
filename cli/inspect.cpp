// posenc inspect: what a file, a spec or a model's config says.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "posenc/config.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/resample.hpp"
#include "posenc/text.hpp"
#include "report.hpp"
#include "sources.hpp"

namespace posenc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string file;
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
  if (spec) out["spec"] = Json::parse(spec->json());
  const auto record_of = [&](std::string_view key) {
    const auto found = reader->metadata().find(std::string(key));
    return found == reader->metadata().end() ? Json() : Json::parse(found->second, nullptr, false);
  };
  const Json applied = record_of(applied_key), resampled = record_of(resampled_key);
  if (applied.is_object()) out["applied"] = applied;
  if (resampled.is_object()) out["resampled"] = resampled;
  if (json) return out;
  fmt::print("{}: {}\n", path, reader->format());
  for (const StoredTensor& t : reader->tensors()) fmt::print("  {:<24} {:<36} {}\n", t.name, form_text(t), human_bytes(static_cast<std::uint64_t>(t.bytes())));
  for (const std::string& s : skipped) fmt::print("  left out: {}\n", s);
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

Json config_file(const std::string& path, bool json) {
  const ConfigReading config = read_config(read_text(path), path);
  Json readings = Json::array();
  for (const Reading& r : config.readings) {
    Json settings = Json::object();
    for (const Setting& s : r.settings) settings[s.field] = {{"value", s.value}, {"from", s.origin}};
    Json entry{{"layer_type", r.layer_type}, {"encoding", r.encoding}, {"settings", std::move(settings)}};
    entry["context"] = r.context ? Json(*r.context) : Json();
    entry["softmax_multiplier"] = r.softmax_multiplier;
    entry["notes"] = r.notes;
    readings.push_back(std::move(entry));
  }
  Json out{{"file", path}, {"kind", "config"}, {"model_type", config.model_type}, {"dialect", config.dialect}, {"readings", std::move(readings)}, {"warnings", config.warnings}};
  if (json) return out;
  fmt::print("{}: config of {} ({} spelling)\n", path, config.model_type.empty() ? "an unnamed model type" : config.model_type, config.dialect);
  for (const Reading& r : config.readings) {
    fmt::print("{}{}\n", r.layer_type.empty() ? "" : r.layer_type + ": ", r.encoding);
    for (const Setting& s : r.settings) {
      const std::string value = s.value.size() > 40 ? s.value.substr(0, 37) + "..." : s.value;
      fmt::print("  {:<34} {:<20} {}\n", s.field, value, s.origin);
    }
    if (r.context) fmt::print("  {:<34} {:<20} {}\n", "context", *r.context, r.context_origin);
    if (r.softmax_multiplier != 1) fmt::print("  {:<34} {:<20} {}\n", "softmax_multiplier", print(r.softmax_multiplier), r.softmax_origin);
    for (const std::string& note : r.notes) fmt::print("  {}\n", note);
  }
  for (const std::string& w : config.warnings) fmt::print("warning: {}\n", w);
  return out;
}

Json spec_file(const std::string& path, bool json) {
  const Spec spec = Spec::parse(read_text(path), path);
  spec.check();
  Json tensors = Json::array();
  for (const PlannedTensor& p : plan(spec, ComplexForm::pair)) {
    if (!json) fmt::print("  {:<24} {}\n", p.stored.name, form_text(p.stored));
    tensors.push_back({{"name", p.stored.name}, {"dtype", name_of(p.stored.dtype)}, {"shape", p.stored.shape}});
  }
  if (!json) fmt::print("{}\n", spec.json(2));
  return {{"file", path}, {"kind", "spec"}, {"tensors", std::move(tensors)}, {"spec", Json::parse(spec.json())}};
}

int run(const Options& o, const Common& common) {
  if (o.file.empty()) fail_usage("inspect wants a file or a model's folder (see posenc inspect --help)");
  const std::string path = config_path(o.file);
  Json out;
  if (!starts_like_json(path))
    out = array_file(path, common.json);
  else
    out = is_spec(read_text(path)) ? spec_file(path, common.json) : config_file(path, common.json);
  if (common.json) fmt::print("{}\n", json_text(out));
  return 0;
}

}  // namespace

Command add_inspect(CLI::App& app, Common& common) {
  CLI::App* sub = app.add_subcommand("inspect", "show what a file, a spec or a model's config.json says, and from where");
  auto o = std::make_shared<Options>();
  add_text(*sub, "file", o->file, "FILE", "an array file, a spec, a config.json or its folder");
  add_common(*sub, common);
  return {sub, [o, &common] { return run(*o, common); }};
}

}  // namespace posenc::cli
