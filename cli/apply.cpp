// posenc apply: an encoding put to use on an array: added, multiplied, turned.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "array_argument.hpp"
#include "command.hpp"
#include "output.hpp"
#include "posenc/apply.hpp"
#include "posenc/error.hpp"
#include "posenc/names.hpp"
#include "posenc/text.hpp"
#include "report.hpp"
#include "sources.hpp"
#include "table_files.hpp"

namespace posenc::cli {
namespace {

struct Options {
  SpecOptions spec;
  OutputOptions out;
  std::string input, key, table, operation, pairing, axes, set, layer_type, score;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out{""};
  for (const char c : text)
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

Application application_of(const Options& o) {
  Application a;
  if (!o.operation.empty()) a.operation = parse_enum<Operation>(o.operation, "--operation");
  if (!o.pairing.empty()) a.pairing = parse_enum<Pairing>(o.pairing, "--pairing");
  if (!o.axes.empty()) a.axes = split(o.axes);
  for (const std::string& name : a.axes)
    if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != std::string::npos)
      fail_usage(fmt::format("--input-axes wants names of letters, digits and _, as batch,position,head,lane; got {}", quoted_word(name)));
  a.set = o.set;
  if (o.spec.tensors.size() > 1) fail_usage("apply takes one --tensor");
  if (!o.spec.tensors.empty()) a.tensor = o.spec.tensors[0];
  return a;
}

bool given(const Options& o, const std::string& field) {
  for (const auto& [name, text] : o.spec.given.settings)
    if (name == field) return true;
  return false;
}

// Sizes that the array itself tells: what --positions, --head-dim, --key-length, .. would say. Lengths follow the array even
// where a config has its own; widths only where the encoding is named on the command line and has one anyway.
std::vector<std::pair<std::string, std::string>> sizes_from_input(const Options& o, const std::vector<std::int64_t>& shape, const Application& a,
                                                                  const Encoding& encoding, std::vector<std::string>& remarks) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!o.spec.spec.empty()) return out;
  const auto along = [&](const std::string& axis, std::size_t from_end) -> std::optional<std::int64_t> {
    if (a.axes.size() == shape.size())
      for (std::size_t i = 0; i < shape.size(); ++i)
        if (a.axes[i] == axis) return shape[i];
    if (!a.axes.empty() && from_end != 1) return std::nullopt;
    return from_end <= shape.size() ? std::optional(shape[shape.size() - from_end]) : std::nullopt;
  };
  struct Size {
    std::string field;
    std::optional<std::int64_t> value;
    bool length;
  };
  const std::vector<Size> sizes{{"positions", along("position", 2), true}, {"key_length", along("key", 1), true}, {"query_length", along("query", 2), true},
                                {"num_heads", along("head", 3), false},    {"head_dim", along("lane", 1), false}, {"dim", along("lane", 1), false}};
  std::string said;
  for (const Size& size : sizes) {
    if (!size.value || given(o, size.field) || (!size.length && !o.spec.config.empty())) continue;
    const auto fields = encoding.fields();
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const FieldView& f) { return f.name == size.field; });
    if (field == fields.end() || field->value == print(*size.value) || (!size.length && !field->present)) continue;
    out.emplace_back(size.field, print(*size.value));
    said += fmt::format("{}{} {}", said.empty() ? "" : ", ", size.field, *size.value);
  }
  if (!said.empty()) remarks.push_back(fmt::format("{}: {} (its shape)", o.input, said));
  return out;
}

// The tables that are applied, and the spec that they come from where there is one.
struct Source {
  std::shared_ptr<const Encoding> tables;
  std::optional<Spec> spec;
};

