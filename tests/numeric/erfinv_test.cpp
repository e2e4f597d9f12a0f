// The normal quantile: against MPFR's erfc, against printed values, and the fast one within its bound.
#include <doctest/doctest.h>
#include <mpfr.h>

#include <cmath>
#include <random>

#include "numeric/decide.hpp"
#include "numeric/erfinv.hpp"

namespace {

using namespace posenc;
using namespace posenc::num;

// Phi(x) at 400 bits of x = hi + lo, as a difference to p scaled by the density: how far x is from the quantile of p.
double distance(double hi, double lo, double p) {
  mpfr_t x, y;
  mpfr_init2(x, 400), mpfr_init2(y, 400);
  mpfr_set_d(x, -hi, MPFR_RNDN);
  mpfr_sub_d(x, x, lo, MPFR_RNDN);
  mpfr_sqrt_ui(y, 2, MPFR_RNDN);
  mpfr_div(x, x, y, MPFR_RNDN);
  mpfr_erfc(x, x, MPFR_RNDN);
  mpfr_div_2ui(x, x, 1, MPFR_RNDN);
  mpfr_sub_d(x, x, p, MPFR_RNDN);
  const double off = mpfr_get_d(x, MPFR_RNDN) / (std::exp(-hi * hi / 2) / 2.5066282746310002);
  mpfr_clear(x), mpfr_clear(y);
  return std::fabs(off);
}

TEST_CASE("erfinv: the quantile of p has p below it") {
  std::mt19937_64 random(3);
  for (int k = 0; k < 300; ++k) {
    double p = (static_cast<double>(random() >> 12) + 0.5) * 0x1p-52;
    if (k % 3 == 0) p = std::ldexp(p, -static_cast<int>(random() % 200));
    const Precision precision(k % 2 ? 128 : 256);
    double hi = 0, lo = 0;
    const double width = normal_quantile(Real::of(p)).two_double(hi, lo);
    CHECK(width <= 0x1p-95 * (1 + std::fabs(hi)));
    CHECK(distance(hi, lo, p) <= (width + std::fabs(hi) * 0x1p-100) * 1.01);
    if (p > 0.5) continue;
    for (const bool two : {false, true}) {
      const Quantile q = normal_quantile(p, 0.0, two);
      CHECK(q.bound <= (two ? 0x1p-84 : 0x1p-46));
      CHECK(distance(q.hi, q.lo, p) <= q.bound * 1.01);
    }
  }
}

TEST_CASE("erfinv: printed quantiles, symmetry, one half") {
  const auto quantile = [](double p) { return decide(DType::f64, [&] { return normal_quantile(Real::of(p)); }); };
  CHECK(quantile(0.75) == doctest::Approx(0.6744897501960817).epsilon(1e-15));
  CHECK(quantile(0.25) == -quantile(0.75));
  CHECK(quantile(0.5) == 0);
  CHECK(decide(DType::f64, [] { return normal_cdf(Real::of(2.0)); }) == doctest::Approx(0.9772498680518208).epsilon(1e-15));
  CHECK(decide(DType::f64, [] { return erfc(Real()); }) == 1);
}

TEST_CASE("erfinv: the distribution function and its inverse undo each other, through inexact numbers") {
  const Precision precision(192);
  for (const double x : {-3.0, -0.1, 0.7, 5.5}) {
    double hi = 0, lo = 0;
    const Real back = normal_quantile(normal_cdf(Real::of(x)));
    const double bound = back.two_double(hi, lo);
    CHECK(std::fabs((hi - x) + lo) <= bound);
    CHECK(bound <= 0x1p-98);
  }
}

}  // namespace
