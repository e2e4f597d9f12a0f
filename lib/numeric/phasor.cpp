#include "numeric/phasor.hpp"

#include <algorithm>
#include <cmath>

namespace posenc::num {

// Components of both factors are at most 1 (plus their errors): each of the two products is off by 7 * 2^-106 at most,
// their sum by 3 * 2^-106 * 2; together below 2^-101. Entering errors add: |d(ab)| <= sqrt(2) (da + db). Chains of 14
// products of entries, each entry a chain of at most 8, stay below 14 * 8 * 2^-101 * (growth < 2^3) < 2^-91.
Phasor operator*(const Phasor& a, const Phasor& b) {
  return {a.cos * b.cos - a.sin * b.sin, a.sin * b.cos + a.cos * b.sin};
}

PhasorTable::PhasorTable(std::vector<Real> frequencies, int fraction_bits, double largest)
    : frequencies_(std::move(frequencies)), fraction_bits_(fraction_bits), largest_(largest), magnitude_bits_(0) {
  for (const Real& f : frequencies_)
    if (const double v = std::abs(f.to_double()); v >= 1) magnitude_bits_ = std::max(magnitude_bits_, std::ilogb(v) + 1);
}

std::size_t PhasorTable::digits(int level) const {
  const double most = level < 0 ? static_cast<double>(radix) : std::floor(std::ldexp(largest_, -digit_bits * level)) + 1;
  return static_cast<std::size_t>(std::clamp(most, 1.0, static_cast<double>(radix)));
}

const Phasor* PhasorTable::level(int level) const {
  const int slot = level + fraction_bits_ / digit_bits;
  std::call_once(once_[slot], [&] {
    // 106 bits of result after the bits that angles have before the point; 32 more leave a margin.
    const Precision precision(106 + 32 + digit_bits * std::max(level + 1, 0) + magnitude_bits_);
    const std::size_t n = pairs();
    const std::size_t count = digits(level);
    std::vector<Phasor> table(std::max<std::size_t>(count, 2) * n);
    for (std::size_t i = 0; i < n; ++i) {
      table[i] = {{1, 0}, {0, 0}};
      const Real angle = frequencies_[i] * pow(Real::of(std::int64_t{2}), Real::of(static_cast<std::int64_t>(digit_bits) * level));
      Phasor& one = table[n + i];
      Real cosine, sine;
      cos_sin(angle, cosine, sine);
      cosine.two_double(one.cos.hi, one.cos.lo);
      sine.two_double(one.sin.hi, one.sin.lo);
    }
    for (std::size_t digit = 2; digit < count; ++digit) {
      const std::size_t half = digit / 2, rest = digit - half;  // depth log2(256) = 8
      for (std::size_t i = 0; i < n; ++i) table[digit * n + i] = table[half * n + i] * table[rest * n + i];
    }
    levels_[slot] = std::move(table);
  });
  return levels_[slot].data();
}

void PhasorTable::multiply(std::uint64_t magnitude, int lowest_level, bool negative, Phasor* out) const {
  const std::size_t n = pairs();
  bool first = true;
  for (int l = lowest_level; magnitude != 0; ++l, magnitude >>= digit_bits) {
    const std::size_t digit = magnitude & (radix - 1);
    if (digit == 0) continue;
    const Phasor* entries = level(l) + digit * n;
    if (first)
      std::copy(entries, entries + n, out);
    else
      for (std::size_t i = 0; i < n; ++i) out[i] = out[i] * entries[i];
    first = false;
  }
  if (first) std::fill(out, out + n, Phasor{{1, 0}, {0, 0}});
  if (negative)
    for (std::size_t i = 0; i < n; ++i) out[i].sin = -out[i].sin;
}

bool PhasorTable::at(std::int64_t x, Phasor* out) const {
  const std::uint64_t magnitude = x < 0 ? -static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  if (static_cast<double>(magnitude) > largest_) return false;
  multiply(magnitude, 0, x < 0, out);
  return true;
}

bool PhasorTable::at(double x, Phasor* out) const {
  if (!(std::abs(x) <= largest_)) return false;
  if (x == std::floor(x)) return at(static_cast<std::int64_t>(x), out);
  // x is a multiple of 2^-fraction_bits when scaling leaves an integer; split so that each part fits 64 bits.
  const double whole = std::floor(std::abs(x));
  const double fraction = std::ldexp(std::abs(x) - whole, fraction_bits_);
  if (fraction != std::floor(fraction)) return false;
  std::vector<Phasor> part(pairs());
  multiply(static_cast<std::uint64_t>(fraction), -fraction_bits_ / digit_bits, x < 0, part.data());
  multiply(static_cast<std::uint64_t>(whole), 0, x < 0, out);
  for (std::size_t i = 0; i < part.size(); ++i) out[i] = out[i] * part[i];
  return true;
}

}  // namespace posenc::num
