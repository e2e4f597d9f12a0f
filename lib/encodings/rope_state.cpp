#include "encodings/rope_state.hpp"

#include <algorithm>

#include "numeric/rotation_rows.hpp"

namespace posenc {

// Frequencies and fast tables are made on first use and kept: truths are asked for one element at a time.
struct RopeState::Caches {
  std::mutex mutex;
  std::map<std::pair<int, std::size_t>, std::vector<num::Real>> real;  ///< by (precision, set)
  std::map<std::size_t, std::vector<num::Float32>> float32;
  std::map<std::size_t, std::vector<num::BFloat16>> bfloat16;
  std::map<std::size_t, std::vector<num::Bounded>> bounded;
  struct FastSlot {
    std::once_flag once;
    std::unique_ptr<Fast> made;
  };
  std::vector<FastSlot> fast;  ///< by set
};

// What fill needs of one frequency set.
struct RopeState::Fast {
  std::unique_ptr<num::RotationRows> rows;    ///< layouts of cos and sin
  std::vector<num::TwoDouble> frequencies;    ///< layout angles
  std::vector<double> cos_weight, sin_weight;  ///< column weights of one row of pairs; empty when every pair turns
};

RopeState::RopeState(const Rope& r)
    : rope(r), geometry(r.geometry()), positions(r.positions.shifted(r.offset)), tensors(r.tensors()), pairs(r.pairs()),
      stride(r.stride()), caches_(std::make_unique<Caches>()) {
  const std::size_t sets = std::visit([&](const auto& rule) { return rescale::sets_of(rule, geometry).size(); }, rope.rule);
  parts = tensors.size() / sets;
  caches_->fast = std::vector<Caches::FastSlot>(sets);
}

RopeState::~RopeState() = default;

template <class T>
T RopeState::formula(std::size_t set, std::int64_t pair) const {
  if (pair >= geometry.rotary_dim / 2) return T::of(std::int64_t{0});
  if (!rope.inv_freq.empty()) return T::of(rope.inv_freq[static_cast<std::size_t>(pair)]);
  return std::visit([&](const auto& rule) { return rule.template inv_freq<T>(geometry, pair, set); }, rope.rule);
}

template <class T>
const std::vector<T>& RopeState::cached(std::size_t set) const {
  const std::lock_guard lock(caches_->mutex);
  std::vector<T>* list = nullptr;
  if constexpr (std::is_same_v<T, num::Real>) list = &caches_->real[{num::Precision::bits(), set}];
  else if constexpr (std::is_same_v<T, num::Float32>) list = &caches_->float32[set];
  else if constexpr (std::is_same_v<T, num::BFloat16>) list = &caches_->bfloat16[set];
  else list = &caches_->bounded[set];
  if (list->empty()) {
    std::vector<T> made;
    for (std::int64_t i = 0; i < pairs; ++i) made.push_back(formula<T>(set, i));  // may throw Undecided: keep nothing then
    *list = std::move(made);
  }
  return *list;  // map nodes stay where they are
}

template <class T>
T RopeState::inv_freq(std::size_t set, std::int64_t pair) const {
  return cached<T>(set)[static_cast<std::size_t>(pair)];
}
template num::Real RopeState::inv_freq(std::size_t, std::int64_t) const;
template num::Float32 RopeState::inv_freq(std::size_t, std::int64_t) const;
template num::BFloat16 RopeState::inv_freq(std::size_t, std::int64_t) const;
template num::Bounded RopeState::inv_freq(std::size_t, std::int64_t) const;

num::Real RopeState::amplitude_real() const {
  if (rope.attention_factor) return num::Real::of(*rope.attention_factor);
  return std::visit([&](const auto& rule) { return rescale::attention_factor_of(rule, geometry); }, rope.rule);
}

const RopeState::Fast& RopeState::fast(std::size_t set) const {
  Caches::FastSlot& slot = caches_->fast[set];
  std::call_once(slot.once, [&] { slot.made = make_fast(set); });
  return *slot.made;
}

std::unique_ptr<RopeState::Fast> RopeState::make_fast(std::size_t set) const {
  auto made = std::make_unique<Fast>();
  num::at_precision(256, [&] {
    const std::vector<num::Real> frequencies = cached<num::Real>(set);
    if (rope.layout == RopeLayout::angles) {
      for (const num::Real& f : frequencies) {
        num::TwoDouble two;
        f.two_double(two.hi, two.lo);
        made->frequencies.push_back(two);
      }
    } else {
      made->rows = std::make_unique<num::RotationRows>(positions, frequencies, amplitude_real());
    }
    return 0;
  });
  // Pairs that do not turn have an exact sine of 0; their cosine is the amplitude, rounded like the others.
  const auto turns = [&](std::int64_t i) {
    return i < geometry.rotary_dim / 2 && (rope.inv_freq.empty() || rope.inv_freq[static_cast<std::size_t>(i)] != 0);
  };
  std::vector<double> weights;
  for (std::int64_t i = 0; i < pairs; ++i) weights.push_back(turns(i) ? 1 : 0);
  if (std::find(weights.begin(), weights.end(), 0) != weights.end()) {
    made->cos_weight.assign(weights.size(), 1);
    made->sin_weight = std::move(weights);
  }
  return made;
}

namespace {

// Where cos and sin of pair i go in a row of the layout.
enum class Place { plain, tiled, repeated, joined, woven };

Place place_of(RopeLayout layout) {
  switch (layout) {
    case RopeLayout::half: return Place::tiled;
    case RopeLayout::interleaved: return Place::repeated;
    case RopeLayout::cache: return Place::joined;
    case RopeLayout::complex: return Place::woven;
    default: return Place::plain;
  }
}

// One row of `n` pairs laid out; cos or sin may be null where the tensor does not hold it.
template <class Take>
void lay(Place place, std::size_t n, bool sine, Take&& take, double* out) {
  switch (place) {
    case Place::plain:
      for (std::size_t i = 0; i < n; ++i) out[i] = take(i, sine);
      break;
    case Place::tiled:
      for (std::size_t i = 0; i < n; ++i) out[i] = out[n + i] = take(i, sine);
      break;
    case Place::repeated:
      for (std::size_t i = 0; i < n; ++i) out[2 * i] = out[2 * i + 1] = take(i, sine);
      break;
    case Place::joined:
      for (std::size_t i = 0; i < n; ++i) out[i] = take(i, false);
      for (std::size_t i = 0; i < n; ++i) out[n + i] = take(i, true);
      break;
    case Place::woven:
      for (std::size_t i = 0; i < n; ++i) {
        out[2 * i] = take(i, false);
        out[2 * i + 1] = take(i, true);
      }
      break;
  }
}

}  // namespace

bool RopeState::fill(std::size_t tensor, Block& block) const {
  using num::Phasor;
  using num::TwoDouble;
  if (rope.layout == RopeLayout::inv_freq || rope.layout == RopeLayout::divisors || rope.layout == RopeLayout::matrix) return false;
  const Fast& f = fast(tensor / parts);
  const bool sine = tensor % parts == 1;
  const auto n = static_cast<std::size_t>(pairs);
  const Extent& e = block.extent;

  if (rope.layout == RopeLayout::angles) {
    for (std::int64_t r = 0; r < e.rows; ++r) {
      const double x = positions[e.row + r];
      // x * (hi + lo): 2^-104 relative as two doubles; cut to hi, half an ulp more.
      block.bounds[r] = {0, block.lo ? 0x1p-103 : 0x1p-52};
      for (std::int64_t c = 0; c < e.cols; ++c) {
        const TwoDouble angle = f.frequencies[static_cast<std::size_t>(e.col + c)] * x;
        const std::int64_t at = r * e.cols + c;
        block.hi[at] = angle.hi;
        if (block.lo) block.lo[at] = angle.lo;
      }
    }
    return true;
  }

  const Place place = place_of(rope.layout);
  // The row is a complex tensor's (pair, re/im) cut per pair: rows are (position, pair), columns the two parts.
  const bool woven = place == Place::woven;
  const std::int64_t per_position = woven ? pairs : 1;
  const std::int64_t width = tensors[tensor].columns() * per_position;
  const ErrorBound bound = block.lo ? f.rows->bound2() : f.rows->bound();
  thread_local std::vector<double> row, weights;
  thread_local std::vector<Phasor> phasors;
  num::RotationRows::Cursor& cursor = f.rows->cursor();

  if (!f.sin_weight.empty() && !woven) {
    weights.resize(static_cast<std::size_t>(width));
    lay(place, n, sine, [&](std::size_t i, bool s) { return s ? f.sin_weight[i] : f.cos_weight[i]; }, weights.data());
    block.column_weight = weights.data() + e.col;
  }

  row.resize(static_cast<std::size_t>(2 * width + 2 * pairs));
  double* const laid_hi = row.data();
  double* const laid_lo = laid_hi + width;
  double* const cosines = laid_lo + width;
  double* const sines = cosines + pairs;
  const std::int64_t first = e.row / per_position, last = (e.row + e.rows - 1) / per_position;
  for (std::int64_t p = first; p <= last && e.rows > 0; ++p) {
    // This position's share of the extent, as offsets into its laid-out row and into the block.
    const std::int64_t begin = std::max(e.row, p * per_position) - p * per_position;
    const std::int64_t end = std::min(e.row + e.rows, (p + 1) * per_position) - p * per_position;
    const std::int64_t source = begin * tensors[tensor].columns() + e.col;
    const std::int64_t count = (end - begin - 1) * tensors[tensor].columns() + e.cols;
    const std::int64_t target = (p * per_position + begin - e.row) * e.cols;
    const bool whole = source == 0 && count == width;
    double* const hi = whole ? block.hi + target : laid_hi;
    bool known = false;
    if (block.lo) {
      phasors.resize(n);
      known = cursor.row2(p, phasors.data());
      double* const lo = whole ? block.lo + target : laid_lo;
      lay(place, n, sine, [&](std::size_t i, bool s) { return s ? phasors[i].sin.hi : phasors[i].cos.hi; }, hi);
      lay(place, n, sine, [&](std::size_t i, bool s) { return s ? phasors[i].sin.lo : phasors[i].cos.lo; }, lo);
      if (!whole) std::copy(lo + source, lo + source + count, block.lo + target);
    } else if (place == Place::plain || place == Place::tiled) {
      known = cursor.row(p, sine ? nullptr : hi, sine ? hi : nullptr);
      if (place == Place::tiled) std::copy(hi, hi + n, hi + n);
    } else if (place == Place::joined) {
      known = cursor.row(p, hi, hi + n);
    } else {
      known = cursor.row(p, sine && !woven ? nullptr : cosines, sine || woven ? sines : nullptr);
      lay(place, n, sine, [&](std::size_t i, bool s) { return s ? sines[i] : cosines[i]; }, hi);
    }
    if (!whole) std::copy(hi + source, hi + source + count, block.hi + target);
    for (std::int64_t r = begin; r < end; ++r)
      block.bounds[p * per_position + r - e.row] = known ? bound : ErrorBound{HUGE_VAL, 0};
  }
  return true;
}

bool RopeState::rounded(std::size_t tensor, const Extent& e, float* out, std::vector<std::uint32_t>& undecided) const {
  const Place place = place_of(rope.layout);
  const bool turns = rope.layout == RopeLayout::half_width || place == Place::tiled || place == Place::joined;
  const std::int64_t width = tensors[tensor].columns();
  if (!turns || e.col != 0 || e.cols != width) return false;
  const Fast& f = fast(tensor / parts);
  if (!f.sin_weight.empty()) return false;
  num::RotationRows::Cursor& cursor = f.rows->cursor();
  const auto step = static_cast<std::size_t>(width);
  const auto n = static_cast<std::size_t>(pairs);
  const bool sine = tensor % parts == 1;
  const std::size_t before = undecided.size();
  if (!cursor.rows_f32(e.row, e.rows, place != Place::joined && sine, out, step, undecided)) {
    undecided.resize(before);
    return false;
  }
  if (place == Place::joined) {
    const std::size_t cosines = undecided.size();
    cursor.rows_f32(e.row, e.rows, true, out + n, step, undecided);
    for (std::size_t u = cosines; u < undecided.size(); ++u) undecided[u] += static_cast<std::uint32_t>(n);
  } else if (place == Place::tiled) {
    for (std::int64_t r = 0; r < e.rows; ++r) {
      float* row = out + static_cast<std::size_t>(r) * step;
      std::copy(row, row + n, row + n);
    }
    const std::size_t firsts = undecided.size();
    for (std::size_t u = before; u < firsts; ++u) undecided.push_back(undecided[u] + static_cast<std::uint32_t>(n));
  }
  return true;
}

}  // namespace posenc
