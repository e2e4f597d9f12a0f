// axial_rope: tensors, formula, fill. The laws are in axial_rope_laws.cpp.
#include "encodings/axial_rope.hpp"

#include <algorithm>

#include "encodings/model.hpp"
#include "encodings/stored_values.hpp"
#include "numeric/half_turns.hpp"

namespace posenc::detail {
namespace {

using num::Real;
using What = RotaryRow::What;

// The largest number of values per coordinate that fill keeps; beyond it values are computed one by one.
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
  explicit State(const AxialRope& r) : rope(r), tensor(r.tensors()[0]), each(r.row.part == RotaryPart::angles ? 1 : 2) {
    if (rope.row.part == RotaryPart::inv_freq || rope.row.part == RotaryPart::coordinates) return;
    std::int64_t total = 0;
    for (std::size_t a = 0; a < rope.axes.size(); ++a) {
      start.push_back(total);
      if (rope.size(a) > kept_values) return;
      total += rope.size(a);
    }
    if (total > kept_values / (each * rope.bands())) return;
    const num::Precision precision(160);
    std::vector<Real> frequencies;
    for (std::size_t a = 0; a < rope.axes.size(); ++a)
      for (std::int64_t b = 0; b < rope.bands(); ++b) frequencies.push_back(frequency<Real>(rope, a, b));
    std::size_t axis = 0;
    values = StoredValues(total * rope.bands() * each, [&](std::int64_t i) {
      const std::int64_t band = i / each % rope.bands(), k = i / each / rope.bands();
      if (axis + 1 < start.size() && k == start[axis + 1]) ++axis;
      const Real& f = frequencies[axis * static_cast<std::size_t>(rope.bands()) + static_cast<std::size_t>(band)];
      return turned(rope, coordinate<Real>(rope, axis, k - start[axis]), f, each == 1 ? What::angle : i % 2 == 0 ? What::cosine : What::sine);
    });
  }

  AxialRope rope;
  Tensor tensor;
  std::int64_t each;                ///< kept values for each coordinate and band: cos and sin, or the angle
  std::vector<std::int64_t> start;  ///< kept coordinates before each axis'
  StoredValues values;
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
  if (s.values.size() == 0) return plain_fill(*this, s.tensor, tensor, block);
  for (std::int64_t r = 0; r < block.extent.rows; ++r) block.bounds[r] = s.values.bound(block.lo != nullptr);
  std::int64_t last_row = -1;
  std::optional<TokenGrid::Place> place;
  each_element(s.tensor, block.extent, [&](std::span<const std::int64_t> index, std::int64_t at) {
    if (index[0] != last_row) place = rope.grid.place(last_row = index[0]);
    const RotaryRow::Value value = rope.row.at(tensor, index);
    const auto turn = rope.turn(value.pair);
    if (!place || !turn) {
      block.hi[at] = still<num::Bounded>(value.what).v;
      if (block.lo) block.lo[at] = 0;
      return;
    }
    const std::int64_t k = s.start[turn->axis] + (*place)[rope.axes[turn->axis].coordinate];
    s.values.put((k * rope.bands() + turn->band) * s.each + (value.what == What::sine ? 1 : 0), block.hi + at, block.lo ? block.lo + at : nullptr);
  });
}

std::int64_t AxialRopeTable::integer(std::size_t, std::span<const std::int64_t> index) const {
  const AxialRope& s = state_->rope;
  const TokenGrid::Place place = *s.grid.place(index[s.axis_first ? 1 : 0]);
  if (s.max_patches_per_side) return place[1] * *s.max_patches_per_side + place[2];
  return place[s.axes[static_cast<std::size_t>(index[s.axis_first ? 0 : 1])].coordinate];
}

}  // namespace posenc::detail
