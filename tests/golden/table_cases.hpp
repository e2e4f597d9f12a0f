// Cases from the tables in cases_*.md.
#pragma once
#include <filesystem>

#include "checks.hpp"

namespace golden {

/// "output[a:b]": values a to b - 1 of it, row-major, a complex value counting as two; without brackets all of them.
struct Part {
  std::string name;
  std::size_t first = 0, count = all_values;

  explicit Part(std::string text) : name(std::move(text)) {
    const std::size_t bracket = name.find('[');
    if (bracket == std::string::npos) return;
    const std::size_t colon = name.find(':', bracket);
    REQUIRE_MESSAGE((colon != std::string::npos && name.ends_with(']')), name);
    const auto number = [&](std::size_t from, std::size_t to) { return posenc::parse_int(std::string_view(name).substr(from, to - from), name); };
    const std::int64_t begin = number(bracket + 1, colon), end = number(colon + 1, name.size() - 1);
    REQUIRE_MESSAGE((0 <= begin && begin < end), name);
    first = static_cast<std::size_t>(begin);
    count = static_cast<std::size_t>(end - begin);
    name.resize(bracket);
  }
  [[nodiscard]] bool whole() const { return count == all_values; }
  [[nodiscard]] std::string brackets() const { return whole() ? "" : fmt::format("[{}:{}]", first, first + count); }
};

/// The files cases_*.md, by name.
inline std::vector<std::string> table_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (const std::string name = entry.path().filename().string(); name.starts_with("cases_") && name.ends_with(".md")) files.push_back(name);
  std::ranges::sort(files);
  return files;
}

/// The tables' lines, cell by cell: case, output, encoding, parameters, arithmetic, dtype, tensor, rule.
inline std::vector<std::vector<std::string>> table_lines() {
  std::vector<std::vector<std::string>> lines;
  for (const std::string& file : table_files()) {
    std::istringstream text(slurp(folder + file));
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with("| ") || line.starts_with("| case ")) continue;
      std::vector<std::string> cells;
      for (std::size_t at = 2; at < line.size();) {
        const std::size_t end = std::min(line.find(" |", at), line.size());
        cells.push_back(line.substr(at, end - at));
        at = end + 3;
      }
      REQUIRE_MESSAGE(cells.size() == 8, file, ": ", line);
      lines.push_back(cells);
    }
  }
  return lines;
}

inline Rule table_rule(const std::string& text, const Case& c, const std::string& output) {
  if (text == "exact") return exact();
  if (text == "atol manifest") return close(c.entry.at("outputs").at(output).at("atol"), 0);
  REQUIRE_MESSAGE((text.starts_with("atol ") || text.starts_with("rtol ")), c.id(), ": ", text);
  const double t = posenc::parse_real(text.substr(5), "tolerance");
  return text.starts_with("atol ") ? absolute(t) : relative(t);
}

inline Checks table_checks(const Case& c, const std::vector<std::vector<std::string>>& lines) {
  Checks checks;
  for (const auto& cells : lines) {
    if (cells[0] != c.id()) continue;
    const Part output(cells[1]), tensor(cells[6]);
    REQUIRE_MESSAGE(c.has(output.name), c.id(), " has no output ", output.name);
    Command command{cells[2]};
    std::istringstream words(cells[3]);
    for (std::string word; words >> word;) {  // --flag=value: of posenc apply
      const bool flag = word.starts_with("--");
      if (flag) word.erase(0, 2);
      (flag ? command.apply : command.settings).emplace_back(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
    }
    command.arithmetic = cells[4];
    command.dtype = cells[5];
    command.tensor = tensor.name;
    checks.push_back({output.name, command, table_rule(cells[7], c, output.name),
                      tensor.whole() ? "" : "values " + tensor.brackets() + " of the tensor", {}, output.first, output.count, tensor.first,
                      tensor.count});
  }
  return checks;
}

}  // namespace golden
