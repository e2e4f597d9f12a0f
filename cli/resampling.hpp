// The half of `posenc rescale` for tables that have values but no formula.
#pragma once
#include <string>
#include <vector>

#include "sources.hpp"
#include "table_files.hpp"

namespace posenc::cli {

/// Whether the settings ask for a resize (`--rows`, `--method tile --length`) and a table of `encoding` has values that may be
/// resized.
bool asks_for_resampling(const Given& given, std::optional<std::int64_t> context, const Encoding& encoding);

/// Resizes the array that `input` names (FILE or FILE#TENSOR) as the settings say, and `context`, which is the length of a
/// sequence. `origin` is the spec that its file carries, as JSON, or "".
void resample_file(const std::string& input, const Given& given, std::optional<std::int64_t> context, const std::string& dtype,
                   const std::string& origin, const TableFiles& files, const Common& common);

}  // namespace posenc::cli
