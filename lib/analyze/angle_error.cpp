#include "analyze/angle_error.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/two_double.hpp"

namespace posenc::analyze_sections {
namespace {

using Wide = AngleError::Wide;
__extension__ using Bits = unsigned __int128;

constexpr std::int64_t never = std::int64_t{1} << 62;

// From here on an integer is infinite in the format: half a step above the largest finite number, 2^(emax+1) - 2^(emax-digits).
std::int64_t overflow_of(const num::Format& format) {
  if (format.emax >= 60) return never;
  return (std::int64_t{1} << (format.emax + 1)) - (std::int64_t{1} << (format.emax - format.digits));
}

int highest_bit(Bits x) {
  const auto top = static_cast<std::uint64_t>(x >> 64);
  return top != 0 ? 127 - __builtin_clzll(top) : 63 - __builtin_clzll(static_cast<std::uint64_t>(x));
}

// A value along a run of positions: `residue` exactly, in units of the frequency's last place, and `index` steps of drift.
struct Point {
  Wide residue = 0;
  std::int64_t index = 0;
  friend Point operator+(Point a, Point b) { return {a.residue + b.residue, a.index + b.index}; }
};

// A piece of a lattice path: where it leads, and the point of it that lies farthest in one direction.
class Path {
 public:
  Path() = default;
  Path(Point moves, bool records) : end_(moves), has_(records) {}

  // `sign` +1 seeks the largest residue + drift * index, -1 the smallest; the first of equals.
  static Path join(const Path& a, const Path& b, double drift, int sign) {
    Path out;
    out.end_ = a.end_ + b.end_;
    out.has_ = a.has_ || b.has_;
    const Point later = a.end_ + b.far_;
    const double gain = static_cast<double>(later.residue - a.far_.residue) + static_cast<double>(later.index - a.far_.index) * drift;
    out.far_ = b.has_ && (!a.has_ || sign * gain > 0) ? later : a.far_;
    return out;
  }
  [[nodiscard]] const Point& farthest() const { return far_; }

 private:
  Point end_, far_;
  bool has_ = false;
};

// The path under y = floor((a x + b) / m) from x = 0 to n: `right` is walked at each x, then `up` at each whole y that the
// line passes. Euclid's algorithm on the two letters (as for sums of floors): O(log) joins.
Path under_line(Path right, Path up, Wide n, Wide a, Wide b, Wide m, double drift, int sign) {
  const auto join = [&](const Path& s, const Path& t) { return Path::join(s, t, drift, sign); };
  const auto power = [&](Path p, Wide times) {
    Path out;
    for (; times > 0; times >>= 1, p = join(p, p))
      if (times & 1) out = join(out, p);
    return out;
  };
  Path before, after;
  Wide rises = (a * n + b) / m;
  for (;;) {
    const Wide steep = a / m, start = b / m;
    a %= m;
    b %= m;
    right = join(right, power(up, steep));
    before = join(before, power(up, start));
    rises -= steep * n + start;
    if (rises == 0) break;
    const Wide last = (m * rises - b - 1) / a + 1;  // the x of the last rise
    after = join(up, join(power(right, n - last), after));
    b = m - b - 1 + a;
    std::swap(m, a);
    n = rises - 1;
    rises = last;
    std::swap(right, up);
  }
  return join(join(before, power(right, n)), after);
}

// Solutions of step * i = target (mod 2^bits) as i = first + k * period; none where there is no solution.
struct Congruence {
  Bits first, period;
};
std::optional<Congruence> solve(Bits step, Bits target, int bits) {
  const Bits mask = (Bits{1} << bits) - 1;
  step &= mask;
  target &= mask;
  if (step == 0) return target == 0 ? std::optional(Congruence{0, 1}) : std::nullopt;
  int twos = 0;
  while ((step >> twos & 1) == 0) ++twos;
  if ((target & ((Bits{1} << twos) - 1)) != 0) return std::nullopt;
  const Bits odd = step >> twos;
  Bits inverse = odd;                                           // right to 3 bits
  for (int i = 0; i < 6; ++i) inverse *= Bits{2} - odd * inverse;  // Newton: twice as many each time
  const Bits period = Bits{1} << (bits - twos);
  return Congruence{(target >> twos) * inverse & (period - 1), period};
}

}  // namespace

CastPositions cast_positions(const num::Format& format, std::int64_t count) {
  CastPositions out{count, std::nullopt, 1, std::nullopt};
  if (count < 1) return out;
  const std::int64_t exact = std::int64_t{1} << format.digits;  // all integers up to here are numbers of the format
  const std::int64_t limit = overflow_of(format);
  const std::int64_t last = std::min(count, limit) - 1;  // the last finite one
  if (last > exact) {
    out.distinct = exact + 1;
    out.first_lost = exact + 1;
    for (int e = format.digits; e < 63 && last > std::int64_t{1} << e; ++e) {
      // Numbers in (2^e, 2^(e+1)] that integers up to `last` are rounded to.
      const std::int64_t low = std::int64_t{1} << e, step = low >> (format.digits - 1);
      const std::int64_t whole = (std::min(last, 2 * low) - low) / step, rest = (std::min(last, 2 * low) - low) % step;
      const bool up = 2 * rest > step || (2 * rest == step && whole % 2 == 1);
      out.distinct += std::min(whole + (up ? 1 : 0), limit == never ? whole + 1 : (limit - low) / step);
    }
  }
  if (last >= exact) out.step = std::ldexp(1.0, std::ilogb(static_cast<double>(last)) - format.digits + 1);
  if (count > limit) {
    ++out.distinct;
    out.infinite = limit;
    out.step = HUGE_VAL;
  }
  return out;
}

// Positions whose casts are first + step * i, i = 0..count-1; those cast to v are v + low .. v + high.
struct AngleError::Run {
  std::int64_t first, step, count, low, high;
};

// Part of a run in which products are rounded to multiples of 2^bits, in units of the frequency's last place.
struct AngleError::Stretch {
  Run run;
  int bits;

