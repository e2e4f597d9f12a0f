// What must hold of a stored AxialRope. u is half an ulp of 1 in the stored dtype.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "encodings/axial_rope.hpp"
#include "encodings/span_laws.hpp"

namespace posenc::detail {
namespace {

using Place = TokenGrid::Place;

// Stored rows of tokens; each is read once.
class Rows {
 public:
  Rows(const AxialRope& rope, const Stored& stored) : rope_(rope), stored_(stored) {}
  const std::optional<RotaryRow::Read>& at(const Place& place) {
    const std::int64_t row = rope_.grid.row_of(place);
    const auto found = rows_.find(row);
    return found != rows_.end() ? found->second : rows_.emplace(row, rope_.row.read(stored_, row)).first->second;
  }

 private:
  const AxialRope& rope_;
  const Stored& stored_;
  std::map<std::int64_t, std::optional<RotaryRow::Read>> rows_;
};

// Equal formulas give equal values, whatever the rounding.
Failed separable(const AxialRope& s, const Stored& stored) {
  const auto first = s.row.first_columns();
  Rows rows(s, stored);
  for (const std::int64_t r : spread(s.grid.tokens())) {
    const Place place = *s.grid.place(s.grid.prefix_rows + r);
    const auto here = rows.at(place);
    for (std::size_t axis = 0; axis < s.axes.size(); ++axis) {
      const std::size_t coordinate = s.axes[axis].coordinate;
      Place alone{};
      alone[coordinate] = place[coordinate];
      const auto& there = rows.at(alone);
      if (!here || !there) return {};
      for (std::int64_t b = 0; b < s.bands(); ++b) {
        const std::size_t c = first[static_cast<std::size_t>(static_cast<std::int64_t>(axis) * s.bands() + b)];
        if (here->cos[c] != there->cos[c] || (!here->sin.empty() && here->sin[c] != there->sin[c]))
          return fmt::format("token {}, column {}: {:.9g}, but {:.9g} at the same coordinate {} of axis {}", r, c, here->cos[c], there->cos[c],
                             place[coordinate], axis);
      }
    }
  }
  return {};
}

// The places of three tokens, k, k + 1 and k + 2 along an axis.
Place along(const AxialRope& s, std::size_t axis, std::int64_t k) {
  Place place{};
  place[s.axes[axis].coordinate] = k;
  return place;
}

// The turn from k to k + 1 has cosine c c' + s s', which is at most |c c'| + |s s'| <= 1: stored values are off by 2u + u^2 of
// that, three roundings of 2^-53 are added, and both sides have as much. Numbers below the smallest normal are off by
// floor_of(u) each, four of them on each side.
Failed equal_turns(const AxialRope& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0), tolerance = 2 * (2 * u + u * u + 4 * 0x1p-53) * (1 + 0x1p-7) + 8 * floor_of(u);
  const auto first = s.row.first_columns();
  Rows rows(s, stored);
  for (std::size_t axis = 0; axis < s.axes.size(); ++axis)
    for (const std::int64_t k : spread(s.size(axis) - 1)) {
      const auto &a = rows.at(along(s, axis, 0)), &b = rows.at(along(s, axis, 1)), &c = rows.at(along(s, axis, k)), &d = rows.at(along(s, axis, k + 1));
      if (!a || !b || !c || !d) return {};
      for (std::int64_t band = 0; band < s.bands(); ++band) {
        const std::size_t at = first[static_cast<std::size_t>(static_cast<std::int64_t>(axis) * s.bands() + band)];
        const double start = a->cos[at] * b->cos[at] + a->sin[at] * b->sin[at], here = c->cos[at] * d->cos[at] + c->sin[at] * d->sin[at];
        if (!(std::fabs(start - here) <= tolerance))
          return fmt::format("axis {}, column {}: the turn from {} to {} has cosine {:.9g}, the first one {:.9g}", axis, at, k, k + 1, here, start);
      }
    }
  return {};
}

// a[k] + a[k + 2] = 2 a[k + 1]: each stored angle is off by u of itself, or floor_of(u); the sums round by 2^-53.
Failed equal_steps(const AxialRope& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0);
  const auto first = s.row.first_columns();
  Rows rows(s, stored);
  for (std::size_t axis = 0; axis < s.axes.size(); ++axis)
    for (const std::int64_t k : spread(s.size(axis) - 2)) {
      const auto &a = rows.at(along(s, axis, k)), &b = rows.at(along(s, axis, k + 1)), &c = rows.at(along(s, axis, k + 2));
      if (!a || !b || !c) return {};
      for (std::int64_t band = 0; band < s.bands(); ++band) {
        const std::size_t at = first[static_cast<std::size_t>(static_cast<std::int64_t>(axis) * s.bands() + band)];
        const double x = a->cos[at], y = b->cos[at], z = c->cos[at];
        if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) continue;  // beyond f16
        const double tolerance = (u * (1 + 0x1p-7) + 4 * 0x1p-53) * (std::fabs(x) + 2 * std::fabs(y) + std::fabs(z)) + 4 * floor_of(u);
        if (!(std::fabs(x + z - 2 * y) <= tolerance))
          return fmt::format("axis {}, column {}: angles {:.9g}, {:.9g}, {:.9g} from {} on", axis, at, x, y, z, k);
      }
    }
  return {};
}

