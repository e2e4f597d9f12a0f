// posenc analyze: what a config, a spec or a file's spec means. The numbers are the library's; here they become JSON, or text
// (analysis_text.cpp).
//
// JSON: {"file": path or null, "kind": "config" | "spec" | "file" | "flags", "subjects": [{"layer_type", "encoding", "sections":
// {section key: {figure keys.., grid keys: [{column key: value}..], "findings": [..]}}}], "remarks": [..]}
// Numbers without a value are null. Keys are those of posenc/analyze.hpp; new ones may come, none changes its meaning.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis_text.hpp"
#include "command.hpp"
#include "posenc/analyze.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/text.hpp"
#include "report.hpp"
#include "sources.hpp"

namespace posenc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string file, context, dtype;
  bool explain = false, exhaustive = false;
  Given given;
};

Json json_of(const Cell& cell) {
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
          return nullptr;
        else
          return v;
      },
      cell);
}

Json json_of(const Section& section) {
  Json out = Json::object();
  for (const Figure& f : section.figures) out[f.key] = json_of(f.value);
  for (const Grid& grid : section.grids) {
    Json rows = Json::array();
    for (const auto& cells : grid.rows) {
      Json row = Json::object();
      for (std::size_t i = 0; i < cells.size(); ++i) row[grid.columns[i].key] = json_of(cells[i]);
      rows.push_back(std::move(row));
    }
    out[grid.key] = std::move(rows);
  }
  out["findings"] = section.findings;
  return out;
}

Json json_of(const Analysis& analysis) {
  Json subjects = Json::array();
  for (const Subject& s : analysis.subjects) {
    Json sections = Json::object();
    for (const Section& section : s.sections) sections[section.key] = json_of(section);
    subjects.push_back({{"layer_type", s.layer_type}, {"encoding", s.encoding}, {"sections", std::move(sections)}});
  }
  return {{"subjects", std::move(subjects)}, {"remarks", analysis.remarks}};
}

AnalysisOptions options_of(const Options& o) {
  AnalysisOptions out;
  if (!o.context.empty()) out.context = parse_int(o.context, "--context", true);
  if (!o.dtype.empty()) out.dtype = parse_dtype(o.dtype);
  if (out.dtype && info(*out.dtype).integer) fail_usage(fmt::format("--dtype wants a type of real numbers, got {}", o.dtype));
  out.explain = o.explain;
  out.exhaustive = o.exhaustive;
  return out;
}

Spec spec_of_file(const std::string& path) {
  const auto reader = formats::open(path);
  auto spec = spec_in(*reader, path);
  if (!spec) fail_usage(fmt::format("{} carries no spec; describe it with an encoding and its flags, or give its model's config", path));
  return std::move(*spec);
}

struct Analysed {
  const char* kind;
  Analysis analysis;
};
Analysed analysed(const Options& o, const AnalysisOptions& options) {
  if (!o.file.empty() && !o.given.encoding.empty()) fail_usage(fmt::format("{} and {} both say what to analyze; give one", o.file, o.given.encoding));
  if (o.file.empty()) {
    SpecOptions flags;
    flags.given = o.given;
    std::vector<std::string> remarks;
    const auto spec = spec_from(flags, remarks);
    if (!spec) fail_usage("analyze wants a config.json, a spec, a file, or an encoding (see posenc analyze --help)");
    return {"flags", analyze(*spec, options)};
  }
  if (!o.given.settings.empty())
    fail_usage(fmt::format("{} says all about its encoding; {} goes with an encoding's name", o.file, flag_of(o.given.settings[0].first)));
  const std::string path = config_path(o.file);
  if (!starts_like_json(path)) return {"file", analyze(spec_of_file(path), options)};
  const std::string text = read_text(path);
  if (!is_spec(text)) return {"config", analyze(read_config(text, path), options)};
  const Spec spec = Spec::parse(text, path);
  spec.check();
  return {"spec", analyze(spec, options)};
}

int run(const Options& o, const Common& common) {
  const Analysed result = analysed(o, options_of(o));
  const std::string path = o.file.empty() ? o.given.encoding : config_path(o.file);
  if (common.json) {
    Json out{{"file", o.file.empty() ? Json() : Json(path)}, {"kind", result.kind}};
    out.update(json_of(result.analysis));
    fmt::print("{}\n", json_text(out));
  } else {
    print_analysis(o.file.empty() ? "" : path, result.analysis, common.quiet);
  }
  return 0;
}

}  // namespace

Command add_analyze(CLI::App& app, Common& common) {
  CLI::App* sub = app.add_subcommand("analyze", "what a config, a spec or a file means: wavelengths, decay, base, entropy, reach");
  auto o = std::make_shared<Options>();
  add_text(*sub, "file", o->file, "FILE", "a config.json or its folder, a spec, or a file with a spec");
  add_text(*sub, "--context", o->context, "N", "positions asked about (default: what the config or spec declares)");
  add_text(*sub, "--dtype", o->dtype, "TYPE", "the stored type that precision is about: f64, f32, f16, bf16");
  sub->add_flag("--explain", o->explain, "add the settings in the words of other programs, and what looks wrong in them");
  sub->add_flag("--exhaustive", o->exhaustive, "search the smallest base to the end, however long that takes");
  if (common.named("analyze")) add_encodings(*sub, o->given, common.words);
  add_common(*sub, common);
  return {sub, [o, &common] { return run(*o, common); }};
}

}  // namespace posenc::cli
