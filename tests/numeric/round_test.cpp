// Rounding to 16 bits and the vector kernels, against Boost's exact arithmetic and against each other.
#include <algorithm>
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

// The bits of x in f32, f16 or bf16 (format 0, 1, 2) after one rounding: through the double that is cut off with its last
// place set where bits were lost, which no later rounding takes for a tie.
std::uint64_t rounded_once(long double x, int format) {
  if (format == 0) {
    const auto f = static_cast<float>(x);
    std::uint32_t bits;
    std::memcpy(&bits, &f, 4);
    return bits;
  }
  auto d = static_cast<double>(x);
  if (std::isfinite(d) && static_cast<long double>(d) != x) {
    if (std::fabs(static_cast<long double>(d)) > std::fabs(x)) d = std::nextafter(d, 0.0);
    d = num::double_of(num::bits_of(d) | 1);
  }
  return format == 1 ? num::round_to_f16(d) : num::round_to_bf16(d);
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
          // The contract, value by value: what is decided is the rounding of all of [v - e, v + e], whose ends no double need
          // be; what is undecided is near a boundary, within another ulp or two of the double.
          std::size_t u = 0;
          for (std::size_t i = 0; i < n; ++i) {
            constexpr long double most = 0x1.fffffffffffffp1023L;  // bounds are finite: infinite values are exact
            const long double v = values[i], e = std::min(most, bound.absolute + static_cast<long double>(bound.relative) * std::fabs(v));
            const bool exact = bound.absolute == 0 && bound.relative == 0;
            if (exact && v == 0) {  // an exact zero has no sign
              std::uint64_t stored = 1;
              std::memcpy(&stored, out.data() + i * size, size);
              REQUIRE((stored & ((std::uint64_t{1} << (8 * size)) - 1)) == 0);
              continue;
            }
            const long double wider = exact ? 0 : std::min(most, e * (1 + 0x1p-48L) + std::fabs(v) * 0x1p-51L);
            const std::uint64_t low = rounded_once(v - e, format), high = rounded_once(v + e, format);
            const bool listed = u < undecided.size() && undecided[u] == i;
            if (listed) {
              ++u;
              CHECK(rounded_once(v - wider, format) != rounded_once(v + wider, format));
              continue;
            }
            REQUIRE(low == high);
            std::uint64_t stored = 0;
            std::memcpy(&stored, out.data() + i * size, size);
            REQUIRE(stored == low);
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

TEST_CASE("kernels keep NaN, whatever its bits and its neighbours") {
  std::mt19937_64 random(7);
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i) {
    // Quiet and signalling, as widened from f32 and f16; a number now and then.
    const std::uint64_t payload = random() & 0xfffffffffffffULL;
    values.push_back(i % 7 == 3 ? 1.5 : num::double_of(0x7ff0000000000000ULL | (random() & 1) << 63 | (payload == 0 ? 1 : payload)));
  }
  for (const simd::Kernels* k : simd::available())
    for (const double absolute : {0.0, 1e-9})
      for (int format = 0; format < 3; ++format) {
        const auto round = format == 0 ? k->round_f32 : (format == 1 ? k->round_f16 : k->round_bf16);
        const std::size_t size = format == 0 ? 4 : 2;
        std::vector<std::byte> out(values.size() * size);
        std::vector<std::uint32_t> undecided(values.size());
        undecided.resize(round(values.data(), values.size(), absolute, 0, out.data(), undecided.data()));
        int wrong = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
          std::uint32_t bits = 0;
          std::memcpy(&bits, out.data() + i * size, size);
          const bool nan = format == 0   ? (bits & 0x7fffffffu) > 0x7f800000u
                           : format == 1 ? (bits & 0x7fffu) > 0x7c00u
                                         : (bits & 0x7fffu) > 0x7f80u;
          wrong += nan == std::isnan(values[i]) || std::ranges::find(undecided, static_cast<std::uint32_t>(i)) != undecided.end() ? 0 : 1;
        }
        CHECK(wrong == 0);
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
