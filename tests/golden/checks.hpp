// One comparison: a command line, and the golden output that it must reproduce.
#pragma once
#include <numeric>

#include "golden.hpp"
#include "rules.hpp"

namespace golden {

struct Check {
  std::string output;  ///< of the case, or "scalars.attention_factor"
  Command command;
  Rule rule;
  std::string remark{};                      ///< why the command is not the obvious one, or what is made of its values
  std::function<Values(Values)> derive{};    ///< what the golden output holds, made of the command's values
  std::size_t first = 0, count = all_values;  ///< part of the output, row-major
  std::size_t from = 0, taken = all_values;   ///< part of the command's tensor, row-major
};
using Checks = std::vector<Check>;

inline std::string text_of(const Json& value) {
  if (value.is_array()) {
    std::string list;
    for (const Json& item : value) list += (list.empty() ? "" : ",") + text_of(item);
    return list;
  }
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return posenc::print(value.get<std::int64_t>());
  return posenc::print(value.get<double>());
}

/// The value of a parameter of the one table that the command yields.
inline std::string parameter(const Command& command, std::string_view field) {
  const posenc::Spec spec = spec_of(command);
  const std::size_t table = posenc::plan(spec, posenc::ComplexForm::pair).at(0).table;
  for (const posenc::FieldView& view : spec.tables[table].encoding->fields())
    if (view.name == field) return view.present ? view.value : "";
  return "";
}

/// Positions as short as their text gets.
inline std::string positions_text(const Values& positions) { return posenc::Positions::list(positions).text(); }

inline std::vector<std::size_t> counted(std::size_t n) {
  std::vector<std::size_t> out(n);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

/// Which pair each column of a row of cos, sin or (re, im) belongs to.
inline std::vector<std::size_t> columns_of(std::string_view layout, std::size_t pairs) {
  std::vector<std::size_t> out;
  if (layout == "half-width") return counted(pairs);
  for (std::size_t c = 0; c < 2 * pairs; ++c) out.push_back(layout == "half" ? c % pairs : c / 2);
  return out;
}

}  // namespace golden
