// posenc extend: a table file with more positions, its old rows as they are.
#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "output.hpp"
#include "posenc/error.hpp"
#include "posenc/extend.hpp"
#include "posenc/formats.hpp"
#include "posenc/text.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "sources.hpp"
#include "stacking.hpp"

namespace posenc::cli {
namespace {

struct Options {
  std::string file, positions, output;
};

// What the longer file holds: everything that the old one says about itself, with the longer spec.
FilePlan plan_of(const Extension& e, const Reader& reader, bool stacked, const FilePlan::Chunking& chunking) {
  FilePlan plan;
  for (const PlannedTensor& t : e.after) plan.tensors.push_back(t.stored);
  plan.metadata = reader.metadata();
  for (auto& [key, value] : provenance(e.spec)) plan.metadata[key] = value;
  plan.chunking = chunking;
  if (stacked) plan_stack(plan, e.after);
  return plan;
}

int run(const Options& o, const Common& common) {
  if (o.file.empty()) fail_usage("extend wants a file (see posenc extend --help)");
  if (o.positions.empty()) fail_usage("extend wants --positions N, the number of positions that the longer table has");
  const bool elsewhere = !o.output.empty() && !same_file(o.file, o.output);
  const std::shared_ptr<const void> held = elsewhere ? nullptr : formats::hold(o.file);
  std::unique_ptr<Reader> reader = formats::open(o.file);
  const formats::FormatTraits& format = formats::parse_format(reader->format());
  if (elsewhere && std::none_of(format.suffixes.begin(), format.suffixes.end(), [&](std::string_view suffix) { return o.output.ends_with(suffix); }))
    fail_usage(fmt::format("{} is {}, and extend keeps the format; give -o a name that ends in {}", o.file, format.name, format.suffixes.front()));
  const std::optional<Spec> spec = spec_in(*reader, o.file);
  if (!spec) fail_usage(fmt::format("{} carries no spec that could be extended; make the longer table with posenc generate, or resize its values with posenc rescale", o.file));
  const std::vector<std::string> left_out = formats::skipped(*reader);
  const FilePlan::Chunking chunking = formats::chunking(*reader);
  const auto stack = reader->metadata().find(std::string(stack_key));
  const bool stacked = stack != reader->metadata().end();
  if (stacked) {
    const std::string names = stack->second;
    reader = unstacked_reader(std::move(reader), names, o.file);
  }
  const Extension e = extend(*spec, *reader, o.positions, o.file);
  const FilePlan plan = plan_of(e, *reader, stacked, chunking);
  const std::string path = elsewhere ? o.output : o.file;
  std::string done = fmt::format("{} has these positions already and stays as it is", o.file);
  if (e.grows() || elsewhere) {
    formats::Growth growth;
    if (elsewhere)
      growth = {formats::create(format, path, plan), std::vector<std::int64_t>(plan.tensors.size(), 0), "-o"};
    else
      growth = formats::grow(format, path, plan);
    if (!growth.rewritten.empty() && !left_out.empty())
      fail_usage(fmt::format("{} would have to be rewritten ({}), and holds what posenc cannot carry over: {}", o.file, growth.rewritten, left_out.front()));
    std::vector<Kept> kept;
    for (std::size_t i = 0; i < e.before.size(); ++i) kept.push_back({reader.get(), e.sources[i], e.before[i].stored.values(), stacked ? 0 : growth.from[i]});
    const std::unique_ptr<Writer> stack_writer = stacked ? stacked_writer(*growth.writer, e.after) : nullptr;
    const Target target{stacked ? stack_writer.get() : growth.writer.get(), e.after, kept};
    PipelineOptions options = pipeline_options(common);
    Progress progress("extend", common.quiet);
    progress.attach(options);
    generate(e.spec, std::span(&target, 1), options);
    growth.writer->finish();
    progress.clear();
    if (elsewhere)
      done = fmt::format("{}: the rows of {} copied, new ones behind them", path, o.file);
    else if (growth.rewritten.empty())
      done = fmt::format("{}: new rows appended in place", path);
    else
      done = fmt::format("{}: rewritten, the old rows copied ({})", path, growth.rewritten);
  }
  if (!common.quiet) say(done);
  report_written({{path, std::string(format.name), plan.tensors}}, common.json, common.quiet);
  return 0;
}

}  // namespace

Command add_extend(CLI::App& app, Common& common) {
  CLI::App* sub = app.add_subcommand("extend", "make a table file longer: more rows behind those that are there, which stay as they are");
  auto o = std::make_shared<Options>();
  add_text(*sub, "file", o->file, "FILE", "a file that carries its spec; HDF5 in chunks grows in place, other files are rewritten");
  add_text(*sub, "--positions", o->positions, "N", "how many positions the table has then, or a range that continues its own");
  add_text(*sub, "-o,--output", o->output, "FILE", "write the longer table here and leave FILE alone");
  add_common(*sub, common);
  return {sub, [o, &common] { return run(*o, common); }};
}

}  // namespace posenc::cli
