#include "posenc/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "posenc/names.hpp"
#include "posenc/error.hpp"
#include "posenc/json.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

using Json = nlohmann::ordered_json;

constexpr int spec_version = 1;

Json number(const std::string& text, const std::string& type) {
  if (type == "integer") return parse_int(text, "a recorded integer", true);
  const double value = parse_real(text, "a recorded number");
  // A real that is whole prints without a point, as people write it.
  if (std::abs(value) < 0x1p53 && value == static_cast<double>(static_cast<std::int64_t>(value)))
    return static_cast<std::int64_t>(value);
  return value;
}

Json field_json(const FieldView& field) {
  if (field.type == "integer" || field.type == "real") return number(field.value, field.type);
  if (field.type == "boolean") return field.value == "true";
  if (field.type == "list") {
    Json list = Json::array();
    for (double v : parse_reals(field.value, field.name)) list.push_back(number(print(v), "real"));
    return list;
  }
  return field.value;
}

Json table_json(const Table& table) {
  Json out = Json::object();
  if (!table.name.empty()) out["name"] = table.name;
  out["encoding"] = table.encoding->name();
  Json parameters = Json::object();
  for (const FieldView& field : table.encoding->fields())
    if (field.present) parameters[field.name] = field_json(field);
  out["parameters"] = std::move(parameters);
  return out;
}

