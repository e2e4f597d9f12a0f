// From the readings of a config to the tables that posenc makes of them, as data: which reading gives which table, what was added
// to it, and why another reading gives none.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "posenc/config.hpp"
#include "posenc/spec.hpp"

namespace posenc {

/// What is wanted of a config.
struct WantedTables {
  std::string encoding{};            ///< this one only; "": tables of positions of the text model
  std::vector<std::string> given{};  ///< parameters that the caller sets himself: they are not filled in and not missed
};

struct ConfigTable {
  std::size_t reading;  ///< index in ConfigReading::readings
  std::optional<std::int64_t> context{};  ///< positions that the config declares for it
  std::optional<Setting> length{};  ///< how long the table is, where the declared positions tell it
  bool initial_values = false;      ///< the model's own values are in its checkpoint
};

/// A reading without a table.
struct LeftOut {
  enum class Why : std::uint8_t {
    no_positions,
    another_encoding,  ///< not the one wanted
    stored_values,     ///< they are in the checkpoint; the encoding makes initial ones when it is named
    image_tower,       ///< the text model's tables were made; this one comes when its encoding is named
    open_parameters,   ///< no config tells them
  };
  std::size_t reading;
  Why why;
  std::vector<std::string> missing{};  ///< those parameters
};

struct ConfigTables {
  Spec spec;                        ///< one table per reading that gives one, named by its layer type where there are several
  std::vector<ConfigTable> tables;  ///< of the spec, in its order
  std::vector<LeftOut> left_out;    ///< in the order of the readings
};

/// The spec is empty where no reading gives a table. Throws usage for parameters that do not go together.
[[nodiscard]] ConfigTables tables_of(const ConfigReading& config, const WantedTables& wanted = {});

}  // namespace posenc
