// rope_2d and rope_2d_mixed: truth, conventions, exact numbers, imitated steps, refusals, laws.
#include <doctest/doctest.h>

#include <array>
#include <functional>

#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"
#include "encodings/rope_2d.hpp"
#include "encodings/rope_2d_mixed.hpp"
#include "encodings/stored_checks.hpp"
#include "numeric/scalar.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

Big power(const Big& base, const Big& exponent) { return exp(exponent * log(base)); }

// A spec and, written as each implementation has it, the angle of column c of token (y, x).
struct Convention {
  const char* name;
  Rope2d spec;
  std::function<Big(std::int64_t y, std::int64_t x, std::int64_t c)> angle;
};

std::vector<Convention> conventions() {
  std::vector<Convention> all;
  const auto add = [&](const char* name, Rope2d spec, std::function<Big(std::int64_t, std::int64_t, std::int64_t)> angle) {
    spec.head_dim = 16, spec.height = 6, spec.width = 4;
    all.push_back({name, spec, std::move(angle)});
  };
  using Layout = RotaryLayout;
  add("timm", {.grid_offset = 0.25, .reference_height = 7, .reference_width = 14, .layout = Layout::interleaved},
      [](std::int64_t y, std::int64_t x, std::int64_t c) -> Big {
        const Big at = c < 8 ? (y + Big(0.25)) / 6 * 7 : (x + Big(0.25)) / 4 * 14;
        return at / power(10000, Big(c % 8 / 2) / 4);
      });
  add("timm xy", {.axes = Rope2dAxes::xy, .layout = Layout::interleaved}, [](std::int64_t y, std::int64_t x, std::int64_t c) -> Big {
    return (c < 8 ? x : y) / power(10000, Big(c % 8 / 2) / 4);
  });
  add("timm in_pixels", {.frequencies = AxialFrequencies::pixel, .coordinates = AxialCoordinates::linspace, .layout = Layout::interleaved},
      [](std::int64_t y, std::int64_t x, std::int64_t c) -> Big {
        const Big at = c < 8 ? Big(2 * y) / 5 - 1 : Big(2 * x) / 3 - 1;
        return at * oracle::pi() * power(2, Big(c % 8 / 2) / 3 * (log(Big(224)) / log(Big(2)) - 1));
      });
  add("EVA-02, freqs_for pixel",
      {.frequencies = AxialFrequencies::pixel_linear, .max_freq = 10, .reference_height = 16, .reference_width = 16, .layout = Layout::interleaved},
      [](std::int64_t y, std::int64_t x, std::int64_t c) -> Big {
        return (c < 8 ? Big(16 * y) / 6 : Big(16 * x) / 4) * oracle::pi() * (1 + Big(4 * (c % 8 / 2)) / 3);
      });
  add("Pixtral", {.frequencies = AxialFrequencies::alternating, .layout = Layout::half}, [](std::int64_t y, std::int64_t x, std::int64_t c) -> Big {
    const std::int64_t lane = c % 8, i = lane < 4 ? 2 * lane : 2 * (lane - 4) + 1;
    return (lane < 4 ? y : x) * power(10000, -Big(2 * i) / 16);
  });
  add("Qwen2-VL", {.layout = Layout::half, .spatial_merge_size = 2}, [](std::int64_t y, std::int64_t x, std::int64_t c) -> Big {
    return (c % 8 < 4 ? y : x) * power(10000, -Big(2 * (c % 4)) / 8);
  });
  add("DINOv3", {.base = 100, .coordinates = AxialCoordinates::centres, .layout = Layout::half}, [](std::int64_t y, std::int64_t x, std::int64_t c) -> Big {
    const Big at = c % 8 < 4 ? (y + Big(0.5)) / 6 * 2 - 1 : (x + Big(0.5)) / 4 * 2 - 1;
    return 2 * oracle::pi() * at * power(100, -Big(c % 4) / 4);
  });
  add("DINOv3, max", {.base = 100, .coordinates = AxialCoordinates::centres_max}, [](std::int64_t y, std::int64_t x, std::int64_t c) -> Big {
    return 2 * oracle::pi() * (((c < 4 ? y : x) + Big(0.5)) / 6 * 2 - 1) * power(100, -Big(c % 4) / 4);
  });
  add("DINOv3, min", {.base = 100, .coordinates = AxialCoordinates::centres_min}, [](std::int64_t y, std::int64_t x, std::int64_t c) -> Big {
    return 2 * oracle::pi() * (((c < 4 ? y : x) + Big(0.5)) / 4 * 2 - 1) * power(100, -Big(c % 4) / 4);
  });
  add("Gemma 4", {.base = 100, .axes = Rope2dAxes::xy, .layout = Layout::axis_halves}, [](std::int64_t y, std::int64_t x, std::int64_t c) -> Big {
    return (c < 8 ? x : y) * power(100, -Big(c % 4) / 4);
  });
  return all;
}

