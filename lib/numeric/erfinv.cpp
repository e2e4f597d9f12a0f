#include "numeric/erfinv.hpp"

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "numeric/two_double.hpp"

namespace posenc::num {
namespace {

struct Mpfr {
  mpfr_t v;
  explicit Mpfr(int bits) { mpfr_init2(v, bits); }
  ~Mpfr() { mpfr_clear(v); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
};

// An interval that is [-1, 1], or a little wider: pi is known to one unit of its last place, 2^(2 - p), and so is pi - pi.
Real unit_interval() {
  const Real pi = Real::pi();
  return (pi - pi) * pow(Real::of(std::int64_t{2}), Precision::bits() - 2, 1);
}

// mid +- radius: x as a sum of doubles, each what two_double leaves of the rest. The radius also covers doubles' underflow.
void split(const Real& x, mpfr_ptr mid, double& radius) {
  mpfr_set_zero(mid, 1);
  Real rest = x;
  radius = HUGE_VAL;
  for (int k = 0; k < Precision::bits() / 100 + 2; ++k) {
    double hi = 0, lo = 0;
    const double bound = rest.two_double(hi, lo);
    if (!(bound < radius)) break;
    radius = bound;
    mpfr_add_d(mid, mid, hi, MPFR_RNDN);  // exact: the precision of mid spans the doubles
    mpfr_add_d(mid, mid, lo, MPFR_RNDN);
    if (bound == 0 || (hi == 0 && lo == 0)) break;
    rest -= Real::of(hi);
    rest -= Real::of(lo);
  }
}

// The Real between low and high.
Real join(mpfr_srcptr low, mpfr_srcptr high) {
  const int bits = Precision::bits();
  Mpfr rest(2 * bits + 2300), width(64);
  mpfr_set(rest.v, low, MPFR_RNDN);
  Real sum;
  for (int k = 0; k < bits / 50 + 2 && !mpfr_zero_p(rest.v); ++k) {
    const double part = mpfr_get_d(rest.v, MPFR_RNDN);
    if (part == 0) break;
    sum += Real::of(part);
    mpfr_sub_d(rest.v, rest.v, part, MPFR_RNDN);
  }
  // What the doubles left of low, and the way to high.
  mpfr_abs(rest.v, rest.v, MPFR_RNDU);
  mpfr_sub(width.v, high, low, MPFR_RNDU);
  mpfr_add(width.v, width.v, rest.v, MPFR_RNDU);
  const double radius = mpfr_get_d(width.v, MPFR_RNDU);
  return radius == 0 ? sum : sum + Real::of(radius) * unit_interval();
}

// Precision that holds a sum of doubles of any exponent below 2^12 exactly, down to 2^-1074.
int span(int bits) { return 2 * bits + 1200; }

}  // namespace

Real erfc(const Real& x) {
  if (x.is_exact() && x.sign() == 0) return Real::of(std::int64_t{1});
  const int bits = Precision::bits();
  Mpfr mid(span(bits)), end(span(bits) + 64), low(bits + 16), high(bits + 16);
  double radius = 0;
  split(x, mid.v, radius);
  mpfr_add_d(end.v, mid.v, radius, MPFR_RNDU);
  mpfr_erfc(low.v, end.v, MPFR_RNDD);
  mpfr_sub_d(end.v, mid.v, radius, MPFR_RNDD);
  mpfr_erfc(high.v, end.v, MPFR_RNDU);
  return join(low.v, high.v);
}

Real normal_cdf(const Real& x) { return erfc(-x / sqrt(Real::of(std::int64_t{2}))) / Real::of(std::int64_t{2}); }

Real normal_density(const Real& x) {
  const Real two = Real::of(std::int64_t{2});
  return exp(-(x * x) / two) / sqrt(two * Real::pi());
}

Real normal_quantile(const Real& p) {
  const Real half = Real::of(0.5);
  if (p.is_exact() && p == half) return Real();
  const bool upper = p > half;
  const Real q = upper ? Real::of(std::int64_t{1}) - p : p;  // erfc(t) = 2q, x = -+ sqrt(2) t
  if (q.sign() <= 0) throw std::domain_error("a quantile wants a number between 0 and 1");
  const int bits = Precision::bits(), work = bits + 64;
  Mpfr mid(span(bits)), low_q(work), high_q(work);
  double radius = 0;
  split(q, mid.v, radius);
  mpfr_sub_d(low_q.v, mid.v, radius, MPFR_RNDD);
  mpfr_add_d(high_q.v, mid.v, radius, MPFR_RNDU);
  if (mpfr_sgn(low_q.v) <= 0) throw Undecided{};
  mpfr_mul_2ui(low_q.v, low_q.v, 1, MPFR_RNDD);
  mpfr_mul_2ui(high_q.v, high_q.v, 1, MPFR_RNDU);

  // Newton on log erfc, which is concave and falling: from any start the iterates come down on the root from the right.
  Mpfr t(work), f(work), slope(work), step(work), target(work);
  mpfr_set(target.v, low_q.v, MPFR_RNDN);
  mpfr_add(target.v, target.v, high_q.v, MPFR_RNDN);
  mpfr_div_2ui(target.v, target.v, 1, MPFR_RNDN);
  mpfr_log(target.v, target.v, MPFR_RNDN);
  const double start = normal_quantile(std::max(mpfr_get_d(low_q.v, MPFR_RNDN) / 2, 1e-300), 0.0, false).hi;
  mpfr_set_d(t.v, std::fabs(start) / std::sqrt(2.0), MPFR_RNDN);
  long last = 0;
  for (int k = 0; k < 60; ++k) {
    mpfr_erfc(f.v, t.v, MPFR_RNDN);
    // slope of log erfc: -2 / sqrt(pi) exp(-t^2) / erfc(t)
    mpfr_sqr(slope.v, t.v, MPFR_RNDN);
    mpfr_neg(slope.v, slope.v, MPFR_RNDN);
    mpfr_exp(slope.v, slope.v, MPFR_RNDN);
    mpfr_mul_2ui(slope.v, slope.v, 1, MPFR_RNDN);
    mpfr_const_pi(step.v, MPFR_RNDN);
    mpfr_sqrt(step.v, step.v, MPFR_RNDN);
    mpfr_div(slope.v, slope.v, step.v, MPFR_RNDN);
    mpfr_div(slope.v, slope.v, f.v, MPFR_RNDN);
    mpfr_log(f.v, f.v, MPFR_RNDN);
    mpfr_sub(f.v, f.v, target.v, MPFR_RNDN);
    mpfr_div(step.v, f.v, slope.v, MPFR_RNDN);
    mpfr_add(t.v, t.v, step.v, MPFR_RNDN);
    if (mpfr_zero_p(step.v)) break;
    const long size = mpfr_get_exp(step.v);
    if (size < -bits / 2 - 8 && k > 0 && (size < -bits - 8 || size >= last - 4)) break;
    last = size;
  }
  // The root is where it is proved to be: erfc(t - d) >= 2q for every q of the interval, and erfc(t + d) <= 2q.
  Mpfr low(work), high(work), value(work);
  for (long d = -bits; d < 8; d += 2) {
    mpfr_set_ui_2exp(step.v, 1, d, MPFR_RNDN);
    mpfr_sub(low.v, t.v, step.v, MPFR_RNDD);
    mpfr_add(high.v, t.v, step.v, MPFR_RNDU);
    mpfr_erfc(value.v, low.v, MPFR_RNDD);
    if (mpfr_less_p(value.v, high_q.v)) continue;
    mpfr_erfc(value.v, high.v, MPFR_RNDU);
    if (mpfr_greater_p(value.v, low_q.v)) continue;
    const Real x = sqrt(Real::of(std::int64_t{2})) * join(low.v, high.v);
    return upper ? x : -x;
  }
  throw Undecided{};
}

namespace {

constexpr double two_over_sqrt_pi = 1.1283791670955126;
constexpr TwoDouble sqrt_two{1.4142135623730951, -9.667293313452913e-17};

// The root of erfc(t) = 2p to about 1e-7: M. Giles 2010, "Approximating the erfinv function", table 5.
double first_guess(double p) {
  double w = -std::log(4 * p * (1 - p));
  const double x = 1 - 2 * p;
  const auto poly = [&w](std::initializer_list<double> c) {
    double r = 0;
    for (const double k : c) r = r * w + k;
    return r;
  };
  if (w < 5) {
    w -= 2.5;
    return x * poly({2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
                     0.246640727, 1.50140941});
  }
  if (p < 1e-15) {  // beyond the table: a few steps of t^2 = -log(2p t sqrt(pi)), then Newton below takes over
    double t = std::sqrt(-std::log(2 * p));
    for (int k = 0; k < 30; ++k) t = std::sqrt(-std::log(2 * p) - std::log(t * 1.7724538509055159 / (1 - 0.5 / (t * t))));
    return t;
  }
  w = std::sqrt(w) - 3;
  return x * poly({-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
                   1.00167406, 2.83297682});
}

}  // namespace

Quantile normal_quantile(double hi, double lo, bool two) {
  if (hi == 0.5 && lo == 0) return {};
  // Halley's steps on erfc(t) - 2p: with n Newton's step, d = n / (1 - n t). A step leaves (t^2 / 3 + 1/3) d^3 at most (1 + t^2) |d|^3;
  // the C library's erfc is trusted to 8 ulp (2^-49 relative), worth 2^-49 / (erfc' / erfc) <= 2^-49 sqrt(pi) / 2 in t, since
  // erfc(t) exp(t^2) <= 1; its exp and the arithmetic err by less than 2^-44 of d for t < 27.
  double t = first_guess(hi), d = 0;
  const auto halley = [&t](double residual) {
    const double n = residual / (two_over_sqrt_pi * std::exp(-t * t));
    return n / (1 - n * t);
  };
  for (int k = 0; k < 8; ++k) {
    d = halley((std::erfc(t) - 2 * hi) - 2 * lo);
    t += d;
    if (std::fabs(d) < 1e-6) break;
  }
  if (!(std::fabs(d) < 1e-6) || hi < 1e-290) return {0, 0, HUGE_VAL};
  double bound = 0x1p-49 + std::fabs(t) * 0x1p-52 + std::fabs(d) * 0x1p-44 + (1 + t * t) * std::fabs(d * d * d);
  if (!two) {
    const double x = -std::sqrt(2.0) * t;
    return {x, 0, bound * 1.4143 + std::fabs(x) * 0x1p-51};
  }
  // One more step whose residual is taken at 128 bits: n is right to 2^-44 relative, and |n| < 2^-40.
  thread_local Mpfr at(53), value(128);
  mpfr_set_d(at.v, t, MPFR_RNDN);
  mpfr_erfc(value.v, at.v, MPFR_RNDN);
  mpfr_sub_d(value.v, value.v, 2 * hi, MPFR_RNDN);
  mpfr_sub_d(value.v, value.v, 2 * lo, MPFR_RNDN);
  d = halley(mpfr_get_d(value.v, MPFR_RNDN));
  const TwoDouble root = two_sum(t, d);
  const TwoDouble x = sqrt_two * root;
  // sqrt 2 as two doubles and the product: 2^-100 relative; 128 bits of erfc: 2^-127 of a number up to 2, over a slope that is as large: 2^-120.
  bound = std::fabs(d) * 0x1p-44 + (1 + t * t) * std::fabs(d * d * d) + 0x1p-120;
  return {-x.hi, -x.lo, bound * 1.4143 + std::fabs(x.hi) * 0x1p-100};
}

}  // namespace posenc::num
