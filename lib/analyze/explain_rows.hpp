// The quantities of section explain, one row each, and what every program is to be given for them.
#pragma once
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyze/explain_words.hpp"

namespace posenc::analyze_sections {

/// One row: our value, and what each program is given for it (null: nothing).
struct ExplainRow {
  std::string key, label, unit;
  Cell value;
  std::array<nlohmann::ordered_json, program_words::programs.size()> given{};
};
[[nodiscard]] std::vector<ExplainRow> explain_rows(const ExplainNumbers& numbers, const ExplainWords& words);

}  // namespace posenc::analyze_sections
