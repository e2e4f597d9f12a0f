// rope_2d_mixed: parameters, formula, fast fill, laws.
#include "encodings/rope_2d_mixed.hpp"

#include "encodings/line_turns.hpp"
#include "encodings/model.hpp"
#include "encodings/row_bound.hpp"
#include "encodings/span_laws.hpp"
#include "encodings/stored_values.hpp"
#include "numeric/per_thread.hpp"
#include "numeric/two_double.hpp"

namespace posenc {
namespace {

using What = detail::RotaryRow::What;
using num::Real;
using num::TwoDouble;

// The largest number of cosines and sines of one coordinate that fill keeps; beyond it both axes are walked (line_turns.hpp).
constexpr std::int64_t kept_values = std::int64_t{1} << 18;

// Frequency of a pair on the first or the second axis.
template <class T>
T frequency(const Rope2dMixed& s, std::int64_t axis, std::int64_t head, std::int64_t pair) {
  if (s.inv_freq.given()) return T::of(s.inv_freq.values[static_cast<std::size_t>((axis * s.heads() + head) * s.pairs() + pair)]);
  const std::int64_t n = s.head_dim / 4;
  const T angle = T::of(s.angles.empty() ? 0.0 : s.angles[static_cast<std::size_t>(head)]);
  if constexpr (std::is_same_v<T, num::Float32> || std::is_same_v<T, num::BFloat16>) {
    const T magnitude = T::of(std::int64_t{1}) / pow(T::of(s.base), pair % n, n);
    const T turned = pair < n ? angle : angle + T::pi() / T::of(std::int64_t{2});
    return magnitude * (axis == 0 ? cos(turned) : sin(turned));
  } else {
    // A quarter turn more is (-sin, cos), which keeps the zeros and ones of angle 0; 0 - 0 is no negative zero.
    const T cosine = detail::turned_by(angle, What::cosine), sine = detail::turned_by(angle, What::sine);
    const T magnitude = pow(T::of(s.base), -(pair % n), n);
    if (pair < n) return magnitude * (axis == 0 ? cosine : sine);
    return magnitude * (axis == 0 ? T::of(std::int64_t{0}) - sine : cosine);
  }
}

// The coordinate of a place on an axis.
std::int64_t coordinate(const Rope2dMixed& s, const detail::TokenGrid::Place& place, std::int64_t axis) {
  return (s.axes == Rope2dMixedAxes::xy) == (axis == 0) ? place[2] : place[1];
}

}  // namespace

void Rope2dMixed::check() const {
  row().check();
  if (inv_freq.given()) {
    check_shape(inv_freq, {2, -1, -1}, "inv_freq");
    if (heads() < 1 || pairs() < 1) fail_usage("inv_freq is empty; give it the shape [2, num_heads, head_dim / 2]");
    if (layout == RotaryLayout::axis_halves && pairs() % 2 != 0)
      fail_usage(fmt::format("layout axis-halves wants an even number of pairs, inv_freq has {}", pairs()));
  } else {
    if (head_dim % 4 != 0) fail_usage(fmt::format("head_dim must be a multiple of 4 (pairs of lanes in two directions), got {}", head_dim));
    if (!angles.empty() && static_cast<std::int64_t>(angles.size()) != num_heads)
      fail_usage(fmt::format("angles has {} entries for {} heads", angles.size(), num_heads));
  }
  if (part == RotaryPart::coordinates && prefix_rows > 0) fail_usage("prefix_rows have no coordinates; part coordinates goes without them");
}

std::vector<Tensor> Rope2dMixed::tensors() const {
  const Axis head{"head", heads()}, token{"token", grid().rows()};
  if (part == RotaryPart::inv_freq)
    return {{"inv_freq", {{"axis", 2}, head, {"pair", pairs()}}, Kind::real, "radians per patch along each axis"}};
  if (part == RotaryPart::coordinates) return {{"coordinates", {token, {"axis", 2}}, Kind::integer, "of each token on the grid"}};
  return row().tensors({head, token});
}

struct Rope2dMixed::Table::State {
  explicit State(const Rope2dMixed& s) : spec(s), row(s.row()), grid(s.grid()), tensor(s.tensors()[0]) {
    const std::int64_t each = 2 * s.pairs(), lines = s.height + s.width;
    if (!row.turns()) return;
    if (lines > kept_values / each || s.heads() > kept_values / (each * lines)) {
      is_walked = detail::LineTurns::is_modest(s.height, s.pairs()) && detail::LineTurns::is_modest(s.width, s.pairs());
      return;
    }
    const num::Precision precision(160);
    std::vector<Real> frequencies;  // of one head: [axis, pair]
    std::int64_t head = -1;
    turns = detail::StoredValues(s.heads() * lines * each, [&](std::int64_t i) {
      if (i / (each * lines) != head) {
        head = i / (each * lines);
        frequencies.clear();
        for (std::int64_t axis = 0; axis < 2; ++axis)
          for (std::int64_t p = 0; p < s.pairs(); ++p) frequencies.push_back(frequency<Real>(s, axis, head, p));
      }
      const std::int64_t line = i / each % lines, pair = i % each / 2;
      const bool down = line < s.height;
      const std::int64_t axis = axis_of(down);
      const Real angle = Real::of(down ? line : line - s.height) * frequencies[static_cast<std::size_t>(axis * s.pairs() + pair)];
      return i % 2 == 0 ? cos(angle) : sin(angle);
    });
  }
  // The axis that rows of the grid are counted along, or columns.
  [[nodiscard]] std::int64_t axis_of(bool down) const { return down == (spec.axes == Rope2dMixedAxes::yx) ? 0 : 1; }

