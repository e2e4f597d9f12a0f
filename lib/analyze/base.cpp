// base: how long a context the base carries, and the smallest base for the context (base_search.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "analyze/base_search.hpp"
#include "analyze/cells.hpp"
#include "analyze/section.hpp"
#include "analyze/turning.hpp"
#include "posenc/text.hpp"

namespace posenc::analyze_sections {
namespace {

// Positions that a scan may look at: at most 2^30 cosines.
std::int64_t scan_length(std::size_t pairs) { return (std::int64_t{1} << 30) / static_cast<std::int64_t>(pairs); }

// Rounds of the search that end within half a second on one core; each round resolves ten times finer and takes up to ten
// times longer. By the size of the question alone, so that the answer does not depend on the machine. 0: not searched.
int depth_for(std::int64_t length, std::size_t pairs) {
  const double size = static_cast<double>(length) * static_cast<double>(pairs);
  if (size > 0x1p27) return 0;
  if (size > 0x1p24) return 1;
  if (size > 0x1p22) return 2;
  return size > 0x1p21 ? 4 : 5;
}

// Layer types ask the same question; the answer is kept.
std::optional<BaseFound> remembered(const BaseSearch& s) {
  static std::mutex mutex;
  static std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, int>, std::optional<BaseFound>> answers;
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = answers.try_emplace({s.length, s.pairs, s.denominator, s.depth});
  if (fresh) at->second = smallest_base(s);
  return at->second;
}

}  // namespace

std::optional<Section> base(const Question& q) {
  if (q.turning == nullptr || !q.turning->base || !q.context) return std::nullopt;
  const Turning& t = *q.turning;
  const std::size_t pairs = t.plain.size();
  const std::int64_t context = *q.context, scanned = scan_length(pairs);
  const auto carried = num::CosineSum(t.exact_plain).first_negative(scanned);
  const bool decided = carried || context <= scanned, holds = !carried || *carried >= context;
  Section out{.key = "base", .title = "Base and context"};
  out.figures = {
      {"base", "base", *t.base, ""},
      {"carries", "longest context it carries: no sum of cosines below is negative (arXiv:2405.14591)", count(carried), "positions"},
      {"scanned", "positions looked at", scanned, "positions"},
      {"holds", fmt::format("it carries {} positions", context), decided ? Cell(holds) : Cell(), ""},
  };
  if (q.reading != nullptr)
    for (const Setting& setting : q.reading->settings)
      if (setting.field == "base") out.figures.insert(out.figures.begin() + 1, {"base_from", "the base comes from", setting.origin, ""});
  if (decided)
    out.findings.push_back(holds ? fmt::format("base {} carries the context of {} positions", print(*t.base), context)
                                 : fmt::format("base {} carries {} positions, not {}", print(*t.base), *carried, context));
  else
    out.findings.push_back(fmt::format("base {} carries the {} positions that were looked at; {} are too many to look at", print(*t.base), scanned, context));

  if (const std::int64_t still = still_lanes(q); still > 0)
    out.findings.push_back(fmt::format("the positions and bases here are those of the {} lanes that turn; the {} others are not in the sums", 2 * pairs, still));

  const int depth = q.exhaustive && context < num::CosineSum::limit ? 5 : depth_for(context, pairs);
  if (depth == 0) {
    out.findings.push_back(fmt::format("the smallest base for {} positions was not searched{}", context,
                                       context < num::CosineSum::limit ? ", which takes long; --exhaustive does it" : ""));
    return out;
  }
  if (context < 3) return out;  // the first pair alone decides about position 2; before it every base does
  const auto smallest = remembered({context, static_cast<std::int64_t>(pairs), t.denominator, depth});
  out.figures.push_back({"smallest_base", "smallest base found that carries the context (kexue.fm/archives/10122)", smallest ? number(smallest->base) : Cell(), ""});
  out.figures.push_back({"smallest_base_step", "bases between it and the next smaller one tried", smallest ? number(smallest->step) : Cell(), ""});
  if (!smallest)
    out.findings.push_back(fmt::format("no base tried, up to 1000 times the context, carries {} positions with {}", context, counted(static_cast<std::int64_t>(pairs), "pair")));
  else if (!holds)
    out.findings.push_back(fmt::format("the smallest base found for {} positions is {}", context, print(smallest->base)));
  if (depth < 5)
    out.findings.push_back(fmt::format("the search ended after {} of 5 rounds, and {} bases may carry {} positions; --exhaustive goes to the end", depth, smallest ? "smaller" : "other", context));
  return out;
}

}  // namespace posenc::analyze_sections