// Token order with 2 x 2 blocks: block row, block column, row, column within.
std::array<std::int64_t, 2> place_of(const Rope2d& s, std::int64_t token) {
  if (s.spatial_merge_size == 1) return {token / 4, token % 4};
  std::int64_t at = 0;
  for (std::int64_t by = 0; by < 3; ++by)
    for (std::int64_t bx = 0; bx < 2; ++bx)
      for (std::int64_t y = 0; y < 2; ++y)
        for (std::int64_t x = 0; x < 2; ++x)
          if (at++ == token) return {2 * by + y, 2 * bx + x};
  return {};
}

// At 400 bits: what ought to be 0 is below 1e-100.
Big cleaned(const Big& value) { return abs(value) < Big(1e-100) ? Big(0) : value; }

TEST_CASE("rope_2d: every value against its definition, in every convention") {
  for (Convention c : conventions())
    for (const RotaryPart part : {RotaryPart::sin_cos, RotaryPart::angles}) {
      CAPTURE(c.name);
      c.spec.part = part;
      const auto encoding = erase(c.spec);
      const std::int64_t columns = c.spec.layout == RotaryLayout::half_width ? 8 : 16, width = part == RotaryPart::angles ? columns : 2 * columns;
      for (const DType dtype : {DType::f64, DType::bf16}) {
        const auto values = values_of(*encoding, dtype);
        REQUIRE(values.size() == static_cast<std::size_t>(24 * width));
        int wrong = 0;
        for (std::int64_t token = 0; token < 24; ++token)
          for (std::int64_t k = 0; k < columns; ++k) {
            const auto [y, x] = place_of(c.spec, token);
            const Big angle = c.angle(y, x, k);
            const auto at = static_cast<std::size_t>(token * width + k);
            if (part == RotaryPart::angles) {
              wrong += oracle::correctly_rounded(dtype, values[at], cleaned(angle)) ? 0 : 1;
              continue;
            }
            wrong += oracle::correctly_rounded(dtype, values[at], cleaned(sin(angle))) ? 0 : 1;
            wrong += oracle::correctly_rounded(dtype, values[at + static_cast<std::size_t>(columns)], cleaned(cos(angle))) ? 0 : 1;
          }
        CHECK(wrong == 0);
      }
      check_encoding(*encoding);
    }
}

