// tables_of: what a config describes, as a spec.
#include "posenc/config_tables.hpp"

#include <algorithm>

#include "context/encoding_of.hpp"
#include "context/readers.hpp"

namespace posenc {
namespace {

constexpr std::string_view learned = "learned";

bool among(const std::vector<std::string>& list, std::string_view word) { return std::find(list.begin(), list.end(), word) != list.end(); }

// Why a reading gives no table; nothing when it does. `others` says that another reading gives one.
std::optional<LeftOut> reason_to_leave(const ConfigReading& config, std::size_t index, const WantedTables& wanted, bool others) {
  using Why = LeftOut::Why;
  const Reading& reading = config.readings[index];
  if (reading.encoding == "none") return LeftOut{index, Why::no_positions};
  if (!wanted.encoding.empty() && wanted.encoding != reading.encoding) return LeftOut{index, Why::another_encoding};
  if (wanted.encoding.empty() && reading.encoding == learned) return LeftOut{index, Why::stored_values};
  if (wanted.encoding.empty() && others && reading.layer_type == "vision") return LeftOut{index, Why::image_tower};
  LeftOut out{index, Why::open_parameters};
  for (const std::string& field : reading.open)
    if (!among(wanted.given, field)) out.missing.push_back(field);
  if (out.missing.empty()) return std::nullopt;
  return out;
}

// What the config says beside the encoding's own parameters, where the encoding has a parameter for it.
std::unique_ptr<Encoding> table_of(const Reading& reading, const WantedTables& wanted, ConfigTable& table) {
  const std::vector<FieldView> fields = make_encoding(reading.encoding)->fields();
  const auto has = [&](std::string_view name) { return std::any_of(fields.begin(), fields.end(), [&](const FieldView& f) { return f.name == name; }); };
  const auto said = [&](std::string_view name) {
    return among(wanted.given, name) || config::find_setting(reading, name) != nullptr;
  };
  std::vector<std::pair<std::string, std::string>> more;
  const std::string length = has("positions") ? "positions" : "key_length";
  if (has(length) && reading.context && !said(length)) {
    table.length = Setting{length, print(*reading.context), reading.context_origin};
    more.emplace_back(table.length->field, table.length->value);
  }
  if (reading.softmax_multiplier != 1 && !said("softmax_multiplier")) more.emplace_back("softmax_multiplier", print(reading.softmax_multiplier));
  return config::encoding_of(reading, more);
}

}  // namespace

ConfigTables tables_of(const ConfigReading& config, const WantedTables& wanted) {
  bool text_model = false;
  for (std::size_t i = 0; i < config.readings.size(); ++i)
    text_model = text_model || (config.readings[i].layer_type != "vision" && !reason_to_leave(config, i, wanted, false));
  ConfigTables out;
  for (std::size_t i = 0; i < config.readings.size(); ++i) {
    if (auto reason = reason_to_leave(config, i, wanted, text_model)) {
      out.left_out.push_back(std::move(*reason));
      continue;
    }
    const Reading& reading = config.readings[i];
    ConfigTable table{i, reading.context};
    table.initial_values = reading.encoding == learned;
    out.spec.tables.push_back({reading.layer_type, table_of(reading, wanted, table)});
    out.tables.push_back(std::move(table));
  }
  if (out.spec.tables.size() == 1) out.spec.tables[0].name.clear();
  return out;
}

}  // namespace posenc
