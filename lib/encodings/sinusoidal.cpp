// sinusoidal: parameters, tensors, formula, fast fill. The laws are in sinusoidal_laws.cpp.
#include "encodings/sinusoidal.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "encodings/model.hpp"
#include "numeric/per_thread.hpp"
#include "numeric/rotation_rows.hpp"

namespace posenc {
namespace {

using num::Real;

bool is_odd(const Sinusoidal& s) { return s.dim % 2 != 0; }
bool has_zero_column(const Sinusoidal& s) { return is_odd(s) && s.odd == SinusoidalOdd::zero; }

// Longest over shortest timescale. Model code divides in binary64.
template <class T>
T ratio(const Sinusoidal& s) {
  if constexpr (std::is_same_v<T, Real> || std::is_same_v<T, num::Bounded>)
    return s.max_timescale ? T::of(*s.max_timescale) / T::of(s.min_timescale) : T::of(s.base);
  else
    return T::of(s.max_timescale ? *s.max_timescale / s.min_timescale : s.base);
}

// e_i = top / bottom.
struct Exponent {
  std::int64_t top, bottom;
};
Exponent exponent(const Sinusoidal& s, std::int64_t i) {
  switch (s.divisor) {
    case SinusoidalDivisor::n: return {2 * i, has_zero_column(s) ? s.dim - 1 : s.dim};
    case SinusoidalDivisor::n_minus_1: return {i, s.pairs() - 1};
    case SinusoidalDivisor::n_minus_1_guarded: break;
  }
  return {i, std::max<std::int64_t>(s.pairs() - 1, 1)};
}

// f_i = min_timescale * ratio^(-e_i): Vaswani et al. 2017, section 3.5, where min_timescale is 1.
template <class T>
T frequency(const Sinusoidal& s, std::int64_t i) {
  const Exponent e = exponent(s, i);
  const T scale = T::of(s.min_timescale);
  if constexpr (std::is_same_v<T, Real> || std::is_same_v<T, num::Bounded>) {
    return scale * pow(ratio<T>(s), -e.top, e.bottom);
  } else {
    // The power as GPT-J takes it; the logarithm in binary64 and the exponential as fairseq and tensor2tensor do, which
    // divide it before (fairseq, Whisper) or after (tensor2tensor) it becomes a narrow number.
    if (s.divisor == SinusoidalDivisor::n) return scale * (T::of(std::int64_t{1}) / pow(ratio<T>(s), e.top, e.bottom));
    const double logarithm = num::decide(DType::f64, [&] { return log(ratio<Real>(s)); });
    const T step = s.divisor == SinusoidalDivisor::n_minus_1 ? T::of(-(logarithm / static_cast<double>(e.bottom)))
                                                             : -(T::of(logarithm) / T::of(e.bottom));
    return scale * exp(T::of(e.top) * step);
  }
}

// Frequencies of an imitated arithmetic, made on first use.
template <class T>
class Imitated {
 public:
  const T& at(const Sinusoidal& s, std::int64_t i) const {
    std::call_once(once_, [&] {
      for (std::int64_t k = 0; k < s.frequencies(); ++k) values_.push_back(frequency<T>(s, k));
    });
    return values_[static_cast<std::size_t>(i)];
  }

