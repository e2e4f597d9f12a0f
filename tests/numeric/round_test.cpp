// Rounding to 16 bits and the vector kernels, against Boost's exact arithmetic and against each other.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "encodings/oracle.hpp"
#include "numeric/round.hpp"
#include "simd/kernels.hpp"

using namespace posenc;

namespace {

// Every value of a 16-bit format, every midpoint between neighbours, and the doubles next to each.
std::vector<double> edges(double (*value_of)(std::uint16_t), int exponent_bits, int mantissa_bits) {
  const int infinity = ((1 << exponent_bits) - 1) << mantissa_bits;
  std::vector<double> out{0.0, HUGE_VAL, 1e300, 1e-300, 0x1p-1074};
  for (int bits = 0; bits < infinity; ++bits) {
    const double low = value_of(static_cast<std::uint16_t>(bits));
    const double high = bits + 1 < infinity ? value_of(static_cast<std::uint16_t>(bits + 1)) : 2 * low - value_of(static_cast<std::uint16_t>(bits - 1));
    const double middle = low + (high - low) / 2;
    for (const double v : {low, middle})
      for (const double w : {v, std::nextafter(v, HUGE_VAL), std::nextafter(v, -HUGE_VAL)}) out.push_back(w);
  }
  const std::size_t n = out.size();
  for (std::size_t i = 0; i < n; ++i) out.push_back(-out[i]);
  return out;
}

double f16(std::uint16_t bits) { return num::value_of_f16(bits); }
double bf16(std::uint16_t bits) { return num::value_of_bf16(bits); }

}  // namespace

TEST_CASE("rounding to f16 and bf16 is to nearest even at every value, midpoint and neighbour") {
  for (const double v : edges(f16, 5, 10)) {
    if (std::isinf(v)) continue;
    const double r = num::value_of_f16(num::round_to_f16(v));
    REQUIRE_MESSAGE(oracle::correctly_rounded(DType::f16, r, oracle::Big(v)), "f16 of ", v, " gave ", r);
  }
  int step = 0;
  for (const double v : edges(bf16, 8, 7)) {
    if (std::isinf(v) || ++step % 7 != 0) continue;  // 400,000 candidates: every seventh covers all exponents and residues
    const double r = num::value_of_bf16(num::round_to_bf16(v));
    REQUIRE_MESSAGE(oracle::correctly_rounded(DType::bf16, r, oracle::Big(v)), "bf16 of ", v, " gave ", r);
  }
  CHECK(num::round_to_f16(HUGE_VAL) == 0x7c00);
  CHECK(num::round_to_bf16(-HUGE_VAL) == 0xff80);
  CHECK((num::round_to_bf16(std::nan("")) & 0x7fff) > 0x7f80);
  CHECK((num::round_to_f16(std::nan("")) & 0x7fff) > 0x7c00);
  CHECK(std::signbit(num::value_of_f16(num::round_to_f16(-0.0))));
}

