// axial_rope: tensors, formula, fill. The laws are in axial_rope_laws.cpp.
#include "encodings/axial_rope.hpp"

#include <algorithm>

#include "encodings/line_turns.hpp"
#include "encodings/model.hpp"
#include "encodings/row_bound.hpp"
#include "encodings/stored_values.hpp"
#include "numeric/half_turns.hpp"
#include "numeric/per_thread.hpp"

namespace posenc::detail {
namespace {

using num::Real;
using What = RotaryRow::What;

// The largest number of values that fill keeps. Axes that do not fit are walked (line_turns.hpp).
constexpr std::int64_t kept_values = std::int64_t{1} << 18;

template <class T>
constexpr bool is_imitated = std::is_same_v<T, num::Float32> || std::is_same_v<T, num::BFloat16>;

template <class T>
T whole(std::int64_t value) {
  return T::of(value);
}

// Number k of n in equal steps; the first one alone.
template <class T>
T linspace(const T& from, const T& to, std::int64_t n, std::int64_t k) {
  if (n == 1) return from;
  const T step = (to - from) / whole<T>(n - 1);
  return k < n / 2 ? from + step * whole<T>(k) : to - step * whole<T>(n - 1 - k);
}

// The coordinate, over 2 pi where it is centred.
template <class T>
T coordinate(const AxialRope& s, std::size_t axis, std::int64_t k) {
  std::int64_t n = s.size(axis);
  if (s.centred()) {
    for (std::size_t other = 0; other < s.axes.size(); ++other) {
      if (s.coordinates == AxialCoordinates::centres_max) n = std::max(n, s.size(other));
      if (s.coordinates == AxialCoordinates::centres_min) n = std::min(n, s.size(other));
    }
    const T centre = (T::of(static_cast<double>(k) + 0.5) + T::of(s.grid_offset)) / whole<T>(n);
    return whole<T>(2) * centre - whole<T>(1);
  }
  const T at = s.coordinates == AxialCoordinates::index ? whole<T>(k) + T::of(s.grid_offset) : linspace<T>(whole<T>(-1), whole<T>(1), n, k);
  return s.axes[axis].reference ? at / whole<T>(n) * whole<T>(*s.axes[axis].reference) : at;
}

// The frequency, over pi where it is of pixels.
template <class T>
T frequency(const AxialRope& s, std::size_t axis, std::int64_t band) {
  const std::int64_t n = s.bands();
  if (s.frequencies == AxialFrequencies::pixel_linear) return linspace<T>(whole<T>(1), T::of(s.max_freq) / whole<T>(2), n, band);
  if (s.frequencies == AxialFrequencies::pixel) {
    if constexpr (is_imitated<T>) {
      // timm: the logarithm in binary64, the rest in binary32.
      const double last = num::decide(DType::f64, [&] { return log2(Real::of(s.max_freq)) - Real::of(std::int64_t{1}); });
      return pow(whole<T>(2), linspace<T>(whole<T>(0), T::of(last), n, band));
    } else {
      return n == 1 ? whole<T>(1) : pow(T::of(s.max_freq) / whole<T>(2), band, n - 1);
    }
  }
  const bool alternating = s.frequencies == AxialFrequencies::alternating;
  const std::int64_t top = alternating ? 2 * band + static_cast<std::int64_t>(axis) : band, bottom = alternating ? 2 * n : n;
  if constexpr (is_imitated<T>)
    return whole<T>(1) / pow(T::of(s.base), top, bottom);
  else
    return pow(T::of(s.base), -top, bottom);
}

// Coordinate times frequency, from the two numbers above.
template <class T>
T turned(const AxialRope& s, const T& c, const T& f, What what) {
  T angle;
  if constexpr (is_imitated<T>) {
    angle = (s.centred() ? whole<T>(2) * T::pi() * c : c) * (s.pixels() ? f * T::pi() : f);
  } else {
    const T product = s.centred() ? whole<T>(2) * c * f : c * f;
    if constexpr (std::is_same_v<T, Real>)
      if (s.centred() != s.pixels() && what != What::angle) return what == What::sine ? sin_half_turns(product) : cos_half_turns(product);
    angle = product;
    if (s.centred()) angle = angle * T::pi();
    if (s.pixels()) angle = angle * T::pi();
  }
  return turned_by(angle, what);
}

template <class T>
T still(What what) {
  return whole<T>(what == What::cosine ? 1 : 0);
}

}  // namespace

std::vector<Tensor> AxialRope::tensors() const {
  const auto count = static_cast<std::int64_t>(axes.size());
  const posenc::Axis token{"token", grid.rows()}, axis{"axis", count};
  if (row.part == RotaryPart::inv_freq) return {{"inv_freq", {{"pair", row.pairs}}, Kind::real, "radians per coordinate, axis after axis"}};
  if (row.part != RotaryPart::coordinates) return row.tensors({token});
  if (max_patches_per_side) return {{"position_ids", {token}, Kind::integer, "row * max_patches_per_side + column"}};
  std::vector<posenc::Axis> shape{token, axis};
  if (axis_first) std::swap(shape[0], shape[1]);
  return {{"coordinates", std::move(shape), Kind::integer, "of each token on the grid"}};
}

struct AxialRopeTable::State {
  explicit State(const AxialRope& r) : rope(r), tensor(r.tensors()[0]), each(r.row.part == RotaryPart::angles ? 1 : 2), start(r.axes.size()), lines(r.axes.size()) {
    if (rope.row.part == RotaryPart::inv_freq || rope.row.part == RotaryPart::coordinates) return;
    // The shortest axes are kept.
    std::vector<std::size_t> order;
    for (std::size_t a = 0; a < rope.axes.size(); ++a) order.push_back(a);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rope.size(a) < rope.size(b); });
    const std::int64_t most = kept_values / (each * rope.bands());
    std::int64_t total = 0;
    std::vector<std::size_t> kept;
    for (const std::size_t a : order) {
      if (rope.size(a) <= most - total) {
        start[a] = total;
        total += rope.size(a);
        kept.push_back(a);
      } else if (!walk(a)) {
        return;
      }
    }
    is_fast = true;
    const num::Precision precision(160);
    std::vector<Real> frequencies;
    for (const std::size_t a : kept)
      for (std::int64_t b = 0; b < rope.bands(); ++b) frequencies.push_back(frequency<Real>(rope, a, b));
    std::size_t at = 0;  // in kept
    values = StoredValues(total * rope.bands() * each, [&](std::int64_t i) {
      const std::int64_t band = i / each % rope.bands(), k = i / each / rope.bands();
      if (at + 1 < kept.size() && k == start[kept[at + 1]]) ++at;
      const Real& f = frequencies[at * static_cast<std::size_t>(rope.bands()) + static_cast<std::size_t>(band)];
      return turned(rope, coordinate<Real>(rope, kept[at], k - start[kept[at]]), f, each == 1 ? What::angle : i % 2 == 0 ? What::cosine : What::sine);
    });
  }

  // All coordinates are evenly spaced, and angles are multiples of them.
  bool walk(std::size_t a) {
    if (!LineTurns::is_modest(rope.size(a), rope.bands())) return false;
    num::at_precision(256, [&] {
      std::vector<Real> first, step;
      const Real origin = coordinate<Real>(rope, a, 0), spacing = coordinate<Real>(rope, a, 1) - origin;
      for (std::int64_t b = 0; b < rope.bands(); ++b) {
        const Real f = frequency<Real>(rope, a, b);
        first.push_back(turned(rope, origin, f, What::angle));
        step.push_back(turned(rope, spacing, f, What::angle));
      }
      lines[a] = std::make_unique<const LineTurns>(first, step, rope.size(a));
      return 0;
    });
    has_lines = true;
    return lines[a]->is_carried();
  }

  // A thread's cursor for each axis that is walked.
  using Cursors = std::vector<std::optional<LineTurns::Cursor>>;
  [[nodiscard]] Cursors& cursors() const {
    return num::kept_for<Cursors>(number, [&] {
      auto made = std::make_unique<Cursors>(lines.size());
      for (std::size_t a = 0; a < lines.size(); ++a)
        if (lines[a]) (*made)[a].emplace(*lines[a]);
      return made;
    });
  }
  [[nodiscard]] Near walked(Cursors& cursors, std::size_t axis, std::int64_t k, std::int64_t band, What what) const {
    const auto pair = static_cast<std::size_t>(band);
    if (what == What::angle) return lines[axis]->angle(k, pair);
    const num::Phasor& turn = cursors[axis]->at(k)[pair];
    return {what == What::sine ? turn.sin : turn.cos, lines[axis]->is_still(k, pair) ? 0 : LineTurns::error};
  }

  AxialRope rope;
  Tensor tensor;
  std::int64_t each;                ///< kept values for each coordinate and band: cos and sin, or the angle
  std::vector<std::int64_t> start;  ///< kept coordinates before each axis'
  StoredValues values;
  std::vector<std::unique_ptr<const LineTurns>> lines;  ///< of each axis that is not kept
  bool has_lines = false, is_fast = false;
  std::uint64_t number = num::new_owner();
};

