#include "table_files.hpp"

#include <fmt/format.h>

#include <memory>

#include "field_options.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/pipeline.hpp"
#include "posenc/text.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "stacking.hpp"

namespace posenc::cli {
namespace {

// One output file and what goes into it.
struct Output {
  PlannedFile file;
  std::vector<PlannedTensor> tensors;
  bool stacked = false;
};

// rope.npy -> rope.cos.npy, where a format holds one tensor only.
std::string path_for(const std::string& path, const std::string& tensor) {
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind('.');
  const bool has_suffix = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  return has_suffix ? path.substr(0, dot) + "." + tensor + path.substr(dot) : path + "." + tensor;
}

std::vector<Output> outputs_of(const TableFiles& o, const Spec& spec, const formats::FormatTraits& format, std::vector<PlannedTensor> tensors) {
  std::vector<Output> outputs;
  if (o.stack) {
    Output out;
    out.file.path = o.out.output;
    out.tensors = std::move(tensors);
    out.stacked = true;
    out.file.plan.metadata = provenance(spec);
    out.file.plan.metadata[std::string(stack_key)] = stack_names(out.tensors);
    outputs.push_back(std::move(out));
  } else if (format.many_tensors || tensors.size() == 1) {
    Output out;
    out.file.path = o.out.output;
    out.tensors = std::move(tensors);
    for (const PlannedTensor& t : out.tensors) out.file.plan.tensors.push_back(t.stored);
    out.file.plan.metadata = provenance(spec);
    if (!format.many_tensors) out.file.plan.metadata[std::string(tensor_key)] = out.tensors[0].stored.name;
    outputs.push_back(std::move(out));
  } else {
    if (o.out.output == "-")
      fail_usage(fmt::format("standard output takes one tensor, this spec has {}; pick one with --tensor or use --stack", tensors.size()));
    for (PlannedTensor& t : tensors) {
      Spec own = spec;
      own.only = {full_name(spec, t)};
      Output out;
      out.file.path = path_for(o.out.output, t.stored.name);
      out.tensors = {t};
      out.file.plan.tensors = {t.stored};
      out.file.plan.metadata = provenance(own);
      out.file.plan.metadata[std::string(tensor_key)] = t.stored.name;
      outputs.push_back(std::move(out));
    }
  }
  for (Output& out : outputs) {
    if (!format.metadata || o.out.output == "-") out.file.plan.metadata.clear();
    out.file.plan.chunking = chunking_of(o.out, format);
    if (out.stacked) plan_stack(out.file.plan, out.tensors);
    formats::check_plan(format, out.file.plan);
  }
  return outputs;
}

// Complex tensors are two real ones in HDF5, whose readers differ; native where the format has them; else pairs.
ComplexForm default_complex_form(const formats::FormatTraits& format) {
  if (format.name == "hdf5") return ComplexForm::split;
  return format.complex ? ComplexForm::native : ComplexForm::pair;
}

// Bytes of a spec's tensors; nothing when it cannot be generated so.
std::optional<std::int64_t> bytes_of(const Spec& spec) try {
  std::int64_t bytes = 0;
  for (const PlannedTensor& t : plan(spec, ComplexForm::pair)) bytes += t.stored.bytes();
  return bytes;
} catch (const Error&) {
  return std::nullopt;
}

// What to do about a spec that does not fit: the richest of its encoding's other forms that is much smaller.
std::string smaller_form(const Spec& spec) {
  const std::string otherwise = "choose a smaller dtype or fewer positions";
  const std::optional<std::int64_t> now = bytes_of(spec);
  if (!now || spec.tables.size() != 1) return otherwise;
  std::int64_t best = 0;
  std::string flag;
  for (const FieldView& field : spec.tables[0].encoding->fields()) {
    if (field.name != "form" && field.name != "part") continue;
    for (const auto& [choice, help] : field.choices) {
      Spec other = spec;
      other.only.clear();
      std::shared_ptr<Encoding> changed = spec.tables[0].encoding->clone();
      changed->set(field.name, choice);
      other.tables[0].encoding = changed;
      const std::optional<std::int64_t> bytes = bytes_of(other);
      if (!bytes || *bytes <= best || *bytes > *now / 16) continue;
      best = *bytes;
      flag = fmt::format("{} {}", flag_of(field.name), choice);
    }
  }
  return flag.empty() ? otherwise : fmt::format("{} takes {}", flag, human_bytes(static_cast<std::uint64_t>(best)));
}

void check_inputs(const TableFiles& o, const std::vector<PlannedFile>& files) {
  for (const PlannedFile& file : files) check_input(o, file.path);
}

}  // namespace

void add_table_file_options(CLI::App& app, TableFiles& o) {
  add_output_options(app, o.out);
  app.add_flag("--stack", o.stack, "several tensors of one shape as one array with a leading axis");
  app.add_flag("--print-spec", o.print_spec, "print the spec as JSON and write nothing");
}

void check_input(const TableFiles& o, const std::string& path) {
  for (const std::string& input : o.inputs)
    if (same_file(input, path))
      fail_usage(fmt::format("{} is read here; write to another file", path == input ? path : fmt::format("{} (which is {})", path, input)));
}

void write_tables(const Spec& spec, const TableFiles& o, const Common& common, const std::string& command) {
  const formats::FormatTraits& format = output_format(o.out, command);

  const ComplexForm form = o.complex_form.value_or(default_complex_form(format));
  const std::vector<PlannedTensor> tensors = plan(spec, form);
  for (const PlannedTensor& t : tensors)
    if (t.stored.is_complex && !format.complex) fail_usage(fmt::format("{} has no complex elements; use --complex split or pair", format.name));
  const std::vector<Output> outputs = outputs_of(o, spec, format, tensors);
  std::vector<PlannedFile> files;
  for (const Output& out : outputs) files.push_back(out.file);
  check_inputs(o, files);
  check_space(files, format, o.out, smaller_form(spec));

  std::vector<std::unique_ptr<Writer>> writers;
  std::vector<std::unique_ptr<Writer>> stacks;
  std::vector<Target> targets;
  for (const Output& out : outputs) {
    writers.push_back(formats::create(format, out.file.path, out.file.plan));
    Writer* writer = writers.back().get();
    if (out.stacked) {
      stacks.push_back(stacked_writer(*writer, out.tensors));
      writer = stacks.back().get();
    }
    targets.push_back({writer, out.tensors});
  }
  PipelineOptions options = pipeline_options(common);
  set_block_bytes(o.out, options);
  Progress progress(command, common.quiet);
  progress.attach(options);
  generate(spec, targets, options);
  for (const auto& writer : writers) writer->finish();
  progress.clear();

  if (outputs.size() == 1 && is_stream(o.out)) return;
  std::vector<FileReport> reports;
  for (const Output& out : outputs) reports.push_back({out.file.path, std::string(format.name), out.file.plan.tensors});
  report_written(reports, common.json, common.quiet);
}

void write_file(const PlannedFile& file, const formats::FormatTraits& format, const OutputOptions& out, const Common& common,
                const std::string& command, const std::function<void(Writer&, const PipelineOptions&)>& fill) {
  check_space({file}, format, out, "choose a smaller dtype");
  const std::unique_ptr<Writer> writer = formats::create(format, file.path, file.plan);
  PipelineOptions options = pipeline_options(common);
  set_block_bytes(out, options);
  Progress progress(command, common.quiet);
  progress.attach(options);
  fill(*writer, options);
  writer->finish();
  progress.clear();
  if (!is_stream(out)) report_written({{file.path, std::string(format.name), file.plan.tensors}}, common.json, common.quiet);
}

void print_spec(const Spec& spec) {
  (void)plan(spec, ComplexForm::pair);  // what cannot be generated is no spec to save
  fmt::print("{}\n", spec.json(2));
}

}  // namespace posenc::cli
