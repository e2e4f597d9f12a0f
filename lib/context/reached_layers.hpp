// Which kinds of layers a change of a config is for: those asked for, else those that the block reaches which gets the rule.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "context/opened.hpp"
#include "posenc/config.hpp"

namespace posenc::config {

/// Whether one block, or one base, is for all kinds of layers that rotate, so that no rule can be for one of them alone.
[[nodiscard]] bool speaks_for_all(const OpenedConfig& opened);

/// The readings that get the rule; where one block is for all kinds, one of them (full attention, else the first), since the rule is
/// written once. `asked`: layer types
/// as asked for, "all" for each of them; none: full attention where layer types have blocks of their own. Throws usage "NAME: ..".
[[nodiscard]] std::vector<const Reading*> target_readings(const ConfigReading& before, const OpenedConfig& opened, std::string_view name,
                                                          const std::vector<std::string>& asked);

}  // namespace posenc::config
