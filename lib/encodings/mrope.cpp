// mrope: parameters, tensors, formula, fill. The ids are in mrope_ids.cpp, the laws in mrope_laws.cpp.
#include "encodings/mrope.hpp"

#include "encodings/model.hpp"
#include "encodings/mrope_ids.hpp"
#include "encodings/token_spans_field.hpp"
#include "numeric/phasor.hpp"
#include "numeric/rotation_rows.hpp"

namespace posenc {

std::array<std::int64_t, 3> Mrope::sections() const {
  if (mrope_section.size() == 3)
    return {static_cast<std::int64_t>(mrope_section[0]), static_cast<std::int64_t>(mrope_section[1]), static_cast<std::int64_t>(mrope_section[2])};
  const std::int64_t side = 3 * pairs() / 8;
  return {pairs() - 2 * side, side, side};
}

std::int64_t Mrope::axis(std::int64_t pair) const {
  const auto [t, h, w] = sections();
  if (arrangement == MropeArrangement::chunked) return pair < t ? 0 : pair < t + h ? 1 : 2;
  if (pair % 3 == 1 && pair < 3 * h) return 1;
  return pair % 3 == 2 && pair < 3 * w ? 2 : 0;
}

Mrope::Column Mrope::column(std::size_t tensor, std::int64_t c) const {
  const std::int64_t n = pairs();
  switch (layout) {
    case MropeLayout::half_width: return {c, tensor == 1};
    case MropeLayout::half: return {c % n, tensor == 1};
    case MropeLayout::interleaved: return {c / 2, tensor == 1};
    case MropeLayout::cache: return {c % n, c >= n};
    case MropeLayout::sin_cos: break;
  }
  return {c % n, c < 2 * n};
}

void Mrope::check() const {
  const std::int64_t lanes = rotary_dim.value_or(head_dim);
  if (lanes > head_dim) fail_usage(fmt::format("rotary_dim {} is larger than head_dim {}", lanes, head_dim));
  if (lanes < 2 || lanes % 2 != 0) fail_usage(fmt::format("the rotated width must be even and at least 2, got {}: lanes turn in pairs", lanes));
  if (!inv_freq.empty() && static_cast<std::int64_t>(inv_freq.size()) != pairs())
    fail_usage(fmt::format("inv_freq has {} entries, {} rotated lanes have {} pairs", inv_freq.size(), lanes, pairs()));
  if (!mrope_section.empty()) {
    if (mrope_section.size() != 3) fail_usage(fmt::format("mrope_section wants three numbers, for time, height and width, got {}", mrope_section.size()));
    for (const double n : mrope_section)
      if (n != std::floor(n)) fail_usage(fmt::format("mrope_section wants integers, got {}", print(n)));
    const auto [t, h, w] = sections();
    // Interleaved, what is left over goes to the time (timm).
    if (t + h + w != pairs() && !(arrangement == MropeArrangement::interleaved && t + h + w < pairs()))
      fail_usage(fmt::format("mrope_section {},{},{} makes {} pairs, {} rotated lanes have {}", t, h, w, t + h + w, lanes, pairs()));
  }
  if (position_ids.given()) {
    if (spans) fail_usage("spans and position_ids both say the ids; give one of them");
    check_shape(position_ids, {3, -1}, "position_ids");
    if (position_ids.shape[1] < 1) fail_usage("position_ids holds no position");
    for (const double id : position_ids.values)
      if (id != std::floor(id)) fail_usage(fmt::format("position_ids wants integers, got {}", print(id)));
  }
  if (spans) spans->check("spans");
  (void)MropeIds(*this);
}

std::vector<Tensor> Mrope::tensors() const {
  const Axis position{"position", MropeIds(*this).tokens()}, pair{"pair", pairs()}, lane{"lane", 2 * pairs()};
  switch (output) {
    case MropePart::position_ids: return {{"position_ids", {{"axis", 3}, position}, Kind::integer, "ids of time, height and width"}};
    case MropePart::axis: return {{"axis", {pair}, Kind::integer, "what turns the pair: 0 time, 1 height, 2 width"}};
    case MropePart::angles: return {{"angles", {position, pair}, Kind::real, "id of the pair's axis * inv_freq, radians"}};
    case MropePart::rotation: break;
  }
  if (layout == MropeLayout::cache) return {{"cos_sin", {position, lane}, Kind::real, "[cos | sin] times attention_factor"}};
  if (layout == MropeLayout::sin_cos)
    return {{"sin_cos", {position, {"lane", 4 * pairs()}}, Kind::real, "[sin | cos], each tiled, times attention_factor"}};
  const Axis column = layout == MropeLayout::half_width ? pair : lane;
  return {{"cos", {position, column}, Kind::real, "cos(id * inv_freq) times attention_factor"},
          {"sin", {position, column}, Kind::real, "sin(id * inv_freq) times attention_factor"}};
}

struct Mrope::Table::State {
  explicit State(const Mrope& s) : spec(s), ids(s) {
    for (std::int64_t i = 0; i < s.pairs(); ++i) {
      axis.push_back(s.axis(i));
      float32.push_back(s.frequency<num::Float32>(i));
      bfloat16.push_back(s.frequency<num::BFloat16>(i));
    }
    if (s.output == MropePart::rotation || s.output == MropePart::angles) num::at_precision(256, [&] { return make_fast(); });
  }