// Axes too long to keep the values of all their coordinates: 65536 with two bands, 131072 of angles.
TEST_CASE("rope_2d: a long thin grid") {
  struct Case {
    Rope2d spec;
    std::function<Big(std::int64_t y, std::int64_t x, std::int64_t pair)> angle;  // pairs 0, 1 of y and 2, 3 of x
  };
  const auto language = [](std::int64_t pair) -> Big { return pair % 2 == 0 ? Big(1) : Big(1) / 100; };
  std::vector<Case> cases;
  cases.push_back({{.height = 66000, .width = 3}, [&](std::int64_t y, std::int64_t x, std::int64_t p) -> Big { return (p < 2 ? y : x) * language(p); }});
  cases.push_back({{.height = 2, .width = 140001, .grid_offset = 0.1, .prefix_rows = 1},
                   [&](std::int64_t y, std::int64_t x, std::int64_t p) -> Big { return ((p < 2 ? y : x) + Big(0.1)) * language(p); }});
  cases.push_back({{.height = 66001, .width = 1, .frequencies = AxialFrequencies::pixel, .coordinates = AxialCoordinates::linspace},
                   [&](std::int64_t y, std::int64_t, std::int64_t p) -> Big {
                     return (p < 2 ? Big(2 * y) / 66000 - 1 : Big(-1)) * oracle::pi() * (p % 2 == 0 ? 1 : 112);
                   }});
  cases.push_back({{.height = 2, .width = 66000, .coordinates = AxialCoordinates::centres}, [&](std::int64_t y, std::int64_t x, std::int64_t p) -> Big {
                     return 2 * oracle::pi() * (2 * (p < 2 ? (y + Big(0.5)) / 2 : (x + Big(0.5)) / 66000) - 1) * language(p);
                   }});
  for (Case& c : cases)
    for (const RotaryPart part : {RotaryPart::sin_cos, RotaryPart::angles}) {
      c.spec.part = part;
      c.spec.head_dim = 8;
      c.spec.layout = RotaryLayout::half_width;
      CAPTURE(c.spec.width);
      for (const DType dtype : {DType::f64, DType::f32})
        CHECK(wrong_stored_values(*erase(c.spec), dtype, [&](const std::vector<std::int64_t>& index) -> Big {
                const std::int64_t token = index[0] - c.spec.prefix_rows, lane = index[1];
                const Big angle = token < 0 ? Big(0) : c.angle(token / c.spec.width, token % c.spec.width, lane % 4);
                return cleaned(part == RotaryPart::angles ? angle : lane < 4 ? Big(sin(angle)) : Big(cos(angle)));
              }) == 0);
    }
}

TEST_CASE("rope_2d: parts hold the same numbers") {
  const Rope2d s{.head_dim = 8, .height = 3, .width = 2, .layout = RotaryLayout::half_width, .frames = 2, .prefix_rows = 2, .suffix_rows = 1};
  const auto encoding = erase(s);
  check_encoding(*encoding);
  Rope2d z = s;
  z.part = RotaryPart::complex;
  check_encoding(*erase(z));
  const auto complex = values_of(*erase(z));
  z.part = RotaryPart::sin_cos;
  const auto both = values_of(*erase(z));
  const auto evaluator = encoding->evaluator();
  REQUIRE(complex.size() == 15 * 4 * 2);
  for (std::int64_t row = 0; row < 15; ++row)
    for (std::int64_t p = 0; p < 4; ++p) {
      const double c = evaluator->truth(0, std::array{row, p}, DType::f64), sine = evaluator->truth(1, std::array{row, p}, DType::f64);
      const auto at = static_cast<std::size_t>(row * 8);
      CHECK(complex[at + static_cast<std::size_t>(2 * p)] == c);
      CHECK(complex[at + static_cast<std::size_t>(2 * p + 1)] == sine);
      CHECK(both[at + static_cast<std::size_t>(p)] == sine);
      CHECK(both[at + static_cast<std::size_t>(4 + p)] == c);
      if (row < 2 || row == 14) CHECK((c == 1 && sine == 0));
      if (row >= 8 && row < 14) CHECK(c == evaluator->truth(0, std::array{row - 6, p}, DType::f64));
    }
}

