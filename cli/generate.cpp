// posenc generate: spec -> plan -> files.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cstdio>
#include <cstring>

#include "command.hpp"
#include "posenc/names.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/pipeline.hpp"
#include "posenc/text.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "sources.hpp"
#include "stacking.hpp"

namespace posenc::cli {
namespace {

struct Options {
  SpecOptions spec;
  std::string output, format, chunk, compress, block_bytes;
  bool print_spec = false, stack = false, yes = false;
};

// One output file and what goes into it.
struct Output {
  std::string path;
  std::vector<PlannedTensor> tensors;
  FilePlan plan;
  bool stacked = false;
};

FilePlan::Chunking chunking_of(const Options& o, const formats::FormatTraits& format) {
  FilePlan::Chunking chunking;
  if (o.chunk.empty() && o.compress.empty()) return chunking;
  if (!format.chunking) fail_usage(fmt::format("--{} is for hdf5; {} has no chunks", o.chunk.empty() ? "compress" : "chunk", format.name));
  chunking.chunked = true;
  if (!o.chunk.empty()) {
    chunking.chunk_bytes = parse_int(o.chunk, "--chunk", true);
    if (chunking.chunk_bytes < 1 || chunking.chunk_bytes > (std::int64_t{1} << 31))
      fail_usage(fmt::format("--chunk wants 1 to 2G bytes, got {}", o.chunk));
  }
  if (!o.compress.empty()) {
    const std::size_t colon = o.compress.find(':');
    if (o.compress.substr(0, colon) != "gzip") fail_usage(fmt::format("--compress wants gzip or gzip:LEVEL, got {}", quoted_word(o.compress)));
    const std::int64_t level = colon == std::string::npos ? 4 : parse_int(o.compress.substr(colon + 1), "--compress gzip level");
    if (level < 1 || level > 9) fail_usage(fmt::format("--compress gzip level must be in [1, 9], got {}", level));
    chunking.gzip_level = static_cast<int>(level);
  }
  return chunking;
}

const formats::FormatTraits& format_for(const Options& o) {
  if (!o.format.empty()) return formats::parse_format(o.format);
  if (o.output == "-") return formats::parse_format("npy");
  return formats::format_of_suffix(o.output);
}

// rope.npy -> rope.cos.npy, where a format holds one tensor only.
std::string path_for(const std::string& path, const std::string& tensor) {
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind('.');
  const bool has_suffix = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  return has_suffix ? path.substr(0, dot) + "." + tensor + path.substr(dot) : path + "." + tensor;
}

std::vector<Output> outputs_of(const Options& o, const Spec& spec, const formats::FormatTraits& format, std::vector<PlannedTensor> tensors) {
  std::vector<Output> outputs;
  if (o.stack) {
    Output out{o.output, std::move(tensors), {}, true};
    out.plan.tensors = {stacked_form(out.tensors)};
    out.plan.metadata = provenance(spec);
    out.plan.metadata[std::string(stack_key)] = stack_names(out.tensors);
    outputs.push_back(std::move(out));
  } else if (format.many_tensors || tensors.size() == 1) {
    Output out{o.output, std::move(tensors), {}};
    for (const PlannedTensor& t : out.tensors) out.plan.tensors.push_back(t.stored);
    out.plan.metadata = provenance(spec);
    if (!format.many_tensors) out.plan.metadata[std::string(tensor_key)] = out.tensors[0].stored.name;
    outputs.push_back(std::move(out));
  } else {
    if (o.output == "-")
      fail_usage(fmt::format("standard output takes one tensor, this spec has {}; pick one with --tensor or use --stack", tensors.size()));
    for (PlannedTensor& t : tensors) {
      Spec own = spec;
      own.only = {full_name(spec, t)};
      Output out{path_for(o.output, t.stored.name), {t}, {}};
      out.plan.tensors = {t.stored};
      out.plan.metadata = provenance(own);
      out.plan.metadata[std::string(tensor_key)] = t.stored.name;
      outputs.push_back(std::move(out));
    }
  }
  for (Output& out : outputs) {
    if (!format.metadata || o.output == "-") out.plan.metadata.clear();
    out.plan.chunking = chunking_of(o, format);
    formats::check_plan(format, out.plan);
  }
  return outputs;
}

// Complex tensors are two real ones in HDF5, whose readers differ; native where the format has them; else pairs.
ComplexForm default_complex_form(const formats::FormatTraits& format) {
  if (format.name == "hdf5") return ComplexForm::split;
  return format.complex ? ComplexForm::native : ComplexForm::pair;
}

// Refuses what the disk cannot hold before a byte is written.
void check_space(const std::vector<Output>& outputs, const formats::FormatTraits& format, bool yes) {
  std::uint64_t needed = 0;
  for (const Output& out : outputs) {
    if (out.path == "-" || out.plan.chunking.gzip_level > 0) return;
    needed += formats::file_size(format, out.plan);
  }
  const std::string& path = outputs.front().path;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : (slash == 0 ? "/" : path.substr(0, slash));
  struct statvfs disk {};
  if (yes || ::statvfs(folder.c_str(), &disk) != 0) return;  // a missing folder is the writer's to report
  const std::uint64_t free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (needed > free_bytes)
    throw Error(Failure::system, fmt::format("{} would take {} and {} has {} free; choose a smaller dtype or fewer positions, or give --yes to try",
                                             path, human_bytes(needed), folder, human_bytes(free_bytes)));
}

int run(const Options& o, const Common& common) {
  std::vector<std::string> remarks;
  std::optional<Spec> found = spec_from(o.spec, remarks);
  if (!found) fail_usage("generate wants an encoding, --config or --spec (see posenc generate --help)");
  const Spec& spec = *found;
  if (!common.quiet)
    for (const std::string& remark : remarks) say(remark);
  if (o.print_spec) {
    if (o.stack || !o.spec.complex_form.empty())
      fail_usage("a spec does not carry --stack or --complex, which are about the file; leave them out beside --print-spec");
    (void)plan(spec, ComplexForm::pair);  // what cannot be generated is no spec to save
    fmt::print("{}\n", spec.json(2));
    return 0;
  }
  if (o.output.empty()) fail_usage("generate wants -o FILE (a suffix of 'posenc list formats'; '-' is standard output)");
  const formats::FormatTraits& format = format_for(o);
  if (o.output == "-" && !format.stdout_ok) fail_usage(fmt::format("{} cannot be written to standard output; npy can", format.name));

  const ComplexForm form = complex_form_of(o.spec).value_or(default_complex_form(format));
  const std::vector<PlannedTensor> tensors = plan(spec, form);
  for (const PlannedTensor& t : tensors)
    if (t.stored.is_complex && !format.complex) fail_usage(fmt::format("{} has no complex elements; use --complex split or pair", format.name));
  const std::vector<Output> outputs = outputs_of(o, spec, format, tensors);
  check_space(outputs, format, o.yes);

  std::vector<std::unique_ptr<Writer>> writers;
  std::vector<std::unique_ptr<Writer>> stacks;
  std::vector<Target> targets;
  for (const Output& out : outputs) {
    writers.push_back(formats::create(format, out.path, out.plan));
    Writer* writer = writers.back().get();
    if (out.stacked) {
      stacks.push_back(stacked_writer(*writer, out.tensors));
      writer = stacks.back().get();
    }
    targets.push_back({writer, out.tensors});
  }
  PipelineOptions options = pipeline_options(common);
  if (!o.block_bytes.empty()) {
    options.block_bytes = parse_int(o.block_bytes, "--block-bytes", true);
    if (options.block_bytes < 1 || options.block_bytes > (std::int64_t{1} << 28)) fail_usage(fmt::format("--block-bytes wants 1 to 256M, got {}", o.block_bytes));
  }
  Progress progress("generate", common.quiet);
  progress.attach(options);
  generate(spec, targets, options);
  for (const auto& writer : writers) writer->finish();
  progress.clear();

  // What goes to standard output, a FIFO or a device is the values and nothing else.
  struct stat status {};
  if (o.output == "-" || (outputs.size() == 1 && ::stat(o.output.c_str(), &status) == 0 && !S_ISREG(status.st_mode))) return 0;
  std::vector<FileReport> reports;
  for (const Output& out : outputs) reports.push_back({out.path, std::string(format.name), out.plan.tensors});
  report_written(reports, common.json, common.quiet);
  return 0;
}

}  // namespace

Command add_generate(CLI::App& app, Common& common) {
  CLI::App* sub = app.add_subcommand("generate", "make tables: posenc generate rope --head-dim 128 --positions 4096 -o rope.h5");
  auto o = std::make_shared<Options>();
  add_text(*sub, "-o,--output", o->output, "FILE", "where to write; '-' is standard output (one tensor, npy)");
  add_text(*sub, "--format", o->format, "NAME", "format, when the suffix does not say it");
  if (common.named("generate")) add_spec_options(*sub, o->spec, common.words);
  add_text(*sub, "--chunk", o->chunk, "BYTES", "hdf5: chunked storage with chunks near this size (1M when only --compress is given)");
  add_text(*sub, "--compress", o->compress, "gzip[:LEVEL]", "hdf5: compressed chunks with the shuffle filter (level 1 to 9, default 4)");
  sub->add_flag("--stack", o->stack, "several tensors of one shape as one array with a leading axis");
  sub->add_flag("--print-spec", o->print_spec, "print the spec as JSON and write nothing");
  sub->add_flag("--yes", o->yes, "try even when the disk looks too small");
  add_text(*sub, "--block-bytes", o->block_bytes, "N", "")->group("");
  add_common(*sub, common);
  return {sub, [o, &common] { return run(*o, common); }};
}

}  // namespace posenc::cli