  template <class T>
  [[nodiscard]] T inv_freq(std::int64_t pair) const {
    if constexpr (std::is_same_v<T, num::Float32>)
      return float32[static_cast<std::size_t>(pair)];
    else if constexpr (std::is_same_v<T, num::BFloat16>)
      return bfloat16[static_cast<std::size_t>(pair)];
    else
      return spec.frequency<T>(pair);
  }
  [[nodiscard]] std::int64_t id(std::int64_t token, std::int64_t pair) const { return ids.at(axis[static_cast<std::size_t>(pair)], token); }

  // Where the rows of one axis go: number `local` among the axis' own pairs to a column of the tensor.
  struct Target {
    std::int64_t column;
    std::size_t local;
    bool sine;
  };

  Mrope spec;
  MropeIds ids;
  std::vector<std::int64_t> axis;  ///< of each pair
  std::vector<num::TwoDouble> two;  ///< part angles: the frequencies
  std::unique_ptr<num::RotationRows> rows[3];  ///< part rotation: of each axis' pairs; null without any
  std::size_t axis_pairs[3] = {};
  std::vector<Target> targets[2][3];  ///< [tensor][axis]

 private:
  int make_fast() {
    std::vector<num::Real> frequencies[3];
    std::vector<std::size_t> local;
    for (std::int64_t i = 0; i < spec.pairs(); ++i) {
      const num::Real f = spec.frequency<num::Real>(i);
      num::TwoDouble t;
      f.two_double(t.hi, t.lo);
      two.push_back(t);
      auto& own = frequencies[axis[static_cast<std::size_t>(i)]];
      local.push_back(own.size());
      own.push_back(f);
    }
    if (spec.output == MropePart::angles) return 0;
    for (std::int64_t a = 0; a < 3; ++a) {
      axis_pairs[a] = frequencies[a].size();
      if (frequencies[a].empty()) continue;
      std::vector<double> positions(static_cast<std::size_t>(ids.tokens()));
      for (std::int64_t n = 0; n < ids.tokens(); ++n) positions[static_cast<std::size_t>(n)] = static_cast<double>(ids.at(a, n));
      rows[a] = std::make_unique<num::RotationRows>(Positions::list(std::move(positions)), frequencies[a], num::Real::of(spec.attention_factor));
    }
    const std::vector<Tensor> tensors = spec.tensors();
    for (std::size_t t = 0; t < tensors.size(); ++t)
      for (std::int64_t c = 0; c < tensors[t].columns(); ++c) {
        const Column column = spec.column(t, c);
        const auto pair = static_cast<std::size_t>(column.pair);
        targets[t][axis[pair]].push_back({c, local[pair], column.sine});
      }
    return 0;
  }

