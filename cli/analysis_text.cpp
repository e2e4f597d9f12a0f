#include "analysis_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "posenc/text.hpp"

namespace posenc::cli {
namespace {

// Columns of a terminal that a grid may take; a wider one is told column by column.
constexpr std::size_t widest = 150;
// A heading is not broken into lines narrower than this: "turns in training" stays in two.
constexpr std::size_t narrowest = 9;

// Six digits are enough to read, of whole numbers all; JSON has the rest.
std::string text_of(const Cell& cell) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "-";
        else if constexpr (std::is_same_v<T, bool>)
          return v ? "yes" : "no";
        else if constexpr (std::is_same_v<T, double>)
          return v == std::floor(v) && std::fabs(v) < 1e12 ? fmt::format("{:.0f}", v) : fmt::format("{:.6g}", v);
        else if constexpr (std::is_same_v<T, std::string>)
          return v;
        else
          return print(v);
      },
      cell);
}

// Words of a row: where they differ from the row before something happens.
bool changes(const std::vector<Cell>& row, const std::vector<Cell>& before) {
  for (std::size_t i = 0; i < row.size(); ++i)
    if ((std::holds_alternative<std::string>(row[i]) || std::holds_alternative<bool>(row[i])) && row[i] != before[i]) return true;
  return false;
}

// Which rows of a long grid are shown: the first and the last ones, and those beside a change of words.
std::vector<std::size_t> shown(const Grid& grid) {
  constexpr std::size_t whole = 24, ends = 4, most = 40;
  std::set<std::size_t> rows;
  const std::size_t n = grid.rows.size();
  const auto add = [&](std::size_t i) {
    if (i < n) rows.insert(i);
  };
  for (std::size_t i = 0; i < (n <= whole ? n : ends); ++i) {
    add(i);
    add(n - 1 - i);
  }
  for (std::size_t i = 1; i < n && rows.size() < most; ++i)
    if (changes(grid.rows[i], grid.rows[i - 1])) {
      add(i - 1);
      add(i);
    }
  return {rows.begin(), rows.end()};
}

// A label in lines of at most `width`, broken between words; a longer word has a line of its own.
std::vector<std::string> broken(const std::string& label, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < label.size();) {
    const std::size_t end = std::min(label.find(' ', at), label.size());
    if (!lines.back().empty() && lines.back().size() + 1 + (end - at) > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + label.substr(at, end - at);
    at = end + 1;
  }
  return lines;
}

// One column of the rows that are shown: its heading in lines, its cells as text, numbers to the right.
struct TextColumn {
  std::vector<std::string> heading, cells;
  std::size_t width = 0;
  bool words = false;

  TextColumn(const Grid& grid, std::size_t at, const std::vector<std::size_t>& rows) {
    for (const std::size_t i : rows) {
      const Cell& cell = grid.rows[i][at];
      words = words || std::holds_alternative<std::string>(cell);
      cells.push_back(text_of(cell));
      width = std::max(width, cells.back().size());
    }
    heading = broken(grid.columns[at].label, std::max(width, narrowest));
    for (const std::string& line : heading) width = std::max(width, line.size());
  }
  [[nodiscard]] std::string padded(const std::string& text) const {
    return words ? fmt::format("{:<{}}", text, width) : fmt::format("{:>{}}", text, width);
  }
};

// One line: what each column has there.
template <class At>
void print_line(const std::vector<TextColumn>& columns, At&& at) {
  std::string line = "  ";
  for (const TextColumn& c : columns) line += "  " + c.padded(at(c));
  line.erase(line.find_last_not_of(' ') + 1);
  fmt::print("{}\n", line);
}

void print_columns(const std::vector<TextColumn>& columns, const std::vector<std::size_t>& rows) {
  std::size_t height = 0;
  for (const TextColumn& c : columns) height = std::max(height, c.heading.size());
  for (std::size_t i = 0; i < height; ++i)
    print_line(columns, [&](const TextColumn& c) {
      const std::size_t above = height - c.heading.size();
      return i < above ? std::string() : c.heading[i - above];
    });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && rows[i] > rows[i - 1] + 1) fmt::print("    {}\n", columns[0].padded(".."));
    print_line(columns, [&](const TextColumn& c) { return c.cells[i]; });
  }
}

// The first column names the rows; each of the others is told by itself, without the rows where it has nothing.
void print_blocks(const Grid& grid, const std::vector<TextColumn>& columns) {
  const TextColumn& names = columns[0];
  for (std::size_t c = 1; c < columns.size(); ++c) {
    if (columns.size() > 2) fmt::print("      {}\n", grid.columns[c].label);
    for (std::size_t i = 0; i < names.cells.size(); ++i)
      if (columns[c].cells[i] != "-") fmt::print("        {:<{}}  {}\n", names.cells[i], names.width, columns[c].cells[i]);
  }
}

void print_grid(const Grid& grid) {
  const std::vector<std::size_t> rows = shown(grid);
  std::vector<TextColumn> columns;
  std::size_t width = 2;
  for (std::size_t c = 0; c < grid.columns.size(); ++c) width += 2 + columns.emplace_back(grid, c, rows).width;
  fmt::print("    {}:\n", grid.label);
  if (width <= widest)
    print_columns(columns, rows);
  else
    print_blocks(grid, columns);
  if (rows.size() < grid.rows.size()) fmt::print("    ({} of {} rows; --json has all)\n", rows.size(), grid.rows.size());
}

void print_section(const Section& section) {
  fmt::print("\n  {}\n", section.title);
  for (const std::string& finding : section.findings) fmt::print("    * {}\n", finding);
  for (const Figure& f : section.figures) {
    const std::string value = text_of(f.value);
    fmt::print("    {}: {}{}\n", f.label, value, f.unit.empty() || value == "-" ? "" : " " + f.unit);
  }
  for (const Grid& grid : section.grids) print_grid(grid);
}

}  // namespace

void print_analysis(const std::string& title, const Analysis& analysis, bool quiet) {
  if (!title.empty()) fmt::print("{}\n", title);
  if (!quiet)
    for (const std::string& remark : analysis.remarks) fmt::print("{}\n", remark);
  for (const Subject& s : analysis.subjects) {
    if (s.sections.empty()) continue;  // a remark says so
    fmt::print("{}{}{}\n", title.empty() ? "" : "\n", s.layer_type.empty() ? "" : s.layer_type + ": ", s.encoding);
    for (const Section& section : s.sections) print_section(section);
  }
}

}  // namespace posenc::cli
