// Golden values: arrays that public implementations gave (hf/, papers/, each with its manifest.json), and what posenc gives
// for a command line.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "numeric/round.hpp"
#include "posenc/apply.hpp"
#include "posenc/array.hpp"
#include "posenc/config_tables.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/names.hpp"
#include "posenc/pipeline.hpp"
#include "posenc/positions.hpp"
#include "posenc/text.hpp"
#include "stream/block_source.hpp"
#include "support/arrays.hpp"
#include "support/files.hpp"

namespace golden {

using Json = nlohmann::ordered_json;
using Settings = std::vector<std::pair<std::string, std::string>>;
using Values = std::vector<double>;

inline const std::string folder = posenc::test::data + "/golden/";

using posenc::test::doubles, posenc::test::load_array, posenc::test::slurp;

inline Values load(const std::string& path) { return load_array(path).values; }

/// One entry of a manifest.
struct Case {
  std::string set;  ///< "hf", "papers"
  Json entry;

  [[nodiscard]] std::string id() const { return entry.at("id"); }
  [[nodiscard]] const Json& params() const { return entry.at("params"); }
  [[nodiscard]] std::string family() const { return set == "hf" ? entry.at("family") : entry.at("system"); }
  [[nodiscard]] std::vector<std::string> outputs() const {
    std::vector<std::string> names;
    for (const auto& item : entry.at(set == "hf" ? "files" : "outputs").items()) names.push_back(item.key());
    return names;
  }
  [[nodiscard]] bool has(const std::string& output) const {
    return entry.at(set == "hf" ? "files" : "outputs").contains(output);
  }
  /// The file of an output or "in_NAME", relative to the golden folder.
  [[nodiscard]] std::string path(const std::string& output) const { return set + "/" + id() + "." + output + ".npy"; }
  [[nodiscard]] Values values(const std::string& output) const {
    Values out = load(folder + path(output));
    if (set == "hf" && entry.at("logical_dtype").at(output) == "bfloat16(bits)")
      for (double& v : out) v = posenc::num::value_of_bf16(static_cast<std::uint16_t>(v));
    return out;
  }
  /// posenc's name of the stored type.
  [[nodiscard]] std::string dtype(const std::string& output) const {
    const std::string name = set == "hf" ? entry.at("logical_dtype").at(output) : entry.at("outputs").at(output).at("dtype");
    if (name.starts_with("bfloat16")) return "bf16";
    if (name == "float16") return "f16";
    return name == "float32" || name.starts_with("complex64") ? "f32" : "f64";
  }
};

inline std::vector<Case> cases(const std::string& set) {
  std::vector<Case> out;
  for (const Json& entry : Json::parse(slurp(folder + set + "/manifest.json"))) out.push_back({set, entry});
  return out;
}

/// `posenc generate` with its flags, run through the library as cli/sources.cpp does.
struct Command {
  std::string encoding;
  Settings settings{};
  std::string dtype = "f32", arithmetic = "exact", tensor{};
  std::string config{}, model_type{};  ///< text of a config.json without model_type; "" none
  std::string config_name{};           ///< how the command line spells it
  Settings apply{};                    ///< `posenc apply` with these flags (input, operation, ..); encoding "table": tables from a file