  // One head's turns with rows and with columns. A thread keeps those of the head that it works on.
  struct Walk {
    Walk(const State& s, std::int64_t h) : head(h), down(s.line(h, true)), across(s.line(h, false)), y(down), x(across) {}
    std::int64_t head;
    detail::LineTurns down, across;
    detail::LineTurns::Cursor y, x;
  };
  [[nodiscard]] detail::LineTurns line(std::int64_t head, bool down) const {
    return num::at_precision(256, [&] {
      std::vector<Real> step;
      for (std::int64_t p = 0; p < spec.pairs(); ++p) step.push_back(frequency<Real>(spec, axis_of(down), head, p));
      return detail::LineTurns(std::vector<Real>(step.size(), Real::of(std::int64_t{0})), step, down ? spec.height : spec.width);
    });
  }
  [[nodiscard]] Walk& walk(std::int64_t head) const {
    auto& kept = num::kept_for<std::unique_ptr<Walk>>(number, [] { return std::make_unique<std::unique_ptr<Walk>>(); });
    if (!kept || kept->head != head) kept = std::make_unique<Walk>(*this, head);
    return *kept;
  }

  // A pair's turn with the row y (line y), or with the column x (line height + x).
  [[nodiscard]] num::Phasor turn(std::int64_t head, std::int64_t line, std::int64_t pair) const {
    const std::int64_t at = ((head * (spec.height + spec.width) + line) * spec.pairs() + pair) * 2;
    num::Phasor out;
    turns.put(at, &out.cos.hi, &out.cos.lo);
    turns.put(at + 1, &out.sin.hi, &out.sin.lo);
    return out;
  }

  void walked_fill(std::size_t tensor, Block& block) const;