std::string value_text(const Json& value, const std::string& key, std::string_view what) {
  switch (value.type()) {
    case Json::value_t::number_integer: return print(value.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      if (value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        fail_input(fmt::format("{}: {} is larger than 64 bits hold", what, key));
      return print(static_cast<std::int64_t>(value.get<std::uint64_t>()));
    case Json::value_t::number_float: return print(value.get<double>());
    case Json::value_t::boolean: return print(value.get<bool>());
    case Json::value_t::string: return value.get<std::string>();
    case Json::value_t::array: {
      std::string text;
      for (const Json& item : value) {
        if (!item.is_number()) fail_input(fmt::format("{}: {} wants numbers in its list", what, key));
        if (!text.empty()) text += ',';
        text += value_text(item, key, what);
      }
      return text;
    }
    default: fail_input(fmt::format("{}: {} wants a number, a word, true, false or a list of numbers", what, key));
  }
}

const std::string& string_of(const Json& value, const std::string& key, std::string_view what) {
  if (!value.is_string()) fail_input(fmt::format("{}: {} wants a text", what, key));
  return value.get_ref<const std::string&>();
}

Table parse_table(const Json& object, std::string_view what) {
  Table table;
  if (!object.is_object() || !object.contains("encoding"))
    fail_input(fmt::format("{}: a spec wants the key \"encoding\" with a name from 'posenc list'", what));
  std::unique_ptr<Encoding> encoding = make_encoding(string_of(object["encoding"], "encoding", what));
  if (object.contains("name")) table.name = string_of(object["name"], "name", what);
  if (object.contains("parameters")) {
    const Json& parameters = object["parameters"];
    if (!parameters.is_object()) fail_input(fmt::format("{}: \"parameters\" wants an object", what));
    std::vector<std::pair<std::string, std::string>> settings;
    for (const auto& [key, value] : parameters.items())
      if (!value.is_null()) settings.emplace_back(key, value_text(value, key, what));
    apply(*encoding, std::move(settings));
  }
  table.encoding = std::move(encoding);
  return table;
}

}  // namespace

void apply(Encoding& encoding, std::vector<std::pair<std::string, std::string>> settings) {
  const auto known = [&](const std::string& name) {
    const auto fields = encoding.fields();
    return std::any_of(fields.begin(), fields.end(), [&](const FieldView& f) { return f.name == name; });
  };
  // A choice first makes the parameters exist that belong to it; each pass sets what exists by now.
  while (!settings.empty()) {
    const std::size_t before = settings.size();
    std::vector<std::pair<std::string, std::string>> waiting;
    const auto fields = encoding.fields();
    for (auto& setting : settings) {
      if (known(setting.first))
        encoding.set(setting.first, setting.second);
      else
        waiting.push_back(std::move(setting));
    }
    settings = std::move(waiting);
    if (settings.size() == before) break;
  }
  if (settings.empty()) return;
  const std::string& name = settings.front().first;
  std::vector<std::string> groups, names;
  for (const FieldView& f : encoding.all_fields()) {
    if (f.name == name && !f.group.empty()) groups.push_back(f.group);
    names.push_back(f.name);
  }
  if (!groups.empty()) {
    std::string method;
    for (const FieldView& f : encoding.fields())
      if (f.name == "method") method = f.value;
    fail_usage(fmt::format("{} belongs to method {}; the method here is {}", name, one_of(groups), method));
  }
  fail_usage(fmt::format("{} has no parameter {}{}", encoding.name(), quoted_word(name), did_you_mean(name, names)));
}

void Spec::check() const {
  if (tables.empty()) fail_usage("a spec wants at least one encoding");
  std::vector<std::string> seen;
  for (const Table& table : tables) {
    if (std::find(seen.begin(), seen.end(), table.name) != seen.end())
      fail_usage(table.name.empty() ? "several tables of a spec want names" : fmt::format("two tables of the spec are called '{}'", table.name));
    seen.push_back(table.name);
    table.encoding->check();
  }
  if (info(dtype).integer) fail_usage(fmt::format("dtype of real tensors wants a float type, got {}", name_of(dtype)));
  if (!info(index_dtype).integer) fail_usage(fmt::format("index_dtype wants i32 or i64, got {}", name_of(index_dtype)));
}

std::string Spec::json(int indent) const {
  Json out = Json::object();
  out["posenc"] = spec_version;
  if (tables.size() == 1 && tables[0].name.empty()) {
    out.update(table_json(tables[0]));
  } else {
    Json list = Json::array();
    for (const Table& table : tables) list.push_back(table_json(table));
    out["tables"] = std::move(list);
  }
  out["dtype"] = name_of(dtype);
  if (index_dtype != DType::i64) out["index_dtype"] = name_of(index_dtype);
  out["arithmetic"] = enum_name(arithmetic);
  if (!only.empty()) out["tensors"] = only;
  if (!names.empty()) out["names"] = names;
  return out.dump(indent);
}

Spec Spec::parse(std::string_view json_text, std::string_view what) {
  const Json root = json::parse(json_text, what);
  if (!root.is_object()) fail_input(fmt::format("{}: a spec is a JSON object", what));
  const std::vector<std::string> keys{"posenc", "encoding", "name", "parameters", "tables", "dtype", "index_dtype", "arithmetic", "tensors", "names"};
  for (const auto& [key, value] : root.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      fail_input(fmt::format("{}: a spec has no key \"{}\"{}", what, key, did_you_mean(key, keys)));
  if (root.contains("posenc") && root["posenc"] != spec_version)
    fail_input(fmt::format("{}: this is a spec of version {}; this posenc reads version {}", what, root["posenc"].dump(), spec_version));
  Spec spec;
  if (root.contains("tables")) {
    if (root.contains("encoding") || root.contains("parameters"))
      fail_input(fmt::format("{}: a spec has either \"tables\" or \"encoding\", not both", what));
    if (!root["tables"].is_array() || root["tables"].empty()) fail_input(fmt::format("{}: \"tables\" wants a list of encodings", what));
    for (const Json& table : root["tables"]) spec.tables.push_back(parse_table(table, what));
  } else {
    spec.tables.push_back(parse_table(root, what));
  }
  if (root.contains("dtype")) spec.dtype = parse_dtype(string_of(root["dtype"], "dtype", what));
  if (root.contains("index_dtype")) spec.index_dtype = parse_dtype(string_of(root["index_dtype"], "index_dtype", what));
  if (root.contains("arithmetic"))
    spec.arithmetic = parse_enum<Arithmetic>(string_of(root["arithmetic"], "arithmetic", what), "arithmetic");
  if (root.contains("tensors")) {
    if (!root["tensors"].is_array()) fail_input(fmt::format("{}: \"tensors\" wants a list of names", what));
    for (const Json& name : root["tensors"]) spec.only.push_back(string_of(name, "tensors", what));
  }
  if (root.contains("names")) {
    if (!root["names"].is_object()) fail_input(fmt::format("{}: \"names\" wants an object of names", what));
    for (const auto& [key, value] : root["names"].items()) spec.names[key] = string_of(value, key, what);
  }
  return spec;
}

}  // namespace posenc
