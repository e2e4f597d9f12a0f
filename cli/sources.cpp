#include "sources.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "command.hpp"
#include "config_source.hpp"
#include "posenc/names.hpp"
#include "posenc/error.hpp"
#include "posenc/json.hpp"
#include "posenc/presets.hpp"
#include "posenc/rescale.hpp"
#include "posenc/text.hpp"

namespace posenc::cli {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // configs may begin with it: the config reader warns of it
constexpr std::size_t max_text = std::size_t{64} << 20;  // configs and specs; longer ones are something else

bool has(const std::vector<FieldView>& fields, std::string_view name) {
  return std::any_of(fields.begin(), fields.end(), [&](const FieldView& f) { return f.name == name; });
}

// Flags after a config or spec change every table that knows them; a flag that no table knows is refused.
void override_settings(Spec& spec, const Given& given, const std::string& path, std::vector<std::string>& remarks) {
  if (given.settings.empty()) return;
  for (const auto& [field, text] : given.settings) {
    const bool known = std::any_of(spec.tables.begin(), spec.tables.end(), [&, &name = field](const Table& t) { return has(t.encoding->all_fields(), name); });
    if (!known) fail_usage(fmt::format("{} is no parameter of {}", flag_of(field), spec.tables[0].encoding->name()));
  }
  // With several layer types a parameter of one rule concerns the tables under that rule; a flag that no table takes is
  // refused with the sentence of the last one.
  std::vector<bool> taken(given.settings.size());
  std::optional<Error> refusal;
  for (Table& table : spec.tables) {
    Rescaled under = with_method(*table.encoding, given.settings);
    if (!under.changes.empty()) remarks.push_back(fmt::format("{}: {}{}{}", path, table.name, table.name.empty() ? "" : ": ", under.changes));
    auto changed = std::move(under.encoding);
    for (std::size_t i = 0; i < given.settings.size(); ++i) {
      const auto& [field, text] = given.settings[i];
      const bool here = has(changed->fields(), field);
      try {
        if (here || !taken[i]) apply(*changed, {given.settings[i]});
        taken[i] = true;
      } catch (const Error& e) {
        if (here) throw;
        refusal = e;
      }
    }
    table.encoding = std::move(changed);
  }
  for (const bool t : taken)
    if (!t && refusal) throw *refusal;
}

void override_preset(Spec& spec, const SpecOptions& options) {
  if (options.preset.empty()) return;
  const Preset& preset = parse_preset(options.preset);
  for (Table& table : spec.tables) {
    if (table.encoding->name() != preset.encoding)
      fail_usage(fmt::format("--for {} is about {}, not {}", preset.name, preset.encoding, table.encoding->name()));
    auto changed = table.encoding->clone();
    for (const auto& [field, text] : preset.settings)
      for (const auto& [given, value] : options.given.settings)
        if (given == field && value != text)
          fail_usage(fmt::format("--for {} means {} {}; {} {} contradicts it", preset.name, flag_of(field), text, flag_of(given), value));
    apply(*changed, preset.settings);
    table.encoding = std::move(changed);
  }
  if (!options.dtype.empty() && parse_dtype(options.dtype) != preset.dtype)
    fail_usage(fmt::format("--for {} means --dtype {}; --dtype {} contradicts it", preset.name, name_of(preset.dtype), options.dtype));
  spec.dtype = preset.dtype;
  spec.names = preset.names;
}

}  // namespace

std::string read_text(const std::string& path) {
  struct Close {
    void operator()(std::FILE* f) const {
      if (f != stdin) std::fclose(f);
    }
  };
  const std::unique_ptr<std::FILE, Close> file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
  if (!file) fail_system(fmt::format("{} cannot be opened", path), errno);
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, n);
    if (text.size() > max_text) fail_input(fmt::format("{} is longer than {}, which no config or spec is", path, human_bytes(max_text)));
  }
  if (std::ferror(file.get())) fail_system(fmt::format("{} cannot be read", path), errno);
  return text;
}

std::string config_path(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return path + (path.ends_with('/') ? "" : "/") + "config.json";
  return path;
}