TEST_CASE("rope_2d: quarter turns are exact") {
  // One band of frequency pi over coordinates -1, -1/2, 0, 1/2, 1.
  Rope2d s{.part = RotaryPart::sin_cos, .head_dim = 4, .height = 5, .width = 1, .frequencies = AxialFrequencies::pixel,
           .coordinates = AxialCoordinates::linspace};
  CHECK(values_of(*erase(s)) == std::vector<double>{0, 0, -1, -1, -1, 0, 0, -1, 0, 0, 1, -1, 1, 0, 0, -1, 0, 0, -1, -1});
  check_encoding(*erase(s));
  // 2 pi times centres -3/4, -1/4, 1/4, 3/4; two quarter turns beyond the first.
  s = {.part = RotaryPart::sin_cos, .head_dim = 4, .height = 4, .width = 1, .coordinates = AxialCoordinates::centres};
  CHECK(values_of(*erase(s)) == std::vector<double>{1, 0, 0, 1, -1, 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 1});
  check_encoding(*erase(s));
  // 4 bands from pi to 8 pi: whole turns, and halves of them.
  s = {.part = RotaryPart::sin_cos, .head_dim = 16, .height = 2, .width = 3, .frequencies = AxialFrequencies::pixel, .max_freq = 16,
       .coordinates = AxialCoordinates::linspace};
  for (const double value : values_of(*erase(s))) CHECK((value == 0 || value == 1 || value == -1));
  check_encoding(*erase(s));
}

TEST_CASE("rope_2d: coordinates, ids and frequencies") {
  CHECK(values_of(*erase(Rope2d{.part = RotaryPart::coordinates, .height = 2, .width = 4, .spatial_merge_size = 2})) ==
        std::vector<double>{0, 0, 0, 1, 1, 0, 1, 1, 0, 2, 0, 3, 1, 2, 1, 3});
  CHECK(values_of(*erase(Rope2d{.part = RotaryPart::coordinates, .height = 2, .width = 2, .axes = Rope2dAxes::xy})) ==
        std::vector<double>{0, 0, 1, 0, 0, 1, 1, 1});
  const Rope2d ids{.part = RotaryPart::coordinates, .height = 2, .width = 3, .max_patches_per_side = 64};
  CHECK(values_of(*erase(ids)) == std::vector<double>{0, 1, 2, 64, 65, 66});
  check_encoding(*erase(ids));
  CHECK(values_of(*erase(Rope2d{.part = RotaryPart::inv_freq, .head_dim = 8})) == std::vector<double>{1, 0.01, 1, 0.01});
  CHECK(values_of(*erase(Rope2d{.part = RotaryPart::inv_freq, .head_dim = 8, .frequencies = AxialFrequencies::alternating})) ==
        std::vector<double>{1, 0.01, 0.1, 0.001});
  const auto pixel = values_of(*erase(Rope2d{.part = RotaryPart::inv_freq, .head_dim = 8, .frequencies = AxialFrequencies::pixel_linear, .max_freq = 10}));
  CHECK(pixel == std::vector<double>{M_PI, 5 * M_PI, M_PI, 5 * M_PI});
}

TEST_CASE("rope_2d: the float32 arithmetic takes the implementations' steps") {
  const auto imitated = [](const Rope2d& s, std::int64_t row, std::int64_t column) {
    return erase(s)->evaluator()->imitate(Arithmetic::float32, 0, std::array{row, column});
  };
  Rope2d s{.part = RotaryPart::angles, .head_dim = 32, .height = 7, .width = 7, .reference_height = 5};
  CHECK(imitated(s, 3 * 7, 3) == (3.0f / 7.0f * 5.0f) * (1.0f / num::pow_f32(10000.0f, 0.375f)));
  s = {.part = RotaryPart::angles, .head_dim = 32, .height = 7, .width = 7, .base = 100, .coordinates = AxialCoordinates::centres};
  CHECK(imitated(s, 6 * 7, 3) == 6.2831855f * (6.5f / 7.0f * 2.0f - 1.0f) * (1.0f / num::pow_f32(100.0f, 0.375f)));
  s = {.part = RotaryPart::angles, .head_dim = 32, .height = 8, .width = 7, .frequencies = AxialFrequencies::pixel, .coordinates = AxialCoordinates::linspace};
  // log2(224) - 1 = 6.807354922057604
  const float step = 2.0f / 7.0f, end = 6.807355f;
  CHECK(imitated(s, 6 * 7, 5) == (1.0f - step) * (num::pow_f32(2.0f, end - end / 7.0f * 2.0f) * 3.14159274f));
  CHECK(imitated(s, 7, 2) == (-1.0f + step) * (num::pow_f32(2.0f, end / 7.0f * 2.0f) * 3.14159274f));
}

