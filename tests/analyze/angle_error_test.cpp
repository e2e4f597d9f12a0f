// The engine behind precision: its maxima, first positions and counts against every position by itself. The oracle rounds
// with its own few lines (integers and the bits of doubles), not with the library's.
#include "analyze/angle_error.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <set>

using namespace posenc;
using namespace posenc::analyze_sections;
using num::Format;

namespace {

constexpr Format f16{11, -14, 15}, bf16{8, -126, 127}, f32{24, -126, 127}, f64{53, -1022, 1023};

// Nearest even in a format of up to 24 bits, of an exact product held in 64-bit long double significands.
long double to_format(long double x, const Format& f) {
  if (x == 0 || std::isinf(x)) return x;
  const int e = std::max(std::ilogb(x), f.emin);
  const long double step = std::ldexp(1.0L, e - f.digits + 1);
  const long double r = std::nearbyint(x / step) * step;
  return std::ilogb(r) > f.emax ? HUGE_VALL : r;
}

// bfloat16 of a float by its bits: add 0x7fff and the last kept bit, cut.
float bf16_by_bits(float x) {
  auto u = std::bit_cast<std::uint32_t>(x);
  u += 0x7fff + (u >> 16 & 1);
  return std::bit_cast<float>(u & 0xffff0000);
}

struct Brute {
  double worst = 0;
  std::int64_t first = -1, infinite = -1;
};
// `used` has at most 24 bits and positions at most 24, so that long double holds products exactly.
Brute brute(double truth, double used, const Format& position, const Format& product, std::int64_t count, double limit) {
  Brute out;
  for (std::int64_t p = 0; p < count; ++p) {
    const long double angle = to_format(to_format(static_cast<long double>(p), position) * used, product);
    const auto error = static_cast<double>(std::fabs(angle - static_cast<long double>(p) * truth));
    if (std::isinf(error)) {
      if (out.infinite < 0) out.infinite = p;
    } else {
      out.worst = std::max(out.worst, error);
    }
    if (out.first < 0 && error > limit) out.first = p;
  }
  return out;
}

}  // namespace

TEST_CASE("casts of positions: distinct values, first lost, overflow, by counting") {
  std::mt19937_64 random(1);
  for (const Format& format : {f16, bf16, f32}) {
    for (int trial = 0; trial < 40; ++trial) {
      const auto count = static_cast<std::int64_t>(std::exp2(std::uniform_real_distribution<double>(0, 17.5)(random)));
      std::set<long double> values;
      std::int64_t lost = -1, infinite = -1;
      for (std::int64_t p = 0; p < count; ++p) {
        const long double v = to_format(static_cast<long double>(p), format);
        if (!values.insert(v).second && lost < 0) lost = p;
        if (std::isinf(v) && infinite < 0) infinite = p;
      }
      const CastPositions got = cast_positions(format, count);
      CAPTURE(count);
      CAPTURE(format.digits);
      CHECK(got.distinct == static_cast<std::int64_t>(values.size()));
      CHECK(got.first_lost.value_or(-1) == lost);
      CHECK(got.infinite.value_or(-1) == infinite);
    }
  }
}

TEST_CASE("casts of positions: FIELD_LOG B02 (a)") {
  const struct {
    std::int64_t count, bf16_rows, f16_rows;
  } known[] = {{4096, 769, 3073}, {8192, 897, 4097}, {32768, 1153, 6145}, {131072, 1409, 7169}};
  for (const auto& k : known) {
    CHECK(cast_positions(bf16, k.count).distinct == k.bf16_rows);
    CHECK(cast_positions(f16, k.count).distinct == k.f16_rows);
  }
  CHECK(cast_positions(f16, 65520).infinite == std::nullopt);
  CHECK(cast_positions(f16, 65521).infinite == 65520);
  CHECK(cast_positions(bf16, 15963).step == 64);  // B02 (d)
  // 2^53 positions: 2^24 + 1 numbers up to 2^24, then 2^23 in each binade to (2^53).
  CHECK(cast_positions(f32, std::int64_t{1} << 53).distinct == (1 << 24) + 1 + std::int64_t{29} * (1 << 23));
  CHECK(cast_positions(bf16, std::int64_t{1} << 53).distinct == 257 + 45 * 128);
  CHECK(cast_positions(f64, std::int64_t{1} << 53).distinct == std::int64_t{1} << 53);
}

