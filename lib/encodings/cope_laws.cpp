// cope: what must hold of stored positions, logits, weights and values.
#include <fmt/format.h>

#include <cmath>

#include "encodings/cope.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

std::vector<Law> Cope::laws() const {
  const char* paper = "Golovneva et al. 2024, arXiv:2405.18719, section 4";
  std::vector<Law> out;
  using Row = std::vector<double>;
  const auto law = [&](const char* label, const char* text, auto holds) {
    out.push_back({label, text, paper, [s = *this, holds](const Stored& stored) -> std::optional<std::string> {
                     for (const std::int64_t query : detail::spread(s.query_length())) {
                       const auto row = stored.row(0, query);
                       if (!row) return {};
                       if (const auto wrong = holds(s, query, *row, stored.unit_roundoff(0))) return fmt::format("query {}: {}", query, *wrong);
                     }
                     return {};
                   }});
  };
  using Wrong = std::optional<std::string>;
  switch (output) {
    case CopeOutput::table: break;
    case CopeOutput::positions:
      // A gate is below 1; two neighbours are off by u of themselves, their difference rounds by 2^-53.
      law("count", "positions are within 0 .. npos - 1, fall by at most 1 from a key to the next, and are 0 for masked keys",
          [](const Cope& s, std::int64_t query, const Row& row, double u) -> Wrong {
            for (std::int64_t j = 0; j < s.key_length(); ++j) {
              const double x = row[at(j)], next = j + 1 < s.key_length() ? row[at(j + 1)] : 0;
              const double largest = static_cast<double>(s.npos() - 1) * (1 + u);
              const bool right = j >= s.seen(query) ? x == 0 : x >= next && x - next <= 1 + 2 * u * x + 0x1p-52 && x <= largest;
              if (!right) return fmt::format("{:.9g} at key {}, then {:.9g}", x, j, next);
            }
            return {};
          });
      break;
    case CopeOutput::pos_logits:
      law("between", "no value lies outside q . e of the whole positions", [](const Cope& s, std::int64_t query, const Row& row, double u) -> Wrong {
        double low = HUGE_VAL, high = -HUGE_VAL, sizes = 0;
        for (std::int64_t t = 0; t < s.npos(); ++t) {
          double sum = 0, size = 0;
          for (std::int64_t c = 0; c < s.head_dim(); ++c) {
            sum += Cope::entry(s.queries, query, c) * Cope::entry(s.pos_emb, c, t);
            size += std::fabs(Cope::entry(s.queries, query, c) * Cope::entry(s.pos_emb, c, t));
          }
          low = std::min(low, sum);
          high = std::max(high, sum);
          sizes = std::max(sizes, size);
        }
        // Each of head_dim products and sums in binary64 rounds by 2^-53 of at most `sizes`; the stored value by u of itself.
        const double slack = sizes * (static_cast<double>(s.head_dim() + 1) * 0x1p-52 + u) + detail::floor_of(u);
        for (std::size_t j = 0; j < row.size(); ++j)
          if (!(row[j] >= low - slack && row[j] <= high + slack)) return fmt::format("{:.9g} at key {}, outside {:.9g} to {:.9g}", row[j], j, low, high);
        return {};
      });
      break;
    case CopeOutput::attn:
      // Weights are off by u of themselves or half the smallest step, their sum rounds by 2^-53 each time.
      law("sum", "weights are not negative, 0 for masked keys, and add up to 1", [](const Cope& s, std::int64_t query, const Row& row, double u) -> Wrong {
        double sum = 0;
        for (std::int64_t j = 0; j < s.key_length(); ++j) {
          if (!(row[at(j)] >= 0) || (j >= s.seen(query) && row[at(j)] != 0)) return fmt::format("{:.9g} at key {}", row[at(j)], j);
          sum += row[at(j)];
        }
        const auto n = static_cast<double>(s.key_length());
        if (!(std::fabs(sum - 1) <= u + n * (detail::floor_of(u) + 0x1p-53))) return fmt::format("sum {:.9g}", sum);
        return {};
      });
      break;
    case CopeOutput::out:
      // A rounding keeps order up to u of the outermost value.
      law("between", "no lane lies outside the values of the keys that the query sees", [](const Cope& s, std::int64_t query, const Row& row, double u) -> Wrong {
        for (std::int64_t lane = 0; lane < s.values.shape[1]; ++lane) {
          double low = HUGE_VAL, high = -HUGE_VAL;
          for (std::int64_t j = 0; j < s.seen(query); ++j) {
            low = std::min(low, Cope::entry(s.values, j, lane));
            high = std::max(high, Cope::entry(s.values, j, lane));
          }
          const double x = row[at(lane)];
          if (std::isfinite(x) && !(x >= low - u * std::fabs(low) - detail::floor_of(u) && x <= high + u * std::fabs(high) + detail::floor_of(u)))
            return fmt::format("{:.9g} in lane {}, outside {:.9g} to {:.9g}", x, lane, low, high);
        }
        return {};
      });
      break;
  }
  return out;
}

}  // namespace posenc
