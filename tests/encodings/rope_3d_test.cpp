// rope_3d: widths, truth, layouts, refusals, laws.
#include <doctest/doctest.h>

#include <array>

#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"
#include "encodings/rope_3d.hpp"
#include "encodings/stored_checks.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

Big frequency(double base, std::int64_t pair, std::int64_t lanes) { return exp(-Big(2 * pair) / lanes * log(Big(base))); }

// The golden case video_rope_3d has axis_dim 10.
TEST_CASE("rope_3d: lanes of an axis") {
  CHECK(Rope3d{.head_dim = 32}.axis_dim() == 10);
  CHECK(Rope3d{.head_dim = 64}.axis_dim() == 20);
  CHECK(Rope3d{.head_dim = 88}.axis_dim() == 28);
  CHECK(Rope3d{.head_dim = 6}.axis_dim() == 2);
  for (const RotaryLayout layout : {RotaryLayout::half_width, RotaryLayout::interleaved, RotaryLayout::axis_halves}) {
    const bool pairs = layout == RotaryLayout::half_width;
    CHECK(erase(Rope3d{.head_dim = 64, .layout = layout})->tensors()[0].columns() == (pairs ? 30 : 60));
    CHECK(erase(Rope3d{.head_dim = 64, .layout = layout, .rest = Rope3dRest::zero})->tensors()[0].columns() == (pairs ? 32 : 64));
  }
}

TEST_CASE("rope_3d: every value against its definition, in every layout") {
  for (const std::int64_t head_dim : {10, 22, 32})
    for (const RotaryLayout layout : {RotaryLayout::half_width, RotaryLayout::half, RotaryLayout::interleaved, RotaryLayout::axis_halves})
      for (const Rope3dRest rest : {Rope3dRest::left_out, Rope3dRest::zero}) {
        const Rope3d s{.part = RotaryPart::sin_cos, .head_dim = head_dim, .frames = 2, .height = 3, .width = 4, .layout = layout, .rest = rest};
        const auto encoding = erase(s);
        const std::int64_t n = head_dim / 3 / 2, turning = 3 * n, pairs = rest == Rope3dRest::zero ? head_dim / 2 : turning;
        const std::int64_t columns = layout == RotaryLayout::half_width ? pairs : 2 * pairs;
        for (const DType dtype : {DType::f64, DType::f16}) {
          const auto values = values_of(*encoding, dtype);
          REQUIRE(values.size() == static_cast<std::size_t>(24 * 2 * columns));
          int wrong = 0;
          for (std::int64_t token = 0; token < 24; ++token) {
            const std::array<std::int64_t, 3> place{token / 12, token / 4 % 3, token % 4};
            for (std::int64_t c = 0; c < columns; ++c) {
              std::int64_t pair = c;
              if (layout == RotaryLayout::half) pair = c % pairs;
              if (layout == RotaryLayout::interleaved) pair = c / 2;
              if (layout == RotaryLayout::axis_halves) pair = c < 2 * turning ? c / (2 * n) * n + c % n : turning;
              const Big angle = pair < turning ? place[static_cast<std::size_t>(pair / n)] * frequency(10000, pair % n, 2 * n) : Big(0);
              const auto at = static_cast<std::size_t>(token * 2 * columns + c);
              wrong += oracle::correctly_rounded(dtype, values[at], sin(angle)) ? 0 : 1;
              wrong += oracle::correctly_rounded(dtype, values[at + static_cast<std::size_t>(columns)], cos(angle)) ? 0 : 1;
            }
          }
          CHECK(wrong == 0);
        }
        check_encoding(*encoding);
      }
}

// More frames than values of all coordinates are kept: 65536 with two bands.
TEST_CASE("rope_3d: a long film") {
  const Rope3d s{.part = RotaryPart::sin_cos, .head_dim = 14, .frames = 66000, .height = 1, .width = 2, .rest = Rope3dRest::zero};
  for (const DType dtype : {DType::f64, DType::f32})
    CHECK(wrong_stored_values(*erase(s), dtype, [&](const std::vector<std::int64_t>& index) -> Big {
            const std::array<std::int64_t, 3> place{index[0] / 2, 0, index[0] % 2};
            const std::int64_t pair = index[1] % 7;
            const Big angle = pair < 6 ? place[static_cast<std::size_t>(pair / 2)] * frequency(10000, pair % 2, 4) : Big(0);
            return index[1] < 7 ? sin(angle) : cos(angle);
          }) == 0);
}

TEST_CASE("rope_3d: worked numbers") {
  // head_dim 12: 4 lanes for each axis, frequencies 1 and 1/100. Token 7 of 2 x 2 x 2 is at (1, 1, 1), token 4 at (1, 0, 0).
  const Rope3d s{.part = RotaryPart::angles, .head_dim = 12, .frames = 2, .height = 2, .width = 2};
  const auto values = values_of(*erase(s));
  CHECK(std::vector<double>(values.end() - 6, values.end()) == std::vector<double>{1, 0.01, 1, 0.01, 1, 0.01});
  CHECK(std::vector<double>(values.begin() + 24, values.begin() + 30) == std::vector<double>{1, 0.01, 0, 0, 0, 0});
  Rope3d c = s;
  c.part = RotaryPart::coordinates;
  CHECK(values_of(*erase(c)) == std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  check_encoding(*erase(c));
  c.part = RotaryPart::inv_freq;
  c.rest = Rope3dRest::zero;
  c.head_dim = 14;
  CHECK(values_of(*erase(c)) == std::vector<double>{1, 0.01, 1, 0.01, 1, 0.01, 0});
  check_encoding(*erase(c));
}

TEST_CASE("rope_3d: what makes no sense is refused in one sentence") {
  const auto refused = [](Rope3d s, const char* part) {
    const std::string sentence = reference::refusal(*erase(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  refused({.head_dim = 4}, "head_dim");
  refused({.head_dim = 33}, "odd");
  refused({.frames = 0}, "frames");
  refused({.base = 0}, "base");
  refused({.part = RotaryPart::complex, .layout = RotaryLayout::half}, "half-width");
}

TEST_CASE("rope_3d: laws notice wrong values") {
  const Rope3d s{.part = RotaryPart::angles, .head_dim = 14, .frames = 2, .height = 3, .width = 4, .layout = RotaryLayout::interleaved,
                 .rest = Rope3dRest::zero};
  const auto encoding = erase(s);
  CHECK(broken_laws(*encoding, 13, 0.5) == "repeats");
  CHECK(broken_laws(*encoding, 12, 0.5) == "repeats unturned");
  CHECK(broken_laws(*encoding, 14 * 3 + 8, 3.5) == "repeats separable steps");  // the fourth column, first pair of the third axis
  Rope3d c = s;
  c.part = RotaryPart::coordinates;
  CHECK(broken_laws(*erase(c), 0, 1) == "covering");
  CHECK(broken_laws(*erase(c), 0, 2) == "covering");
}

}  // namespace
