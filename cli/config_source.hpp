// A spec out of a model's config, with what there is to say about it.
#pragma once
#include <string>
#include <vector>

#include "field_options.hpp"
#include "posenc/config_tables.hpp"

namespace posenc::cli {

/// The tables that a config describes and posenc generates; `path` names it in messages. An encoding that the flags name, or the
/// preset is about, leaves the others out. Where each value came from, warnings and what was left out go into `remarks`.
ConfigTables tables_of_config(const std::string& text, const std::string& path, const Given& given, const std::string& preset, std::vector<std::string>& remarks);

}  // namespace posenc::cli
