// Compiled once per instruction set (kernels.cmake) with POSENC_ISA naming it. Everything but the exported table has
// internal linkage, and xsimd lives in a namespace of its own per set.
#include <cstring>
#include <xsimd/xsimd.hpp>

#include "numeric/round.hpp"
#include "simd/kernels.hpp"

#define POSENC_JOIN_(a, b) a##b
#define POSENC_JOIN(a, b) POSENC_JOIN_(a, b)
#define POSENC_TEXT_(a) #a
#define POSENC_TEXT(a) POSENC_TEXT_(a)

namespace posenc::simd {
namespace {

using Batch = xsimd::batch<double>;

template <bool sine>
void rotate(const double* ac, const double* as, const double* fc, const double* fs, std::size_t n, double* out) {
  std::size_t i = 0;
  for (; i + Batch::size <= n; i += Batch::size) {
    const Batch a = Batch::load_unaligned(ac + i), b = Batch::load_unaligned(as + i);
    const Batch c = Batch::load_unaligned(fc + i), d = Batch::load_unaligned(fs + i);
    const Batch r = sine ? b * c + a * d : a * c - b * d;
    r.store_unaligned(out + i);
  }
  for (; i < n; ++i) out[i] = sine ? as[i] * fc[i] + ac[i] * fs[i] : ac[i] * fc[i] - as[i] * fs[i];
}

// A target format: `exact` is the correct rounding of any double. `quick` does the same from the double's float32 form in
// 32-bit arithmetic, which every instruction set has vectors for; where that form sits on a tie, which the double may only
// come near to, it raises `doubtful` and the value is looked at again with `exact`.
struct ToF32 {
  using Out = float;
  POSENC_INLINE float exact(double v) { return static_cast<float>(v); }
  POSENC_INLINE float quick(double v, std::uint32_t&) { return static_cast<float>(v); }
};

POSENC_INLINE std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
POSENC_INLINE float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Whether two roundings differ; -0 and +0 do.
POSENC_INLINE bool differ(float a, float b) { return bits_of(a) != bits_of(b); }
POSENC_INLINE bool differ(double a, double b) { return num::bits_of(a) != num::bits_of(b); }
POSENC_INLINE bool differ(std::uint16_t a, std::uint16_t b) { return a != b; }

struct ToBf16 {
  using Out = std::uint16_t;
  POSENC_INLINE std::uint16_t exact(double v) { return num::round_to_bf16(v); }
  POSENC_INLINE std::uint16_t quick(double v, std::uint32_t& doubtful) {
    const auto f = static_cast<float>(v);
    const std::uint32_t b = bits_of(f);
    doubtful |= (b & 0xffffu) == 0x8000u || (b & 0x7fffffffu) > 0x7f800000u ? 1u : 0u;  // a tie, or NaN
    return static_cast<std::uint16_t>((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
  }
};

struct ToF16 {
  using Out = std::uint16_t;
  POSENC_INLINE std::uint16_t exact(double v) { return num::round_to_f16(v); }
  POSENC_INLINE std::uint16_t quick(double v, std::uint32_t& doubtful) {
    const auto f = static_cast<float>(v);
    const std::uint32_t b = bits_of(f), a = b & 0x7fffffffu;
    const float magnitude = float_of(a);
    const std::uint32_t normal = ((a + 0xfffu + ((a >> 13) & 1u)) >> 13) - (112u << 10);
    // Below 2^-14 the step is 2^-24, the last place of 0.5: adding 0.5 rounds to it and leaves the count of steps.
    const float shifted = magnitude + 0.5f;
    const std::uint32_t subnormal = bits_of(shifted) - bits_of(0.5f);
    const float rest = magnitude - (shifted - 0.5f);
    // Masks instead of conditions: all ones below 2^-14.
    const std::uint32_t small = 0u - ((a - 0x38800000u) >> 31);
    const std::uint32_t tie_small = (bits_of(rest) & 0x7fffffffu) == 0x33000000u ? 1u : 0u;  // |rest| is 2^-25
    const std::uint32_t tie_normal = (a & 0x1fffu) == 0x1000u ? 1u : 0u;
    doubtful |= (tie_small & small) | (tie_normal & ~small) | (a > 0x7f800000u ? 1u : 0u);  // or NaN
    std::uint32_t r = (subnormal & small) | (normal & ~small);
    const std::uint32_t large = 0u - ((0x477fefffu - a) >> 31);  // from 65520 on: infinity
    r = (0x7c00u & large) | (r & ~large);
    return static_cast<std::uint16_t>(((b >> 16) & 0x8000u) | r);
  }
};

// NaN is never decided: where doubles overflow, the truth may be a number.
POSENC_INLINE double magnitude(double v) { return num::double_of(num::bits_of(v) & ~(std::uint64_t{1} << 63)); }
// What v - e and v + e lose by being doubles themselves, a half ulp of a number below |v| + e, and what e loses.
constexpr double bound_slack = 1 + 0x1p-50;
constexpr double value_slack = 0x1p-52;
// Keeps the bound finite: infinite values (masks) are exact, and v + DBL_MAX decides nothing for finite ones.
POSENC_INLINE double finite(double e) { return e < 0x1.fffffffffffffp1023 ? e : 0x1.fffffffffffffp1023; }

constexpr std::size_t chunk = 256;  // values looked at before asking whether any was undecided

template <class To, bool bounded>
std::size_t round_with(const double* v, std::size_t n, double absolute, double relative, void* out, std::uint32_t* undecided) {
  auto* target = static_cast<typename To::Out*>(out);
  std::size_t count = 0;
  for (std::size_t start = 0; start < n; start += chunk) {
    const std::size_t size = n - start < chunk ? n - start : chunk;
    const double* in = v + start;
    typename To::Out* to = target + start;
    std::uint32_t doubtful = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const double e = bounded ? finite(absolute + relative * magnitude(in[i])) : 0;
      // An exact zero has no sign: -0 + 0 is 0.
      const auto low = To::quick(bounded ? in[i] - e : in[i] + 0.0, doubtful), high = bounded ? To::quick(in[i] + e, doubtful) : low;
      to[i] = low;
      doubtful |= differ(low, high) ? 1u : 0u;
      doubtful |= in[i] != in[i] ? 1u : 0u;
    }
    if (doubtful == 0) continue;
    for (std::size_t i = 0; i < size; ++i) {
      const double e = bounded ? finite(absolute + relative * magnitude(in[i])) : 0;
      const auto low = To::exact(bounded ? in[i] - e : in[i] + 0.0), high = bounded ? To::exact(in[i] + e) : low;
      to[i] = low;
      if (differ(low, high) || in[i] != in[i]) undecided[count++] = static_cast<std::uint32_t>(start + i);
    }
  }
  return count;
}

template <class To>
std::size_t round_to(const double* v, std::size_t n, double absolute, double relative, void* out, std::uint32_t* undecided) {
  if (absolute == 0 && relative == 0) return round_with<To, false>(v, n, 0, 0, out, undecided);  // exact doubles stay so
  return round_with<To, true>(v, n, finite(absolute * bound_slack), relative * bound_slack + value_slack, out, undecided);
}

std::size_t round_two(const double* hi, const double* lo, std::size_t n, double absolute, double relative, void* out,
                      std::uint32_t* undecided) {
  auto* target = static_cast<double*>(out);
  std::size_t count = 0;
  const bool exact = absolute == 0 && relative == 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double e = exact ? 0 : finite((absolute + relative * magnitude(hi[i])) * bound_slack + magnitude(lo[i]) * value_slack);
    // As in round_with, an exact zero has no sign.
    const double low = hi[i] + (lo[i] - e) + (exact ? 0.0 : -0.0), high = hi[i] + (lo[i] + e) + (exact ? 0.0 : -0.0);
    target[i] = low;
    if (differ(low, high) || hi[i] != hi[i]) undecided[count++] = static_cast<std::uint32_t>(i);
  }
  return count;
}

template <bool sine>
POSENC_INLINE double turned(const double* ac, const double* as, const double* fc, const double* fs, std::size_t i) {
  return sine ? as[i] * fc[i] + ac[i] * fs[i] : ac[i] * fc[i] - as[i] * fs[i];
}

template <bool sine>
std::size_t rotate_f32(const double* ac, const double* as, const double* fc, const double* fs, std::size_t n, std::size_t rows,
                       double absolute, float* out, std::size_t stride, std::uint32_t* undecided) {
  std::size_t count = 0;
  for (std::size_t r = 0; r < rows; ++r, fc += n, fs += n) {
    float* to = out + r * stride;
    std::uint32_t differs = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double v = turned<sine>(ac, as, fc, fs, i);
      const auto low = static_cast<float>(v - absolute), high = static_cast<float>(v + absolute);
      to[i] = low;
      differs |= differ(low, high) ? 1u : 0u;
    }
    if (differs == 0) continue;
    for (std::size_t i = 0; i < n; ++i) {
      const double v = turned<sine>(ac, as, fc, fs, i);
      if (differ(static_cast<float>(v - absolute), static_cast<float>(v + absolute))) undecided[count++] = static_cast<std::uint32_t>(r * stride + i);
    }
  }
  return count;
}

}  // namespace

extern const Kernels POSENC_JOIN(kernels_, POSENC_ISA);
const Kernels POSENC_JOIN(kernels_, POSENC_ISA) = {
    POSENC_TEXT(POSENC_ISA), rotate<false>,   rotate<true>,     rotate_f32<false>, rotate_f32<true>,
    round_to<ToF32>,         round_to<ToF16>, round_to<ToBf16>, round_two,
};

}  // namespace posenc::simd
