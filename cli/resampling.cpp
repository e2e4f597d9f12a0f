#include "resampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "array_argument.hpp"
#include "posenc/apply.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/names.hpp"
#include "posenc/pipeline.hpp"
#include "posenc/resample.hpp"
#include "posenc/rescale.hpp"
#include "posenc/text.hpp"
#include "report.hpp"

namespace posenc::cli {
namespace {

constexpr std::int64_t most_values = std::int64_t{1} << 30;  // of the old table, held in memory as f64: 8 GiB

std::vector<std::string> resampling_names() {
  std::vector<std::string> names;
  for (const FieldView& f : Resampling{}.views()) names.push_back(f.name);
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); }

bool is_method(const std::string& text) {
  return std::any_of(EnumNames<ResampleMethod>::values.begin(), EnumNames<ResampleMethod>::values.end(), [&](const auto& m) { return m.name == text; });
}

// A rule on frequencies is not for an array of which nothing but the values is known.
bool is_rule(const std::string& field, const std::string& text) {
  for (const EncodingEntry& entry : encodings()) {
    const auto encoding = entry.make();
    if (!is_rule_parameter(*encoding, field)) continue;
    for (const FieldView& f : encoding->all_fields())
      if (f.name == field &&
          (f.choices.empty() || std::any_of(f.choices.begin(), f.choices.end(), [&](const auto& choice) { return choice.first == text; })))
        return true;
  }
  return false;
}

Resampling options_of(const Given& given, std::optional<std::int64_t> context, const std::string& path) {
  const std::vector<std::string> names = resampling_names();
  Resampling how;
  for (const auto& [field, text] : given.settings) {
    if ((!has(names, field) || (field == "method" && !is_method(text))) && is_rule(field, text))
      fail_usage(
          fmt::format("{} carries no spec, so that no rule on frequencies can be put on it; say what it is with an encoding, --spec or --config, or "
                      "resize its values with --method linear, cubic, tile, ..",
                      path));
    if (!has(names, field)) fail_usage(fmt::format("{} is no parameter of resampling{}", flag_of(field), did_you_mean(field, names)));
    how.set(field, text);
  }
  if (!context) return how;
  if (how.rows != TableRowKind::sequence)
    fail_usage(fmt::format("--context is the length of a sequence; the new size of rows {} has flags of its own", enum_name(how.rows)));
  if (how.length && *how.length != *context)
    fail_usage(fmt::format("--context {} and --length {} both say how long the new table is; give one", *context, *how.length));
  how.length = context;
  return how;
}

Resampler resampler_for(const std::vector<std::int64_t>& shape, const Resampling& how, const std::string& path) try {
  return Resampler(shape, how);
} catch (const Error& e) {
  if (e.failure() != Failure::usage) throw;
  // linear is a rule too, and factor its parameter.
  const bool rule_meant = how.factor && how.rows != TableRowKind::buckets;
  const bool grid_meant = how.rows == TableRowKind::sequence && (how.height || how.width || how.new_height || how.new_width);
  fail_usage(fmt::format("{}: {}{}", path, in_flags(e.what(), resampling_names()),
                         rule_meant   ? "; a rule on frequencies wants to know what the table is: an encoding, --spec or --config"
                         : grid_meant ? "; say that the rows are a grid of patches or a window's offsets with --rows grid or --rows window"
                                      : ""));
}

std::vector<double> values_of(const ArrayInFile& array) {
  const StoredTensor& form = array.reader->tensors()[array.tensor];
  if (form.values() > most_values) fail_usage(fmt::format("{} has {} values; tables of up to {} are resized", array.path, form.values(), most_values));
  const std::shared_ptr<const Input> input = input_from(array.reader, array.tensor);
  std::vector<double> values;
  for (std::int64_t first = 0; first < form.values();) {  // memory grows with what the file really has
    const std::int64_t count = std::min<std::int64_t>(1 << 20, form.values() - first);
    values.resize(static_cast<std::size_t>(first + count));
    input->read(first, std::span(values).subspan(static_cast<std::size_t>(first)));
    first += count;
  }
  return values;
}

nlohmann::ordered_json record_of(const ArrayInFile& array, const Resampling& how, const std::string& understood, const std::string& origin) {
  const StoredTensor& form = array.reader->tensors()[array.tensor];
  nlohmann::ordered_json record;
  for (const FieldView& f : how.views())
    if (f.present) record[f.name] = f.value;
  record["understood"] = understood;
  record["from"] = {{"tensor", form.name},
                    {"dtype", name_of(form.dtype)},
                    {"shape", form.shape},
                    {"crc32", fmt::format("{:08x}", formats::checksum(*array.reader, array.tensor))}};
  if (!origin.empty()) record["spec"] = nlohmann::ordered_json::parse(origin);
  return record;
}

}  // namespace

