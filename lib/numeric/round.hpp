// Rounding a double once, to nearest even, to the stored float types. Branch-free integer arithmetic, so that the same
// lines serve one value here and vectors in lib/simd. Internal linkage on purpose: units built for different instruction
// sets must not share an inline function.
#pragma once
#include <cstdint>
#include <cstring>

#define POSENC_INLINE static inline __attribute__((always_inline))

namespace posenc::num {

POSENC_INLINE std::uint64_t bits_of(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
POSENC_INLINE double double_of(std::uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// A 16-bit float format: sign, `exponent` bits, `mantissa` bits stored. bf16 = <8, 7>, f16 = <5, 10>.
/// Above the largest finite value the result is infinity (RNE); NaN stays NaN.
template <int exponent, int mantissa>
POSENC_INLINE std::uint16_t round_to_16(double value) {
  constexpr int bias = (1 << (exponent - 1)) - 1;
  constexpr int drop = 52 - mantissa;
  constexpr std::uint64_t one = 1;
  constexpr std::uint64_t min_normal = static_cast<std::uint64_t>(1023 + 1 - bias) << 52;  // bits of 2^(1 - bias)
  constexpr std::uint64_t infinity = static_cast<std::uint64_t>((1 << exponent) - 1) << mantissa;
  constexpr std::uint64_t overflow = static_cast<std::uint64_t>(1023 + bias + 1) << 52;  // bits of 2^(bias + 1)
  const std::uint64_t bits = bits_of(value);
  const std::uint64_t magnitude = bits & ~(one << 63);
  // Normal: add half an ulp less one, plus the last kept bit, and cut; a carry walks into the exponent as it should.
  const std::uint64_t rounded = magnitude + ((one << (drop - 1)) - 1) + ((magnitude >> drop) & 1);
  const std::uint64_t normal = (rounded - (static_cast<std::uint64_t>(1023 - bias) << 52)) >> drop;
  // Subnormal: adding a power of two whose ulp is the smallest step leaves the count of steps in the low bits.
  constexpr std::uint64_t magic = static_cast<std::uint64_t>(1023 + 1 - bias - mantissa + 52) << 52;
  const std::uint64_t subnormal = bits_of(double_of(magnitude) + double_of(magic)) - magic;
  std::uint64_t result = magnitude < min_normal ? subnormal : normal;
  result = rounded >= overflow ? infinity : result;
  result = magnitude > (static_cast<std::uint64_t>(0x7ff) << 52) ? (infinity | (one << (mantissa - 1))) : result;
  return static_cast<std::uint16_t>((bits >> 63) << 15 | result);
}

POSENC_INLINE std::uint16_t round_to_bf16(double value) { return round_to_16<8, 7>(value); }
POSENC_INLINE std::uint16_t round_to_f16(double value) { return round_to_16<5, 10>(value); }

/// The exact value of a 16-bit float.
template <int exponent, int mantissa>
POSENC_INLINE double value_of_16(std::uint16_t bits) {
  constexpr int bias = (1 << (exponent - 1)) - 1;
  const std::uint64_t sign = static_cast<std::uint64_t>(bits >> 15) << 63;
  const std::uint64_t e = (bits >> mantissa) & ((1u << exponent) - 1);
  const std::uint64_t m = bits & ((1u << mantissa) - 1);
  if (e == (1u << exponent) - 1) return double_of(sign | static_cast<std::uint64_t>(0x7ff) << 52 | m << (52 - mantissa));
  if (e == 0) {
    const double step = double_of(static_cast<std::uint64_t>(1023 + 1 - bias - mantissa) << 52);
    const double magnitude = static_cast<double>(m) * step;
    return sign ? -magnitude : magnitude;
  }
  return double_of(sign | (e + 1023 - bias) << 52 | m << (52 - mantissa));
}
POSENC_INLINE double value_of_bf16(std::uint16_t bits) { return value_of_16<8, 7>(bits); }
POSENC_INLINE double value_of_f16(std::uint16_t bits) { return value_of_16<5, 10>(bits); }

}  // namespace posenc::num
