// posenc rescale: what is there, made to reach further. A table that has a formula (its file carries a spec, or one is given)
// comes out under a rule on its frequencies or with more positions; a table that has only values is resized (resampling.cpp).
#include <fmt/format.h>

#include <algorithm>

#include "array_argument.hpp"
#include "command.hpp"
#include "config_source.hpp"
#include "posenc/config_edit.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/positions.hpp"
#include "posenc/resample.hpp"
#include "posenc/rescale.hpp"
#include "posenc/text.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "resampling.hpp"
#include "sources.hpp"
#include "stacking.hpp"
#include "table_files.hpp"
#include "verify.hpp"

namespace posenc::cli {
namespace {

struct Options {
  std::string input, context, dialect;
  SpecOptions spec;
  TableFiles files;
  std::vector<std::string> layer_types;
  bool replace = false, force = false;
  [[nodiscard]] bool describes() const { return !spec.config.empty() || !spec.spec.empty() || !spec.given.encoding.empty(); }
};

// What is to be rescaled: a spec; where a config says it, the trained length of each table and the layer types that a rule reaches.
struct Source {
  Spec spec;
  std::vector<std::optional<std::int64_t>> trained{};
  std::vector<std::string> reached{};
  [[nodiscard]] bool of_config() const { return !trained.empty(); }
};

std::vector<std::optional<std::int64_t>> lengths_of(const ConfigTables& made) {
  std::vector<std::optional<std::int64_t>> out;
  for (const ConfigTable& table : made.tables) out.push_back(table.context);
  return out;
}

// Settings about the rule, and about the table that it is put on.
std::pair<Given, Given> split(const Given& given) {
  std::vector<std::unique_ptr<Encoding>> ruled;
  if (!given.encoding.empty()) {
    ruled.push_back(make_encoding(given.encoding));
  } else {
    for (const EncodingEntry& entry : encodings()) ruled.push_back(entry.make());
  }
  std::pair<Given, Given> out{{given.encoding, {}}, {given.encoding, {}}};
  for (const auto& setting : given.settings) {
    const bool rule = std::any_of(ruled.begin(), ruled.end(), [&](const auto& e) { return is_rule_parameter(*e, setting.first); });
    (rule ? out.first : out.second).settings.push_back(setting);
  }
  return out;
}

std::optional<std::int64_t> context_of(const Options& o) {
  if (o.context.empty()) return std::nullopt;
  const std::int64_t context = parse_int(o.context, "--context", true);
  if (context < 1 || context > max_position) fail_usage(fmt::format("--context must be in [1, 2^53], got {}", o.context));
  return context;
}

// A name for messages; FILE#TENSOR is what was typed.
std::string name_of_input(const Options& o) { return o.input == "-" ? "standard input" : o.input; }

Source from_text(Options& o, const std::string& path, const std::string& text, std::vector<std::string>& remarks) {
  if (!o.spec.config.empty() || !o.spec.spec.empty())
    fail_usage(fmt::format("{} says itself what it is; --spec and --config are for a table that does not", name_of_input(o)));
  const std::string name = o.input == "-" ? "standard input" : path;
  Source out;
  if (!is_spec(text)) {
    // Flags are about what comes out.
    ConfigTables made = tables_of_config(text, name, {o.spec.given.encoding, {}}, o.spec.preset, remarks);
    out.trained = lengths_of(made);
    out.reached = layer_types_reached(text, name);
    out.spec = std::move(made.spec);
  } else {
    out.spec = Spec::parse(text, name);
    check_encoding(out.spec, o.spec.given, name);
  }
  return out;
}

// The form that the complex tensors of a file have; nothing where it has none.
std::optional<ComplexForm> complex_form_in(const std::vector<PlannedTensor>& tensors) {
  for (const PlannedTensor& t : tensors)
    if (t.source.kind == Kind::complex) return t.stored.is_complex ? ComplexForm::native : (t.part >= 0 ? ComplexForm::split : ComplexForm::pair);
  return std::nullopt;
}

// The result is kept as the input is: stacked, complex numbers in the same form.
void keep_form(Options& o, const Reader& reader, const Matching& matching) {
  if (reader.metadata().contains(std::string(stack_key))) o.files.stack = true;
  const std::optional<ComplexForm> form = complex_form_in(matching.tensors);
  if (!o.files.complex_form && form && form != ComplexForm::native && o.spec.preset.empty()) o.files.complex_form = form;
}

[[noreturn]] void refuse_table(const std::string& path, const VerifyReport& report) {
  std::string what;
  for (const TensorVerdict& t : report.tensors)
    if (t.wrong > 0 && what.empty())
      what = fmt::format(
          "{} of {} values of {} differ, by up to {:.3g} ulp, first at [{}] with {} for {} (model code's own steps are --arithmetic float32)",
          t.wrong, t.compared, t.name, t.worst_ulp, index_text(t.first[0].index), print(t.first[0].got), print(t.first[0].want));
  for (const LawVerdict& l : report.laws)
    if (l.failure && what.empty()) what = fmt::format("law {} is broken: {}", l.name, *l.failure);
  if (!report.problems.empty()) what = report.problems[0];
  throw Error(Failure::difference, fmt::format("{} is not the table that it is said to be: {}; the longer table of the spec alone is posenc generate's", path, what));
}

// The table holds what the spec says, in every value; refused otherwise.
Matching held_against(const Spec& spec, const Options& o, const Reader& reader, std::optional<ComplexForm> form, bool own, const Common& common,
                      std::vector<std::string>& remarks) {
  VerifyReport report{o.input, std::string(reader.format()), {}, {}, {}, {}};
  Matching matching = match_tensors(spec, reader, form, own, report);
  if (own)
    for (const std::string& fault : formats::faults(*formats::open(o.input))) report.problems.push_back(fault);
  if (!report.problems.empty()) refuse_table(o.input, report);
  PipelineOptions options = pipeline_options(common);
  Progress progress("verify", common.quiet);
  progress.attach(options);
  check_values(spec, reader, matching, options, report);
  progress.clear();
  if (!report.holds()) refuse_table(o.input, report);
  std::int64_t values = 0;
  for (const TensorVerdict& t : report.tensors) values += t.compared;
  if (!own) remarks.push_back(fmt::format("{}: all {} values are those of the given spec", o.input, values));
  return matching;
}

// A table without a spec of its own, which is first held against the one given.
Source from_bare_table(Options& o, const Reader& reader, const Common& common, std::vector<std::string>& remarks) {
  SpecOptions plain = o.spec;
  plain.given = split(o.spec.given).second;
  plain.preset.clear();  // about the result
  plain.dtype.clear();
  Source out;
  out.spec = *spec_from(plain, remarks);
  if (!plain.config.empty()) {
    const std::string path = config_path(plain.config);
    std::vector<std::string> said_already;
    const std::string text = read_text(path);
    out.trained = lengths_of(tables_of_config(text, path, plain.given, plain.preset, said_already));
    out.reached = layer_types_reached(text, path);
  }
  const Matching matching = held_against(out.spec, o, reader, complex_form_of(plain), false, common, remarks);
  for (const PlannedTensor& t : matching.tensors) (info(t.stored.dtype).integer ? out.spec.index_dtype : out.spec.dtype) = t.stored.dtype;
  keep_form(o, reader, matching);
  return out;
}

Source from_own_spec(Options& o, const Reader& reader, Spec spec, const Common& common, std::vector<std::string>& remarks) {
  if (!o.spec.config.empty() || !o.spec.spec.empty())
    fail_usage(fmt::format("{} carries its spec; --spec and --config are for a table that does not", o.input));
  check_encoding(spec, o.spec.given, o.input);
  spec.check();
  keep_form(o, reader, held_against(spec, o, reader, std::nullopt, true, common, remarks));
  return {std::move(spec), {}};
}

// Which tables get the rule.
std::vector<bool> chosen(const Source& source, const Options& o) {
  const Spec& spec = source.spec;
  std::vector<std::string> names;
  std::vector<bool> out;
  for (const Table& table : spec.tables) names.push_back(table.name), out.push_back(spec.tables.size() == 1);
  const auto at = [&](const std::string& name) { return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin()); };
  for (const std::string& wanted : o.layer_types) {
    if (wanted == "all") return std::vector<bool>(names.size(), true);
    if (at(wanted) == names.size() || names.size() == 1)
      fail_usage(
          fmt::format("{} has no layer type {}{}", name_of_input(o), quoted_word(wanted), names.size() > 1 ? "; there are " + one_of(names) : ""));
    out[at(wanted)] = true;
  }
  if (!o.layer_types.empty() || names.size() == 1) return out;
  for (const std::string& type : source.reached)
    if (at(type) < names.size()) out[at(type)] = true;
  if (std::count(out.begin(), out.end(), true) > 0) return out;
  if (const std::size_t full = at("full_attention"); full < names.size()) {
    out[full] = true;
    return out;
  }
  for (std::size_t i = 0; i < names.size(); ++i) out[i] = takes_rules(*spec.tables[i].encoding);
  if (std::count(out.begin(), out.end(), true) == 1) return out;
  fail_usage(fmt::format("{} has a table for each of {}; say which gets the rule with --layer-type", name_of_input(o), one_of(names)));
}

std::vector<std::string> names_of_parameters(const Encoding& encoding) {
  std::vector<std::string> names{"context", "replace", "force", "layer_type"};
  for (const FieldView& f : encoding.all_fields()) names.push_back(f.name);
  return names;
}

bool has_array(const Encoding& encoding) {
  const auto fields = encoding.fields();
  return std::any_of(fields.begin(), fields.end(), [](const FieldView& f) { return f.type == "array" && f.present; });
}

// The text of its positions; "" where it has none.
std::string positions_of(const Encoding& encoding) {
  for (const FieldView& f : encoding.fields())
    if (f.name == "positions" && f.present) return f.value;
  return "";
}

// A table that does not get the rule: what is said about all tables, and as many positions as the others of a longer model; these
// are `positions` where a config declares them for all, else they end with the context.
std::unique_ptr<Encoding> without_rule(const Encoding& encoding, const Given& about_tables, std::string positions, const Options& o) {
  auto out = encoding.clone();
  const auto fields = encoding.fields();
  const auto has = [&](const std::string& name) {
    return std::any_of(fields.begin(), fields.end(), [&](const FieldView& f) { return f.name == name; });
  };
  const auto said = [&](const std::string& name) {
    return std::any_of(about_tables.settings.begin(), about_tables.settings.end(), [&](const auto& setting) { return setting.first == name; });
  };
  if (takes_rules(encoding) && has("positions") && !said("positions")) {
    const std::optional<std::int64_t> context = context_of(o);
    if (positions.empty() && context) positions = reaching(positions_of(encoding), *context, o.force);
    if (!positions.empty()) out->set("positions", positions);
  }
  for (const auto& [field, text] : about_tables.settings)
    if (has(field)) out->set(field, text);
  return out;
}

// A factor is about frequencies; whoever gives one may think that the table is longer now.
std::string kept_positions(const Encoding& before, const Encoding& after) {
  if (!takes_rules(before)) return "";
  const std::vector<Tensor> tensors = after.tensors();
  const bool rows = std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) {
    return std::any_of(t.axes.begin(), t.axes.end(), [](const Axis& axis) { return axis.name == "position"; });
  });
  const std::string kept = positions_of(after);
  if (!rows || kept.empty() || kept != positions_of(before)) return "";
  return fmt::format("; positions stay {} (--positions says otherwise)", kept.size() > 40 ? kept.substr(0, 40) + ".." : kept);
}

