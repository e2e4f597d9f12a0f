// Real: enclosures that hold the truth, rational results recognised, roundings that always end.
#include <cstring>
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "encodings/oracle.hpp"
#include "numeric/decide.hpp"
#include "numeric/phasor.hpp"
#include "numeric/scalar.hpp"

using namespace posenc;
using namespace posenc::num;
using oracle::Big;

TEST_CASE("Real recognises rational results") {
  const auto i = [](std::int64_t v) { return Real::of(v); };
  CHECK(cos(i(0)).is_exact());
  CHECK(sin(i(0)).sign() == 0);
  CHECK(exp(i(0)) == i(1));
  CHECK(log(i(1)) == i(0));
  CHECK(log2(i(8)) == i(3));
  CHECK(log2(Real::of(0.125)) == i(-3));
  CHECK(pow(i(10000), 16, 64) == i(10));
  CHECK(pow(i(10000), -1, 4) == i(1) / i(10));
  CHECK(pow(i(8), 2, 3) == i(4));
  CHECK(pow(Real::of(0.25), 1, 2) == Real::of(0.5));
  CHECK(sqrt(i(144)) == i(12));
  CHECK(pow(i(2), Real::of(-3.0)) == Real::of(0.125));
  CHECK_FALSE(pow(i(10000), 1, 64).is_exact());
  CHECK((i(1) / i(3) * i(3)) == i(1));
  CHECK(floor(Real::of(-2.5)) == i(-3));
  CHECK(ceil(Real::of(-2.5)) == i(-2));
  CHECK(floor(pow(i(10), 1, 2)) == i(3));
  CHECK((Real::pi() * i(0)).is_exact());
}

TEST_CASE("exact ties and exact values end at once, for every dtype") {
  const auto one = [] { return Real::of(std::int64_t{1}); };
  CHECK(decide(DType::bf16, [&] { return one() + Real::of(0x1p-8); }) == 1);                  // tie to even
  CHECK(decide(DType::bf16, [&] { return one() + Real::of(3 * 0x1p-8); }) == 1 + 0x1p-6);     // tie to even, upward
  CHECK(decide(DType::f16, [&] { return Real::of(65519.99); }) == 65504);
  CHECK(decide(DType::f16, [&] { return Real::of(65520.0); }) == HUGE_VAL);                   // tie at the overflow edge
  CHECK(decide(DType::f16, [&] { return Real::of(0x1p-25); }) == 0);                          // tie with the smallest subnormal
  CHECK(decide(DType::f16, [&] { return Real::of(3 * 0x1p-25); }) == 0x1p-23);
  CHECK(decide(DType::f64, [&] { return one() + Real::of(0x1p-53); }) == 1);
  CHECK(decide(DType::f64, [&] { return one() + Real::of(0x1p-53) + Real::of(0x1p-1000); }) == 1 + 0x1p-52);
  CHECK(decide(DType::f32, [&] { return one() / Real::of(std::int64_t{3}); }) == static_cast<double>(1.0f / 3.0f));
  CHECK(decide(DType::f32, [&] { return cos(Real()); }) == 1);
  CHECK(decide(DType::f32, [&] { return Real::infinity(-1); }) == -HUGE_VAL);
  CHECK(decide(DType::f64, [&] { return Real::of(0x1p-1074) / Real::of(std::int64_t{2}); }) == 0);
}

TEST_CASE("enclosures hold the truth and shrink with precision") {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const auto n = static_cast<std::int64_t>(random() >> (11 + trial % 40));
    const std::int64_t p = static_cast<std::int64_t>(random() % 127) + 1;
    const Precision precision(160);
    const Real angle = Real::of(n) * pow(Real::of(10000.0), -p, 128);
    const Big truth = Big(n) * exp(-Big(p) / 128 * log(Big(10000)));
    double hi = 0, lo = 0;
    const double width = sin(angle).two_double(hi, lo);
    const Big off = abs(Big(hi) + Big(lo) - sin(truth));
    CHECK(static_cast<double>(off) <= width);
    CHECK(width < 1e-25);
  }
}

