// What is out of range, what contradicts and what a program cannot say, of the settings that section explain spells.
#pragma once
#include <string>
#include <vector>

#include "analyze/explain_rows.hpp"

namespace posenc::analyze_sections {

/// One sentence each, slips first.
[[nodiscard]] std::vector<std::string> explain_findings(const ExplainNumbers& numbers, const ExplainWords& words, const std::vector<ExplainRow>& rows);

}  // namespace posenc::analyze_sections
