// reach: how far each head of ALiBi sees. A key at distance m has its weight divided by e^(slope m).
#include <fmt/format.h>

#include "analyze/cells.hpp"
#include "analyze/fields.hpp"
#include "analyze/section.hpp"
#include "encodings/alibi.hpp"
#include "numeric/decide.hpp"
#include "posenc/text.hpp"

namespace posenc::analyze_sections {
namespace {

using num::Real;

// The smallest distance at which the bias is -nats or less; nothing for a head whose bias never falls so far, or beyond 2^63.
std::optional<std::int64_t> reach_of(const Alibi& alibi, std::int64_t head, std::int64_t nats) {
  const double distance = num::at_precision(128, [&] {
    const Real slope = alibi.slope(head);
    return slope.sign() <= 0 ? HUGE_VAL : ceil(Real::of(nats) / slope).to_double();
  });
  return distance < 0x1p53 ? std::optional(static_cast<std::int64_t>(distance)) : std::nullopt;
}

}  // namespace

std::optional<Section> reach(const Question& q) {
  const auto* given = typed<Alibi>(q.encoding);
  if (given == nullptr) return std::nullopt;
  const Alibi& alibi = *given;
  Grid grid{"heads",
            "Head by head",
            {{"head", "head", ""},
             {"slope", "slope", "nats per position"},
             {"distance_1", "bias -1 at", "positions"},
             {"distance_10", "bias -10 at", "positions"},
             {"bias_trained", "bias at the trained length", "nats"},
             {"bias_context", "bias at the context", "nats"}},
            {}};
  std::int64_t beyond = 0;
  for (std::int64_t h = alibi.head_start; h < alibi.head_start + alibi.heads(); ++h) {
    const double slope = num::decide(DType::f64, [&] { return alibi.slope(h); });
    const auto one = reach_of(alibi, h, 1), ten = reach_of(alibi, h, 10);
    const auto bias = [&](const std::optional<std::int64_t>& n) { return n ? number(0 - slope * static_cast<double>(*n)) : Cell(); };
    grid.rows.push_back({h, number(slope), count(one), count(ten), bias(q.trained), bias(q.context)});
    beyond += q.trained && (!ten || *ten > *q.trained) ? 1 : 0;
  }
  Section out{.key = "reach", .title = "Reach of the heads"};
  if (q.trained) out.figures.push_back({"beyond_training", "heads that see beyond the trained length (bias above -10 there)", beyond, "heads"});
  if (q.trained && beyond > 0)
    out.findings.push_back(fmt::format("{} still {} at {} positions, with weights of e^-10 and more: beyond {} meet{} distances that training never showed",
                                       counted(beyond, "head"), beyond == 1 ? "sees" : "see", *q.trained, beyond == 1 ? "it, it" : "them, they", beyond == 1 ? "s" : ""));
  if (q.trained && beyond == 0)
    out.findings.push_back(fmt::format("every head's bias is below -10 at {} positions: what lies beyond hardly counts", *q.trained));
  if (q.trained && q.context && *q.context > *q.trained)
    out.findings.push_back(fmt::format("slopes times {} would keep every head's reach within the share of the context that it had in training (arXiv:2310.13017)",
                                       print(static_cast<double>(*q.trained) / static_cast<double>(*q.context))));
  if (!q.trained) out.findings.push_back("no length is declared: say --context to see which heads reach beyond it");
  out.grids.push_back(std::move(grid));
  return out;
}

}  // namespace posenc::analyze_sections