  // Products stay below 2^107 units: rounded to multiples of 2^109 and more they are 0.
  [[nodiscard]] bool vanishes() const { return bits > 108; }

  // The extreme of residue + drift * cast over the stretch.
  [[nodiscard]] Point extreme(Wide significand, double drift, int sign) const {
    const Wide start = run.first * significand, step = run.step * significand;
    const double slope = static_cast<double>(run.step) * drift;
    const auto value = [&](Point p) { return static_cast<double>(p.residue) + static_cast<double>(p.index) * slope; };
    const Wide at_end = run.count - 1;
    if (bits <= 0 || vanishes()) {  // linear: the extremes are at the ends
      const Point a{vanishes() ? -start : 0, 0}, b{vanishes() ? -start - step * at_end : 0, run.count - 1};
      return sign * (value(b) - value(a)) > 0 ? b : a;
    }
    const Wide m = Wide{1} << bits, half = m / 2, w = start % m;
    // Ties are taken away from the side that is sought ...
    const Path path = under_line(Path({-(step % m), 1}, true), Path({m, 0}, false), run.count, step % m,
                                 w + half - (sign > 0 ? 1 : 0), m, slope, sign);
    Point best = path.farthest() + Point{-w, 0};
    // ... and those that round to even towards it are looked at by themselves: they lie on a line.
    const auto ties = solve(static_cast<Bits>(step), static_cast<Bits>((sign > 0 ? m : 0) + half - start), bits + 1);
    if (!ties || ties->first > static_cast<Bits>(at_end)) return best;
    const Bits last = ties->first + (static_cast<Bits>(at_end) - ties->first) / ties->period * ties->period;
    for (const Bits i : {ties->first, last}) {
      const Point tie{sign * half, static_cast<std::int64_t>(i)};
      if (sign * (value(tie) - value(best)) > 0) best = tie;
    }
    return best;
  }
};

AngleError::AngleError(const num::Real& truth, double used, const num::Format& position, const num::Format& product)
    : position_(position), product_(product), truth_(truth.to_double()), used_(used) {
  if (!std::isfinite(used) || used == 0) return;
  int exponent = 0;
  significand_ = static_cast<std::int64_t>(std::ldexp(std::frexp(used, &exponent), 53));
  exponent_ = exponent - 53;
  for (; significand_ % 2 == 0; ++exponent_) significand_ /= 2;
  drift_ = std::ldexp((num::Real::of(used) - truth).to_double(), -exponent_);
}

// The first position whose cast or product is infinite.
std::int64_t AngleError::first_infinite() const {
  if (!std::isfinite(used_)) return 0;
  const std::int64_t end = std::min(overflow_of(position_), std::int64_t{1} << 54);
  // Half a step above the largest finite product; in binary64 the product itself shows it.
  const double edge = product_.emax >= 1023 ? HUGE_VAL
                                            : std::ldexp(2 - std::ldexp(1.0, -product_.digits), product_.emax);
  const auto infinite = [&](std::int64_t p) {
    const num::TwoDouble product = num::two_product(cast(p), used_);
    return std::isinf(product.hi) || product.hi > edge || (product.hi == edge && product.lo >= 0);
  };
  std::int64_t finite = 0, beyond = end;
  while (beyond - finite > 1) {
    const std::int64_t middle = finite + (beyond - finite) / 2;
    (infinite(middle) ? beyond : finite) = middle;
  }
  return beyond == end && end != overflow_of(position_) ? never : beyond;
}

// A position in the format, to nearest even (the mode of nearbyint); exact as a double.
double AngleError::cast(std::int64_t p) const {
  const std::int64_t exact = std::int64_t{1} << position_.digits;
  if (p <= exact) return static_cast<double>(p);
  const double step = std::ldexp(1.0, std::ilogb(static_cast<double>(p)) - position_.digits + 1);
  return std::nearbyint(static_cast<double>(p) / step) * step;
}

// All casts of the positions 0..last, which are finite, in pieces whose products share a last place; in rising order but for
// the runs of one binade, which lie between each other.
std::vector<AngleError::Stretch> AngleError::stretches(std::int64_t last) const {
  std::vector<Stretch> out;
  const auto give = [&](const Run& run) {
    const std::int64_t room = last - run.high - run.first;
    const std::int64_t whole = room < 0 ? 0 : std::min(run.count, room / run.step + 1);
    if (whole > 0) cut({run.first, run.step, whole, run.low, run.high}, out);
    const std::int64_t end = run.first + run.step * whole;
    if (whole < run.count && end + run.low <= last) cut({end, run.step, 1, run.low, last - end}, out);
  };
  const int digits = position_.digits;
  give({0, 1, std::int64_t{1} << digits, 0, 0});
  for (int e = digits; e <= position_.emax && e < 60; ++e) {
    const std::int64_t low = std::int64_t{1} << e, step = low >> (digits - 1);
    if (low - step / 4 > last) break;
    // Ties go to even: the first of the binade (its lower neighbour is nearer), the odd ones, the other even ones.
    give({low, step, 1, -(step / 4), step / 2});
    give({low + step, 2 * step, std::int64_t{1} << (digits - 2), 1 - step / 2, step / 2 - 1});
    give({low + 2 * step, 2 * step, (std::int64_t{1} << (digits - 2)) - 1, -(step / 2), step / 2});
  }
  return out;
}

// Cuts a run where the last place of its products changes.
void AngleError::cut(const Run& run, std::vector<Stretch>& out) const {
  const Wide start = Wide{run.first} * significand_, step = Wide{run.step} * significand_;
  for (std::int64_t i = 0; i < run.count;) {
    const Wide product = start + step * i;
    const int e = std::max(product == 0 ? product_.emin : highest_bit(static_cast<Bits>(product)) + exponent_, product_.emin);
    const int bits = e - product_.digits + 1 - exponent_;
    int end = e + 1 - exponent_;                           // products below 2^end are rounded alike ...
    if (bits <= 0) end = std::max(end, product_.digits);  // ... or not at all
    std::int64_t next = run.count;
    if (end < 110) next = static_cast<std::int64_t>(std::min<Wide>(next, ((Wide{1} << end) - start + step - 1) / step));
    out.push_back({{run.first + run.step * i, run.step, next - i, run.low, run.high}, bits});
    i = next;
  }
}

// No position of the stretch is off by more: half a last place, the drift, the cast.
double AngleError::bound(const Stretch& stretch) const {
  const Run& run = stretch.run;
  const auto end = static_cast<double>(run.first + run.step * (run.count - 1));
  const double product = end * static_cast<double>(significand_);
  const double rounding = stretch.bits <= 0 ? 0 : stretch.vanishes() ? product : std::ldexp(0.5, stretch.bits);
  const auto moved = static_cast<double>(std::max(std::abs(run.low), std::abs(run.high)));
  return (std::ldexp(rounding + end * std::fabs(drift_), exponent_) + moved * truth_) * (1 + 0x1p-40);
}

// Error of the angle at a point of a stretch, before the cast of the position: radians.
double AngleError::error_at(const Stretch& stretch, const Wide& residue, std::int64_t index) const {
  const double cast = static_cast<double>(stretch.run.first + stretch.run.step * index);
  return std::ldexp(static_cast<double>(residue) + cast * drift_, exponent_);
}

AngleError::Worst AngleError::worst(std::int64_t count) const {
  Worst out{0, 0};
  count = std::min(count, first_infinite());
  if (count < 1) return out;
  if (significand_ == 0) return {static_cast<double>(count - 1) * truth_, count - 1};
  // From the largest products, which are worst off as a rule, so that the others need not be looked at.
  const std::vector<Stretch> all = stretches(count - 1);
  for (auto stretch = all.rbegin(); stretch != all.rend(); ++stretch) {
    if (bound(*stretch) < out.error) continue;
    for (const int sign : {1, -1}) {
      const Point p = stretch->extreme(significand_, drift_, sign);
      const std::int64_t moved = sign > 0 ? stretch->run.low : stretch->run.high;
      const double error = sign * (error_at(*stretch, p.residue, p.index) - static_cast<double>(moved) * truth_);
      const std::int64_t position = stretch->run.first + stretch->run.step * p.index + moved;
      if (error > out.error || (error == out.error && position < out.position)) out = {error, position};
    }
  }
  return out;
}

std::optional<std::int64_t> AngleError::infinite_from(std::int64_t count) const {
  const std::int64_t infinite = first_infinite();
  return infinite < count ? std::optional(infinite) : std::nullopt;
}

std::optional<std::int64_t> AngleError::first_past(double limit, std::int64_t count) const {
  const std::int64_t infinite = first_infinite();
  const std::int64_t finite = std::min(count, infinite);  // positions to look at
  std::int64_t best = never;
  if (significand_ == 0 && finite > 0) {
    if (static_cast<double>(finite - 1) * truth_ > limit) best = static_cast<std::int64_t>(limit / truth_) + 1;
  } else {
    for (const Stretch& stretch : finite > 0 ? stretches(finite - 1) : std::vector<Stretch>{}) {
      if (bound(stretch) <= limit || stretch.run.first + stretch.run.low >= best) continue;
      for (const int sign : {1, -1}) best = std::min(best, first_of(stretch, limit, sign));
    }
  }
  if (best < finite) return best;
  return infinite < count ? std::optional(infinite) : std::nullopt;
}

// The first position of a stretch that is off by more than `limit` towards `sign`, or never.
std::int64_t AngleError::first_of(const Stretch& stretch, double limit, int sign) const {
  const auto [first, step, count, low, high] = stretch.run;
  Stretch prefix = stretch;
  double error = 0;  // at the extreme of the prefix
  const auto passes = [&](std::int64_t n) {
    prefix.run.count = n;
    const Point p = prefix.extreme(significand_, drift_, sign);
    error = error_at(stretch, p.residue, p.index);
    return sign * (error - static_cast<double>(sign > 0 ? low : high) * truth_) > limit;
  };
  if (!passes(count)) return never;
  std::int64_t no = 0, yes = count;
  while (yes - no > 1) {
    const std::int64_t middle = no + (yes - no) / 2;
    (passes(middle) ? yes : no) = middle;
  }
  passes(yes);
  const std::int64_t cast = first + step * (yes - 1);
  if (sign > 0) return cast + low;  // the error falls as the position grows under one cast
  return cast + std::clamp(static_cast<std::int64_t>(std::floor((limit + error) / truth_)) + 1, low, high);
}

}  // namespace posenc::analyze_sections
