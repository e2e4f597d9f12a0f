// BEiT's resizing of a window's offsets (microsoft/unilm beit/run_class_finetuning.py; timm resize_rel_pos_bias_table). Of the n
// = 2 m + 1 old offsets of an axis the j-th from the centre is taken to lie at 1 + q + .. + q^(j - 1), with q such that the last
// lies at t, the N = 2 t + 1 new offsets at -t .. t. q is the last midpoint of a bisection of [1.01, 1.5] that ends at a width
// of 1e-6: where sizes differ much, or little, it stops at an end, and what lies beyond the last old offset has its row.
//   geometric         linear between old offsets (timm)
//   geometric-spline  the cubic spline that FITPACK interpolates with: no knot at the second and the last but one offset (scipy
//                     interp2d, kind cubic); its weights come from the collocation matrix of its B-splines
#include <algorithm>
#include <array>
#include <memory>

#include "axis_map.hpp"

namespace posenc::resampling {
namespace {

using num::Real;
using Reals = std::vector<Real>;

Real of(std::int64_t value) { return Real::of(value); }

// 1 + q + .. + q^(m - 1).
Real progression(const Real& q, std::int64_t m) {
  Real sum;
  for (std::int64_t i = 0; i < m; ++i) sum = sum * q + of(1);
  return sum;
}

double ratio(std::int64_t m, std::int64_t t) {
  double left = 1.01, right = 1.5, q = left;
  while (right - left > 1e-6) {
    q = (left + right) / 2;
    (progression(Real::of(q), m) > of(t) ? right : left) = q;
  }
  return q;
}

// Where the old offsets lie, ascending.
Reals offsets(std::int64_t n, std::int64_t new_n) {
  const std::int64_t m = n / 2;
  const Real q = Real::of(ratio(m, new_n / 2));
  Reals x(static_cast<std::size_t>(n));
  Real at, power = of(1);
  for (std::int64_t j = 1; j <= m; ++j, power *= q) {
    at += power;
    x[static_cast<std::size_t>(m + j)] = at;
    x[static_cast<std::size_t>(m - j)] = -at;
  }
  return x;
}

// Of the new offset t: an old one that has its place or is the last on its side; or the last old one below it.
struct Place {
  bool at_offset;
  std::int64_t index;
};
Place place(const Reals& x, const Real& t) {
  const auto last = static_cast<std::int64_t>(x.size()) - 1;
  if (t <= x.front()) return {true, 0};
  if (t >= x.back()) return {true, last};
  std::int64_t below = 0, above = last;
  while (above - below > 1) {
    const std::int64_t middle = below + (above - below) / 2;
    (x[static_cast<std::size_t>(middle)] <= t ? below : above) = middle;
  }
  return {x[static_cast<std::size_t>(below)] == t, below};
}

// Cubic B-splines over the offsets without knots at the second and the last but one.
class Spline {
 public:
  explicit Spline(const Reals& x) : n_(static_cast<std::int64_t>(x.size())) {
    knots_.assign(4, x.front());
    knots_.insert(knots_.end(), x.begin() + 2, x.end() - 2);
    knots_.insert(knots_.end(), 4, x.back());
    // Column i of the transposed collocation matrix: the B-splines at offset i. It is totally positive and its band reaches 3
    // from the diagonal, so that elimination needs no pivots and fills nothing in.
    rows_.assign(static_cast<std::size_t>(n_), Reals(static_cast<std::size_t>(n_)));
    for (std::int64_t i = 0; i < n_; ++i) {
      const auto [first, values] = at(x[static_cast<std::size_t>(i)]);
      for (std::int64_t d = 0; d < 4; ++d) row(first + d)[static_cast<std::size_t>(i)] = values[static_cast<std::size_t>(d)];
    }
    for (std::int64_t k = 0; k < n_; ++k)
      for (std::int64_t i = k + 1; i < std::min(k + 4, n_); ++i) {
        Real& factor = row(i)[static_cast<std::size_t>(k)];
        factor /= row(k)[static_cast<std::size_t>(k)];
        for (std::int64_t j = k + 1; j < std::min(k + 4, n_); ++j) row(i)[static_cast<std::size_t>(j)] -= factor * row(k)[static_cast<std::size_t>(j)];
      }
  }