TEST_CASE("bfloat16 by bits agrees with the oracle's rounding") {
  for (int p = 0; p < 200000; p += 7)
    REQUIRE(static_cast<long double>(bf16_by_bits(static_cast<float>(p))) == to_format(p, bf16));
}

TEST_CASE("worst angle error and first position past a limit equal those of all positions") {
  std::mt19937_64 random(2);
  const auto uniform = [&](double a, double b) { return std::uniform_real_distribution<double>(a, b)(random); };
  for (int trial = 0; trial < 400; ++trial) {
    const auto count = static_cast<std::int64_t>(std::exp2(uniform(0, 15.5)));
    const double truth = std::exp2(uniform(trial % 4 == 0 ? -30 : -12, 3));
    const Format* const forms[] = {&f16, &bf16, &f32};
    const Format& position = *forms[random() % 3];
    const Format& product = *forms[random() % 3];
    const Format& kept = trial % 3 == 0 ? product : *forms[random() % 3];
    // Short significands make ties.
    double used = static_cast<double>(to_format(truth, kept));
    if (trial % 5 == 0) used = std::ldexp(std::floor(std::ldexp(used, 6)), -6);
    const double limit = std::exp2(uniform(-8, 1));
    const Brute want = brute(truth, used, position, product, count, limit);
    const AngleError error(num::Real::of(truth), used, position, product);
    const auto got = error.worst(count);
    CAPTURE(trial);
    CAPTURE(count);
    CAPTURE(truth);
    CAPTURE(used);
    CAPTURE(position.digits);
    CAPTURE(product.digits);
    // Both sides round a few times; the oracle cancels a 64-bit product, the engine rounds to 53 bits.
    CHECK(got.error == doctest::Approx(want.worst).epsilon(1e-9));
    const long double there = to_format(to_format(static_cast<long double>(got.position), position) * used, product);
    CHECK(std::fabs(there - static_cast<long double>(got.position) * truth) == doctest::Approx(want.worst).epsilon(1e-9));
    CHECK(error.infinite_from(count).value_or(-1) == want.infinite);
    CHECK(error.first_past(limit, count).value_or(-1) == want.first);
  }
}

// Where nobody can look at every position: the position named has the error named, and no other has more.
TEST_CASE("worst angle errors over 2^53 positions are met where they are said to be and not passed elsewhere") {
  std::mt19937_64 random(3);
  const auto at = [](const AngleError& error, std::int64_t position) {
    // The error of one position alone: all below it are less, so the maximum over 0..position tells it when it is a record.
    return error.worst(position + 1).error;
  };
  for (int trial = 0; trial < 60; ++trial) {
    const Format& format = trial % 2 == 0 ? f32 : f64;
    const double truth = std::exp2(std::uniform_real_distribution<double>(-40, 0)(random));
    const double used = trial % 2 == 0 ? static_cast<float>(truth) : truth * (1 + 0x1p-52);
    const std::int64_t count = std::int64_t{1} << (20 + random() % 34);
    const AngleError error(num::Real::of(truth), used, format, format);
    const auto worst = error.worst(count);
    const auto single = [&](std::int64_t p) {  // by MPFR, in the library's own wrapper of it
      const num::Precision precision(256);
      const double cast = num::decide(format.digits == 24 ? DType::f32 : DType::f64, [&] { return num::Real::of(p); });
      const double angle = num::decide(format.digits == 24 ? DType::f32 : DType::f64, [&] { return num::Real::of(cast) * num::Real::of(used); });
      return std::fabs((num::Real::of(angle) - num::Real::of(p) * num::Real::of(truth)).to_double());
    };
    CAPTURE(trial);
    CHECK(single(worst.position) == doctest::Approx(worst.error).epsilon(1e-9));
    CHECK(at(error, worst.position) == doctest::Approx(worst.error).epsilon(1e-12));
    for (int i = 0; i < 200; ++i) {
      const std::int64_t p = i < 100 ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count)) : count - 1 - i;
      CHECK(single(p) <= worst.error * (1 + 1e-9));
    }
    // The first position past a limit is past it, and none before it is.
    const double limit = worst.error / 3;
    const auto first = error.first_past(limit, count);
    REQUIRE(first.has_value());
    CHECK(single(*first) > limit * (1 - 1e-9));
    CHECK(error.worst(*first).error <= limit * (1 + 1e-9));
  }
}