 private:
  mutable std::once_flag once_;
  mutable std::vector<T> values_;
};

}  // namespace

std::int64_t Sinusoidal::frequencies() const {
  return pairs() + (dim % 2 != 0 && (odd == SinusoidalOdd::sine || odd == SinusoidalOdd::split) ? 1 : 0);
}

Sinusoidal::Channel Sinusoidal::channel(std::int64_t c) const {
  if (has_zero_column(*this) && c == dim - 1) return {-1, false};
  const bool sine_first = first == SinusoidalFirst::sine;
  if (layout == SinusoidalLayout::interleaved) return {c / 2, (c % 2 == 0) == sine_first};
  const std::int64_t leading = sine_first ? frequencies() : pairs();
  return c < leading ? Channel{c, sine_first} : Channel{c - leading, !sine_first};
}

std::int64_t Sinusoidal::channel_of(std::int64_t pair, bool sine) const {
  const bool sine_first = first == SinusoidalFirst::sine;
  if (layout == SinusoidalLayout::interleaved) return 2 * pair + (sine == sine_first ? 0 : 1);
  return sine == sine_first ? pair : pair + (sine_first ? frequencies() : pairs());
}

Real Sinusoidal::inv_freq(std::int64_t pair) const { return frequency<Real>(*this, pair); }
num::Float32 Sinusoidal::inv_freq_float32(std::int64_t pair) const { return frequency<num::Float32>(*this, pair); }

void Sinusoidal::check() const {
  if (max_timescale && base != Sinusoidal{}.base && base * min_timescale != *max_timescale)
    fail_usage(fmt::format("base {} and max_timescale {} (over min_timescale {}) disagree; give one of them", print(base),
                           print(*max_timescale), print(min_timescale)));
  if (is_odd(*this)) {
    if (odd == SinusoidalOdd::refuse)
      fail_usage(
          fmt::format("dim {} is odd and sines and cosines come in pairs; say with odd (sine, zero or split) what is meant", dim));
    if (odd == SinusoidalOdd::zero && dim == 1) fail_usage("dim 1 with odd zero leaves no room for a sine");
    if (odd != SinusoidalOdd::zero) {
      const std::string_view rule = enum_name(odd);
      if (first != SinusoidalFirst::sine)
        fail_usage(fmt::format("odd {} leaves a sine without its cosine; with first cos use odd zero", rule));
      if (divisor != SinusoidalDivisor::n)
        fail_usage(fmt::format("odd {} goes with divisor n; with divisor {} use odd zero", rule, enum_name(divisor)));
      const bool interleaved = layout == SinusoidalLayout::interleaved;
      if (interleaved != (odd == SinusoidalOdd::sine))
        fail_usage(fmt::format("odd {} goes with layout {}", rule, interleaved ? "concatenated" : "interleaved"));
    }
  }
  if (divisor == SinusoidalDivisor::n_minus_1 && pairs() == 1)
    fail_usage(fmt::format("dim {} has one pair, so divisor n-1 would divide by zero; use n-1-guarded (tensor2tensor) or n", dim));
  if (padding_row && *padding_row >= positions.size())
    fail_usage(fmt::format("padding_row {} is not a row of a table of {} rows (0 is the first)", *padding_row, positions.size()));
  (void)positions.shifted(offset);
}

std::vector<Tensor> Sinusoidal::tensors() const {
  return {{"table", {{"position", positions.size()}, {"channel", dim}}, Kind::real, "sin and cos of position * inv_freq"}};
}

struct Sinusoidal::Table::State {
  explicit State(const Sinusoidal& s)
      : spec(s), tensor(s.tensors()[0]), positions(s.positions.shifted(s.offset)), number(num::new_owner()) {
    for (std::int64_t c = 0; c < s.dim; ++c) channels.push_back(s.channel(c));
    if (has_zero_column(s)) {
      weights.assign(static_cast<std::size_t>(s.dim), 1.0);
      weights.back() = 0;
    }
  }

  // Phasors lose the bits that an angle has above 1; where frequencies pass 2^32 the general fill takes over.
  bool phasors_serve() const {
    const double lowest_ratio = std::min(1.0, ratio<num::Bounded>(spec).v);
    return spec.min_timescale / lowest_ratio <= 0x1p32;
  }
  const num::RotationRows* rotation() const {
    std::call_once(once, [&] {
      if (!phasors_serve()) return;
      const num::Precision precision(320);
      std::vector<Real> all;
      for (std::int64_t i = 0; i < spec.frequencies(); ++i) all.push_back(spec.inv_freq(i));
      rows = std::make_unique<num::RotationRows>(positions, all, Real::of(std::int64_t{1}));
    });
    return rows.get();
  }
  template <class T>
  T inv_freq(std::int64_t pair) const {
    if constexpr (std::is_same_v<T, num::Float32>)
      return float32.at(spec, pair);
    else if constexpr (std::is_same_v<T, num::BFloat16>)
      return bfloat16.at(spec, pair);
    else
      return frequency<T>(spec, pair);
  }
  [[nodiscard]] bool is_padding(std::int64_t row) const { return spec.padding_row && *spec.padding_row == row; }

  Sinusoidal spec;
  Tensor tensor;
  Positions positions;         ///< with the offset
  const std::uint64_t number;  ///< of this state, never used again
  std::vector<Channel> channels;
  std::vector<double> weights;  ///< of a zero column; empty when there is none

 private:
  Imitated<num::Float32> float32;
  Imitated<num::BFloat16> bfloat16;
  mutable std::once_flag once;
  mutable std::unique_ptr<num::RotationRows> rows;
};

Sinusoidal::Table::Table(const Sinusoidal& spec) : state_(std::make_shared<const State>(spec)) {}
Sinusoidal::Table Sinusoidal::table() const { return Table(*this); }

// PE(position, channel): Vaswani et al. 2017, section 3.5.
template <class T>
T Sinusoidal::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  const Channel channel = s.channels[static_cast<std::size_t>(index[1])];
  if (channel.pair < 0 || s.is_padding(index[0])) return T::of(std::int64_t{0});
  const T angle = T::of(s.positions[index[0]]) * s.template inv_freq<T>(channel.pair);
  return channel.sine ? sin(angle) : cos(angle);
}

