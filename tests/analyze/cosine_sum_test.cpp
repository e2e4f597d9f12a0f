// Signs of sums of cosines against sums in long double and in MPFR.
#include "numeric/cosine_sum.hpp"

#include <doctest/doctest.h>
#include <mpfr.h>

#include <cmath>
#include <limits>

#include "encodings/mpfr_reference.hpp"

namespace posenc::test {
namespace {

using num::CosineSum;
using num::Real;

long double plain_sum(double base, int pairs, int denominator, std::int64_t m) {
  long double f = 0;
  for (int i = 0; i < pairs; ++i) f += std::cos(static_cast<long double>(m) * std::pow(static_cast<long double>(base), -2.0L * i / denominator));
  return f;
}

// Of given doubles at 3000 bits, which reduces any double times 2^30 modulo 2 pi.
bool negative_in_mpfr(const std::vector<double>& frequencies, std::int64_t m) {
  mpfr_t sum, x;
  mpfr_inits2(3000, sum, x, static_cast<mpfr_ptr>(nullptr));
  mpfr_set_zero(sum, 1);
  for (const double f : frequencies) {
    mpfr_set_d(x, f, MPFR_RNDN);
    mpfr_mul_si(x, x, static_cast<long>(m), MPFR_RNDN);
    mpfr_cos(x, x, MPFR_RNDN);
    mpfr_add(sum, sum, x, MPFR_RNDN);
  }
  const bool negative = mpfr_sgn(sum) < 0;
  mpfr_clears(sum, x, static_cast<mpfr_ptr>(nullptr));
  return negative;
}

CosineSum of(const std::vector<double>& frequencies) {
  return CosineSum([frequencies] {
    std::vector<Real> list;
    for (const double f : frequencies) list.push_back(Real::of(f));
    return list;
  });
}

struct Brute {
  std::optional<std::int64_t> first;
  std::int64_t nearest = 0;  ///< where |f| is least
  std::vector<long double> values;
};
Brute brute(double base, int pairs, int denominator, std::int64_t count) {
  Brute b;
  for (std::int64_t m = 0; m < count; ++m) {
    b.values.push_back(plain_sum(base, pairs, denominator, m));
    if (!b.first && b.values.back() < 0) b.first = m;
    if (std::fabs(b.values.back()) < std::fabs(b.values[static_cast<std::size_t>(b.nearest)])) b.nearest = m;
  }
  return b;
}

}  // namespace

TEST_CASE("the first negative sum is that of a sum in long double") {
  // pairs, denominator, base; 300 pairs are more than one group of partial sums, 12 of 64 is a partial head over the whole.
  const struct {
    int pairs, denominator;
    double base;
  } cases[] = {{1, 2, 10000}, {2, 4, 10000}, {5, 10, 500000}, {12, 64, 10000}, {32, 64, 10000}, {64, 128, 500}, {64, 128, 27000}, {64, 128, 26952.5}, {300, 600, 10000}, {32, 64, 1.5}, {16, 32, 0.25}};
  for (const auto& c : cases) {
    CAPTURE(c.pairs);
    CAPTURE(c.base);
    const std::int64_t count = 6000;
    const Brute want = brute(c.base, c.pairs, c.denominator, count);
    const CosineSum sum = CosineSum::geometric(c.base, c.pairs, c.denominator);
    CHECK(sum.first_negative(count) == want.first);
    CHECK(sum.negative(want.nearest) == (want.values[static_cast<std::size_t>(want.nearest)] < 0));
    if (want.first) {  // the end is not looked at
      CHECK(sum.first_negative(*want.first) == std::nullopt);
      CHECK(sum.first_negative(*want.first + 1) == want.first);
    }
    CosineSum::Low low;
    const float threshold = static_cast<float>(want.values[0] / 4);
    CHECK(sum.first_negative(count, low, threshold) == want.first);
    // What is low: within the error that cosine_sum.cpp states, 2.1e-4 a pair.
    const double slack = 2.1e-4 * c.pairs;
    std::size_t at = 0;
    for (std::int64_t m = 0; m < count; ++m) {
      const long double f = want.values[static_cast<std::size_t>(m)];
      const bool listed = at < low.size() && low[at].second == m;
      if (listed) CHECK(std::fabs(low[at].first - static_cast<double>(f)) <= slack);
      if (f < threshold - slack) CHECK(listed);
      if (f > threshold + slack) CHECK(!listed);
      at += listed ? 1 : 0;
    }
    CHECK(at == low.size());
  }
}

TEST_CASE("far out, and frequencies of any size") {
  // Long double is good to 2^-64 * 2^27 there, a sum within 1e-9 of zero does not occur among the sampled positions.
  const CosineSum sum = CosineSum::geometric(1e9, 64, 128);
  for (std::int64_t m = 123456789; m < 123456789 + 2000; ++m) {
    const long double f = plain_sum(1e9, 64, 128, m);
    REQUIRE(std::fabs(f) > 1e-9L);
    CHECK(sum.negative(m) == (f < 0));
  }
  const std::vector<double> odd{0, 1e300, std::numeric_limits<double>::max(), 3.14159265358979, 1e-300, 0.5, 12345678.9};
  const CosineSum any = of(odd);
  std::optional<std::int64_t> first;
  for (std::int64_t m = 0; m < 600; ++m) {
    const bool negative = negative_in_mpfr(odd, m);
    CHECK(any.negative(m) == negative);
    if (negative && !first) first = m;
  }
  CHECK(any.first_negative(600) == first);
}

TEST_CASE("a sum that binary64 cannot tell from zero") {
  // cos(m f) + cos(m g) with m f and m g on the two sides of a right angle, one unit of the last place apart or less.
  for (const std::int64_t m : {std::int64_t{1}, std::int64_t{1000003}, (std::int64_t{1} << 30) - 1}) {
    int negatives = 0;
    for (int k = 0; k < 40; ++k) {
      const double f = (0.5 + 0.01 * k) / static_cast<double>(m);
      double g = (3.14159265358979323846 - (0.5 + 0.01 * k)) / static_cast<double>(m);
      if (k % 2 == 1) g = std::nextafter(g, 0.0);
      const bool want = negative_in_mpfr({f, g}, m);
      CHECK(of({f, g}).negative(m) == want);
      negatives += want ? 1 : 0;
    }
    CHECK(negatives > 0);
    CHECK(negatives < 40);
  }
}

}  // namespace posenc::test
