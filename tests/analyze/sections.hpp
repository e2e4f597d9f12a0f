// Reading a section in tests.
#pragma once
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "analyze/section.hpp"
#include "posenc/spec.hpp"

namespace analyze_test {

using posenc::Cell;
using posenc::Grid;
using posenc::Section;

inline const Grid& grid(const Section& section, std::string_view key) {
  for (const Grid& g : section.grids)
    if (g.key == key) return g;
  throw std::runtime_error("no grid " + std::string(key));
}
inline const Cell& figure(const Section& section, std::string_view key) {
  for (const posenc::Figure& f : section.figures)
    if (f.key == key) return f.value;
  throw std::runtime_error("no figure " + std::string(key));
}
inline std::size_t column(const Grid& g, std::string_view key) {
  for (std::size_t c = 0; c < g.columns.size(); ++c)
    if (g.columns[c].key == key) return c;
  throw std::runtime_error("no column " + std::string(key));
}
/// The cell of the row whose first cell is these words.
inline const Cell& cell(const Grid& g, std::string_view row, std::string_view key) {
  for (const auto& cells : g.rows)
    if (std::get<std::string>(cells[0]) == row) return cells[column(g, key)];
  throw std::runtime_error("no row " + std::string(row));
}
inline double number(const Cell& c) { return std::get<double>(c); }
inline std::int64_t count(const Cell& c) { return std::get<std::int64_t>(c); }
inline bool empty(const Cell& c) { return std::holds_alternative<std::monostate>(c); }
inline bool has_finding(const Section& section, std::string_view part) {
  for (const std::string& f : section.findings)
    if (f.find(part) != std::string::npos) return true;
  return false;
}

inline std::shared_ptr<posenc::Encoding> made(std::string_view name, std::vector<std::pair<std::string, std::string>> settings) {
  std::shared_ptr<posenc::Encoding> encoding = posenc::make_encoding(name);
  posenc::apply(*encoding, std::move(settings));
  encoding->check();
  return encoding;
}

/// Every row as long as the columns, keys used once, no number that JSON cannot hold.
inline void check_shape(const Section& section) {
  for (const Grid& g : section.grids) {
    for (const auto& row : g.rows) {
      CHECK(row.size() == g.columns.size());
      for (const Cell& c : row)
        if (const double* x = std::get_if<double>(&c)) CHECK(std::isfinite(*x));
    }
    for (std::size_t a = 0; a < g.columns.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) CHECK(g.columns[a].key != g.columns[b].key);
  }
}

}  // namespace analyze_test
