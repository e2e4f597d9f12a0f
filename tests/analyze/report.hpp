// Looking things up in a whole report; in one section, see sections.hpp.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyze/sections.hpp"
#include "posenc/analyze.hpp"
#include "posenc/error.hpp"

namespace posenc::test {

using Settings = std::vector<std::pair<std::string, std::string>>;

inline Spec spec_of(const std::string& encoding, const Settings& settings) {
  auto made = make_encoding(encoding);
  apply(*made, settings);
  Spec spec;
  spec.tables.push_back({"", std::move(made)});
  return spec;
}
inline Subject report(const std::string& encoding, const Settings& settings, std::optional<std::int64_t> context = {}, bool exhaustive = false) {
  AnalysisOptions options;
  options.context = context;
  options.exhaustive = exhaustive;
  Analysis analysis = analyze(spec_of(encoding, settings), options);
  REQUIRE(analysis.subjects.size() == 1);
  return analysis.subjects[0];
}

inline bool has(const Subject& subject, const std::string& key) {
  return std::any_of(subject.sections.begin(), subject.sections.end(), [&](const Section& s) { return s.key == key; });
}
inline const Section& section(const Subject& subject, const std::string& key) {
  for (const Section& s : subject.sections)
    if (s.key == key) return s;
  FAIL("no section " << key);
  return subject.sections.at(0);
}
inline const Cell& figure(const Subject& subject, const std::string& in, const std::string& key) {
  return analyze_test::figure(section(subject, in), key);
}
using analyze_test::empty;
template <class T>
T value(const Cell& cell) {
  REQUIRE(std::holds_alternative<T>(cell));
  return std::get<T>(cell);
}
inline std::int64_t count(const Subject& s, const std::string& in, const std::string& key) { return value<std::int64_t>(figure(s, in, key)); }
inline double number(const Subject& s, const std::string& in, const std::string& key) { return value<double>(figure(s, in, key)); }
inline std::string words(const Subject& s, const std::string& in, const std::string& key) { return value<std::string>(figure(s, in, key)); }

/// Rows of the one grid of a section.
inline const std::vector<std::vector<Cell>>& rows(const Subject& subject, const std::string& in) { return section(subject, in).grids.at(0).rows; }
template <class T>
T cell(const Subject& subject, const std::string& in, std::size_t row, const std::string& column) {
  const Grid& grid = section(subject, in).grids.at(0);
  return value<T>(grid.rows.at(row).at(analyze_test::column(grid, column)));
}

}  // namespace posenc::test