  std::vector<num::Float32> float32;
  std::vector<num::BFloat16> bfloat16;
};

Mrope::Table::Table(const Mrope& spec) : state_(std::make_shared<const State>(spec)) {}
Mrope::Table Mrope::table() const { return Table(*this); }

std::int64_t Mrope::Table::integer(std::size_t, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  return s.spec.output == MropePart::axis ? s.axis[static_cast<std::size_t>(index[0])] : s.ids.at(index[0], index[1]);
}

// arXiv:2409.12191, section 2.1. An id of 0 turns nothing: exactly.
template <class T>
T Mrope::Table::element(std::size_t tensor, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  const bool angles = s.spec.output == MropePart::angles;
  const Column column = angles ? Column{index[1], false} : s.spec.column(tensor, index[1]);
  const std::int64_t id = s.id(index[0], column.pair);
  const T angle = id == 0 ? T::of(std::int64_t{0}) : T::of(id) * s.inv_freq<T>(column.pair);
  if (angles) return angle;
  return (column.sine ? sin(angle) : cos(angle)) * T::of(s.spec.attention_factor);
}

void Mrope::Table::fill(std::size_t tensor, Block& block) const {
  const State& s = *state_;
  const Extent& e = block.extent;
  if (s.spec.output == MropePart::angles) {
    for (std::int64_t r = 0; r < e.rows; ++r) {
      // id * (hi + lo): 2^-104 relative as two doubles on frequencies as near; cut to hi, half an ulp more.
      block.bounds[r] = {0, block.lo ? 0x1p-103 : 0x1p-52};
      for (std::int64_t c = 0; c < e.cols; ++c) {
        const std::int64_t pair = e.col + c, at = r * e.cols + c;
        const num::TwoDouble angle = s.two[static_cast<std::size_t>(pair)] * static_cast<double>(s.id(e.row + r, pair));
        block.hi[at] = angle.hi;
        if (block.lo) block.lo[at] = angle.lo;
      }
    }
    return;
  }
  for (std::int64_t r = 0; r < e.rows; ++r) block.bounds[r] = {};
  std::vector<double> cosines, sines;
  std::vector<num::Phasor> phasors;
  // Axis by axis, so that each keeps its cursor over the block's rows.
  for (std::size_t a = 0; a < 3; ++a) {
    if (!s.rows[a]) continue;
    const auto& targets = s.targets[tensor][a];
    const auto before = [](const State::Target& t, std::int64_t column) { return t.column < column; };
    const auto first = std::lower_bound(targets.begin(), targets.end(), e.col, before);
    const auto last = std::lower_bound(first, targets.end(), e.col + e.cols, before);
    if (first == last) continue;
    cosines.resize(s.axis_pairs[a]);
    sines.resize(s.axis_pairs[a]);
    phasors.resize(block.lo ? s.axis_pairs[a] : 0);
    num::RotationRows::Cursor& cursor = s.rows[a]->cursor();
    const ErrorBound bound = block.lo ? s.rows[a]->bound2() : s.rows[a]->bound();
    for (std::int64_t r = 0; r < e.rows; ++r) {
      const bool known = block.lo ? cursor.row2(e.row + r, phasors.data()) : cursor.row(e.row + r, cosines.data(), sines.data());
      if (!known) block.bounds[r].absolute = HUGE_VAL;
      block.bounds[r].absolute = std::max(block.bounds[r].absolute, bound.absolute);
      for (auto t = first; t != last; ++t) {
        const std::int64_t at = r * e.cols + t->column - e.col;
        if (block.lo) {
          const num::TwoDouble& value = t->sine ? phasors[t->local].sin : phasors[t->local].cos;
          block.hi[at] = value.hi;
          block.lo[at] = value.lo;
        } else {
          block.hi[at] = t->sine ? sines[t->local] : cosines[t->local];
        }
      }
    }
  }
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(mrope, Mrope)
