// posenc verify: is a file what its spec, a given spec, or another file says?
#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/pipeline.hpp"
#include "posenc/text.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "sources.hpp"
#include "stacking.hpp"
#include "verify.hpp"

namespace posenc::cli {
namespace {

struct Options {
  std::string file, against;
  SpecOptions spec;
};

// The name of a stored tensor: the file's own, or what posenc noted beside an array that cannot carry one.
std::string name_in(const Reader& reader, std::size_t i) {
  const auto noted = reader.metadata().find(std::string(tensor_key));
  return reader.tensors().size() == 1 && noted != reader.metadata().end() ? noted->second : reader.tensors()[i].name;
}

bool same_form(const StoredTensor& planned, const StoredTensor& stored) {
  return planned.shape == stored.shape && planned.is_complex == stored.is_complex;
}

// The planned tensors under the complex form that the file uses: the one under which most names and shapes are found.
std::vector<PlannedTensor> plan_like(const Spec& spec, const Reader& reader, std::optional<ComplexForm> asked) {
  if (asked) return plan(spec, *asked);
  std::vector<PlannedTensor> best;
  std::size_t most = 0;
  for (const ComplexForm form : {ComplexForm::split, ComplexForm::pair, ComplexForm::native}) {
    std::vector<PlannedTensor> tensors;
    try {
      tensors = plan(spec, form);
    } catch (const Error&) {
      if (form == ComplexForm::native && !best.empty()) break;  // this dtype has no complex elements
      throw;
    }
    std::size_t found = 0;
    const bool single = tensors.size() == 1 && reader.tensors().size() == 1;
    for (const PlannedTensor& p : tensors)
      for (std::size_t i = 0; i < reader.tensors().size(); ++i)
        if ((single || p.stored.name == name_in(reader, i)) && same_form(p.stored, reader.tensors()[i])) ++found;
    if (best.empty() || found > most) {
      best = std::move(tensors);
      most = found;
    }
  }
  return best;
}

Matching match(const std::vector<PlannedTensor>& planned, const Reader& reader, bool own_spec, VerifyReport& report) {
  const auto& stored = reader.tensors();
  Matching out;
  std::vector<bool> used(stored.size());
  const bool nameless = stored.size() == 1 && std::none_of(planned.begin(), planned.end(), [&](const PlannedTensor& p) { return p.stored.name == name_in(reader, 0); });
  // An array that posenc wrote by itself is one of the spec's; the others are in files of their own.
  const bool alone = own_spec && !nameless && reader.metadata().contains(std::string(tensor_key));
  for (const PlannedTensor& p : planned) {
    if (alone && p.stored.name != name_in(reader, 0)) continue;
    std::size_t at = stored.size();
    for (std::size_t i = 0; i < stored.size(); ++i)
      if (name_in(reader, i) == p.stored.name || (nameless && planned.size() == 1)) at = i;
    if (at == stored.size()) {
      if (own_spec || !nameless) report.problems.push_back(fmt::format("tensor {} is not in the file", p.stored.name));
      continue;
    }
    used[at] = true;
    if (own_spec && !stored[at].axis_names.empty() && stored[at].axis_names != p.stored.axis_names)
      report.problems.push_back(fmt::format("the axes of tensor {} are called {}, the spec says {}", p.stored.name, fmt::join(stored[at].axis_names, ", "),
                                            fmt::join(p.stored.axis_names, ", ")));
    if (!same_form(p.stored, stored[at])) {
      report.problems.push_back(fmt::format("tensor {} is {}, the spec says {}", p.stored.name, form_text(stored[at]), form_text(p.stored)));
      continue;
    }
    PlannedTensor chosen = p;
    if (p.stored.dtype != stored[at].dtype) {
      if (own_spec || info(p.stored.dtype).integer != info(stored[at].dtype).integer) {
        report.problems.push_back(fmt::format("tensor {} is {}, the spec says {}", p.stored.name, name_of(stored[at].dtype), name_of(p.stored.dtype)));
        continue;
      }
      chosen.stored.dtype = stored[at].dtype;  // a foreign table is judged in its own precision
    }
    out.tensors.push_back(std::move(chosen));
    out.sources.push_back(at);
  }
  if (nameless && planned.size() > 1) {
    std::vector<std::string> names;
    for (const PlannedTensor& p : planned) names.push_back(p.stored.name);
    fail_usage(fmt::format("the one array of {} could be {}; say which with --tensor", report.file, one_of(names)));
  }
  for (std::size_t i = 0; i < stored.size(); ++i)
    if (!used[i] && (own_spec || !nameless)) report.problems.push_back(fmt::format("tensor {} of the file is not in the spec", stored[i].name));
  return out;
}

// One written with --stack comes apart.
std::unique_ptr<Reader> taken_apart(std::unique_ptr<Reader> reader, const std::string& path) {
  const auto stack = reader->metadata().find(std::string(stack_key));
  if (stack == reader->metadata().end()) return reader;
  const std::string names = stack->second;
  return unstacked_reader(std::move(reader), names, path);
}

VerifyReport against_file(const Options& o, const Reader& a, const PipelineOptions& options) {
  const auto b = open_array_file(o.against);
  VerifyReport report{o.file, std::string(a.format()), o.against, {}, {}, {}};
  std::vector<bool> used(b->tensors().size());
  const auto& wanted = o.spec.tensors;
  const auto keep = [&](const std::string& name) { return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end(); };
  for (const std::string& name : wanted)
    if (std::none_of(a.tensors().begin(), a.tensors().end(), [&](const StoredTensor& t) { return t.name == name; }))
      fail_usage(fmt::format("{} has no tensor '{}'", o.file, name));
  for (std::size_t i = 0; i < a.tensors().size(); ++i) {
    const StoredTensor& t = a.tensors()[i];
    if (!keep(t.name)) continue;
    std::size_t at = used.size();
    for (std::size_t j = 0; j < used.size(); ++j)
      if (b->tensors()[j].name == t.name || (a.tensors().size() == 1 && used.size() == 1)) at = j;
    if (at == used.size()) {
      report.problems.push_back(fmt::format("tensor {} is not in {}", t.name, o.against));
      continue;
    }
    used[at] = true;
    const StoredTensor& u = b->tensors()[at];
    if (t.shape != u.shape || t.is_complex != u.is_complex) {
      report.problems.push_back(fmt::format("tensor {} is {}, in {} it is {}", t.name, form_text(t), o.against, form_text(u)));
      continue;
    }
    if (t.dtype != u.dtype) report.problems.push_back(fmt::format("tensor {} is {}, in {} it is {}", t.name, name_of(t.dtype), o.against, name_of(u.dtype)));
    report.tensors.push_back(compare_stored(a, i, *b, at, options));
  }
  for (std::size_t j = 0; j < used.size(); ++j)
    if (!used[j] && keep(b->tensors()[j].name)) report.problems.push_back(fmt::format("tensor {} is only in {}", b->tensors()[j].name, o.against));
  if (report.tensors.empty() && report.problems.empty()) report.problems.push_back("there is nothing to compare");
  return report;
}

VerifyReport against_spec(const Options& o, const Reader& reader, const PipelineOptions& options, std::vector<std::string>& remarks) {
  std::optional<Spec> spec = spec_from(o.spec, remarks);
  const bool own_spec = !spec;
  if (own_spec) spec = spec_in(reader, o.file);
  if (!spec)
    fail_usage(fmt::format("{} carries no spec; say what it should be: an encoding with its flags, --config, --spec, or --against FILE (posenc inspect shows what the file says about itself)", o.file));
  if (own_spec && !o.spec.tensors.empty()) spec->only = o.spec.tensors;
  if (own_spec) spec->check();
  VerifyReport report{o.file, std::string(reader.format()), own_spec ? "the spec it carries" : "the given spec", {}, {}, {}};
  const Matching m = match_tensors(*spec, reader, complex_form_of(o.spec), own_spec && o.spec.tensors.empty(), report);
  check_values(*spec, reader, m, options, report);
  return report;
}

int run(const Options& o, const Common& common) {
  if (o.file.empty()) fail_usage("verify wants a file (see posenc verify --help)");
  auto file = formats::open(o.file);
  std::vector<std::string> remarks = formats::remarks(*file);
  const std::vector<std::string> faults = formats::faults(*file);
  const auto reader = taken_apart(std::move(file), o.file);
  PipelineOptions options = pipeline_options(common);
  Progress progress("verify", common.quiet);
  progress.attach(options);
  if (!o.against.empty() && (!o.spec.config.empty() || !o.spec.spec.empty() || !o.spec.given.encoding.empty()))
    fail_usage("--against compares two files; it takes no spec");
  VerifyReport report = o.against.empty() ? against_spec(o, *reader, options, remarks) : against_file(o, *reader, options);
  if (o.against.empty()) report.problems.insert(report.problems.end(), faults.begin(), faults.end());
  progress.clear();
  if (!common.quiet)
    for (const std::string& remark : remarks) say(remark);
  report_verify(report, common.json, common.quiet);
  return report.holds() ? 0 : 1;
}

}  // namespace

std::unique_ptr<Reader> open_array_file(const std::string& path) { return taken_apart(formats::open(path), path); }

Matching match_tensors(const Spec& spec, const Reader& reader, std::optional<ComplexForm> asked, bool own_spec, VerifyReport& report) {
  return match(plan_like(spec, reader, asked), reader, own_spec, report);
}

void check_values(const Spec& spec, const Reader& reader, const Matching& m, const PipelineOptions& options, VerifyReport& report) {
  report.laws = check_laws(spec, reader, m.tensors, m.sources);
  report.tensors = compare(spec, reader, m.tensors, m.sources, options);
  if (report.tensors.empty() && report.problems.empty()) report.problems.push_back("nothing in the file could be compared");
}

Command add_verify(CLI::App& app, Common& common) {
  CLI::App* sub = app.add_subcommand("verify", "check a file: the laws of its encoding, then every value");
  auto o = std::make_shared<Options>();
  add_text(*sub, "file", o->file, "FILE", "the file to check; it needs nothing else when posenc wrote it");
  add_text(*sub, "--against", o->against, "FILE", "compare with another file, tensor by tensor");
  if (common.named("verify")) add_spec_options(*sub, o->spec, common.words);
  add_common(*sub, common);
  return {sub, [o, &common] { return run(*o, common); }};
}

}  // namespace posenc::cli
