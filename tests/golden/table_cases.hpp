// Cases of sinusoidal and alibi, from the table in cases_sinusoidal_alibi.md.
#pragma once
#include "checks.hpp"

namespace golden {

/// The table's lines, by case.
inline std::vector<std::vector<std::string>> table_lines() {
  std::istringstream text(slurp(folder + "cases_sinusoidal_alibi.md"));
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("| ") || line.starts_with("| case ")) continue;
    std::vector<std::string> cells;
    for (std::size_t at = 2; at < line.size();) {
      const std::size_t end = line.find(" |", at);
      cells.push_back(line.substr(at, end - at));
      at = end + 3;
    }
    REQUIRE_MESSAGE(cells.size() == 8, line);
    lines.push_back(cells);
  }
  return lines;
}

inline Rule table_rule(const std::string& text, const Case& c, const std::string& output) {
  if (text == "exact") return exact();
  if (text == "atol manifest") return close(c.entry.at("outputs").at(output).at("atol"), 0);
  const double t = posenc::parse_real(text.substr(5), "tolerance");
  REQUIRE((text.starts_with("atol ") || text.starts_with("rtol ")));
  return text.starts_with("atol ") ? absolute(t) : relative(t);
}

inline Checks table_checks(const Case& c, const std::vector<std::vector<std::string>>& lines) {
  Checks checks;
  for (const auto& cells : lines) {
    if (cells[0] != c.id()) continue;
    std::string output = cells[1];
    std::size_t first = 0, count = std::numeric_limits<std::size_t>::max();
    if (const std::size_t bracket = output.find('['); bracket != std::string::npos) {  // output[a:b]
      const std::size_t colon = output.find(':');
      first = std::stoul(output.substr(bracket + 1));
      count = std::stoul(output.substr(colon + 1)) - first;
      output.resize(bracket);
    }
    Command command{cells[2]};
    std::istringstream words(cells[3]);
    for (std::string word; words >> word;) command.settings.emplace_back(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
    command.arithmetic = cells[4];
    command.dtype = cells[5];
    checks.push_back({output, command, table_rule(cells[7], c, output), "", {}, first, count});
  }
  return checks;
}

}  // namespace golden