// Exact numbers: no tolerance.
Failed unturned(const AxialRope& s, const Stored& stored) {
  const auto first = s.row.first_columns();
  for (const std::int64_t r : spread(s.grid.rows())) {
    const bool token = s.grid.place(r).has_value();
    const auto row = s.row.read(stored, r);
    if (!row) return {};
    for (std::int64_t p = token ? s.bands() * static_cast<std::int64_t>(s.axes.size()) : 0; p < s.row.pairs; ++p) {
      const std::size_t c = first[static_cast<std::size_t>(p)];
      if (row->cos[c] != (s.row.turns() ? 1 : 0) || (!row->sin.empty() && row->sin[c] != 0))
        return fmt::format("row {}, column {}: {:.9g} where nothing turns", r, c, row->cos[c]);
    }
  }
  return {};
}

// Every token of the grid once in each frame, looked at where there are few enough of them.
Failed covering(const AxialRope& s, const Stored& stored) {
  if (s.grid.tokens() > 1 << 16) return {};
  std::map<std::vector<double>, std::int64_t> seen;
  std::vector<std::vector<double>> columns;
  if (s.axis_first)
    for (std::size_t a = 0; a < s.axes.size(); ++a) {
      const auto row = stored.row(0, static_cast<std::int64_t>(a));
      if (!row) return {};
      columns.push_back(*row);
    }
  const auto ids = s.max_patches_per_side ? stored.row(0, 0) : std::nullopt;
  if (s.max_patches_per_side && !ids) return {};
  for (std::int64_t token = 0; token < s.grid.tokens(); ++token) {
    std::vector<double> place;
    if (ids) {
      const double id = (*ids)[static_cast<std::size_t>(token)], side = static_cast<double>(*s.max_patches_per_side);
      place = {std::floor(id / side), id - std::floor(id / side) * side};
    } else if (s.axis_first) {
      for (const auto& column : columns) place.push_back(column[static_cast<std::size_t>(token)]);
    } else {
      const auto row = stored.row(0, token);
      if (!row) return {};
      place = *row;
    }
    for (std::size_t a = 0; a < place.size(); ++a) {
      const std::int64_t size = ids ? s.grid.size(a + 1) : s.size(a);
      if (!(place[a] >= 0) || place[a] >= static_cast<double>(size))
        return fmt::format("token {}: coordinate {} on axis {}, outside 0 to {}", token, place[a], a, size - 1);
    }
    const std::int64_t times = s.axes.size() == 2 ? s.grid.frames : 1;
    if (++seen[place] > times) return fmt::format("token {} stands where another one does", token);
  }
  return {};
}

// A rounding keeps order: no tolerance.
Failed ordered(const AxialRope& s, const Stored& stored) {
  const auto row = stored.row(0, 0);
  if (!row) return {};
  const bool falls = s.pixels() ? s.max_freq < 2 : s.base > 1;
  for (std::size_t p = 0; p < row->size(); ++p) {
    const double f = (*row)[p];
    const auto turn = s.turn(static_cast<std::int64_t>(p));
    if (!turn) {
      if (f != 0) return fmt::format("pair {}: frequency {:.9g} where nothing turns", p, f);
      continue;
    }
    if (!(f >= 0)) return fmt::format("pair {}: frequency {:.9g}", p, f);
    if (turn->band > 0 && (falls ? f > (*row)[p - 1] : f < (*row)[p - 1]))
      return fmt::format("pair {}: frequency {:.9g} after {:.9g}", p, f, (*row)[p - 1]);
  }
  return {};
}

}  // namespace

std::vector<Law> AxialRope::laws(const std::string& paper) const {
  std::vector<Law> out;
  const std::string rope = "Su et al. 2021, arXiv:2104.09864, section 3.2.2";
  const auto add = [&](std::string law, std::string text, std::string from, Failed (*holds)(const AxialRope&, const Stored&)) {
    out.push_back({std::move(law), std::move(text), std::move(from), [spec = *this, holds](const Stored& stored) { return holds(spec, stored); }});
  };
  if (row.part == RotaryPart::inv_freq) {
    add("ordered", "the frequencies of an axis are positive and rise or fall throughout", paper, ordered);
    return out;
  }
  if (row.part == RotaryPart::coordinates) {
    add("covering", "each token of a frame has a place of its own on the grid", paper, covering);
    return out;
  }
  if (row.turns()) out.push_back(rotary_norm_law(row, grid.rows(), rope));
  if (row.repeats()) out.push_back(rotary_repeats_law(row, grid.rows(), rope));
  add("separable", "a pair turns with one coordinate only", paper, separable);
  if (row.turns())
    add("relative", "neighbours along an axis differ by the same turn everywhere", rope, equal_turns);
  else
    add("steps", "angles rise in equal steps along an axis", paper, equal_steps);
  if (grid.rows() > grid.tokens() || row.pairs > bands() * static_cast<std::int64_t>(axes.size()))
    add("unturned", "rows outside the grid and pairs beyond the axes have angle 0", paper, unturned);
  return out;
}

}  // namespace posenc::detail