Source source_of(const Options& o, const std::vector<std::int64_t>& shape, const Application& a, std::vector<std::string>& remarks) {
  if (!o.table.empty()) {
    if (!o.spec.given.encoding.empty() || !o.spec.config.empty() || !o.spec.spec.empty()) fail_usage("--table gives the values; leave the encoding out");
    return {stored_tables(formats::open(o.table)), std::nullopt};
  }
  SpecOptions plain = o.spec;
  plain.tensors.clear();
  // Before anything is checked: a share of the width wants the width.
  if (!plain.given.encoding.empty() && plain.config.empty())
    for (auto& size : sizes_from_input(o, shape, a, *make_encoding(plain.given.encoding), remarks)) plain.given.settings.push_back(std::move(size));
  std::optional<Spec> spec = spec_from(plain, remarks);
  if (!spec) fail_usage("apply wants an encoding, --config, --spec or --table (see posenc apply --help)");
  std::vector<std::string> names;
  for (const Table& table : spec->tables) names.push_back(table.name);
  std::size_t chosen = spec->tables.size() == 1 && o.layer_type.empty() ? 0 : names.size();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!o.layer_type.empty() && names[i] == o.layer_type) chosen = i;
  if (chosen == names.size())
    fail_usage(o.layer_type.empty() ? fmt::format("there is a table for each of {}; say which with --layer-type", one_of(names))
                                    : fmt::format("there is no layer type {}{}", quoted_word(o.layer_type), names.size() > 1 ? "; there are " + one_of(names) : ""));
  std::shared_ptr<Encoding> encoding = spec->tables[chosen].encoding->clone();
  if (!plain.config.empty())
    for (const auto& [field, text] : sizes_from_input(o, shape, a, *encoding, remarks)) encoding->set(field, text);
  spec->tables = {{"", encoding}};
  return {encoding, spec};
}

std::pair<std::int64_t, std::int64_t> two_positions(const std::string& text) {
  const std::vector<std::string> parts = split(text);
  if (parts.size() != 2) fail_usage(fmt::format("--score wants M,N, the query's and the key's position, got {}", quoted_word(text)));
  return {parse_int(parts[0], "--score M"), parse_int(parts[1], "--score N")};
}

int print_scores(const Options& o, const Common& common, const Source& source, const Application& a, const ArrayInFile& query) {
  if (!o.out.output.empty()) fail_usage("--score prints its result; leave -o out");
  if (source.spec && source.spec->arithmetic != Arithmetic::exact) fail_usage("--score is about the formula: it knows arithmetic exact only");
  const auto [m, n] = two_positions(o.score);
  const ArrayInFile key = o.key.empty() ? query : open_array(o.key, "--score-key");
  const std::vector<Score> found = scores(source.tables, a, input_from(query.reader, query.tensor), input_from(key.reader, key.tensor), m, n);
  if (common.json) {
    nlohmann::ordered_json json{{"query", m}, {"key", n}, {"scores", nlohmann::ordered_json::array()}};
    for (const Score& s : found) json["scores"].push_back({{"at", s.where}, {"score", std::isfinite(s.value) ? nlohmann::ordered_json(s.value) : nlohmann::ordered_json(print(s.value))}});
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  for (const Score& s : found) fmt::print("{}q({}) . k({}) = {}\n", s.where.empty() ? "" : fmt::format("[{}] ", index_text(s.where)), m, n, print(s.value));
  return 0;
}

int run(const Options& o, const Common& common) {
  if (o.input.empty()) fail_usage("apply wants --input FILE or FILE#TENSOR: the array to put the encoding on");
  if (!o.key.empty() && o.score.empty()) fail_usage("--score-key goes with --score");
  Application a = application_of(o);
  const ArrayInFile input = open_array(o.input, "--input");
  const StoredTensor form = input.reader->tensors()[input.tensor];
  const std::shared_ptr<const Input> values = input_from(input.reader, input.tensor);
  std::vector<std::string> remarks;
  Source source = source_of(o, form.shape, a, remarks);
  if (!o.score.empty()) return print_scores(o, common, source, a, input);

  Spec spec;
  spec.tables.push_back({"", applied(source.tables, a, values)});
  spec.dtype = !o.spec.dtype.empty() ? parse_dtype(o.spec.dtype) : (info(form.dtype).integer ? DType::f32 : form.dtype);
  spec.arithmetic = o.spec.arithmetic.empty() ? (source.spec ? source.spec->arithmetic : Arithmetic::exact) : parse_enum<Arithmetic>(o.spec.arithmetic, "--arithmetic");
  for (const FieldView& field : spec.tables[0].encoding->fields())
    if (field.name == "pairing")
      if (const std::string remark = pairing_remark(*source.tables, parse_enum<Pairing>(field.value, "pairing")); !remark.empty()) remarks.push_back(remark);
  const formats::FormatTraits& format = output_format(o.out, "apply");
  std::vector<PlannedTensor> tensors = plan(spec, ComplexForm::pair);
  if (a.axes.empty()) tensors[0].stored.axis_names = form.axis_names;
  PlannedFile file;
  file.path = o.out.output;
  file.plan.tensors = {tensors[0].stored};
  if (format.metadata && o.out.output != "-") {
    file.plan.metadata[std::string(version_key)] = version();
    nlohmann::ordered_json record;
    for (const FieldView& field : spec.tables[0].encoding->fields()) record[field.name] = field.value;
    if (source.spec) record["spec"] = nlohmann::ordered_json::parse(source.spec->json());
    file.plan.metadata[std::string(applied_key)] = record.dump();
  }
  file.plan.chunking = chunking_of(o.out, format);
  formats::check_plan(format, file.plan);
  for (const std::string& read : {input.path, o.table})
    if (!read.empty() && same_file(read, file.path) && formats::open(read)->tensors().size() > 1)
      fail_usage(fmt::format("{} is read here and holds more than the result would; write to another file", file.path));
  if (!common.quiet)
    for (const std::string& remark : remarks) say(remark);
  write_file(file, format, o.out, common, "apply", [&](Writer& writer, const PipelineOptions& options) {
    const Target target{&writer, tensors};
    generate(spec, std::span<const Target>(&target, 1), options);
  });
  return 0;
}

}  // namespace

