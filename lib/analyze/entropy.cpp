// entropy: how attention spreads with the number of keys, and what its remedies do.
//
// Model: the scores of n keys are independent normal numbers with standard deviation c (1: unit normal queries and keys, divided by
// sqrt(head_dim)). Then softmax's entropy is, for large n,
//   H = ln n + ln E e^(cz) - E cz e^(cz) / E e^(cz) = ln n - c^2 / 2,   c^2 < 2 ln n,
// (Su, kexue.fm/archives/8823, with normal scores; above that c a few keys take all, the random energy model's frozen phase). It
// grows by ln n: a score multiplied by k keeps it down,
//   log-n   k = ln n / ln L0                                     Su, kexue.fm/archives/8823
//   YaRN    k = (0.1 ln s + 1)^2, s = n / L0, for s > 1          Peng et al. 2023, arXiv:2309.00071, eq. 21-22
//   steady  k = sqrt(1 + 2 ln(n / L0)): the entropy at L0 again, in this model
#include <fmt/format.h>

#include "analyze/cells.hpp"
#include "analyze/fields.hpp"
#include "analyze/section.hpp"
#include "analyze/turning.hpp"
#include "numeric/decide.hpp"
#include "posenc/positions.hpp"
#include "posenc/text.hpp"

namespace posenc::analyze_sections {
namespace {

using num::Real;

Real whole(std::int64_t n) { return Real::of(n); }

// A quarter of the trained length, that length, its doubles, and the context.
std::vector<std::int64_t> lengths(std::int64_t trained, std::int64_t context) {
  std::vector<std::int64_t> out;
  if (trained >= 8) out.push_back(trained / 4);
  for (std::int64_t n = trained; n < context && n <= max_position / 2; n *= 2) out.push_back(n);
  if (out.empty() || out.back() != context) out.push_back(context);
  return out;
}

double rounded(const std::function<Real()>& formula) { return num::decide(DType::f64, formula); }

// ln n - k^2 / 2; nothing in the frozen phase.
Cell entropy_of(std::int64_t n, const std::function<Real()>& k) {
  const Real half = Real::of(0.5);
  const bool frozen = num::at_precision(128, [&] { return k() * k() > whole(2) * log(whole(n)); });
  if (frozen) return {};
  return rounded([&] { return log(whole(n)) - half * k() * k(); });
}

}  // namespace

std::optional<Section> entropy(const Question& q) {
  if (q.turning == nullptr || !q.context || *q.context < 2) return std::nullopt;
  const std::int64_t trained = q.trained.value_or(*q.context);
  if (trained < 2) return std::nullopt;  // its logarithm is the unit
  const double amplitude = q.turning->attention_factor;
  const double multiplier = q.reading != nullptr ? q.reading->softmax_multiplier : field_real(q.encoding, "softmax_multiplier").value_or(1);
  const auto ratio = [trained](std::int64_t n) { return whole(n) / whole(trained); };
  const auto one = [] { return whole(1); };
  const auto own = [=] { return Real::of(amplitude) * Real::of(amplitude) * Real::of(multiplier); };
  Grid grid{"lengths",
            "Over the number of keys",
            {{"keys", "keys", ""},
             {"entropy", "entropy", "nats"},
             {"own_factor", "own factor", ""},
             {"own_entropy", "entropy", "nats"},
             {"log_n_factor", "log-n factor", ""},
             {"log_n_entropy", "entropy", "nats"},
             {"yarn_factor", "YaRN factor", ""},
             {"yarn_entropy", "entropy", "nats"},
             {"steady_factor", "steady factor", ""}},
            {}};
  for (const std::int64_t n : lengths(trained, *q.context)) {
    const auto log_n = [=] { return n == trained ? whole(1) : log(whole(n)) / log(whole(trained)); };
    const auto yarn = [=] {
      const Real g = n <= trained ? whole(1) : whole(1) + log(ratio(n)) / whole(10);
      return g * g;
    };
    const auto steady = [=]() -> Real { return n == trained ? whole(1) : sqrt(whole(1) + whole(2) * log(ratio(n))); };
    // Below trained / sqrt(e) no factor on the scores brings so much entropy.
    const bool reachable = n >= trained || num::at_precision(128, [&] { return (whole(1) + whole(2) * log(ratio(n))).sign() > 0; });
    grid.rows.push_back({n, entropy_of(n, one), number(rounded(own)), entropy_of(n, own), number(rounded(log_n)), entropy_of(n, log_n), number(rounded(yarn)),
                         entropy_of(n, yarn), reachable ? number(rounded(steady)) : Cell()});
  }
  Section out{.key = "entropy", .title = "Attention entropy"};
  out.figures = {{"model", "model", std::string("independent normal scores of deviation 1: ln(keys) - factor^2 / 2"), ""},
                 {"own_factor", "factor on the scores: attention factor squared times softmax multiplier", number(rounded(own)), ""}};
  if (*q.context > trained) {
    const auto growth = rounded([&] { return log(ratio(*q.context)); });
    const auto& last = grid.rows.back();
    out.findings.push_back(fmt::format("from {} to {} keys attention spreads by {:.3f} nats; scores times {:.4f} (log-n) or {:.4f} (YaRN) "
                                       "hold against it, this table and its softmax multiplier give {:.4f}",
                                       trained, *q.context, growth, std::get<double>(last[4]), std::get<double>(last[6]), std::get<double>(last[2])));
  }
  out.grids.push_back(std::move(grid));
  return out;
}

}  // namespace posenc::analyze_sections
