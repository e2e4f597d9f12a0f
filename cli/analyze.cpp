// posenc analyze: what a config, a spec or a file's spec means. The numbers are the library's; here they are laid out.
//
// JSON: {"file": path or null, "kind": "config" | "spec" | "file" | "flags", "subjects": [{"layer_type", "encoding", "sections":
// {section key: {figure keys.., grid keys: [{column key: value}..], "findings": [..]}}}], "remarks": [..]}
// Numbers without a value are null. Keys are those of posenc/analyze.hpp; new ones may come, none changes its meaning.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

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

// Six digits are enough to read, of whole numbers all; JSON has the rest.
std::string text_of(const Cell& cell) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "-";
        else if constexpr (std::is_same_v<T, bool>)
          return v ? "yes" : "no";
        else if constexpr (std::is_same_v<T, double>)
          return v == std::floor(v) && std::fabs(v) < 1e12 ? fmt::format("{:.0f}", v) : fmt::format("{:.6g}", v);
        else if constexpr (std::is_same_v<T, std::string>)
          return v;
        else
          return print(v);
      },
      cell);
}

// Words of a row: where they differ from the row before something happens.
bool changes(const std::vector<Cell>& row, const std::vector<Cell>& before) {
  for (std::size_t i = 0; i < row.size(); ++i)
    if ((std::holds_alternative<std::string>(row[i]) || std::holds_alternative<bool>(row[i])) && row[i] != before[i]) return true;
  return false;
}

// Which rows of a long grid are shown: the first and the last ones, and those beside a change of words.
std::vector<std::size_t> shown(const Grid& grid) {
  constexpr std::size_t whole = 24, ends = 4, most = 40;
  std::set<std::size_t> rows;
  const std::size_t n = grid.rows.size();
  const auto add = [&](std::size_t i) {
    if (i < n) rows.insert(i);
  };
  for (std::size_t i = 0; i < (n <= whole ? n : ends); ++i) {
    add(i);
    add(n - 1 - i);
  }
  for (std::size_t i = 1; i < n && rows.size() < most; ++i)
    if (changes(grid.rows[i], grid.rows[i - 1])) {
      add(i - 1);
      add(i);
    }
  return {rows.begin(), rows.end()};
}

void print_grid(const Grid& grid) {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& c : grid.columns) lines[0].push_back(c.label);
  const std::vector<std::size_t> rows = shown(grid);
  for (const std::size_t i : rows) {
    lines.emplace_back();
    for (const Cell& cell : grid.rows[i]) lines.back().push_back(text_of(cell));
  }
  std::vector<std::size_t> widths(grid.columns.size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  for (std::size_t at = 0; at < lines.size(); ++at) {
    std::string text;
    for (std::size_t i = 0; i < widths.size(); ++i) text += fmt::format("  {:>{}}", lines[at][i], widths[i]);
    if (at > 1 && rows[at - 1] > rows[at - 2] + 1) fmt::print("  {:>{}}\n", "..", widths[0] + 2);
    fmt::print("  {}\n", text);
  }
  if (rows.size() < grid.rows.size()) fmt::print("    ({} of {} rows; --json has all)\n", rows.size(), grid.rows.size());
}

void print_section(const Section& section) {
  fmt::print("\n  {}\n", section.title);
  for (const std::string& finding : section.findings) fmt::print("    * {}\n", finding);
  for (const Figure& f : section.figures) {
    const std::string value = text_of(f.value);
    fmt::print("    {}: {}{}\n", f.label, value, f.unit.empty() || value == "-" ? "" : " " + f.unit);
  }
  for (const Grid& grid : section.grids) print_grid(grid);
}

void print_text(const std::string& title, const Analysis& analysis, bool quiet) {
  if (!title.empty()) fmt::print("{}\n", title);
  if (!quiet)
    for (const std::string& remark : analysis.remarks) fmt::print("{}\n", remark);
  for (const Subject& s : analysis.subjects) {
    if (s.sections.empty()) continue;  // a remark says so
    fmt::print("{}{}{}\n", title.empty() ? "" : "\n", s.layer_type.empty() ? "" : s.layer_type + ": ", s.encoding);
    for (const Section& section : s.sections) print_section(section);
  }
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
    print_text(o.file.empty() ? "" : path, result.analysis, common.quiet);
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