bool asks_for_resampling(const Given& given, std::optional<std::int64_t> context, const Encoding& encoding) {
  const auto fields = encoding.all_fields();
  // Start values from a generator, or values that were given: what training changes, or has changed.
  const bool trainable = std::any_of(fields.begin(), fields.end(), [](const FieldView& f) { return f.name == "seed" || f.type == "array"; });
  if (takes_rules(encoding) || !trainable) return false;
  // "linear" and "factor" are words of rules too: beside them a size must be said, or how the rows lie.
  bool way = false, size = context.has_value(), only_here = false;
  for (const auto& [field, text] : given.settings) {
    if (field == "method") way = is_method(text);
    if (field == "method" || field == "factor" || !has(resampling_names(), field)) continue;
    size = true;
    only_here = only_here || std::none_of(fields.begin(), fields.end(), [&, &name = field](const FieldView& f) { return f.name == name; });
  }
  return only_here || (way && size);
}

void resample_file(const std::string& input, const Given& given, std::optional<std::int64_t> context, const std::string& dtype,
                   const std::string& origin, const TableFiles& files, const Common& common) {
  const Resampling how = options_of(given, context, input);
  const ArrayInFile array = open_array(input, "rescale");
  const StoredTensor& form = array.reader->tensors()[array.tensor];
  if (form.is_complex) fail_usage(fmt::format("{}: {} is complex; a table that can be resized has real values", array.path, form.name));
  const Resampler resampler = resampler_for(form.shape, how, array.path);
  const DType stored = dtype.empty() ? form.dtype : parse_dtype(dtype);
  if (info(stored).integer)
    fail_usage(fmt::format("{}: values between rows are real, which {} does not hold; {}", array.path, name_of(stored),
                           dtype.empty() ? "give --dtype f32" : "use a float type"));

  PlannedFile file;
  file.path = files.out.output;
  const formats::FormatTraits& format = output_format(files.out, "rescale");
  StoredTensor made = form;
  made.dtype = stored;
  made.shape = resampler.shape();
  file.plan.tensors = {made};
  if (format.metadata && file.path != "-") {
    file.plan.metadata[std::string(version_key)] = version();
    file.plan.metadata[std::string(resampled_key)] =
        record_of(array, how, resampler.understood(), origin).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  file.plan.chunking = chunking_of(files.out, format);
  formats::check_plan(format, file.plan);
  check_input(files, file.path);
  const std::vector<double> values = values_of(array);
  write_file(file, format, files.out, common, "rescale",
             [&](Writer& writer, const PipelineOptions& options) {
               try {
                 resample(resampler, values, stored, writer, options);
               } catch (const Error& e) {
                 if (e.failure() != Failure::usage) throw;
                 fail_usage(fmt::format("{}: {}", input, e.what()));
               }
             });
  if (!common.quiet) say(fmt::format("{}: {}: {}", array.path, form.name.empty() ? "array" : form.name, resampler.understood()));
}

}  // namespace posenc::cli
