// length: what was trained for, what is declared, what the rule reaches and what the context asks for.
#include <fmt/format.h>

#include "analyze/cells.hpp"
#include "analyze/fields.hpp"
#include "analyze/section.hpp"
#include "analyze/turning.hpp"
#include "posenc/text.hpp"

namespace posenc::analyze_sections {
namespace {

// Rules whose factor times the trained length is the length they were made for.
bool reaches(const std::string& method) {
  return method == "yarn" || method == "longrope" || method == "ntk-by-parts";
}

// factor * trained, where that is what the factor means.
std::optional<double> reach_of(const Question& q) {
  const auto factor = field_real(q.encoding, "factor");
  if (q.turning == nullptr || !factor || !q.trained || !reaches(q.turning->method)) return std::nullopt;
  return *factor * static_cast<double>(*q.trained);
}

std::vector<std::string> findings(const Question& q, const std::optional<double>& reach) {
  std::vector<std::string> out;
  const auto factor = field_real(q.encoding, "factor");
  const std::optional<std::int64_t> declared = q.reading == nullptr ? std::nullopt : q.reading->context;
  const auto ratio = [&](std::int64_t n) { return print(static_cast<double>(n) / static_cast<double>(*q.trained)); };
  if (reach && *reach < static_cast<double>(*q.context))
    out.push_back(fmt::format("factor {} carries the trained {} positions to {}, not to {}: that takes a factor of {}", print(*factor), *q.trained, print(*reach),
                              *q.context, ratio(*q.context)));
  if (reach && declared && static_cast<double>(*declared) != *reach)
    out.push_back(fmt::format("{} positions by factor {} times {}, {} by {}: the ratio of the lengths is {}, which is not to be taken for the factor",
                              print(*reach), print(*factor), *q.trained, *declared, q.reading->context_origin, ratio(*declared)));
  if (declared && *q.context > *declared)
    out.push_back(fmt::format("{} positions are more than the {} that the config declares ({})", *q.context, *declared, q.reading->context_origin));
  if (q.turning != nullptr && q.turning->method == "linear" && declared && factor && *factor > 1)
    out.push_back(fmt::format("linear names no original length: if {} is what factor {} reaches, the model was trained for {}; "
                              "if it was trained for {}, it reaches {}",
                              *declared, print(*factor), print(static_cast<double>(*declared) / *factor), *declared,
                              print(static_cast<double>(*declared) * *factor)));
  if (q.turning != nullptr && q.turning->method == "longrope")
    out.push_back(fmt::format("the short list holds up to {} positions, the long one above, cached keys included: one table cannot serve both sides", *q.trained));
  if (q.turning != nullptr && q.turning->method.starts_with("dynamic") && *q.context > *q.trained)
    out.push_back(fmt::format("frequencies are those of length {}; they change with every length above {}, cached keys included", *q.context, *q.trained));
  if (q.encoding.name() == "learned" && *q.context > *q.trained)
    out.push_back(fmt::format("a learned table ends at position {}; it has to be made longer before later ones are used", *q.trained - 1));
  return out;
}

}  // namespace

std::optional<Section> length(const Question& q) {
  if (!q.context || !q.trained) return std::nullopt;
  const auto factor = field_real(q.encoding, "factor");
  const auto reach = reach_of(q);
  Section out{.key = "length", .title = "Length"};
  out.figures = {
      {"trained", fmt::format("trained for ({})", q.trained_from), *q.trained, "positions"},
      {"context", fmt::format("context ({})", q.context_from), *q.context, "positions"},
      {"ratio", "context over trained", number(static_cast<double>(*q.context) / static_cast<double>(*q.trained)), ""},
  };
  if (q.reading != nullptr) out.figures.push_back({"declared", "the config declares", count(q.reading->context), "positions"});
  if (factor) out.figures.push_back({"factor", "factor of the rule", number(*factor), ""});
  if (reach) out.figures.push_back({"reach", "factor times trained", number(*reach), "positions"});
  out.figures.push_back({"rows", "rows that a table needs: the largest position + 1, the offset of cached decode included", *q.context, "rows"});
  if (q.turning != nullptr) {
    const double bytes = 2.0 * static_cast<double>(*q.context) * static_cast<double>(q.turning->used.size() * size_of(q.dtype));
    const Cell cell = bytes < 0x1p62 ? Cell(static_cast<std::int64_t>(bytes)) : Cell(bytes);  // a whole number, exact below 2^62
    out.figures.push_back({"table_bytes", fmt::format("cos and sin of half width in {}", name_of(q.dtype)), cell, "bytes"});
  }
  out.findings = findings(q, reach);
  return out;
}

}  // namespace posenc::analyze_sections