  /// Weights of all offsets at t, within them.
  [[nodiscard]] Reals weights(const Real& t) const {
    Reals w(static_cast<std::size_t>(n_));
    const auto [first, values] = at(t);
    for (std::int64_t d = 0; d < 4; ++d) w[static_cast<std::size_t>(first + d)] = values[static_cast<std::size_t>(d)];
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t k = std::max<std::int64_t>(i - 3, 0); k < i; ++k)
        w[static_cast<std::size_t>(i)] -= row(i)[static_cast<std::size_t>(k)] * w[static_cast<std::size_t>(k)];
    for (std::int64_t i = n_ - 1; i >= 0; --i) {
      for (std::int64_t k = i + 1; k < std::min(i + 4, n_); ++k)
        w[static_cast<std::size_t>(i)] -= row(i)[static_cast<std::size_t>(k)] * w[static_cast<std::size_t>(k)];
      w[static_cast<std::size_t>(i)] /= row(i)[static_cast<std::size_t>(i)];
    }
    return w;
  }

 private:
  Reals& row(std::int64_t i) { return rows_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Reals& row(std::int64_t i) const { return rows_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Real& knot(std::int64_t i) const { return knots_[static_cast<std::size_t>(i)]; }

  struct Values {
    std::int64_t first;
    std::array<Real, 4> values;
  };
  /// The four B-splines that are not 0 at x (de Boor's recurrence).
  [[nodiscard]] Values at(const Real& x) const {
    std::int64_t span = 3;
    while (span + 1 < n_ && knot(span + 1) <= x) ++span;
    std::array<Real, 4> b{of(1), Real(), Real(), Real()};
    for (std::int64_t degree = 1; degree <= 3; ++degree) {
      Real saved;
      for (std::int64_t r = 0; r < degree; ++r) {
        const Real right = knot(span + r + 1) - x, left = x - knot(span + r + 1 - degree);
        const Real part = b[static_cast<std::size_t>(r)] / (right + left);
        b[static_cast<std::size_t>(r)] = saved + right * part;
        saved = left * part;
      }
      b[static_cast<std::size_t>(degree)] = saved;
    }
    return {span - 3, b};
  }

  std::int64_t n_;
  Reals knots_;
  std::vector<Reals> rows_;  // L below the diagonal, U on it and above
};

}  // namespace

AxisMap geometric_map(std::int64_t n, std::int64_t new_n) {
  return [x = std::make_shared<const Reals>(offsets(n, new_n)), new_n](std::int64_t k) {
    const Real t = of(k - new_n / 2);
    const auto [at_offset, i] = place(*x, t);
    if (at_offset) return copy_of(i);
    const Real& below = (*x)[static_cast<std::size_t>(i)];
    const Real w = (t - below) / ((*x)[static_cast<std::size_t>(i + 1)] - below);
    return gathered({{i, of(1) - w}, {i + 1, w}});
  };
}

AxisMap geometric_spline_map(std::int64_t n, std::int64_t new_n) {
  const auto x = std::make_shared<const Reals>(offsets(n, new_n));
  return [x, spline = std::make_shared<const Spline>(*x), new_n](std::int64_t k) {
    const Real t = of(k - new_n / 2);
    const auto [at_offset, i] = place(*x, t);
    if (at_offset) return copy_of(i);
    Taps taps;
    const Reals weights = spline->weights(t);
    for (std::size_t j = 0; j < weights.size(); ++j) taps.push_back({static_cast<std::int64_t>(j), weights[j]});
    return taps;
  };
}

}  // namespace posenc::resampling