Command add_apply(CLI::App& app, Common& common) {
  CLI::App* sub = app.add_subcommand("apply", "put an encoding on an array: posenc apply rope --layout half --input q.npy -o q_rotated.npy");
  auto o = std::make_shared<Options>();
  add_text(*sub, "--input", o->input, "FILE[#TENSOR]", "the array: vectors or scores, any leading axes");
  add_text(*sub, "--operation", o->operation, "NAME", "add, multiply, multiply-plus-one, rotate or rotate-back (default: rotate with cos and sin, multiply by a scale, else add)");
  add_text(*sub, "--pairing", o->pairing, "NAME", "how pairs of lanes lie: half, interleaved, interleaved-to-half or axis-halves (default: as the layout says)");
  add_text(*sub, "--input-axes", o->axes, "NAMES", "the input's axes, as batch,position,head,lane (default: the table's axes are the last ones)");
  add_text(*sub, "--table", o->table, "FILE", "tables from a file instead of an encoding");
  add_text(*sub, "--set", o->set, "NAME", "which of several frequency sets (longrope: short, long)");
  add_text(*sub, "--layer-type", o->layer_type, "NAME", "which of a config's tables");
  add_text(*sub, "--score", o->score, "M,N", "print q(M) . k(N) and write nothing");
  add_text(*sub, "--score-key", o->key, "FILE[#TENSOR]", "the keys of --score (default: the input)");
  add_output_options(*sub, o->out);
  if (common.named("apply")) {
    add_spec_options(*sub, o->spec, common.words);
    // The result is one real array.
    for (const char* about_tables : {"--complex", "--index-dtype", "--for"}) sub->remove_option(sub->get_option(about_tables));
    sub->get_option("--dtype")->description("element type of the result: f64, f32, f16, bf16 (default: the input's)");
    sub->get_option("--tensor")->description("which tensor to add or multiply, where there are several");
  }
  add_common(*sub, common);
  return {sub, [o, &common] { return run(*o, common); }};
}

}  // namespace posenc::cli