TEST_CASE("rounding kernels of every instruction set agree with the scalar rounding and with each other") {
  std::mt19937_64 random(11);
  std::vector<double> values = edges(f16, 5, 10);
  for (const double v : edges(bf16, 8, 7)) values.push_back(v);
  for (int i = 0; i < 50000; ++i) values.push_back(std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63 - static_cast<int>(random() % 40)));
  const std::size_t n = values.size();
  struct Bound {
    double absolute, relative;
  };
  for (const Bound bound : {Bound{0, 0}, Bound{0x1p-50, 0}, Bound{0, 0x1p-52}, Bound{1e-9, 1e-12}, Bound{HUGE_VAL, 0}}) {
    for (int format = 0; format < 3; ++format) {
      std::vector<std::uint32_t> first_undecided;
      std::vector<std::byte> first_bytes;
      for (const simd::Kernels* k : simd::available()) {
        const auto round = format == 0 ? k->round_f32 : (format == 1 ? k->round_f16 : k->round_bf16);
        const std::size_t size = format == 0 ? 4 : 2;
        std::vector<std::byte> out(n * size);
        std::vector<std::uint32_t> undecided(n);
        undecided.resize(round(values.data(), n, bound.absolute, bound.relative, out.data(), undecided.data()));
        if (first_bytes.empty()) {
          // The scalar meaning of the contract, value by value.
          std::size_t u = 0;
          for (std::size_t i = 0; i < n; ++i) {
            const double e = std::min(bound.absolute + bound.relative * std::fabs(values[i]), 0x1.fffffffffffffp1023);
            const auto one = [&](double v, std::byte* to) {
              if (format == 0) {
                const auto f = static_cast<float>(v);
                std::memcpy(to, &f, 4);
              } else {
                const std::uint16_t h = format == 1 ? num::round_to_f16(v) : num::round_to_bf16(v);
                std::memcpy(to, &h, 2);
              }
            };
            std::byte low[4], high[4];
            one(values[i] - (bound.relative == 0 ? std::min(bound.absolute, 0x1.fffffffffffffp1023) : e), low);
            one(values[i] + (bound.relative == 0 ? std::min(bound.absolute, 0x1.fffffffffffffp1023) : e), high);
            double vl = 0, vh = 0;
            if (format == 0) {
              float a, b;
              std::memcpy(&a, low, 4);
              std::memcpy(&b, high, 4);
              vl = static_cast<double>(a), vh = static_cast<double>(b);
            } else {
              std::uint16_t a, b;
              std::memcpy(&a, low, 2);
              std::memcpy(&b, high, 2);
              vl = a, vh = b;
            }
            if (vl != vh) {
              REQUIRE(u < undecided.size());
              REQUIRE(undecided[u] == i);
              ++u;
            } else {
              REQUIRE(std::memcmp(out.data() + i * size, low, size) == 0);
            }
          }
          CHECK(u == undecided.size());
          first_bytes = out;
          first_undecided = undecided;
        } else {
          CHECK_MESSAGE(out == first_bytes, k->name);
          CHECK_MESSAGE(undecided == first_undecided, k->name);
        }
      }
    }
  }
}

TEST_CASE("rotation kernels give the same bits on every instruction set and length") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (const std::size_t n : {0u, 1u, 2u, 3u, 7u, 8u, 15u, 64u, 257u}) {
    std::vector<double> a(n), b(n), c(n), d(n);
    for (auto* v : {&a, &b, &c, &d})
      for (double& x : *v) x = unit(random);
    for (const simd::Kernels* k : simd::available()) {
      std::vector<double> cosines(n), sines(n);
      k->rotate_cos(a.data(), b.data(), c.data(), d.data(), n, cosines.data());
      k->rotate_sin(a.data(), b.data(), c.data(), d.data(), n, sines.data());
      for (std::size_t i = 0; i < n; ++i) {
        const double ac = a[i] * c[i], bd = b[i] * d[i], bc = b[i] * c[i], ad = a[i] * d[i];
        CHECK(cosines[i] == ac - bd);
        CHECK(sines[i] == bc + ad);
      }
    }
  }
}

TEST_CASE("two doubles round to the nearest double, or say that they cannot") {
  for (const simd::Kernels* k : simd::available()) {
    const double hi[] = {1, 1, 1, 0.5, -3};
    const double lo[] = {0, 0x1p-54, 0x1p-53, 0x1p-55 + 0x1p-80, 0};
    double out[5];
    std::uint32_t undecided[5];
    const std::size_t left = k->round_f64(hi, lo, 5, 0x1p-90, 0, out, undecided);
    REQUIRE(left == 1);
    CHECK(undecided[0] == 2);  // 1 + 2^-53 is a tie: the bound cannot tell
    CHECK(out[1] == 1);
    CHECK(out[3] == 0.5);
    CHECK(k->round_f64(hi, lo, 5, 0, 0, out, undecided) == 0);
    CHECK(out[2] == 1);  // exact: to even
  }
}
