// Unit phasors e^(i*frequency*x) for many x at the cost of a complex product each: the positions' digits in base 256
// select entries of small tables, whose first entries come from Real. Two doubles throughout; errors are bounded.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "real.hpp"
#include "two_double.hpp"

namespace posenc::num {

/// cos and sin of one angle, each as two doubles.
struct Phasor {
  TwoDouble cos, sin;
};
Phasor operator*(const Phasor& a, const Phasor& b);

/// Phasors of a set of frequencies (radians per unit of x).
class PhasorTable {
 public:
  static constexpr int digit_bits = 8;
  static constexpr std::int64_t radix = 1 << digit_bits;

  /// `frequencies` at a precision of at least 256 bits. Real arguments are multiples of 2^-fraction_bits (0..64, a
  /// multiple of digit_bits) and at most `largest` < 2^54 in magnitude, which bounds the tables that are made.
  PhasorTable(std::vector<Real> frequencies, int fraction_bits, double largest);

  [[nodiscard]] std::size_t pairs() const { return frequencies_.size(); }
  /// The phasors of x, one per frequency. False when |x| is above `largest` or x is no multiple of 2^-fraction_bits.
  bool at(double x, Phasor* out) const;
  bool at(std::int64_t x, Phasor* out) const;
  /// Entries [digit][pair] of one level: phasors of digit * 256^level, for as many digits as `largest` asks for.
  [[nodiscard]] const Phasor* level(int level) const;
  [[nodiscard]] std::size_t digits(int level) const;

  /// Bound on the absolute error of each component of `at`, hi + lo together: at most 14 products of entries, each entry
  /// made by at most 8 products, each product off by less than 2^-98 (two_double.hpp).
  static constexpr double error = 0x1p-91;

 private:
  void multiply(std::uint64_t magnitude, int lowest_level, bool negative, Phasor* out) const;

  std::vector<Real> frequencies_;
  int fraction_bits_;
  double largest_;
  int magnitude_bits_;  ///< bits of the largest frequency before the point
  static constexpr int max_levels = 16;
  mutable std::once_flag once_[max_levels];
  mutable std::vector<Phasor> levels_[max_levels];
};

}  // namespace posenc::num
