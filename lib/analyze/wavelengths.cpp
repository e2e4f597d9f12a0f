// wavelengths: how far each pair turns in training and in the context, before and after the rule.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/bands.hpp"
#include "analyze/cells.hpp"
#include "analyze/fields.hpp"
#include "analyze/section.hpp"
#include "analyze/turning.hpp"
#include "numeric/decide.hpp"
#include "posenc/text.hpp"

namespace posenc::analyze_sections {
namespace {

// What a rule did to a pair.
std::string band(double plain, double used, std::optional<double> factor) {
  if (std::fabs(used - plain) <= rounding * plain) return "unchanged";
  if (factor && std::fabs(used * *factor - plain) <= rounding * plain) return "divided";
  return factor && used < plain && used * *factor > plain ? "blended" : "changed";
}

// "0-28, 35", the rows of a band.
std::string ranges(const std::vector<std::string>& bands, const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i < bands.size();) {
    std::size_t end = i;
    while (end < bands.size() && bands[end] == bands[i]) ++end;
    if (bands[i] == name) out += fmt::format("{}{}{}", out.empty() ? "" : ", ", i, end - i > 1 ? fmt::format("-{}", end - 1) : "");
    i = end;
  }
  return out;
}

// LongRoPE2 (Shang et al. 2025, arXiv:2502.20082): lanes of the pairs that turn at least once over the trained length,
// 2 ceil(d/2 log_base(trained / 2 pi)). Nothing where the base does not make wavelengths grow.
std::optional<std::int64_t> critical_dimension(const Turning& t, std::int64_t trained) {
  if (!t.base || !(*t.base > 1)) return std::nullopt;
  const double pairs = num::at_precision(128, [&] {
    using num::Real;
    const Real two = Real::of(std::int64_t{2});
    return ceil(Real::of(t.denominator) / two * log(Real::of(trained) / (two * Real::pi())) / log(Real::of(*t.base))).to_double();
  });
  // The formula knows no last pair; a base next to 1 would send it beyond every head.
  return 2 * static_cast<std::int64_t>(std::clamp(pairs, 0.0, static_cast<double>(t.plain.size())));
}

std::vector<std::string> findings(const Question& q, std::int64_t never, std::int64_t first, std::int64_t outside, std::int64_t first_outside) {
  if (!q.trained) return {fmt::format("no trained length is known: {} positions are taken for it", *q.context)};
  const std::string trained = fmt::format("{} positions of training", *q.trained);
  if (never == 0) return {fmt::format("every pair completes a turn within the {}: no angle is new at any length", trained)};
  const std::string some = fmt::format("{} (from pair {} on) never {} a turn within the {}", counted(never, "pair"), first,
                                       never == 1 ? "completes" : "complete", trained);
  if (*q.context <= *q.trained) return {fmt::format("{}: {} out of distribution beyond that length unless rescaled", some, never == 1 ? "it is" : "they are")};
  if (outside == 0) return {fmt::format("{}; the rule keeps {} within the angles of training at {} positions", some, never == 1 ? "it" : "them", *q.context)};
  return {fmt::format("{}, from pair {} on, {} out of distribution at {} positions: {} past the angles of training; it takes a factor of {} to stay within them",
                      counted(outside, "pair"), first_outside, outside == 1 ? "is" : "are", *q.context, outside == 1 ? "it turns" : "they turn",
                      print(static_cast<double>(*q.context) / static_cast<double>(*q.trained))),
          some};
}

}  // namespace

std::optional<Section> wavelengths(const Question& q) {
  if (q.turning == nullptr || !q.context) return std::nullopt;
  const Turning& t = *q.turning;
  const auto factor = field_real(q.encoding, "factor");
  const std::int64_t context = *q.context, trained = q.trained.value_or(context);
  Grid grid{"pairs",
            "Pair by pair",
            {{"pair", "pair", ""},
             {"inv_freq_plain", "inv_freq", "radians per position"},
             {"inv_freq", "rescaled inv_freq", "radians per position"},
             {"divisor", "divisor", ""},
             {"wavelength_plain", "wavelength", "positions"},
             {"wavelength", "rescaled wavelength", "positions"},
             {"turns_trained", "turns in training", "turns"},
             {"turns_context_plain", "turns in context", "turns"},
             {"turns_context", "rescaled turns", "turns"},
             {"band", "band", ""},
             {"out_of_distribution", "out of distribution", ""}},
            {}};
  std::vector<std::string> bands;
  std::optional<std::int64_t> first, first_outside;
  std::int64_t never = 0, outside = 0;
  for (std::size_t i = 0; i < t.plain.size(); ++i) {
    const double plain = t.plain[i], used = t.used[i];
    const auto pair = static_cast<std::int64_t>(i);
    const bool turned = plain == 0 || turns_once(plain, trained);  // a pair that stands still has no angle but 0
    const bool beyond = !turned && out_of_distribution(plain, used, trained, context);
    bands.push_back(plain == 0 ? "still" : band(plain, used, factor));
    if (!turned && !first) first = pair;
    if (beyond && !first_outside) first_outside = pair;
    never += turned ? 0 : 1;
    outside += beyond ? 1 : 0;
    grid.rows.push_back({pair, number(plain), number(used), number(plain / used), number(wavelength(plain)), number(wavelength(used)), number(turns(plain, trained)),
                         number(turns(plain, context)), number(turns(used, context)), bands.back(), beyond});
  }
  Section out{.key = "wavelengths", .title = "Wavelengths"};
  out.figures = {{"method", "rule", t.method, ""}};
  if (!t.set.empty()) out.figures.push_back({"set", fmt::format("frequencies at {} positions", context), t.set, ""});
  if (t.base) out.figures.push_back({"base", "base", *t.base, ""});
  for (const char* name : {"unchanged", "blended", "divided", "changed"})
    if (const std::string rows = ranges(bands, name); !rows.empty()) out.figures.push_back({name, fmt::format("pairs {}", name), rows, ""});
  out.figures.push_back({"never_turn", "pairs that never complete a turn in training", never, "pairs"});
  out.figures.push_back({"first_never_turn", "the first of them", count(first), ""});
  out.figures.push_back({"out_of_distribution", fmt::format("of these out of distribution at {} positions", context), outside, "pairs"});
  out.figures.push_back({"first_out_of_distribution", "the first of them", count(first_outside), ""});
  out.figures.push_back({"critical_dimension", "critical dimension, 2 ceil(d/2 log_base(trained / 2 pi)) (arXiv:2502.20082)",
                         count(critical_dimension(t, trained)), "lanes"});
  out.grids.push_back(std::move(grid));
  out.findings = findings(q, never, first.value_or(0), outside, first_outside.value_or(0));
  return out;
}

}  // namespace posenc::analyze_sections
