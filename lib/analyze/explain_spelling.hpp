// The rows of section explain as each program spells them.
#pragma once
#include <vector>

#include "analyze/explain_rows.hpp"

namespace posenc::analyze_sections {

/// One row per quantity, one column per program.
[[nodiscard]] Grid words_grid(const ExplainWords& words, const std::vector<ExplainRow>& rows);
/// The same to copy: one object, one command line, one list of keys.
[[nodiscard]] Grid settings_grid(const ExplainNumbers& numbers, const ExplainWords& words, const std::vector<ExplainRow>& rows);

}  // namespace posenc::analyze_sections