TEST_CASE("a comparison that precision cannot settle is said, not guessed") {
  const Precision precision(64);
  const Real third = exp(log(Real::of(std::int64_t{3})));  // 3, but not known to be
  CHECK_THROWS_AS((void)(third < Real::of(std::int64_t{3})), Undecided);
  CHECK_THROWS_AS((void)floor(third), Undecided);
}

TEST_CASE("phasors keep their bound for integers to 2^53 and for fractions") {
  std::mt19937_64 random(17);
  std::vector<Real> frequencies;
  {
    const Precision precision(256);
    for (std::int64_t i = 0; i < 4; ++i) frequencies.push_back(pow(Real::of(10000.0), -i, 4));
  }
  const PhasorTable table(frequencies, 64, 0x1p53);
  std::vector<double> xs{0, 1, -1, 255, 256, 0x1p53, -0x1p53 + 1, 0.1, -12345.678, 0.5};
  for (int i = 0; i < 40; ++i) xs.push_back(static_cast<double>(static_cast<std::int64_t>(random() >> (11 + i))));
  for (const double x : xs) {
    std::vector<Phasor> out(4);
    REQUIRE(table.at(x, out.data()));
    for (std::int64_t i = 0; i < 4; ++i) {
      const Big angle = Big(x) * exp(-Big(i) / 4 * log(Big(10000)));
      const Phasor& z = out[static_cast<std::size_t>(i)];
      CHECK(static_cast<double>(Big(abs(Big(z.cos.hi) + Big(z.cos.lo) - cos(angle)))) <= PhasorTable::error);
      CHECK(static_cast<double>(Big(abs(Big(z.sin.hi) + Big(z.sin.lo) - sin(angle)))) <= PhasorTable::error);
    }
  }
  std::vector<Phasor> out(4);
  CHECK_FALSE(table.at(1e-30, out.data()));
  CHECK_FALSE(table.at(0x1p60, out.data()));

  // Tables that hold no more digits than the largest argument asks for give the same bits.
  for (const double largest : {0.0, 1.0, 7.0, 255.0, 256.0, 1000.0, 65535.0, 65536.5}) {
    const PhasorTable small(frequencies, 64, largest);
    for (const double x : {0.0, 1.0, 0.5, 6.25, 7.0, 254.0, 255.0, 256.0, 300.0, 999.0, 1000.0, 65535.0, 65536.0, 65536.5}) {
      std::vector<Phasor> one(4);
      REQUIRE(small.at(x, one.data()) == (x <= largest));
      if (x > largest) continue;
      REQUIRE(table.at(x, out.data()));
      CHECK(std::memcmp(one.data(), out.data(), sizeof(Phasor) * 4) == 0);
    }
  }
}

TEST_CASE("binary32 functions are correctly rounded") {
  std::mt19937_64 random(23);
  const auto right = [](float got, const Big& truth) { return oracle::correctly_rounded(DType::f32, static_cast<double>(got), truth); };
  for (int i = 0; i < 3000; ++i) {
    const float x = std::ldexp(static_cast<float>(random() >> 40), static_cast<int>(random() % 30) - 26);
    if (x == 0) continue;
    CHECK(right(cos_f32(x), cos(Big(x))));
    CHECK(right(sin_f32(x), sin(Big(x))));
    CHECK(right(log_f32(x), log(Big(x))));
    if (x < 80) CHECK(right(exp_f32(x), exp(Big(x))));
    CHECK(right(pow_f32(10000.0f, -x / 262144), exp(-Big(x / 262144) * log(Big(10000)))));
  }
}

TEST_CASE("Bounded holds the truth within its bound") {
  std::mt19937_64 random(29);
  for (int i = 0; i < 2000; ++i) {
    const auto p = static_cast<std::int64_t>(random() % 63) + 1;
    const auto n = static_cast<std::int64_t>(random() % 100000);
    const Bounded b = cos(Bounded::of(n) / pow(Bounded::of(500000.0), p, 64)) * log(Bounded::of(1.5)) - sqrt(Bounded::of(2.0));
    const Big truth = cos(Big(n) / exp(Big(p) / 64 * log(Big(500000)))) * log(Big(1.5)) - sqrt(Big(2));
    CHECK(static_cast<double>(Big(abs(Big(b.v) - truth))) <= b.e);
  }
}
