#include "config_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "posenc/error.hpp"
#include "posenc/presets.hpp"

namespace posenc::cli {
namespace {

std::string layers_of(const Reading& reading) { return reading.layer_type.empty() ? "" : reading.layer_type + ": "; }

void describe(const Reading& reading, const std::string& path, std::vector<std::string>& remarks) {
  const std::string who = layers_of(reading);
  std::string line;
  for (const Setting& s : reading.settings) {
    const std::string value = s.value.size() > 40 ? s.value.substr(0, 37) + "..." : s.value;
    line += fmt::format("{}{} {} ({})", line.empty() ? "" : ", ", s.field, value, s.origin);
  }
  remarks.push_back(fmt::format("{}: {}{} {}", path, who, reading.encoding, line));
  for (const std::string& note : reading.notes) remarks.push_back(fmt::format("{}: {}{}", path, who, note));
}

// A reading without a table, and what gives one where something does.
std::string left_out_text(const LeftOut& left, const Reading& reading, const std::string& wanted) {
  std::string why;
  switch (left.why) {
    case LeftOut::Why::no_positions: return layers_of(reading) + "no positions";
    case LeftOut::Why::another_encoding: why = "not " + wanted; break;
    case LeftOut::Why::stored_values:
      why = fmt::format("its values are in the checkpoint, not in the config; 'posenc generate {} --config' makes initial values", reading.encoding);
      break;
    case LeftOut::Why::image_tower: why = fmt::format("the image tower's; 'posenc generate {} --config' makes it", reading.encoding); break;
    case LeftOut::Why::open_parameters: {
      std::vector<std::string> flags;
      for (const std::string& field : left.missing) flags.push_back(flag_of(field));
      why = fmt::format("no config tells {}; give {}", fmt::join(flags, " and "), left.missing.size() > 1 ? "them" : "it");
      break;
    }
  }
  return fmt::format("{}{} ({})", layers_of(reading), reading.encoding, why);
}

}  // namespace

ConfigTables tables_of_config(const std::string& text, const std::string& path, const Given& given, const std::string& preset, std::vector<std::string>& remarks) {
  const ConfigReading config = read_config(text, path);
  WantedTables wanted{given.encoding.empty() && !preset.empty() ? std::string(parse_preset(preset).encoding) : given.encoding};
  for (const auto& [field, value] : given.settings) wanted.given.push_back(field);
  ConfigTables out = tables_of(config, wanted);
  std::vector<std::string> left_out;
  for (const LeftOut& left : out.left_out) left_out.push_back(left_out_text(left, config.readings[left.reading], wanted.encoding));
  if (out.tables.empty())
    fail_usage(fmt::format("{} gives no table: {}", path, !left_out.empty() ? fmt::format("{}", fmt::join(left_out, ", "))
                                                          : config.warnings.empty() ? "it describes no position encoding" : config.warnings.back()));
  for (const std::string& warning : config.warnings) remarks.push_back(fmt::format("{}: warning: {}", path, warning));
  for (const ConfigTable& table : out.tables) {
    describe(config.readings[table.reading], path, remarks);
    if (table.length) remarks.push_back(fmt::format("{}: {} {} ({})", path, table.length->field, table.length->value, table.length->origin));
  }
  for (const ConfigTable& table : out.tables)
    if (table.initial_values) remarks.push_back(fmt::format("{}: the table holds initial values; the model's own are in its checkpoint", path));
  for (const std::string& left : left_out) remarks.push_back(fmt::format("{}: left out: {}", path, left));
  return out;
}

}  // namespace posenc::cli