  Rope2dMixed spec;
  detail::RotaryRow row;
  detail::TokenGrid grid;
  Tensor tensor;
  detail::StoredValues turns;  ///< [head, row or column, pair, cosine or sine]
  bool is_walked = false;
  std::uint64_t number = num::new_owner();
};

Rope2dMixed::Table::Table(const Rope2dMixed& spec) : state_(std::make_shared<const State>(spec)) {}
Rope2dMixed::Table Rope2dMixed::table() const { return Table(*this); }

namespace {

// cos(a + b) or sin(a + b). With e the error of each component of a and b, at most 1 in size, the two products are off by 4e
// (and e^2, far below) and by 7 * 2^-106 of each, which add up to at most 1 in size; their sum by 3 * 2^-106.
TwoDouble turned_both(const num::Phasor& a, const num::Phasor& b, What what) {
  return what == What::cosine ? a.cos * b.cos - a.sin * b.sin : a.sin * b.cos + a.cos * b.sin;
}
double error_of_both(double e) { return 4 * e * (1 + 0x1p-40) + 0x1p-102; }

}  // namespace

void Rope2dMixed::Table::fill(std::size_t tensor, Block& block) const {
  const State& s = *state_;
  if (s.is_walked) return s.walked_fill(tensor, block);
  if (s.turns.size() == 0) return detail::plain_fill(*this, s.tensor, tensor, block);
  const ErrorBound kept = s.turns.bound(true);
  const ErrorBound bound{error_of_both(kept.absolute + kept.relative), block.lo ? 0 : 0x1.0000000000001p-53};
  for (std::int64_t r = 0; r < block.extent.rows; ++r) block.bounds[r] = bound;
  std::int64_t last_row = -1;
  std::optional<detail::TokenGrid::Place> place;
  detail::each_element(s.tensor, block.extent, [&](std::span<const std::int64_t> index, std::int64_t at) {
    if (index[1] != last_row) place = s.grid.place(last_row = index[1]);
    const detail::RotaryRow::Value value = s.row.at(tensor, index);
    TwoDouble out{value.what == What::cosine ? 1.0 : 0.0, 0};
    if (place)
      out = turned_both(s.turn(index[0], (*place)[1], value.pair), s.turn(index[0], s.spec.height + (*place)[2], value.pair), value.what);
    block.hi[at] = out.hi + 0.0;  // no negative zero
    if (block.lo) block.lo[at] = out.lo;
  });
}

void Rope2dMixed::Table::State::walked_fill(std::size_t number_of_tensor, Block& block) const {
  std::int64_t last_row = -1, column = 0;
  ErrorBound* bound = block.bounds;
  std::optional<detail::TokenGrid::Place> place;
  detail::RowBound bounds;
  detail::each_element(tensor, block.extent, [&](std::span<const std::int64_t> index, std::int64_t at) {
    if (index[1] != last_row) place = grid.place(last_row = index[1]);
    const detail::RotaryRow::Value value = row.at(number_of_tensor, index);
    TwoDouble out{value.what == What::cosine ? 1.0 : 0.0, 0};
    double error = 0;
    if (place) {
      Walk& w = walk(index[0]);
      const auto pair = static_cast<std::size_t>(value.pair);
      const std::int64_t y = (*place)[1], x = (*place)[2];
      if (!w.down.is_carried() || !w.across.is_carried()) {
        error = HUGE_VAL;
      } else if (!w.down.is_still(y, pair) || !w.across.is_still(x, pair)) {
        out = turned_both(w.y.at(y)[pair], w.x.at(x)[pair], value.what);
        error = error_of_both(detail::LineTurns::error);
      }
    }
    block.hi[at] = out.hi + 0.0;  // no negative zero
    if (block.lo) block.lo[at] = out.lo;
    bounds.note(block.hi[at], error);
    if (++column < block.extent.cols) return;
    *bound = bounds.value();
    if (!block.lo) bound->relative += 0x1.0000000000001p-53;  // half an ulp
    ++bound;
    bounds = {};
    column = 0;
  });
}

// Heo et al. 2024, section 3.2.
template <class T>
T Rope2dMixed::Table::element(std::size_t tensor, std::span<const std::int64_t> index) const {
  const Rope2dMixed& s = state_->spec;
  if (s.part == RotaryPart::inv_freq) return frequency<T>(s, index[0], index[1], index[2]);
  const detail::RotaryRow::Value value = state_->row.at(tensor, index);
  const auto place = state_->grid.place(index[1]);
  T angle = T::of(std::int64_t{0});  // to which negative zeros may be added
  for (std::int64_t axis = 0; place && axis < 2; ++axis)
    angle = angle + T::of(coordinate(s, *place, axis)) * frequency<T>(s, axis, index[0], value.pair);
  return detail::turned_by(angle, value.what);
}

std::int64_t Rope2dMixed::Table::integer(std::size_t, std::span<const std::int64_t> index) const {
  return coordinate(state_->spec, *state_->grid.place(index[0]), index[1]);
}

namespace {

using detail::Failed;

// As turns add, the turn of (y, x) is that of (y, 0) and that of (0, x): cos(a + b) = cos a cos b - sin a sin b and
// sin(a + b) = sin a cos b + cos a sin b, in which stored values are off by 2u + u^2 of a sum of products that is at most 1 and
// the left side by u; four roundings of 2^-53 and floor_of(u) for each number below the smallest normal. Angles add likewise:
// u of each, and two roundings.
Failed additive(const Rope2dMixed& s, const Stored& stored) {
  const detail::RotaryRow row = s.row();
  const detail::TokenGrid grid = s.grid();
  const double u = stored.unit_roundoff(0), low = detail::floor_of(u);
  for (const std::int64_t head : detail::spread(s.heads()))
    for (const std::int64_t token : detail::spread(grid.tokens())) {
      const auto place = *grid.place(grid.prefix_rows + token);
      const auto read = [&](std::int64_t y, std::int64_t x) { return row.read(stored, head * grid.rows() + grid.row_of({0, y, x})); };
      const auto sum = read(place[1], place[2]), a = read(place[1], 0), b = read(0, place[2]);
      if (!sum || !a || !b) return {};
      const auto off = [&](std::size_t c, double got, double want, double tolerance) -> Failed {
        if (std::fabs(got - want) <= tolerance) return {};
        return fmt::format("head {}, token ({}, {}), column {}: {:.9g} where its row and its column make {:.9g}", head, place[1], place[2], c, got, want);
      };
      for (std::size_t c = 0; c < sum->cos.size(); ++c) {
        Failed failed;
        const double p = a->cos[c], q = b->cos[c];
        if (row.turns()) {
          const double tolerance = (3 * u + u * u) * (1 + 0x1p-7) + 4 * 0x1p-53 + 5 * low;
          failed = off(c, sum->cos[c], p * q - a->sin[c] * b->sin[c], tolerance);
          if (!failed) failed = off(c, sum->sin[c], a->sin[c] * q + p * b->sin[c], tolerance);
        } else if (std::isfinite(sum->cos[c]) && std::isfinite(p + q)) {  // not beyond f16
          failed = off(c, sum->cos[c], p + q, (u * (1 + 0x1p-7) + 2 * 0x1p-53) * (std::fabs(sum->cos[c]) + std::fabs(p) + std::fabs(q)) + 3 * low);
        }
        if (failed) return failed;
      }
    }
  return {};
}

// Exact numbers: no tolerance.
Failed prefix(const Rope2dMixed& s, const Stored& stored) {
  for (const std::int64_t head : detail::spread(s.heads()))
    for (const std::int64_t r : detail::spread(s.prefix_rows + 1)) {  // and the token at (0, 0)
      const auto values = s.row().read(stored, head * s.grid().rows() + r);
      if (!values) return {};
      for (std::size_t c = 0; c < values->cos.size(); ++c)
        if (values->cos[c] != (s.row().turns() ? 1 : 0) || (!values->sin.empty() && values->sin[c] != 0))
          return fmt::format("head {}, row {}, column {}: {:.9g} where nothing turns", head, r, c, values->cos[c]);
    }
  return {};
}

Failed covering(const Rope2dMixed& s, const Stored& stored) {
  const detail::TokenGrid grid = s.grid();
  for (const std::int64_t token : detail::spread(grid.tokens())) {
    const auto row = stored.row(0, token);
    if (!row) return {};
    const auto x = (*row)[s.axes == Rope2dMixedAxes::xy ? 0 : 1], y = (*row)[s.axes == Rope2dMixedAxes::xy ? 1 : 0];
    if (!(x >= 0) || x >= static_cast<double>(s.width) || y * static_cast<double>(s.width) + x != static_cast<double>(token))
      return fmt::format("token {}: row {}, column {}", token, y, x);
  }
  return {};
}

// The two frequencies of a pair have length m_i: fu^2 + fv^2 = m_i^2, the same for pairs i and n + i, which are at right
// angles. Squares are off by 2u + u^2 of themselves on each side, and round by 2^-53 three times.
Failed perpendicular(const Rope2dMixed& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0), low = detail::floor_of(u);
  const auto n = static_cast<std::size_t>(s.head_dim / 4);
  for (const std::int64_t head : detail::spread(s.num_heads)) {
    const auto first = stored.row(0, head), second = stored.row(0, s.num_heads + head);
    if (!first || !second) return {};
    for (std::size_t i = 0; i < n; ++i) {
      const double a = (*first)[i], b = (*second)[i], c = (*first)[n + i], d = (*second)[n + i];
      const double size = a * a + b * b;
      if (!std::isfinite(size)) continue;  // beyond f16
      const double tolerance = 2 * (2 * u + u * u + 4 * 0x1p-53) * (1 + 0x1p-7) * size + 8 * low * (std::sqrt(size) + low);
      if (!(std::fabs(c * c + d * d - size) <= tolerance) || !(std::fabs(a * c + b * d) <= tolerance))
        return fmt::format("head {}, pair {}: ({:.9g}, {:.9g}) and ({:.9g}, {:.9g}) are not at right angles", head, i, a, b, c, d);
    }
  }
  return {};
}

}  // namespace

std::vector<Law> Rope2dMixed::laws() const {
  const std::string paper = "Heo et al. 2024, arXiv:2403.13298, section 3.2";
  std::vector<Law> out;
  const auto add = [&](const char* law, const char* text, Failed (*holds)(const Rope2dMixed&, const Stored&)) {
    out.push_back({law, text, paper, [spec = *this, holds](const Stored& stored) { return holds(spec, stored); }});
  };
  if (part == RotaryPart::inv_freq) {
    if (!inv_freq.given()) add("perpendicular", "the two halves of the pairs turn in directions at right angles, equally fast", perpendicular);
    return out;
  }
  if (part == RotaryPart::coordinates) {
    add("covering", "tokens go row by row", covering);
    return out;
  }
  const std::int64_t rows = heads() * grid().rows();
  if (row().turns()) out.push_back(detail::rotary_norm_law(row(), rows, paper));
  if (row().repeats()) out.push_back(detail::rotary_repeats_law(row(), rows, paper));
  add("additive", "the turn of a token is that of its row and that of its column together", additive);
  add("unturned", "the first token and rows before the grid have angle 0", prefix);
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(rope_2d_mixed, Rope2dMixed)