// The table of that number, under the rule or without it; `positions` are those that a config declares with the rule.
void change_table(Source& source, std::size_t i, bool gets_rule, const std::string& positions, const Options& o, std::vector<std::string>& remarks) {
  Table& table = source.spec.tables[i];
  const std::string who = name_of_input(o) + ": " + (table.name.empty() ? "" : table.name + ": ");
  try {
    if (!gets_rule) {
      table.encoding = without_rule(*table.encoding, split(o.spec.given).second, positions, o);
      remarks.push_back(who + "its frequencies are left as they are");
      return;
    }
    Rescaling how{.settings = o.spec.given.settings, .context = context_of(o), .trained = {}, .replace = o.replace, .force = o.force,
                  .of_config = source.of_config()};
    if (i < source.trained.size()) how.trained = source.trained[i];
    Rescaled made = rescaled(*table.encoding, how);
    const std::string only_length =
        takes_rules(*table.encoding) ? "" : fmt::format("{} has no rules on frequencies, only its length changes: ", table.encoding->name());
    remarks.push_back(who + only_length + made.changes + kept_positions(*table.encoding, *made.encoding));
    table.encoding = std::move(made.encoding);
  } catch (const Error& e) {
    if (e.failure() != Failure::usage) throw;
    const bool values = !takes_rules(*table.encoding) && has_array(*table.encoding);
    fail_usage(who + in_flags(e.what(), names_of_parameters(*table.encoding)) +
               (values ? "; its values are given ones: --method linear, cubic, tile, .. resizes them" : ""));
  }
}