  [[nodiscard]] Command with(const Settings& more) const {
    Command out = *this;
    for (const auto& setting : more) {
      std::erase_if(out.settings, [&](const auto& s) { return s.first == setting.first; });
      out.settings.push_back(setting);
    }
    return out;
  }
  [[nodiscard]] Command as(std::string type, std::string how = "exact") const {
    Command out = *this;
    out.dtype = std::move(type);
    out.arithmetic = std::move(how);
    return out;
  }
  [[nodiscard]] Command only(std::string name) const {
    Command out = *this;
    out.tensor = std::move(name);
    return out;
  }
  /// As typed: "posenc generate rope --head-dim 128 ..." without -o.
  [[nodiscard]] std::string text() const {
    std::string out = apply.empty() ? "posenc generate " + encoding : encoding == "table" ? "posenc apply" : "posenc apply " + encoding;
    if (!config.empty()) out += " --config " + config_name;
    for (const auto& [field, value] : settings) {
      std::string flag = field;
      for (char& c : flag)
        if (c == '_') c = '-';
      // A value that begins with a minus sign would be taken for a flag.
      out += " --" + flag + (value.starts_with('-') ? "=" : " ") + value;
    }
    for (const auto& [flag, value] : apply) out += " --" + flag + " " + value;
    if (!tensor.empty() && (apply.empty() || tensor != "y")) out += " --tensor " + tensor;
    if (dtype != "f32") out += " --dtype " + dtype;
    if (arithmetic != "exact") out += " --arithmetic " + arithmetic;
    return out;
  }
  [[nodiscard]] std::string config_text() const {
    Json json = Json::parse(config);
    json["model_type"] = model_type;
    return json.dump();
  }
};

/// A setting that names a file stands for its numbers, as on the command line: an array, positions or a list, as the field is.
inline Settings resolved(const posenc::Encoding& encoding, const Settings& settings) {
  Settings out = settings;
  const auto fields = encoding.all_fields();
  for (auto& [field, value] : out) {
    if (!value.ends_with(".npy")) continue;
    const posenc::Array array = load_array(folder + value);
    const auto known = std::ranges::find(fields, field, &posenc::FieldView::name);
    const std::string type = known == fields.end() ? "" : known->type;
    value = type == "array"       ? array.text()
            : type == "positions" ? posenc::Positions::list(array.values).text()
                                  : posenc::print(std::span<const double>(array.values));
  }
  return out;
}

inline posenc::Table table_of(const posenc::Reading& reading, const Settings& more) {
  posenc::ConfigReading alone;
  alone.readings.push_back(reading);
  posenc::WantedTables wanted{reading.encoding, {}};
  for (const auto& [field, value] : more) wanted.given.push_back(field);
  auto encoding = posenc::tables_of(alone, wanted).spec.tables.at(0).encoding->clone();
  posenc::apply(*encoding, more);
  return {reading.layer_type, std::move(encoding)};
}

inline std::shared_ptr<const posenc::Reader> open_golden(const std::string& file) { return posenc::formats::open(folder + file); }

/// The encoding put on its input, as cli/apply.cpp does.
inline posenc::Table applied_table(const Command& command, std::shared_ptr<const posenc::Encoding> tables) {
  posenc::Application application;
  std::shared_ptr<const posenc::Input> input;
  for (const auto& [flag, value] : command.apply) {
    if (flag == "input") input = posenc::input_from(open_golden(value), 0);
    if (flag == "operation") application.operation = posenc::parse_enum<posenc::Operation>(value, flag);
    if (flag == "pairing") application.pairing = posenc::parse_enum<posenc::Pairing>(value, flag);
    if (flag == "input-axes")
      for (std::istringstream words(value); std::getline(words, application.axes.emplace_back(), ',');) {
      }
  }
  if (!application.axes.empty()) application.axes.pop_back();  // what the last getline did not fill
  REQUIRE_MESSAGE(input != nullptr, command.text());
  return {"", posenc::applied(std::move(tables), application, input)};
}

inline posenc::Spec spec_of(const Command& command) {
  posenc::Spec spec;
  spec.dtype = posenc::parse_dtype(command.dtype);
  spec.arithmetic = posenc::parse_enum<posenc::Arithmetic>(command.arithmetic, "--arithmetic");
  if (command.encoding == "table") {
    const auto file = std::ranges::find(command.apply, std::string("table"), &std::pair<std::string, std::string>::first);
    REQUIRE_MESSAGE(file != command.apply.end(), command.text());
    spec.tables = {applied_table(command, posenc::stored_tables(open_golden(file->second)))};
    return spec;
  }
  const Settings settings = resolved(*posenc::make_encoding(command.encoding), command.settings);
  if (command.config.empty()) {
    auto encoding = posenc::make_encoding(command.encoding);
    posenc::apply(*encoding, settings);
    spec.tables.push_back({"", std::move(encoding)});
  } else {
    for (const posenc::Reading& reading : posenc::read_config(command.config_text(), "config.json").readings)
      if (reading.encoding == command.encoding) spec.tables.push_back(table_of(reading, settings));
    if (spec.tables.size() == 1) spec.tables[0].name.clear();
  }
  if (!command.apply.empty()) {
    REQUIRE(spec.tables.size() == 1);
    spec.tables = {applied_table(command, spec.tables[0].encoding)};
  }
  if (!command.tensor.empty()) spec.only = {command.tensor};
  spec.check();
  return spec;
}

constexpr std::size_t all_values = std::numeric_limits<std::size_t>::max();

/// Values [first, first + count) of a tensor of a spec, stored as its dtype; by default all of them.
inline Values produced(const posenc::Spec& spec, std::size_t number = 0, std::size_t first = 0, std::size_t count = all_values) {
  const auto tensors = posenc::plan(spec, posenc::ComplexForm::pair);
  const posenc::Evaluators evaluators(spec);
  posenc::BlockSource source(evaluators);
  const posenc::StoredTensor& stored = tensors.at(number).stored;
  const auto size = static_cast<std::size_t>(stored.values());
  REQUIRE_MESSAGE((first <= size && (count == all_values || count <= size - first)), stored.name, " has ", size, " values");
  count = std::min(count, size - first);
  std::vector<std::byte> bytes(count * posenc::size_of(stored.dtype));
  source.produce(tensors[number], static_cast<std::int64_t>(first), static_cast<std::int64_t>(count), bytes.data());
  return doubles(stored.dtype, bytes);
}

/// The spec of a command that writes one tensor.
inline posenc::Spec one_tensor(const Command& command) {
  posenc::Spec spec = spec_of(command);
  REQUIRE_MESSAGE(posenc::plan(spec, posenc::ComplexForm::pair).size() == 1, command.text());
  return spec;
}

/// What the command writes; it must be one tensor.
inline Values produced(const Command& command) { return produced(one_tensor(command)); }

}  // namespace golden