AxialRopeTable::AxialRopeTable(const AxialRope& rope) : state_(std::make_shared<const State>(rope)) {}

template <class T>
T AxialRopeTable::element(std::size_t tensor, std::span<const std::int64_t> index) const {
  const AxialRope& s = state_->rope;
  if (s.row.part == RotaryPart::inv_freq) {
    const auto turn = s.turn(index[0]);
    if (!turn) return whole<T>(0);
    const T f = frequency<T>(s, turn->axis, turn->band);
    return s.pixels() ? f * T::pi() : f;
  }
  const RotaryRow::Value value = s.row.at(tensor, index);
  const auto place = s.grid.place(index[0]);
  const auto turn = s.turn(value.pair);
  if (!place || !turn) return still<T>(value.what);
  const std::int64_t k = (*place)[s.axes[turn->axis].coordinate];
  return turned(s, coordinate<T>(s, turn->axis, k), frequency<T>(s, turn->axis, turn->band), value.what);
}
template num::Real AxialRopeTable::element(std::size_t, std::span<const std::int64_t>) const;
template num::Bounded AxialRopeTable::element(std::size_t, std::span<const std::int64_t>) const;
template num::Float32 AxialRopeTable::element(std::size_t, std::span<const std::int64_t>) const;
template num::BFloat16 AxialRopeTable::element(std::size_t, std::span<const std::int64_t>) const;