void put_rule(Source& source, const Options& o, std::vector<std::string>& remarks) {
  const std::vector<bool> gets = chosen(source, o);
  std::string positions;
  for (std::size_t i = 0; i < gets.size(); ++i)
    if (gets[i]) {
      change_table(source, i, true, "", o, remarks);
      if (source.of_config() && positions.empty()) positions = positions_of(*source.spec.tables[i].encoding);
    }
  for (std::size_t i = 0; i < gets.size(); ++i)
    if (!gets[i]) change_table(source, i, false, positions, o, remarks);
}

bool to_json(const Options& o) { return o.files.out.format.empty() && o.files.out.output.ends_with(".json"); }

// What can be said about -o before anything is read.
void check_output(const Options& o) {
  const std::string& path = o.files.out.output;
  if (o.files.print_spec && !path.empty() && path != "-")
    fail_usage("--print-spec writes to standard output; leave -o out, or give -o FILE.json alone");
  if ((o.files.print_spec || to_json(o)) && (o.files.stack || !o.spec.complex_form.empty()))
    fail_usage("a spec does not carry --stack or --complex, which are about the file; leave them out");
  if (!o.files.print_spec && path.empty()) fail_usage("rescale wants -o FILE: a table ('posenc list formats'), or FILE.json for a config or a spec");
  if (!o.files.print_spec && !to_json(o)) (void)output_format(o.files.out, "rescale");
  if (!path.empty()) check_input(o.files, path);
}

