// decay: how attention between equal vectors falls with the distance.
//   upper bound   1/(d/2) sum_j |S_j|, S_j = sum_{i<j} e^(i m theta_i): RoFormer, Su et al. 2021, arXiv:2104.09864, section 3.4.3, eq. 35-37
//   same vector   sum_i cos(m theta_i): a query and a key of equal vectors with |x_i| = 1 in every pair
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/cells.hpp"
#include "analyze/section.hpp"
#include "analyze/turning.hpp"
#include "numeric/decide.hpp"
#include "numeric/phasor.hpp"
#include "posenc/positions.hpp"
#include "posenc/text.hpp"

namespace posenc::analyze_sections {
namespace {

// 0, the powers of two, and the last distance.
std::vector<std::int64_t> distances(std::int64_t context) {
  std::vector<std::int64_t> out{0};
  for (std::int64_t m = 1; m < context - 1; m *= 2) out.push_back(m);
  if (context > 1) out.push_back(context - 1);
  return out;
}

// Positions that a scan may look at: at most 2^30 cosines, which take a quarter of a second.
std::int64_t scan_length(std::int64_t context, std::size_t pairs) {
  return std::min<std::int64_t>(context, (std::int64_t{1} << 30) / static_cast<std::int64_t>(pairs));
}

struct Sums {
  double re = 0, im = 0, bound = 0;  ///< of e^(i m theta_i), and of the moduli of its partial sums
};

// At each distance. Tables of phasors are made for a few pairs at a time: of all of a wide head they would be gigabytes.
std::vector<Sums> sums_at(const std::vector<std::int64_t>& places, const Turning& t) {
  constexpr std::size_t at_once = 256;
  std::vector<Sums> out(places.size());
  num::at_precision(256, [&] {
    std::fill(out.begin(), out.end(), Sums{});
    const std::vector<num::Real> frequencies = t.exact_used();
    for (std::size_t begin = 0; begin < frequencies.size(); begin += at_once) {
      const auto from = frequencies.begin() + static_cast<std::ptrdiff_t>(begin);
      const std::vector<num::Real> few(from, from + static_cast<std::ptrdiff_t>(std::min(at_once, frequencies.size() - begin)));
      const num::PhasorTable table(few, 0, std::max(1.0, static_cast<double>(places.back())));
      std::vector<num::Phasor> phasors(few.size());
      for (std::size_t k = 0; k < places.size(); ++k) {
        table.at(places[k], phasors.data());
        Sums& sums = out[k];
        for (const num::Phasor& p : phasors) {
          sums.re += p.cos.hi;
          sums.im += p.sin.hi;
          sums.bound += std::sqrt(sums.re * sums.re + sums.im * sums.im);
        }
      }
    }
    return 0;
  });
  return out;
}

}  // namespace

std::optional<Section> decay(const Question& q) {
  if (q.turning == nullptr || !q.context) return std::nullopt;
  const Turning& t = *q.turning;
  const auto pairs = static_cast<double>(t.used.size());
  // Explicit lists may hold frequencies of any size, for which the tables have no bound.
  const double fastest = *std::max_element(t.used.begin(), t.used.end());
  Grid grid{"curve",
            "Over the distance",
            {{"distance", "distance", "positions"}, {"upper_bound", "upper bound", ""}, {"same_vector", "sum of cosines", ""}, {"mean", "mean", ""}},
            {}};
  if (fastest <= 0x1p30) {
    const std::vector<std::int64_t> places = distances(*q.context);
    const std::vector<Sums> sums = sums_at(places, t);
    for (std::size_t k = 0; k < places.size(); ++k) grid.rows.push_back({places[k], sums[k].bound / pairs, sums[k].re, sums[k].re / pairs});
  }
  const std::int64_t scanned = scan_length(*q.context, t.used.size());
  const auto first = num::CosineSum(t.exact_used).first_negative(scanned);
  Section out{.key = "decay", .title = "Decay with the distance"};
  out.figures = {{"first_negative", "first distance at which the sum of cosines is negative", count(first), "positions"},
                 {"scanned", "distances looked at", scanned, "positions"}};
  const std::int64_t still = still_lanes(q), turning = 2 * static_cast<std::int64_t>(t.used.size());
  if (first && still > 0)
    out.findings.push_back(fmt::format("from distance {} on the sum of cosines of the {} lanes that turn can be negative; the {} that do not turn add {} to it, {}",
                                       *first, turning, still, still / 2,
                                       still >= turning ? "so that whole heads score a key equal to the query above a random one at every distance"
                                                        : "which makes up for part of it"));
  else if (first)
    out.findings.push_back(fmt::format("from distance {} on a query can score a key equal to itself below a random key, whose mean score is 0", *first));
  else
    out.findings.push_back(fmt::format("a query scores a key equal to itself above a random key, whose mean score is 0, at every distance below {}", scanned));
  out.grids.push_back(std::move(grid));
  return out;
}

}  // namespace posenc::analyze_sections
