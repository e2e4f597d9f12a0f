#include "numeric/cosine_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "numeric/decide.hpp"

namespace posenc::num {
namespace {

constexpr double ulp = 0x1p-53;

// cos(2 pi r) for |r| <= 1/2 by its series to r^22. The next term is at most pi^24 / 24! < 1.5e-12; rounding adds less than 1e-14.
constexpr double quick_error = 2e-12;
constexpr auto series = [] {
  std::array<double, 12> c{};
  double term = 1;
  for (int k = 0; k < 12; ++k) {
    c[static_cast<std::size_t>(k)] = term;
    term *= -4 * std::numbers::pi * std::numbers::pi / ((2 * k + 1) * (2 * k + 2));
  }
  return c;
}();
double cos_turns(double r) {
  const double x = r * r;
  double y = series[11];
  for (std::size_t k = 11; k-- > 0;) y = y * x + series[k];
  return y;
}

// A block of positions is walked in binary32: lanes of `width` positions, `steps` of them by cos(a + b) = 2 cos(b) cos(a) - cos(a - b).
constexpr int width = 16, steps = 32, block = width * steps;
// Frequencies below this are the same short polynomial around the middle of a block.
constexpr double slow = 0.25 / (block / 2);
// Error per pair. Walked: start values are off by 3e-7 (three roundings of numbers up to 1), which the recurrence multiplies by at most
// 2 steps + 1 (Chebyshev polynomials of the second kind are at most k + 1): 2e-5; each step adds 3e-7 (rounded factor, product,
// difference), multiplied by what is left to walk: steps^2 / 2 * 3e-7 = 1.54e-4. Slow: |x| <= 1/4 leaves x^5 / 120 < 1e-5.
// Sums over at most `group` pairs in binary32: group * 2^-24 a pair. Angles: below 1e-6 for positions below 2^30.
constexpr std::size_t group = 128;
constexpr double walk_error = 2e-4;
// Low places beyond this many (and a block) are not collected.
constexpr std::size_t most_low = 1 << 16;
// Blocks walked by exact rotation of the middle before it is computed anew.
constexpr std::int64_t refresh = 64;

struct Point {
  double re, im;
};
Point unit(double angle) { return {std::cos(angle), std::sin(angle)}; }
Point operator*(Point a, Point b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

// What a scan keeps of a pair that is walked: re and im at the lanes, seen from the middle, of the first step and the one before it.
struct Walker {
  std::array<float, width> re, im, re_before, im_before;
  float factor;  ///< 2 cos(width * theta)
};

Walker walker(double theta) {
  Walker w{};
  for (int lane = 0; lane < width; ++lane) {
    const Point first = unit((lane - block / 2) * theta), before = unit((lane - width - block / 2) * theta);
    const auto at = static_cast<std::size_t>(lane);
    w.re[at] = static_cast<float>(first.re), w.im[at] = static_cast<float>(first.im);
    w.re_before[at] = static_cast<float>(before.re), w.im_before[at] = static_cast<float>(before.im);
  }
  w.factor = static_cast<float>(2 * std::cos(width * theta));
  return w;
}

using Lanes [[gnu::vector_size(16), gnu::may_alias]] = float;
constexpr int registers = width / 4;

void walk(const Walker& w, Point middle, float* sums) {
  Lanes now[registers], before[registers];
  const Lanes re = Lanes{} + static_cast<float>(middle.re), im = Lanes{} + static_cast<float>(middle.im), factor = Lanes{} + w.factor;
  for (int q = 0; q < registers; ++q) {
    const auto lane = [q](const std::array<float, width>& a) { return Lanes{a[4 * q], a[4 * q + 1], a[4 * q + 2], a[4 * q + 3]}; };
    now[q] = re * lane(w.re) - im * lane(w.im);
    before[q] = re * lane(w.re_before) - im * lane(w.im_before);
  }
  auto* out = reinterpret_cast<Lanes*>(sums);
  for (int k = 0; k < steps; k += 2, out += 2 * registers)
    for (int q = 0; q < registers; ++q) {
      out[q] += now[q];
      before[q] = factor * now[q] - before[q];
      out[registers + q] += before[q];
      now[q] = factor * before[q] - now[q];
    }
}

}  // namespace

CosineSum::CosineSum(Exact exact) : exact_(std::move(exact)) {
  const auto reduce = [&] {
    frequencies_.clear();
    bool fast = false;
    const Real turn = Real::of(std::int64_t{2}) * Real::pi(), half = Real::of(0.5), largest = Real::of(0x1p30);
    for (const Real& f : exact_()) {
      fast = fast || abs(f) > largest;
      frequencies_.push_back((f - floor(f / turn + half) * turn).to_double());
    }
    return fast;
  };
  // Enough bits to reduce what a double can hold modulo 2 pi.
  if (at_precision(192, reduce)) at_precision(1536, reduce);
  // The frequency, its product with m, with 1 / 2 pi, and that constant are each rounded.
  for (const double f : frequencies_) drift_ += 5 * ulp * std::fabs(f);
}

CosineSum CosineSum::geometric(double base, std::int64_t pairs, std::int64_t denominator) {
  CosineSum sum;
  // pow is within 4 units of the last place wherever this is built, its rounded exponent is worth |ln ratio| more, and each product one:
  // in halves of such units.
  const double each = 10 + 2 * std::fabs(std::log(base)) / static_cast<double>(denominator);
  const double ratio = std::pow(base, -2.0 / static_cast<double>(denominator));
  double f = 1;
  for (std::int64_t i = 0; i < pairs; ++i, f *= ratio) {
    sum.frequencies_.push_back(f);
    sum.drift_ += (each * static_cast<double>(i) + 5) * ulp * f;
  }
  sum.exact_ = [=] {
    std::vector<Real> list;
    for (std::int64_t i = 0; i < pairs; ++i) list.push_back(Real::of(std::int64_t{1}) / pow(Real::of(base), 2 * i, denominator));
    return list;
  };
  return sum;
}

double CosineSum::quick(std::int64_t m) const {
  constexpr double per_turn = 0.5 / std::numbers::pi, whole = 0x1.8p52;  // adding and subtracting it rounds to an integer
  const double x = static_cast<double>(m);
  std::array<double, 4> sums{};
  const std::size_t n = frequencies_.size(), even = n / 4 * 4;
  const auto term = [&](std::size_t i) {
    const double turns = x * frequencies_[i] * per_turn;
    return cos_turns(turns - ((turns + whole) - whole));
  };
  for (std::size_t i = 0; i < even; i += 4)
    for (std::size_t k = 0; k < 4; ++k) sums[k] += term(i + k);
  for (std::size_t i = even; i < n; ++i) sums[0] += term(i);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

bool CosineSum::negative(std::int64_t m) const {
  if (m == 0 || frequencies_.empty()) return false;
  const double n = static_cast<double>(pairs()), f = quick(m);
  // Adding n numbers up to 1 is off by n * n * ulp at most.
  const double bound = static_cast<double>(m) * drift_ + n * (quick_error + n * ulp);
  if (f > bound) return false;
  if (f < -bound) return true;
  return at_precision(256, [&] {
    Real sum;
    for (const Real& theta : exact_()) sum += cos(Real::of(m) * theta);
    return sum.sign() < 0;
  });
}

std::optional<std::int64_t> CosineSum::scan(std::int64_t count, Low* low, float threshold) const {
  struct Pair {
    double theta;
    Point middle, turn;
  };
  std::vector<Pair> walked, slowly;
  std::vector<Walker> walkers;
  for (const double theta : frequencies_) {
    const bool fast = std::fabs(theta) > slow;
    (fast ? walked : slowly).push_back({theta, {}, unit(block * theta)});
    if (fast) walkers.push_back(walker(theta));
  }
  const double guard = static_cast<double>(pairs()) * (walk_error + static_cast<double>(group) * 0x1p-24);
  std::vector<double> totals(block);
  alignas(64) std::array<float, block> sums{};
  std::optional<std::int64_t> first;
  for (std::int64_t number = 0, begin = 0; begin < count; ++number, begin += block) {
    const auto advance = [&](Pair& p) {
      p.middle = number % refresh == 0 ? unit(static_cast<double>(begin + block / 2) * p.theta) : p.middle * p.turn;
    };
    std::array<double, 5> slope{};  // of x^k, x from -1 to 1 over the block
    for (Pair& p : slowly) {
      advance(p);
      const double h = p.theta * (block / 2);
      slope[0] += p.middle.re;
      slope[1] -= p.middle.im * h;
      slope[2] -= p.middle.re * h * h / 2;
      slope[3] += p.middle.im * h * h * h / 6;
      slope[4] += p.middle.re * h * h * h * h / 24;
    }
    for (int j = 0; j < block; ++j) {
      const double x = (j - block / 2) * (2.0 / block);
      totals[static_cast<std::size_t>(j)] = (((slope[4] * x + slope[3]) * x + slope[2]) * x + slope[1]) * x + slope[0];
    }
    for (std::size_t at = 0; at < walked.size();) {
      sums.fill(0);
      for (const std::size_t end = std::min(at + group, walked.size()); at < end; ++at) {
        advance(walked[at]);
        walk(walkers[at], walked[at].middle, sums.data());
      }
      for (std::size_t j = 0; j < block; ++j) totals[j] += sums[j];
    }
    const double least = *std::min_element(totals.begin(), totals.end());
    const std::int64_t here = std::min<std::int64_t>(block, count - begin);
    const bool collects = low != nullptr && low->size() < most_low;
    if (collects && least < threshold)
      for (std::int64_t j = 0; j < here; ++j)
        if (const double f = totals[static_cast<std::size_t>(j)]; f < threshold) low->emplace_back(static_cast<float>(f), begin + j);
    if (!first && least < guard)
      for (std::int64_t j = 0; j < here && !first; ++j) {
        const double f = totals[static_cast<std::size_t>(j)];
        if (f < guard && (f < -guard || negative(begin + j))) first = begin + j;
      }
    if (first && !collects) return first;
  }
  return first;
}

}  // namespace posenc::num