void report_text(const std::string& path, const char* what, const Common& common) {
  if (common.json)
    report_written({{path, what, {}}}, true, common.quiet);
  else if (!common.quiet)
    fmt::print("{}: {}\n", path, what);
}

// A config's successor is a config: its own text, changed where positions are concerned.
void write_config(const std::string& text, const Options& o, const Common& common) {
  const std::string name = name_of_input(o);
  const std::vector<std::pair<std::string, bool>> others{{"--for", !o.spec.preset.empty()},
                                                         {"--dtype", !o.spec.dtype.empty()},
                                                         {"--index-dtype", !o.spec.index_dtype.empty()},
                                                         {"--arithmetic", !o.spec.arithmetic.empty()},
                                                         {"--tensor", !o.spec.tensors.empty()},
                                                         {"--spec", !o.spec.spec.empty()},
                                                         {"--config", !o.spec.config.empty()}};
  for (const auto& [flag, given] : others)
    if (given) fail_usage(fmt::format("{} is a config and {} becomes one, which {} has nothing to do with", name, o.files.out.output, flag));
  ConfigChange change{.context = context_of(o), .settings = o.spec.given.settings, .replace = o.replace, .force = o.force};
  if (!o.dialect.empty()) change.dialect = parse_config_dialect(o.dialect, "--config-dialect");
  change.layer_types = o.layer_types;
  std::vector<std::string> remarks;
  std::string made;
  try {
    made = rescaled_config(text, name, change, &remarks);
  } catch (const Error& e) {
    if (e.failure() != Failure::usage) throw;
    // The file's name stands before the library's sentence and is no part of it: a file may be called factor.
    const std::string sentence = e.what(), who = sentence.starts_with(name + ": ") ? name + ": " : "";
    fail_usage(who + in_flags(sentence.substr(who.size()), names_of_parameters(*make_encoding("rope"))));
  }
  formats::write_text(o.files.out.output, made);
  report_text(o.files.out.output, "config", common);
  if (!common.quiet)
    for (const std::string& remark : remarks) say(remark);
}

