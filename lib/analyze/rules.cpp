// rules: what every rescaling rule that needs no more than the two lengths would do for this context.
#include <fmt/format.h>

#include "analyze/bands.hpp"
#include "analyze/cells.hpp"
#include "analyze/fields.hpp"
#include "analyze/section.hpp"
#include "analyze/turning.hpp"
#include "posenc/rescale.hpp"
#include "posenc/text.hpp"

namespace posenc::analyze_sections {
namespace {

// The rule of that name as rescaled puts it for the two lengths; nothing when it needs more, or cannot be.
std::optional<Rope> under(const Rope& rope, std::string_view method, std::int64_t trained, std::int64_t context) try {
  Rope plain = rope;
  plain.rule = rescale::Plain{};
  plain.attention_factor.reset();
  plain.frequency_denominator = rope.geometry().frequency_denominator;
  const Rescaling how{.settings = {{"method", std::string(method)}}, .context = context, .trained = trained, .of_config = true};
  return *typed<Rope>(*rescaled(*erase(plain), how).encoding);
} catch (const Error&) {
  return std::nullopt;
}

struct Effect {
  std::int64_t outside = 0, unchanged = 0;
};
Effect effect(const Turning& t, std::int64_t trained, std::int64_t context) {
  Effect out;
  for (std::size_t i = 0; i < t.plain.size(); ++i) {
    out.outside += t.plain[i] != 0 && out_of_distribution(t.plain[i], t.used[i], trained, context) ? 1 : 0;
    out.unchanged += std::fabs(t.used[i] - t.plain[i]) <= rounding * t.plain[i] ? 1 : 0;
  }
  return out;
}

std::vector<Cell> row(const Turning& t, bool in_force, std::int64_t trained, std::int64_t context) {
  const Effect e = effect(t, trained, context);
  return {t.method, in_force, e.outside, e.unchanged, number(t.used.back() / t.plain.back()), number(t.attention_factor)};
}

}  // namespace

std::optional<Section> rules(const Question& q) {
  if (q.turning == nullptr || !q.turning->rope || !q.turning->rope->inv_freq.empty()) return std::nullopt;
  if (!q.trained || !q.context || *q.context <= *q.trained) return std::nullopt;
  const std::int64_t trained = *q.trained, context = *q.context;
  const double ratio = static_cast<double>(context) / static_cast<double>(trained);
  Grid grid{"rules",
            "Rule by rule",
            {{"method", "rule", ""},
             {"in_force", "in force", ""},
             {"out_of_distribution", "out of distribution", "pairs"},
             {"unchanged", "unchanged", "pairs"},
             {"lowest_frequency_ratio", "last pair's frequency", "of the plain one"},
             {"attention_factor", "attention factor", ""}},
            {row(*q.turning, true, trained, context)}};
  const auto add = [&](const Rope& rope) {
    const Turning t = turning_of(rope, context);
    // A rule with a factor of its own that says 1 is the plain table once more.
    if (t.method == rescale::Plain::name ? q.turning->method != t.method : t.used != t.plain) grid.rows.push_back(row(t, false, trained, context));
  };
#define POSENC_RULE(function, Type) \
  if (const auto rope = under(*q.turning->rope, rescale::Type::name, trained, context)) add(*rope);
#include "rescale/list.inc"
#undef POSENC_RULE
  Section out{.key = "rules", .title = "Rules side by side"};
  out.figures = {{"factor", "factor, context over trained", number(ratio), ""}};
  std::vector<std::string> within;
  for (std::size_t i = 1; i < grid.rows.size(); ++i)
    if (std::get<std::int64_t>(grid.rows[i][2]) == 0) within.push_back(std::get<std::string>(grid.rows[i][0]));
  if (std::get<std::int64_t>(grid.rows[0][2]) > 0 && !within.empty())
    out.findings.push_back(fmt::format("with factor {}, {} would leave no pair out of distribution", print(ratio), one_of(within)));
  // The one rule that counts the ratio twice: alpha = factor * L / trained - (factor - 1).
  for (std::size_t i = 1; i < grid.rows.size(); ++i)
    if (std::get<std::string>(grid.rows[i][0]) == rescale::Dynamic::name)
      out.findings.push_back(fmt::format("dynamic has factor {0} here, on top of the length in use, {0} times the trained one: alpha is {1}, and {0} with factor 1",
                                         print(ratio), print(ratio * ratio - (ratio - 1))));
  out.grids.push_back(std::move(grid));
  return out;
}

}  // namespace posenc::analyze_sections
