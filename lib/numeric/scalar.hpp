// The scalar types in which a formula can be evaluated. An arithmetic is a scalar type: element<T> is written once, with
// T::of(int64), T::of(double), T::pi(), + - * /, comparisons, cos sin exp log log1p log2 sqrt abs floor ceil, pow(T, T)
// and pow(T, p, q) = x^(p/q), found by argument-dependent lookup.
//   Real      the truth (real.hpp)
//   Float32   what model code does step by step: every operation and function correctly rounded to binary32
//   BFloat16  the same in bfloat16
//   Bounded   binary64 with a running bound on its distance from the truth
#pragma once
#include <cmath>
#include <cstdint>

#include "real.hpp"
#include "round.hpp"

namespace posenc::num {

/// Correctly rounded elementary functions in binary32, the same bits on every machine: binary64 of the C library guarded
/// by its error bound, Real where the guard fails.
float cos_f32(float x);
float sin_f32(float x);
float exp_f32(float x);
float log_f32(float x);
float log1p_f32(float x);
float log2_f32(float x);
float pow_f32(float x, float y);

struct Float32 {
  float v = 0;
  Float32() = default;
  explicit Float32(float value) : v(value) {}
  static Float32 of(std::int64_t value) { return Float32(static_cast<float>(value)); }
  static Float32 of(double value) { return Float32(static_cast<float>(value)); }
  static Float32 pi() { return Float32(3.14159274f); }
  static Float32 infinity(int sign) { return Float32(sign < 0 ? -HUGE_VALF : HUGE_VALF); }
  [[nodiscard]] double to_double() const { return v; }
  friend Float32 operator+(Float32 a, Float32 b) { return Float32(a.v + b.v); }
  friend Float32 operator-(Float32 a, Float32 b) { return Float32(a.v - b.v); }
  friend Float32 operator*(Float32 a, Float32 b) { return Float32(a.v * b.v); }
  friend Float32 operator/(Float32 a, Float32 b) { return Float32(a.v / b.v); }
  Float32 operator-() const { return Float32(-v); }
  friend auto operator<=>(Float32 a, Float32 b) { return a.v <=> b.v; }
  friend bool operator==(Float32 a, Float32 b) { return a.v == b.v; }
  friend Float32 cos(Float32 x) { return Float32(cos_f32(x.v)); }
  friend Float32 sin(Float32 x) { return Float32(sin_f32(x.v)); }
  friend Float32 exp(Float32 x) { return Float32(exp_f32(x.v)); }
  friend Float32 log(Float32 x) { return Float32(log_f32(x.v)); }
  friend Float32 log1p(Float32 x) { return Float32(log1p_f32(x.v)); }
  friend Float32 log2(Float32 x) { return Float32(log2_f32(x.v)); }
  friend Float32 sqrt(Float32 x) { return Float32(std::sqrt(x.v)); }
  friend Float32 abs(Float32 x) { return Float32(std::fabs(x.v)); }
  friend Float32 floor(Float32 x) { return Float32(std::floor(x.v)); }
  friend Float32 ceil(Float32 x) { return Float32(std::ceil(x.v)); }
  friend Float32 pow(Float32 x, Float32 y) { return Float32(pow_f32(x.v, y.v)); }
  friend Float32 pow(Float32 x, std::int64_t p, std::int64_t q) { return pow(x, of(p) / of(q)); }
};

struct BFloat16 {
  std::uint16_t v = 0;
  static BFloat16 of(std::int64_t value) { return of(static_cast<double>(value)); }
  static BFloat16 of(double value) {
    BFloat16 r;
    r.v = round_to_bf16(value);
    return r;
  }
  static BFloat16 pi() { return of(3.14159265358979323846); }
  static BFloat16 infinity(int sign) { return of(sign < 0 ? -HUGE_VAL : HUGE_VAL); }
  [[nodiscard]] double to_double() const { return value_of_bf16(v); }
  // The sum, product and quotient of two 8-bit significands round once through binary64: it holds sums and products of
  // the exponents at hand exactly or with 53 bits, and 53 >= 2*8 + 2 makes the double rounding innocuous.
  friend BFloat16 operator+(BFloat16 a, BFloat16 b) { return of(a.to_double() + b.to_double()); }
  friend BFloat16 operator-(BFloat16 a, BFloat16 b) { return of(a.to_double() - b.to_double()); }
  friend BFloat16 operator*(BFloat16 a, BFloat16 b) { return of(a.to_double() * b.to_double()); }
  friend BFloat16 operator/(BFloat16 a, BFloat16 b) { return of(a.to_double() / b.to_double()); }
  BFloat16 operator-() const { return of(-to_double()); }
  friend auto operator<=>(BFloat16 a, BFloat16 b) { return a.to_double() <=> b.to_double(); }
  friend bool operator==(BFloat16 a, BFloat16 b) { return a.to_double() == b.to_double(); }
  // Functions as torch computes them for bfloat16 on a CPU: in binary32, then rounded.
  friend BFloat16 cos(BFloat16 x) { return of(static_cast<double>(cos_f32(x.as_float()))); }
  friend BFloat16 sin(BFloat16 x) { return of(static_cast<double>(sin_f32(x.as_float()))); }
  friend BFloat16 exp(BFloat16 x) { return of(static_cast<double>(exp_f32(x.as_float()))); }
  friend BFloat16 log(BFloat16 x) { return of(static_cast<double>(log_f32(x.as_float()))); }
  friend BFloat16 log1p(BFloat16 x) { return of(static_cast<double>(log1p_f32(x.as_float()))); }
  friend BFloat16 log2(BFloat16 x) { return of(static_cast<double>(log2_f32(x.as_float()))); }
  friend BFloat16 sqrt(BFloat16 x) { return of(std::sqrt(x.to_double())); }
  friend BFloat16 abs(BFloat16 x) { return of(std::fabs(x.to_double())); }
  friend BFloat16 floor(BFloat16 x) { return of(std::floor(x.to_double())); }
  friend BFloat16 ceil(BFloat16 x) { return of(std::ceil(x.to_double())); }
  friend BFloat16 pow(BFloat16 x, BFloat16 y) { return of(static_cast<double>(pow_f32(x.as_float(), y.as_float()))); }
  friend BFloat16 pow(BFloat16 x, std::int64_t p, std::int64_t q) { return pow(x, of(p) / of(q)); }