void AxialRopeTable::fill(std::size_t tensor, Block& block) const {
  const State& s = *state_;
  const AxialRope& rope = s.rope;
  if (!s.is_fast) return plain_fill(*this, s.tensor, tensor, block);
  const ErrorBound kept = s.values.bound(true);
  State::Cursors* const cursors = s.has_lines ? &s.cursors() : nullptr;
  if (!cursors)
    for (std::int64_t r = 0; r < block.extent.rows; ++r) block.bounds[r] = s.values.bound(block.lo != nullptr);
  std::int64_t last_row = -1, column = 0;
  ErrorBound* bound = block.bounds;
  std::optional<TokenGrid::Place> place;
  RowBound row;
  each_element(s.tensor, block.extent, [&](std::span<const std::int64_t> index, std::int64_t at) {
    if (index[0] != last_row) place = rope.grid.place(last_row = index[0]);
    const RotaryRow::Value value = rope.row.at(tensor, index);
    const auto turn = rope.turn(value.pair);
    double& hi = block.hi[at];
    double* const lo = block.lo ? block.lo + at : nullptr;
    double error = 0;
    if (!place || !turn) {
      hi = still<num::Bounded>(value.what).v;
      if (lo) *lo = 0;
    } else if (const std::int64_t k = (*place)[rope.axes[turn->axis].coordinate]; s.lines[turn->axis]) {
      const Near near = s.walked(*cursors, turn->axis, k, turn->band, value.what);
      hi = near.v.hi + 0.0;  // no negative zero
      if (lo) *lo = near.v.lo;
      error = near.e;
    } else {
      s.values.put(((s.start[turn->axis] + k) * rope.bands() + turn->band) * s.each + (value.what == What::sine ? 1 : 0), &hi, lo);
      error = kept.absolute + kept.relative * std::fabs(hi);
    }
    if (!cursors) return;
    row.note(hi, error);
    if (++column < block.extent.cols) return;
    *bound = row.value();
    if (!lo) bound->relative += 0x1.0000000000001p-53;  // half an ulp
    ++bound;
    row = {};
    column = 0;
  });
}

std::int64_t AxialRopeTable::integer(std::size_t, std::span<const std::int64_t> index) const {
  const AxialRope& s = state_->rope;
  const TokenGrid::Place place = *s.grid.place(index[s.axis_first ? 1 : 0]);
  if (s.max_patches_per_side) return place[1] * *s.max_patches_per_side + place[2];
  return place[s.axes[static_cast<std::size_t>(index[s.axis_first ? 0 : 1])].coordinate];
}

}  // namespace posenc::detail
