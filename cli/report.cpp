#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "posenc/error.hpp"
#include "posenc/text.hpp"
#include "printable.hpp"

namespace posenc::cli {

using Json = nlohmann::ordered_json;

CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& into, const std::string& metavar, const std::string& help) {
  return app.add_option_function<std::string>(
                name,
                [&into, name](const std::string& text) {
                  if (!into.empty()) fail_usage(fmt::format("{} is given twice", name));
                  if (text.empty()) fail_usage(fmt::format("{} wants a value, got ''", name));
                  into = text;
                },
                help)
      ->type_name(metavar);
}

void add_common(CLI::App& app, Common& common) {
  app.get_formatter()->column_width(34);
  add_text(app, "--threads", common.threads, "N", "worker threads (default: one per core); the bytes do not depend on it");
  app.add_flag("--json", common.json, "report as JSON");
  app.add_flag("--quiet", common.quiet, "no remarks, no progress");
}

PipelineOptions pipeline_options(const Common& common) {
  PipelineOptions options;
  if (!common.threads.empty()) {
    const std::int64_t threads = parse_int(common.threads, "--threads");
    if (threads < 1 || threads > 256) fail_usage(fmt::format("--threads must be in [1, 256], got {}", common.threads));
    options.threads = static_cast<int>(threads);
  }
  return options;
}

std::string form_text(const StoredTensor& tensor) {
  std::string axes;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i > 0) axes += ", ";
    if (!tensor.axis_names.empty() && !tensor.axis_names[i].empty()) axes += tensor.axis_names[i] + " ";
    axes += print(tensor.shape[i]);
  }
  return fmt::format("{}{} [{}]", tensor.is_complex ? "complex " : "", name_of(tensor.dtype), axes);
}

std::string index_text(const std::vector<std::int64_t>& index) { return fmt::format("{}", fmt::join(index, ",")); }

std::string json_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

void say(const std::string& line) {
  (void)std::fputs((printable(line) + "\n").c_str(), stderr);
}

namespace {

Json tensor_json(const StoredTensor& t) {
  Json out{{"name", t.name}, {"dtype", name_of(t.dtype)}, {"shape", t.shape}};
  if (!t.axis_names.empty()) out["axes"] = t.axis_names;
  if (t.is_complex) out["complex"] = true;
  out["bytes"] = t.bytes();
  return out;
}

// JSON has no infinity or NaN; they are texts.
Json value_json(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return v;
}

}  // namespace

void report_written(const std::vector<FileReport>& files, bool json, bool quiet) {
  if (json) {
    Json list = Json::array();
    for (const FileReport& f : files) {
      Json tensors = Json::array();
      for (const StoredTensor& t : f.tensors) tensors.push_back(tensor_json(t));
      list.push_back({{"file", f.path}, {"format", f.format}, {"tensors", std::move(tensors)}});
    }
    fmt::print("{}\n", json_text(Json{{"written", std::move(list)}}));
    return;
  }
  if (quiet) return;
  for (const FileReport& f : files) {
    std::uint64_t bytes = 0;
    for (const StoredTensor& t : f.tensors) bytes += static_cast<std::uint64_t>(t.bytes());
    fmt::print("{}: {}, {}\n", f.path, f.format, human_bytes(bytes));
    for (const StoredTensor& t : f.tensors) fmt::print("  {:<24} {}\n", t.name, form_text(t));
  }
}

bool VerifyReport::holds() const {
  return problems.empty() && std::all_of(laws.begin(), laws.end(), [](const LawVerdict& l) { return !l.failure; }) &&
         std::all_of(tensors.begin(), tensors.end(), [](const TensorVerdict& t) { return t.wrong == 0; });
}

void report_verify(const VerifyReport& r, bool json, bool quiet) {
  if (json) {
    Json laws = Json::array(), tensors = Json::array();
    for (const LawVerdict& l : r.laws) {
      Json law{{"table", l.table}, {"name", l.name}, {"checked", l.checked}, {"holds", !l.failure}, {"text", l.text}, {"source", l.source}};
      if (l.failure) law["failure"] = *l.failure;
      laws.push_back(std::move(law));
    }
    for (const TensorVerdict& t : r.tensors) {
      Json first = Json::array();
      for (const Mismatch& m : t.first) first.push_back({{"index", m.index}, {"got", value_json(m.got)}, {"want", value_json(m.want)}});
      tensors.push_back({{"name", t.name}, {"compared", t.compared}, {"wrong", t.wrong}, {"worst_ulp", value_json(t.worst_ulp)}, {"first", std::move(first)}});
    }
    fmt::print("{}\n", json_text(Json{{"file", r.file}, {"format", r.format}, {"against", r.against}, {"holds", r.holds()}, {"problems", r.problems},
                            {"laws", std::move(laws)}, {"tensors", std::move(tensors)}}));
    return;
  }
  if (quiet && r.holds()) return;
  fmt::print("{} ({}) against {}\n", r.file, r.format, r.against);
  for (const std::string& problem : r.problems) fmt::print("  differs  {}\n", problem);
  for (const LawVerdict& l : r.laws) {
    const std::string name = l.table.empty() ? l.name : l.table + ": " + l.name;
    if (l.failure)
      fmt::print("  broken   law {}: {} ({}): {}\n", name, l.text, l.source, *l.failure);
    else if (!l.checked)
      fmt::print("  skipped  law {}: needs tensors that are not in the file\n", name);
    else
      fmt::print("  holds    law {}: {}\n", name, l.text);
  }
  for (const TensorVerdict& t : r.tensors) {
    if (t.wrong == 0) {
      fmt::print("  equal    {}: {} values\n", t.name, t.compared);
      continue;
    }
    fmt::print("  differs  {}: {} of {} values, up to {} ulp\n", t.name, t.wrong, t.compared, t.worst_ulp < 1e6 ? fmt::format("{:.3g}", t.worst_ulp) : fmt::format("{:.2e}", t.worst_ulp));
    for (const Mismatch& m : t.first) fmt::print("           at [{}] got {}, want {}\n", index_text(m.index), m.got, m.want);
  }
  fmt::print("{}\n", r.holds() ? "all holds" : "does not hold");
}

}  // namespace posenc::cli