 private:
  [[nodiscard]] float as_float() const { return static_cast<float>(to_double()); }
};

/// |truth - v| <= e. The bound grows with each operation by standard error analysis; functions of the C library are
/// trusted to 2 ulp (glibc documents at most 1). A comparison that the bound cannot decide throws Undecided.
struct Bounded {
  double v = 0, e = 0;
  static Bounded of(std::int64_t value) {
    const double v = static_cast<double>(value);
    return {v, std::fabs(v) <= 0x1p53 ? 0.0 : std::fabs(v) * 0x1p-53};
  }
  static Bounded of(double value) { return {value, 0}; }
  static Bounded pi() { return {3.14159265358979323846, 0x1p-52}; }
  static Bounded infinity(int sign) { return {sign < 0 ? -HUGE_VAL : HUGE_VAL, 0}; }
  [[nodiscard]] double to_double() const { return v; }
  friend Bounded operator+(Bounded a, Bounded b) { return made(a.v + b.v, a.e + b.e); }
  friend Bounded operator-(Bounded a, Bounded b) { return made(a.v - b.v, a.e + b.e); }
  friend Bounded operator*(Bounded a, Bounded b) {
    return made(a.v * b.v, std::fabs(a.v) * b.e + std::fabs(b.v) * a.e + a.e * b.e);
  }
  friend Bounded operator/(Bounded a, Bounded b) {
    const double floor_b = std::fabs(b.v) - b.e;
    if (!(floor_b > 0)) throw Undecided{};
    const double q = a.v / b.v;
    return made(q, (a.e + std::fabs(q) * b.e) / floor_b);
  }
  Bounded operator-() const { return {-v, e}; }
  friend bool operator<(Bounded a, Bounded b) { return compare(a, b) < 0; }
  friend bool operator>(Bounded a, Bounded b) { return compare(a, b) > 0; }
  friend bool operator<=(Bounded a, Bounded b) { return compare(a, b) <= 0; }
  friend bool operator>=(Bounded a, Bounded b) { return compare(a, b) >= 0; }
  friend bool operator==(Bounded a, Bounded b) { return compare(a, b) == 0; }
  friend Bounded cos(Bounded x) { return x.v == 0 && x.e == 0 ? Bounded{1, 0} : called(std::cos(x.v), x.e); }
  friend Bounded sin(Bounded x) { return x.v == 0 && x.e == 0 ? Bounded{} : called(std::sin(x.v), x.e); }
  friend Bounded exp(Bounded x) {
    const double v = std::exp(x.v);
    return called(v, v * std::expm1(x.e));
  }
  friend Bounded log(Bounded x) { return called(std::log(x.v), slope_bound(x, x.v)); }
  friend Bounded log1p(Bounded x) { return called(std::log1p(x.v), slope_bound(x, 1 + x.v)); }
  friend Bounded log2(Bounded x) { return called(std::log2(x.v), 1.4426950408889634 * slope_bound(x, x.v)); }
  friend Bounded sqrt(Bounded x) {
    if (x.v == 0 && x.e == 0) return {};
    return called(std::sqrt(x.v), slope_bound(x, x.v) * std::sqrt(x.v));
  }
  friend Bounded abs(Bounded x) { return {std::fabs(x.v), x.e}; }
  friend Bounded floor(Bounded x) {
    if (std::floor(x.v - x.e) != std::floor(x.v + x.e)) throw Undecided{};
    return {std::floor(x.v), 0};
  }
  friend Bounded ceil(Bounded x) { return -floor(-x); }
  friend Bounded pow(Bounded x, Bounded y) {
    const Bounded exponent = y * log(x);
    const double v = std::pow(x.v, y.v);
    return called(v, std::fabs(v) * std::expm1(exponent.e));
  }
  friend Bounded pow(Bounded x, std::int64_t p, std::int64_t q) { return pow(x, of(p) / of(q)); }

 private:
  // The bound plus half an ulp of the rounding (2^-53 relative, doubled for the sum of the bound itself), and the
  // smallest subnormal for results that underflow.
  static Bounded made(double v, double e) { return {v, (e + std::fabs(v) * 0x1p-53) * (1 + 0x1p-50) + (v == 0 && e == 0 ? 0 : 0x1p-1074)}; }
  static Bounded called(double v, double e) { return {v, (e + std::fabs(v) * 0x1p-51) * (1 + 0x1p-50) + 0x1p-1074}; }
  // |f(x + e) - f(x)| for f' = 1/argument on the interval.
  static double slope_bound(Bounded x, double argument) {
    if (x.e == 0) return 0;
    if (!(argument - x.e > 0)) throw Undecided{};
    return x.e / (argument - x.e);
  }
  static int compare(Bounded a, Bounded b) {
    if (a.e == 0 && b.e == 0) return a.v < b.v ? -1 : (a.v > b.v ? 1 : 0);
    const double gap = (a.e + b.e) * (1 + 0x1p-50);
    if (a.v - b.v > gap) return 1;
    if (b.v - a.v > gap) return -1;
    throw Undecided{};
  }
};

}  // namespace posenc::num