// Puts rows of cosines and sines into the layout. Belongs to one thread; keeps the cursor's anchor from call to call.
class Sinusoidal::Table::Placer {
 public:
  Placer(const State& state, const num::RotationRows& rows)
      : spec_(state.spec), channels_(state.channels), cursor_(rows), cos_(count()), sin_(count()), phasors_(count()) {}

  // Part of one row, hi only; false where the position has no fast value.
  bool one(std::int64_t row, std::int64_t col, std::int64_t cols, double* out) {
    const bool whole = cols == spec_.dim;
    const std::int64_t n = spec_.pairs();
    const bool sine_first = spec_.first == SinusoidalFirst::sine;
    if (whole && spec_.layout == SinusoidalLayout::concatenated && spec_.frequencies() == n) {
      if (!cursor_.row(row, out + (sine_first ? n : 0), out + (sine_first ? 0 : n))) return false;
      if (spec_.dim % 2 != 0) out[spec_.dim - 1] = 0;
      return true;
    }
    if (!cursor_.row(row, cos_.data(), sin_.data())) return false;
    if (whole && spec_.layout == SinusoidalLayout::interleaved) {
      const double* a = sine_first ? sin_.data() : cos_.data();
      const double* b = sine_first ? cos_.data() : sin_.data();
      for (std::int64_t i = 0; i < n; ++i) {
        out[2 * i] = a[i];
        out[2 * i + 1] = b[i];
      }
      if (spec_.dim % 2 != 0) out[spec_.dim - 1] = spec_.frequencies() > n ? a[n] : 0.0;
      return true;
    }
    each(col, cols, [&](std::int64_t at, Channel c) { out[at] = c.pair < 0 ? 0 : (c.sine ? sin_ : cos_)[index(c)]; });
    return true;
  }

  // The same as two doubles a value.
  bool two(std::int64_t row, std::int64_t col, std::int64_t cols, double* hi, double* lo) {
    if (!cursor_.row2(row, phasors_.data())) return false;
    each(col, cols, [&](std::int64_t at, Channel c) {
      const num::TwoDouble value = c.pair < 0 ? num::TwoDouble{} : c.sine ? phasors_[index(c)].sin : phasors_[index(c)].cos;
      hi[at] = value.hi;
      lo[at] = value.lo;
    });
    return true;
  }

  // Position 0: sines 0, cosines 1.
  void origin(std::int64_t col, std::int64_t cols, double* out) const {
    each(col, cols, [&](std::int64_t at, Channel c) { out[at] = c.pair < 0 || c.sine ? 0 : 1; });
  }

 private:
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(spec_.frequencies()); }
  static std::size_t index(Channel c) { return static_cast<std::size_t>(c.pair); }
  template <class F>
  void each(std::int64_t col, std::int64_t cols, F&& f) const {
    for (std::int64_t at = 0; at < cols; ++at) f(at, channels_[static_cast<std::size_t>(col + at)]);
  }

  const Sinusoidal& spec_;
  const std::vector<Channel>& channels_;
  num::RotationRows::Cursor cursor_;
  std::vector<double> cos_, sin_;
  std::vector<num::Phasor> phasors_;
};

// Blocks may be a few rows, and an anchor costs as much as many rows: threads keep theirs.
Sinusoidal::Table::Placer& Sinusoidal::Table::placer(const num::RotationRows& rows) const {
  return num::kept_for<Placer>(state_->number, [&] { return std::make_unique<Placer>(*state_, rows); });
}

void Sinusoidal::Table::fill(std::size_t tensor, Block& block) const {
  const State& s = *state_;
  const num::RotationRows* rows = s.rotation();
  if (!rows) return detail::plain_fill(*this, s.tensor, tensor, block);
  const Extent& extent = block.extent;
  const ErrorBound bound = block.lo ? rows->bound2() : rows->bound();
  if (!s.weights.empty()) block.column_weight = s.weights.data() + extent.col;
  Placer& placed = placer(*rows);
  for (std::int64_t r = 0; r < extent.rows; ++r) {
    const std::int64_t row = extent.row + r;
    double* hi = block.hi + r * extent.cols;
    double* lo = block.lo ? block.lo + r * extent.cols : nullptr;
    const bool padding = s.is_padding(row);
    if (padding || s.positions[row] == 0) {
      if (padding)
        std::fill_n(hi, extent.cols, 0.0);
      else
        placed.origin(extent.col, extent.cols, hi);
      if (lo) std::fill_n(lo, extent.cols, 0.0);
      block.bounds[r] = {};
    } else if (lo ? placed.two(row, extent.col, extent.cols, hi, lo) : placed.one(row, extent.col, extent.cols, hi)) {
      block.bounds[r] = bound;
    } else {
      Block one{.extent = {row, 1, extent.col, extent.cols}, .hi = hi, .lo = lo, .bounds = block.bounds + r};
      detail::plain_fill(*this, s.tensor, tensor, one);
    }
  }
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(sinusoidal, Sinusoidal)