bool starts_like_json(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return false;  // opening a FIFO would wait for a writer
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (f == nullptr) fail_system(fmt::format("{} cannot be opened", path), errno);
  char head[1024];
  const std::string_view text(head, std::fread(head, 1, sizeof head, f));
  std::fclose(f);
  if (path.ends_with(".json")) return true;  // what is wrong with it is the JSON reader's to say
  // The first eight bytes of safetensors are a number, any of which may look like a bracket.
  if (text.substr(0, 8).find('\0') != std::string_view::npos) return false;
  const std::size_t first = text.find_first_not_of(" \t\r\n", text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

bool is_spec(const std::string& text) {
  try {
    const auto root = json::parse(std::string_view(text).substr(text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0), "");
    return root.contains("posenc") || root.contains("encoding") || root.contains("tables");
  } catch (const Error&) {
    return false;  // the config reader says what is wrong with it
  }
}

void add_spec_options(CLI::App& app, SpecOptions& o, const std::vector<std::string>& words) {
  add_text(app, "--config", o.config, "PATH", "read the parameters from a model's config.json or its folder");
  add_text(app, "--spec", o.spec, "FILE", "read a saved spec ('-' is standard input)");
  add_text(app, "--for", o.preset, "RUNTIME", "layout, dtype and names as a runtime loads them ('posenc list presets')");
  add_text(app, "--dtype", o.dtype, "TYPE", "element type of real tensors: f64, f32, f16, bf16 (default f32)");
  add_text(app, "--index-dtype", o.index_dtype, "TYPE", "element type of index tensors: i32, i64 (default i64)");
  add_text(app, "--arithmetic", o.arithmetic, "NAME", "exact (default), or model code's float32 or bfloat16 step by step");
  add_text(app, "--complex", o.complex_form, "FORM", "complex tensors as native, pair or split (default: native, split in HDF5)");
  app.add_option("--tensor", o.tensors, "keep only this tensor (repeatable)")->type_name("NAME")->allow_extra_args(false);
  add_encodings(app, o.given, words);
}

std::optional<ComplexForm> complex_form_of(const SpecOptions& o) {
  if (!o.complex_form.empty()) return parse_enum<ComplexForm>(o.complex_form, "--complex");
  if (!o.preset.empty() && parse_preset(o.preset).complex_form != ComplexForm::native) return parse_preset(o.preset).complex_form;
  return std::nullopt;
}

std::optional<Spec> spec_from(const SpecOptions& o, std::vector<std::string>& remarks) {
  if (!o.config.empty() && !o.spec.empty()) fail_usage("--config and --spec both describe the encoding; give one");
  Spec spec;
  if (!o.config.empty()) {
    const std::string path = config_path(o.config);
    spec = tables_of_config(read_text(path), path, o.given, o.preset, remarks).spec;
    override_settings(spec, o.given, path, remarks);
  } else if (!o.spec.empty()) {
    spec = Spec::parse(read_text(o.spec), o.spec == "-" ? "standard input" : o.spec);
    check_encoding(spec, o.given, o.spec);
    override_settings(spec, o.given, o.spec == "-" ? "standard input" : o.spec, remarks);
  } else if (!o.given.encoding.empty()) {
    auto encoding = make_encoding(o.given.encoding);
    apply(*encoding, o.given.settings);
    spec.tables.push_back({"", std::move(encoding)});
  } else {
    if (!o.given.settings.empty())
      fail_usage(fmt::format("{} wants an encoding before it, or --config or --spec", flag_of(o.given.settings[0].first)));
    return std::nullopt;
  }
  override_storage(spec, o);
  spec.check();
  return spec;
}

void override_storage(Spec& spec, const SpecOptions& o) {
  if (!o.dtype.empty()) spec.dtype = parse_dtype(o.dtype);
  if (!o.index_dtype.empty()) spec.index_dtype = parse_dtype(o.index_dtype);
  if (!o.arithmetic.empty()) spec.arithmetic = parse_enum<Arithmetic>(o.arithmetic, "--arithmetic");
  override_preset(spec, o);
  if (!o.tensors.empty()) spec.only = o.tensors;
}

void check_encoding(const Spec& spec, const Given& given, const std::string& path) {
  if (given.encoding.empty()) return;
  for (const Table& table : spec.tables)
    if (table.encoding->name() != given.encoding) fail_usage(fmt::format("{} describes {}, not {}", path, table.encoding->name(), given.encoding));
}

std::optional<Spec> spec_in(const Reader& reader, const std::string& path) {
  const auto found = reader.metadata().find(std::string(spec_key));
  if (found == reader.metadata().end()) return std::nullopt;
  return Spec::parse(found->second, path + ": its spec");
}

}  // namespace posenc::cli