void write_result(const Source& source, const Options& o, const Common& common) {
  const std::string& path = o.files.out.output;
  if (o.files.print_spec) return print_spec(source.spec);
  if (!to_json(o)) return write_tables(source.spec, o.files, common, "rescale");
  (void)plan(source.spec, ComplexForm::pair);  // what cannot be generated is no spec to save
  formats::write_text(path, source.spec.json(2) + "\n");
  report_text(path, "spec", common);
}

// What goes with rules and specs only.
void refuse_for_resampling(const Options& o, const std::string& why) {
  const std::vector<std::pair<std::string, bool>> others{{"--replace", o.replace},
                                                         {"--force", o.force},
                                                         {"--layer-type", !o.layer_types.empty()},
                                                         {"--for", !o.spec.preset.empty()},
                                                         {"--index-dtype", !o.spec.index_dtype.empty()},
                                                         {"--arithmetic", !o.spec.arithmetic.empty()},
                                                         {"--complex", !o.spec.complex_form.empty()},
                                                         {"--stack", o.files.stack},
                                                         {"--print-spec", o.files.print_spec},
                                                         {"--spec", !o.spec.spec.empty()},
                                                         {"--config", !o.spec.config.empty()}};
  for (const auto& [flag, given] : others)
    if (given) fail_usage(fmt::format("{}, so that its values are resized, which {} has nothing to do with", why, flag));
  if (!o.spec.tensors.empty())
    fail_usage(fmt::format("say which array is resized with {}#{}, not with --tensor", file_and_tensor(o.input).first, o.spec.tensors[0]));
}

