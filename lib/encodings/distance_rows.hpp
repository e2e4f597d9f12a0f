// Fast filling of biases [head, ..] that are functions of the distance: each row of a matrix is a window of one row that
// holds the head's bias at every distance. A thread computes that row when it comes to a head and keeps it; it holds no more
// than `longest` distances, 16 bytes each, beyond which every element is computed where it stands.
//
// F gives, for a head and a distance,
//   double exact(head, distance) const                         when F::is_exact: the values are doubles
//   double parts(head, distance, double& hi, double& lo) const     where F has it: both parts, and a bound on their sum
//   template <class T> T bias(head, distance) const            otherwise
#pragma once
#include <algorithm>
#include <cmath>

#include "encodings/attention_span.hpp"
#include "numeric/per_thread.hpp"
#include "numeric/scalar.hpp"

namespace posenc::detail {

/// hi and lo of one bias, and a bound on their distance from the truth; lo stays 0 unless `two`.
template <class F>
double distance_value(const F& f, std::int64_t head, std::int64_t distance, bool two, double& hi, double& lo) {
  hi = lo = 0;
  if constexpr (requires { f.parts(head, distance, hi, lo); }) {
    const double error = f.parts(head, distance, hi, lo);
    if (two) return error;
    const double rest = std::fabs(lo);
    lo = 0;
    return (error + rest) * (1 + 0x1p-50);
  } else {
    try {
      if (!two) {
        const num::Bounded value = f.template bias<num::Bounded>(head, distance);
        hi = value.v + 0.0;
        return std::isnan(value.v) || std::isnan(value.e) ? HUGE_VAL : value.e;
      }
      const num::Real value = f.template bias<num::Real>(head, distance);
      if (!value.is_infinite()) return value.two_double(hi, lo);
      hi = value.sign() < 0 ? -HUGE_VAL : HUGE_VAL;
      return 0;
    } catch (const num::Undecided&) {
      return HUGE_VAL;
    }
  }
}

/// hi (and lo, unless null) of `n` biases from distance `first` on; returns a bound for all of them: relative where the values
/// allow it, which leaves exact zeros exact.
template <class F>
ErrorBound distance_values(const F& f, std::int64_t head, std::int64_t first, std::int64_t n, double* hi, double* lo) {
  if constexpr (F::is_exact) {
    for (std::int64_t i = 0; i < n; ++i) hi[i] = f.exact(head, first + i) + 0.0;
    if (lo) std::fill_n(lo, n, 0.0);
    return {};
  } else {
    double largest = 0, relative = 0, at_zero = 0;
    bool zeros = false;  // exact ones
    const num::Precision precision(128);
    for (std::int64_t i = 0; i < n; ++i) {
      double rest = 0;
      const double error = distance_value(f, head, first + i, lo != nullptr, hi[i], lo ? lo[i] : rest);
      largest = std::max(largest, error);
      if (hi[i] == 0) {
        at_zero = std::max(at_zero, error);
        zeros = zeros || error == 0;
      } else if (std::isfinite(hi[i])) {
        relative = std::max(relative, error / std::fabs(hi[i]) * (1 + 0x1p-50));
      }
    }
    // An absolute bound would leave exact zeros undecided, each of them; a relative one of 2^-32 one value in 256 of binary32.
    const double small = zeros ? 0x1p-32 : 0x1p-40;
    return relative <= small ? ErrorBound{at_zero, relative} : ErrorBound{largest, 0};
  }
}

/// What a thread keeps of the head that it works on.
struct KeptRow {
  std::int64_t head = -1;
  bool two = false;
  std::vector<double> hi, lo;
  ErrorBound bound;
};

template <class F>
void fill_by_distance(const F& f, const AttentionSpan& span, std::uint64_t owner, Block& block) {
  constexpr std::int64_t longest = std::int64_t{1} << 20;
  const Extent& e = block.extent;
  const std::int64_t rows = span.rows(), distances = span.distances();
  const bool keep = span.form == SpanForm::matrix && distances <= longest;
  for (std::int64_t r = 0; r < e.rows; ++r) {
    const std::int64_t head = (e.row + r) / rows;
    const std::int64_t first = span.row_distance((e.row + r) % rows) + e.col;
    double* hi = block.hi + r * e.cols;
    double* lo = block.lo ? block.lo + r * e.cols : nullptr;
    if (!keep) {
      block.bounds[r] = distance_values(f, head, first, e.cols, hi, lo);
      continue;
    }
    KeptRow& kept = num::kept_for<KeptRow>(owner, [] { return std::make_unique<KeptRow>(); });
    if (kept.head != head || (lo && !kept.two)) {
      kept.head = -1;
      kept.hi.resize(static_cast<std::size_t>(distances));
      kept.lo.resize(lo ? kept.hi.size() : 0);
      kept.bound = distance_values(f, head, span.first_distance(), distances, kept.hi.data(), lo ? kept.lo.data() : nullptr);
      kept.head = head;
      kept.two = lo != nullptr;
    }
    const std::int64_t at = first - span.first_distance();
    std::copy_n(kept.hi.data() + at, e.cols, hi);
    if (lo) std::copy_n(kept.lo.data() + at, e.cols, lo);
    block.bounds[r] = kept.bound;
    // A row kept with its second parts is off by up to half an ulp when only the first part is asked for.
    if (!lo && kept.two) block.bounds[r].relative += 0x1.0000000000001p-53;
  }
}

}  // namespace posenc::detail