TEST_CASE("rope_2d: what makes no sense is refused in one sentence") {
  const auto refused = [](Rope2d s, const char* part) {
    const std::string sentence = reference::refusal(*erase(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  CHECK(reference::refusal(*erase(Rope2d{})) == "");
  refused({.head_dim = 6}, "multiple of 4");
  refused({.height = 0}, "height");
  refused({.base = 0}, "base");
  refused({.max_freq = 0}, "max_freq");
  refused({.spatial_merge_size = 4}, "does not divide");
  refused({.coordinates = AxialCoordinates::linspace, .grid_offset = 1}, "grid_offset 0");
  refused({.coordinates = AxialCoordinates::centres_min, .reference_width = 7}, "leave out");
  refused({.part = RotaryPart::complex, .layout = RotaryLayout::half}, "half-width");
  refused({.part = RotaryPart::coordinates, .suffix_rows = 1}, "have no coordinates");
  refused({.part = RotaryPart::coordinates, .max_patches_per_side = 13}, "collide");
}

TEST_CASE("rope_2d: laws notice wrong values") {
  Rope2d s{.part = RotaryPart::sin_cos, .head_dim = 8, .height = 3, .width = 4, .layout = RotaryLayout::interleaved, .suffix_rows = 1};
  // 16 columns a row: sin at 0 to 7, cos at 8 to 15; token (2, 0) is row 8.
  CHECK(broken_laws(*erase(s), 16 * 12 + 2, 1e-30) == "repeats unturned");
  CHECK(broken_laws(*erase(s), 16 * 8 + 9, 0.5) == "norm repeats");
  CHECK(broken_laws(*erase(s), 16 * 8 + 8, 0.5) == "norm repeats separable relative");
  CHECK(broken_laws(*erase(s), 16 * 9 + 8, -0.41614684) == "repeats separable");  // cos 2, two ulp off
  s.part = RotaryPart::angles;
  s.layout = RotaryLayout::half_width;
  CHECK(broken_laws(*erase(s), 4 * 8, 2.0001) == "separable steps");
  s.part = RotaryPart::inv_freq;
  CHECK(broken_laws(*erase(s), 1, 1.5) == "ordered");
  CHECK(broken_laws(*erase(s), 2, -1) == "ordered");
  s = {.part = RotaryPart::coordinates, .height = 2, .width = 2, .frames = 2};
  CHECK(broken_laws(*erase(s), 0, 1) == "covering");
  CHECK(broken_laws(*erase(s), 0, 2) == "covering");
  s.max_patches_per_side = 5;
  CHECK(broken_laws(*erase(s), 0, 6) == "covering");
  CHECK(broken_laws(*erase(s), 0, 2) == "covering");
}

TEST_CASE("rope_2d_mixed: every value against its definition") {
  const Array freqs = some_array({2, 3, 5}, 3);
  for (const bool given : {true, false})
    for (const Rope2dMixedAxes axes : {Rope2dMixedAxes::xy, Rope2dMixedAxes::yx}) {
      Rope2dMixed s{.part = RotaryPart::sin_cos, .num_heads = 3, .head_dim = 12, .height = 3, .width = 4, .axes = axes,
                    .layout = RotaryLayout::interleaved, .prefix_rows = 1};
      if (given)
        s.inv_freq = freqs;
      else
        s.angles = {0, 0.5, 4};
      const std::int64_t pairs = given ? 5 : 6;
      const auto f = [&](std::int64_t axis, std::int64_t head, std::int64_t p) -> Big {
        if (given) return freqs.values[static_cast<std::size_t>((axis * 3 + head) * 5 + p)];
        const Big angle = s.angles[static_cast<std::size_t>(head)] + (p < 3 ? Big(0) : oracle::pi() / 2);
        return power(10, -Big(p % 3) / 3) * (axis == 0 ? cos(angle) : sin(angle));
      };
      const auto encoding = erase(s);
      for (const DType dtype : {DType::f64, DType::f16}) {
        const auto values = values_of(*encoding, dtype);
        REQUIRE(values.size() == static_cast<std::size_t>(3 * 13 * 4 * pairs));
        int wrong = 0;
        std::size_t at = 0;
        for (std::int64_t head = 0; head < 3; ++head)
          for (std::int64_t row = 0; row < 13; ++row)
            for (const bool sine : {true, false})
              for (std::int64_t lane = 0; lane < 2 * pairs; ++lane) {
                const std::int64_t token = row - 1, y = token / 4, x = token % 4;
                const bool xy = axes == Rope2dMixedAxes::xy;
                const Big angle = row == 0 ? Big(0) : Big((xy ? x : y) * f(0, head, lane / 2) + (xy ? y : x) * f(1, head, lane / 2));
                wrong += oracle::correctly_rounded(dtype, values[at++], cleaned(sine ? sin(angle) : cos(angle))) ? 0 : 1;
              }
        CHECK(wrong == 0);
      }
      for (const RotaryPart part : {RotaryPart::cos_sin, RotaryPart::sin_cos, RotaryPart::angles, RotaryPart::inv_freq}) {
        s.part = part;
        check_encoding(*erase(s));
      }
      s.layout = RotaryLayout::half_width;
      s.part = RotaryPart::complex;
      check_encoding(*erase(s));
      s.prefix_rows = 0;
      s.part = RotaryPart::coordinates;
      check_encoding(*erase(s));
    }
}

// Long axes and many heads, whose turns are walked and not kept: direction 0 leaves pairs still along an axis.
TEST_CASE("rope_2d_mixed: a long thin grid and many heads") {
  struct Case {
    std::int64_t heads, height, width;
    Rope2dMixedAxes axes;
  };
  for (const Case& c : {Case{2, 3, 40000, Rope2dMixedAxes::xy}, Case{1, 70000, 2, Rope2dMixedAxes::yx}, Case{700, 60, 40, Rope2dMixedAxes::xy}}) {
    Rope2dMixed s{.part = RotaryPart::sin_cos, .num_heads = c.heads, .head_dim = 8, .height = c.height, .width = c.width, .axes = c.axes, .prefix_rows = 1};
    for (std::int64_t head = 0; head < c.heads; ++head) s.angles.push_back(static_cast<double>(head) / 4);
    CAPTURE(c.height);
    for (const DType dtype : {DType::f64, DType::f32})
      CHECK(wrong_stored_values(*erase(s), dtype, [&](const std::vector<std::int64_t>& index) -> Big {
              const std::int64_t token = index[1] - 1, pair = index[2] % 4, y = token / c.width, x = token % c.width;
              if (token < 0) return Big(index[2] < 4 ? 0 : 1);
              // m (cos a, sin a), and a quarter turn on m (-sin a, cos a)
              const Big a = Big(static_cast<double>(index[0]) / 4), m = pair % 2 == 0 ? Big(1) : Big(1 / sqrt(Big(10)));
              const Big u = c.axes == Rope2dMixedAxes::xy ? x : y, v = c.axes == Rope2dMixedAxes::xy ? y : x;
              const Big angle = pair < 2 ? Big(m * (u * cos(a) + v * sin(a))) : Big(m * (v * cos(a) - u * sin(a)));
              return cleaned(index[2] < 4 ? sin(angle) : cos(angle));
            }) == 0);
  }
  const Spec spec = spec_of(*erase(Rope2dMixed{.num_heads = 800, .head_dim = 32, .height = 9, .width = 2}), DType::f64);
  const auto planned = plan(spec, ComplexForm::pair);
  CHECK(generated(spec, planned, {.threads = 3, .block_bytes = 3000}).bytes == generated(spec, planned, {.threads = 1}).bytes);
}

// Whatever the cut of blocks, and so the bound of a row, decides.
TEST_CASE("rope_2d, rope_2d_mixed: zeros are positive") {
  const auto all_positive = [](const Encoding& encoding, DType dtype) {
    const Spec spec = spec_of(encoding, dtype);
    const auto planned = plan(spec, ComplexForm::pair);
    for (const std::int64_t block : {1, 100000}) {
      const MemoryFile file = generated(spec, planned, {.threads = 1, .block_bytes = block});
      for (const auto& bytes : file.bytes)
        for (std::size_t at = 0; at < bytes.size(); at += size_of(dtype)) {
          const double value = stored_value(dtype, bytes.data() + at);
          CHECK_FALSE((value == 0 && std::signbit(value)));
        }
    }
  };
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const RotaryPart part : {RotaryPart::cos_sin, RotaryPart::angles, RotaryPart::inv_freq}) {
      for (const std::vector<double>& angles : {std::vector<double>{}, std::vector<double>{3}})
        all_positive(*erase(Rope2dMixed{.part = part, .head_dim = 8, .height = 2, .width = 3, .angles = angles}), dtype);
      all_positive(*erase(Rope2d{.part = part, .head_dim = 8, .height = 5, .width = 4, .frequencies = AxialFrequencies::pixel, .max_freq = 4,
                                 .coordinates = AxialCoordinates::linspace}),
                   dtype);
      all_positive(*erase(Rope2d{.part = part, .head_dim = 8, .height = 4, .width = 4, .coordinates = AxialCoordinates::centres}), dtype);
    }
}

// At direction 0 the start is the axial table: the first half of the pairs belongs to x, the second to y.
TEST_CASE("rope_2d_mixed: direction 0 is rope_2d") {
  const auto mixed = values_of(*erase(Rope2dMixed{.part = RotaryPart::angles, .head_dim = 16, .height = 3, .width = 4, .base = 100}));
  CHECK(mixed == values_of(*erase(Rope2d{.part = RotaryPart::angles, .head_dim = 16, .height = 3, .width = 4, .base = 100, .axes = Rope2dAxes::xy})));
}

TEST_CASE("rope_2d_mixed: refusals and laws") {
  const auto refused = [](Rope2dMixed s, const char* part) {
    const std::string sentence = reference::refusal(*erase(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  refused({.head_dim = 6}, "multiple of 4");
  refused({.inv_freq = {{2, 4}, {0, 0, 0, 0, 0, 0, 0, 0}}}, "inv_freq wants shape");
  refused({.inv_freq = {{3, 1, 1}, {0, 0, 0}}}, "inv_freq wants shape");
  refused({.inv_freq = {{2, 1, 1}, {0, 0}}, .layout = RotaryLayout::axis_halves}, "even number of pairs");
  refused({.num_heads = 2, .angles = {1}}, "1 entries for 2 heads");
  refused({.part = RotaryPart::coordinates, .prefix_rows = 1}, "have no coordinates");
  refused({.part = RotaryPart::complex, .layout = RotaryLayout::half}, "half-width");

  Rope2dMixed s{.part = RotaryPart::sin_cos, .num_heads = 2, .head_dim = 8, .height = 3, .width = 4, .angles = {0.5, 1}};
  // Head 1, token (1, 1), 8 columns a row: sin at 0 to 3.
  CHECK(broken_laws(*erase(s), (12 + 5) * 8, 0.5) == "norm additive");
  CHECK(broken_laws(*erase(s), 12 * 8, 1e-30) == "unturned");
  s.part = RotaryPart::angles;
  CHECK(broken_laws(*erase(s), (12 + 5) * 4, 0.5) == "additive");
  s.part = RotaryPart::inv_freq;
  CHECK(broken_laws(*erase(s), 4 + 1, 0.5) == "perpendicular");
  s.part = RotaryPart::coordinates;
  CHECK(broken_laws(*erase(s), 7, 3) == "covering");
}

}  // namespace
