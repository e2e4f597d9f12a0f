// Pieces of config texts that in_dialect and rescaled_config share.
#pragma once
#include <string>
#include <string_view>

#include "context/object_text.hpp"
#include "posenc/config_edit.hpp"

namespace posenc::config {

/// A real number as Python writes one: 1000000.0, 1e+16.
[[nodiscard]] std::string json_number(double value);

/// Throws usage "NAME WHAT: .." unless both texts are read alike, wherever their values stand.
void check_same_readings(std::string_view before, std::string_view after, std::string_view name, std::string_view what);

}  // namespace posenc::config
