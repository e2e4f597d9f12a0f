// explain: the settings of a rope in the words of other programs. The quantities of one equivalent set (explain_numbers.hpp) are
// rows (explain_rows.hpp); explain_spelling.hpp writes them as each program does, explain_findings.hpp says what is wrong in them.
#include <algorithm>

#include "analyze/explain_findings.hpp"
#include "analyze/explain_spelling.hpp"
#include "analyze/fields.hpp"

namespace posenc::analyze_sections {
namespace {

std::optional<Grid> mscale_grid(const ExplainNumbers& numbers) {
  const auto readings = mscale_readings(numbers);
  if (readings.empty()) return std::nullopt;
  Grid grid{"mscale_readings", "What mscale and mscale_all_dim can mean",
            {{"reading", "reading", ""}, {"attention_factor", "amplitude", ""}, {"softmax_multiplier", "on the softmax", ""},
             {"logits", "logits times", ""}, {"in_force", "in force here", ""}}, {}};
  for (const MscaleReading& r : readings)
    grid.rows.push_back({std::string(r.name), r.amplitude, r.softmax, r.amplitude * r.amplitude * r.softmax,
                         close(r.amplitude, numbers.amplitude) && close(r.softmax, numbers.softmax)});
  return grid;
}

Section written(const Question& question, const Rope& rope, std::int64_t length) {
  const ExplainNumbers numbers(question, rope, length);
  const ExplainWords words(numbers);
  const std::vector<ExplainRow> rows = explain_rows(numbers, words);
  Section out{"explain", "In other programs' words", {}, {}, {}};
  out.grids.push_back(words_grid(words, rows));
  out.grids.push_back(settings_grid(numbers, words, rows));
  if (auto readings = mscale_grid(numbers)) out.grids.push_back(std::move(*readings));
  out.findings = explain_findings(numbers, words, rows);
  return out;
}

}  // namespace

std::optional<Section> explain(const Question& question) {
  const auto* rope = typed<Rope>(question.encoding);
  if (!question.explain || rope == nullptr) return std::nullopt;
  const double own = rope->positions.shifted(rope->offset).length();
  const std::int64_t length = std::clamp<std::int64_t>(question.context.value_or(static_cast<std::int64_t>(own)), 1, max_position);
  return num::at_precision(256, [&] { return written(question, *rope, length); });
}

}  // namespace posenc::analyze_sections
