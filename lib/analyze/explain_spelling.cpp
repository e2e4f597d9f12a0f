#include "analyze/explain_spelling.hpp"

#include <fmt/format.h>

#include <utility>

namespace posenc::analyze_sections {
namespace {

using Json = nlohmann::ordered_json;
using namespace program_words;

std::string plain(const Json& value) {
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string phrase(const ExplainWords& words, std::size_t program, const Spelling& s, const Json& value) {
  const std::string_view word = words.word(program, s);
  if (program == gguf)
    return word.starts_with("tensor ") ? fmt::format("{} [{}]", word, value.is_array() ? std::to_string(value.size()) : plain(value))
                                       : fmt::format("A.{} = {} ({})", word, plain(value), s.gguf_type);
  if (word.starts_with("--")) return fmt::format("{}{}{}", word, word.ends_with(":") ? "" : " ", plain(value));
  return fmt::format("{}: {}", word, value.is_array() ? fmt::format("[{} numbers]", value.size()) : value.dump());
}

// What a program's words make together: nested JSON, and a line of flags or keys.
std::pair<Json, std::string> joined(const ExplainWords& words, const std::vector<ExplainRow>& rows, std::size_t program) {
  Json object = Json::object();
  std::string line;
  for (const ExplainRow& q : rows) {
    const Spelling* s = spelling_of(q.key);
    if (q.given[program].is_null() || s->alternative) continue;
    const std::string_view word = words.word(program, *s);
    const std::size_t dot = word.find('.');
    if (program == gguf || word.starts_with("--"))
      line += (line.empty() ? "" : program == gguf ? "; " : " ") + phrase(words, program, *s, q.given[program]);
    else if (dot == std::string_view::npos)
      object[std::string(word)] = q.given[program];
    else
      object[std::string(word.substr(0, dot))][std::string(word.substr(dot + 1))] = q.given[program];
  }
  return {std::move(object), std::move(line)};
}

std::string setting(const ExplainWords& words, const std::vector<ExplainRow>& rows, std::size_t program) {
  const auto [object, line] = joined(words, rows, program);
  if (object.empty()) return line;
  return program == vllm ? fmt::format("--hf-overrides '{}'{}{}", object.dump(), line.empty() ? "" : " ", line) : object.dump();
}

// Its flags took the block of transformers 4 and the base apart.
std::string older_vllm(const ExplainWords& words, const std::vector<ExplainRow>& rows) {
  auto [object, line] = joined(words, rows, vllm);
  Json block = object.value("rope_parameters", Json::object());
  const Json theta = block.value("rope_theta", Json());
  object.erase("rope_parameters");
  block.erase("rope_theta");
  block.erase("partial_rotary_factor");
  std::string out;
  const auto add = [&](const std::string& word) { out += (out.empty() ? "" : " ") + word; };
  if (words.naming().json != "default" || block.contains("mrope_section")) add(fmt::format("--rope-scaling '{}'", block.dump()));
  if (!theta.is_null()) add("--rope-theta " + plain(theta));
  if (!object.empty()) add(fmt::format("--hf-overrides '{}'", object.dump()));
  if (!line.empty()) add(line);
  return out;
}

}  // namespace

Grid words_grid(const ExplainWords& words, const std::vector<ExplainRow>& rows) {
  Grid grid{"words", "One set of numbers in the words of other programs", {{"quantity", "quantity", ""}, {"value", "value", ""}}, {}};
  for (const ProgramName& p : programs) grid.columns.push_back({std::string(p.key), std::string(p.label), ""});
  grid.columns.push_back({"meaning", "meaning", ""});
  for (const ExplainRow& q : rows) {
    std::vector<Cell> row{q.key, q.value};
    const Spelling* s = spelling_of(q.key);
    for (std::size_t p = 0; p < programs.size(); ++p)
      row.push_back(q.given[p].is_null() ? Cell() : Cell((s->alternative ? "or " : "") + phrase(words, p, *s, q.given[p])));
    row.push_back(q.unit.empty() ? q.label : fmt::format("{} [{}]", q.label, q.unit));
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

Grid settings_grid(const ExplainNumbers& numbers, const ExplainWords& words, const std::vector<ExplainRow>& rows) {
  Grid grid{"settings", "The same, to copy", {{"program", "program", ""}, {"text", "text", ""}}, {}};
  for (std::size_t p = 0; p < programs.size(); ++p)
    grid.rows.push_back({std::string(programs[p].key), words.rule(p).empty() ? Cell() : Cell(setting(words, rows, p))});
  grid.rows.push_back({std::string("vllm_before_0.12"), words.rule(transformers4).empty() || numbers.in_window() ? Cell() : Cell(older_vllm(words, rows))});
  return grid;
}

}  // namespace posenc::analyze_sections