int run(Options& o, const Common& common) {
  if (o.input.empty()) fail_usage("rescale wants a table file, a spec, a config.json or its folder (see posenc rescale --help)");
  std::vector<std::string> remarks;
  o.files.complex_form = complex_form_of(o.spec);
  const auto [file, tensor] = o.input == "-" ? std::pair<std::string, std::string>("-", "") : file_and_tensor(o.input);
  const std::string path = config_path(file);
  if (path != "-") o.files.inputs = {path};
  for (const std::string& read : {o.spec.spec, o.spec.config.empty() ? "" : config_path(o.spec.config)})
    if (!read.empty() && read != "-") o.files.inputs.push_back(read);
  check_output(o);

  const auto refuse_dialect = [&] {
    if (!o.dialect.empty()) fail_usage("--config-dialect is about a config that is written: IN a config.json, -o FILE.json");
  };
  Source source;
  if (path == "-" || starts_like_json(path)) {
    const std::string text = read_text(path);
    if (!o.files.print_spec && to_json(o) && !is_spec(text)) {
      write_config(text, o, common);
      return 0;
    }
    refuse_dialect();
    source = from_text(o, path, text, remarks);
  } else {
    refuse_dialect();
    std::unique_ptr<Reader> reader = tensor.empty() ? open_array_file(path) : alone(open_array(o.input, "rescale"));
    if (reader->format() == "npy") {  // which keeps its metadata beside it
      o.files.inputs.push_back(path + ".json");
      if (!o.files.out.output.empty()) check_input(o.files, o.files.out.output);
    }
    std::optional<Spec> own = spec_in(*reader, path);
    const bool resized = own ? asks_for_resampling(o.spec.given, context_of(o), *own->tables[0].encoding) : !o.describes();
    if (resized) {
      // Values from a seed go on by themselves when asked to be longer; a trained table is not one of those any more, and
      // whoever names a way to resize means the values.
      refuse_for_resampling(
          o, own ? fmt::format("{} has no rules on frequencies", own->tables[0].encoding->name()) : fmt::format("{} carries no spec", path));
      resample_file(o.input, o.spec.given, context_of(o), o.spec.dtype, own ? own->json() : "", o.files, common);
      return 0;
    }
    if (own && !tensor.empty()) fail_usage(fmt::format("{} carries its spec, which knows its tensors by name; say --tensor {}", path, tensor));
    source = own ? from_own_spec(o, *reader, std::move(*own), common, remarks) : from_bare_table(o, *reader, common, remarks);
    if (!own) o.spec.given = split(o.spec.given).first;
  }
  override_storage(source.spec, o.spec);
  source.spec.check();
  put_rule(source, o, remarks);
  source.spec.check();
  write_result(source, o, common);
  if (!common.quiet)  // now that it is done: a refusal is one line
    for (const std::string& remark : remarks) say(remark);
  return 0;
}

// Parameters of rules, of every encoding that has rules.
std::vector<FieldView> rule_fields() {
  std::vector<FieldView> out;
  for (const EncodingEntry& entry : encodings()) {
    const auto encoding = entry.make();
    if (!takes_rules(*encoding)) continue;
    for (const FieldView& f : encoding->all_fields())
      if (is_rule_parameter(*encoding, f.name)) out.push_back(f);
  }
  return out;
}

}  // namespace

Command add_rescale(CLI::App& app, Common& common) {
  CLI::App* sub = app.add_subcommand("rescale", "make tables and configs reach further: posenc rescale MODEL --method yarn --context 16k -o config.json");
  auto o = std::make_shared<Options>();
  add_text(*sub, "input", o->input, "IN",
           "a table file (FILE#ARRAY for one of several), a spec, a config.json or its folder; '-' is a spec on standard input");
  add_text(*sub, "--context", o->context, "N", "positions to reach: factor is N over the trained length, positions end at N (--factor alone leaves a table its positions)");
  sub->add_flag("--replace", o->replace, "put the new rule in the place of the one in force");
  sub->add_flag("--force", o->force, "take a factor below 1, a context below the length that is there or an attention factor above 3");
  sub->add_option("--layer-type", o->layer_types, "which of a config's tables get the rule (repeatable; all; default: those that the config's rule is for, else full_attention)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  add_text(*sub, "--config-dialect", o->dialect, "4|5", "spelling of a config that is written: transformers 4 or 5 (default: as it is)");
  add_table_file_options(*sub, o->files);
  sub->get_option("--output")
      ->description("where to write: a table file, or FILE.json for the config that a config becomes, the spec that a spec or a table becomes; "
                    "'-' is standard output (one tensor, npy)");
  if (common.named("rescale")) {
    add_fields(*sub, rule_fields(), "Rules on frequencies", o->spec.given);
    add_fields(*sub, Resampling{}.views(), "Resampling of tables without a formula", o->spec.given);
    add_spec_options(*sub, o->spec, common.words);
    sub->get_option("--spec")->description("what a table without a spec is: a saved spec");
    sub->get_option("--config")->description("what a table without a spec is: a model's config.json or its folder");
    sub->get_option("--dtype")->description("element type of the result (default: as the input)");
  }
  add_common(*sub, common);
  return {sub, [o, &common] { return run(*o, common); }};
}

}  // namespace posenc::cli
