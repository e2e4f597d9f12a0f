// sincos_2d: truth, fast fill, conventions, refusals, laws. The reference is MPFR with tan of the half angle.
#include <doctest/doctest.h>

#include "encodings/mpfr_reference.hpp"
#include "encodings/sincos_2d.hpp"
#include "numeric/scalar.hpp"

namespace {

using namespace posenc;
using reference::Number;

// Frequency by powers of two; sin x = 2t / (1 + t^2), cos x = 1 - 2 sin^2(x/2).
Number expected(const Number& coordinate, double base, double pair, double n, bool sine) {
  const Number half = coordinate * exp2(Number(0) - Number(pair) / n * log2(Number(base))) / 2;
  const Number s = sin(half), t = tan(half);
  return sine ? Number(2) * t / (Number(1) + t * t) : Number(1) - Number(2) * s * s;
}

// Twice the root of the sine near 3.14, by Newton: x - tan x.
struct Convention {
  const char* name;
  Sincos2d spec;
  void (*channel)(std::int64_t c, std::int64_t n, std::int64_t& pair, bool& of_x, bool& sine);
};

std::vector<Convention> conventions() {
  std::vector<Convention> all;
  const Sincos2d small{.dim = 24, .height = 3, .width = 5};
  all.push_back({"MAE", small, [](std::int64_t c, std::int64_t n, std::int64_t& pair, bool& of_x, bool& sine) {
                   pair = c % n, of_x = c < 2 * n, sine = c / n % 2 == 0;
                 }});
  all.back().spec.prefix_rows = 1;
  all.push_back({"timm", small, [](std::int64_t c, std::int64_t n, std::int64_t& pair, bool& of_x, bool& sine) {
                   pair = c % n, of_x = c / n == 1 || c / n == 3, sine = c < 2 * n;
                 }});
  all.back().spec.axes = Sincos2dAxes::yx, all.back().spec.layout = Sincos2dLayout::function_blocks;
  all.push_back({"timm interleave_sin_cos", small, [](std::int64_t c, std::int64_t n, std::int64_t& pair, bool& of_x, bool& sine) {
                   pair = c % n, of_x = c >= 2 * n, sine = c / n % 2 == 0;
                 }});
  all.back().spec.axes = Sincos2dAxes::yx;
  all.push_back({"DETR tokens", small, [](std::int64_t c, std::int64_t n, std::int64_t& pair, bool& of_x, bool& sine) {
                   pair = c % (2 * n) / 2, of_x = c >= 2 * n, sine = c % 2 == 0;
                 }});
  all.back().spec.axes = Sincos2dAxes::yx, all.back().spec.layout = Sincos2dLayout::interleaved;
  return all;
}

TEST_CASE("sincos_2d: every value is the correctly rounded one, in every convention") {
  int wrong = 0, outside = 0, seen = 0;
  for (Convention c : conventions())
    for (const double base : {10000.0, 7.5}) {
      CAPTURE(c.name);
      c.spec.base = base;
      const auto evaluator = erase(c.spec)->evaluator();
      const std::int64_t prefix = c.spec.prefix_rows, tokens = prefix + 15;
      for (const bool two : {false, true}) {
        const reference::Filled f = reference::fill(*evaluator, {0, tokens, 0, 24}, two);
        for (std::int64_t r = 0; r < tokens; ++r)
          for (std::int64_t k = 0; k < 24; ++k) {
            std::int64_t pair = 0;
            bool of_x = false, sine = false;
            c.channel(k, 6, pair, of_x, sine);
            const std::int64_t token = r - prefix;
            const auto where = static_cast<double>(of_x ? token % 5 : token / 5);
            const Number truth = token < 0 ? Number(0) : expected(where, base, static_cast<double>(pair), 6, sine);
            const std::int64_t index[] = {r, k};
            for (const DType dtype : reference::float_dtypes) wrong += evaluator->truth(0, index, dtype) == truth.rounded(dtype) ? 0 : 1, ++seen;
            outside += reference::within(f, static_cast<std::size_t>(r), static_cast<std::size_t>(k), 24, truth) ? 0 : 1;
          }
      }
    }
  CHECK(seen > 10000);
  CHECK(wrong == 0);
  CHECK(outside == 0);
}

TEST_CASE("sincos_2d: counts, a mask and normalized coordinates") {
  Sincos2d s{.dim = 8, .height = 2, .width = 3};
  s.axes = Sincos2dAxes::yx, s.layout = Sincos2dLayout::interleaved, s.form = Sincos2dForm::image;
  s.coordinates = Sincos2dCoordinates::normalized;
  s.mask = Array{{2, 3}, {0, 0, 1, 0, 1, 1}};
  // Counts along y (down the columns) and along x, by hand.
  const double y[2][3] = {{1, 1, 0}, {2, 1, 0}}, y_last[3] = {2, 1, 0}, x[2][3] = {{1, 2, 2}, {1, 1, 1}}, x_last[2] = {2, 1};
  Number pi = 3.14159265358979;  // the root of the sine, by Newton
  for (int i = 0; i < 6; ++i) pi = pi - tan(pi);
  const Number two_pi = Number(2) * pi;
  for (const bool scaled : {false, true}) {
    if (scaled) s.scale = 3.0;
    const auto evaluator = erase(s)->evaluator();
    int wrong = 0;
    for (std::int64_t c = 0; c < 8; ++c)
      for (std::int64_t r = 0; r < 2; ++r)
        for (std::int64_t k = 0; k < 3; ++k) {
          const bool of_x = c >= 4;
          const Number count = of_x ? x[r][k] : y[r][k], last = of_x ? x_last[r] : y_last[k];
          const Number where = count / (last + Number(1e-6)) * (scaled ? Number(3) : two_pi);
          const Number truth = expected(where, 10000, static_cast<double>(c % 4 / 2), 2, c % 2 == 0);
          for (const DType dtype : reference::float_dtypes)
            wrong += evaluator->truth(0, std::array{c, r, k}, dtype) == truth.rounded(dtype) ? 0 : 1;
        }
    CHECK(wrong == 0);
  }
  s.scale.reset();
  s.mask = {};
  s.coordinates = Sincos2dCoordinates::count;
  CHECK(erase(s)->evaluator()->truth(0, std::array<std::int64_t, 3>{0, 1, 2}, DType::f64) == std::sin(2.0));
  CHECK(erase(s)->evaluator()->truth(0, std::array<std::int64_t, 3>{5, 1, 2}, DType::f64) == std::cos(3.0));
}

TEST_CASE("sincos_2d: tokens column by column") {
  Sincos2d s{.dim = 8, .height = 2, .width = 3};
  Sincos2d t = s;
  t.tokens = Sincos2dTokens::column_major;
  const auto a = erase(s)->evaluator(), b = erase(t)->evaluator();
  for (std::int64_t y = 0; y < 2; ++y)
    for (std::int64_t x = 0; x < 3; ++x)
      for (std::int64_t c = 0; c < 8; ++c)
        CHECK(a->truth(0, std::array{y * 3 + x, c}, DType::f32) == b->truth(0, std::array{x * 2 + y, c}, DType::f32));
}

TEST_CASE("sincos_2d: the float32 arithmetic takes the steps of timm and of DETR") {
  Sincos2d s{.dim = 16, .height = 9, .width = 9};
  const float timescale = num::pow_f32(10000.0f, 0.75f);
  CHECK(erase(s)->evaluator()->imitate(Arithmetic::float32, 0, std::array<std::int64_t, 2>{7, 3}) == num::sin_f32(7.0f * (1.0f / timescale)));
  s.coordinates = Sincos2dCoordinates::count;
  CHECK(erase(s)->evaluator()->imitate(Arithmetic::float32, 0, std::array<std::int64_t, 2>{6, 3}) == num::sin_f32(7.0f / timescale));
  s.coordinates = Sincos2dCoordinates::normalized;
  const float turned = 7.0f / (9.0f + 1e-6f) * 6.2831855f;
  CHECK(erase(s)->evaluator()->imitate(Arithmetic::float32, 0, std::array<std::int64_t, 2>{6, 3}) == num::sin_f32(turned / timescale));
}

TEST_CASE("sincos_2d: what makes no sense is refused in one sentence") {
  const auto refused = [](void (*change)(Sincos2d&), const char* part) {
    Sincos2d s{.dim = 8, .height = 2, .width = 2};
    CHECK(reference::refusal(*erase(s)) == "");
    change(s);
    const std::string sentence = reference::refusal(*erase(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  refused([](Sincos2d& s) { s.dim = 6; }, "multiple of 4");
  refused([](Sincos2d& s) { s.height = 0; }, "height");
  refused([](Sincos2d& s) { s.base = 0; }, "base");
  refused([](Sincos2d& s) { s.scale = 2; }, "coordinates normalized");
  refused([](Sincos2d& s) { s.mask = Array{{2, 2}, {0, 0, 0, 0}}; }, "coordinates count");
  refused([](Sincos2d& s) { s.mask = Array{{4}, {0, 0, 0, 0}}, s.coordinates = Sincos2dCoordinates::count; }, "mask wants shape [2, 2]");
  refused([](Sincos2d& s) { s.mask = Array{{2, 2}, {0, 0, 0.5, 0}}, s.coordinates = Sincos2dCoordinates::count; }, "0 and 1");
  refused([](Sincos2d& s) { s.mask = Array{{2, 2}, {0, 0, 0, 0}}, s.coordinates = Sincos2dCoordinates::normalized, s.eps = 0; }, "divides by zero");
  refused([](Sincos2d& s) { s.form = Sincos2dForm::image, s.prefix_rows = 1; }, "form tokens");
  refused([](Sincos2d& s) { s.form = Sincos2dForm::image, s.tokens = Sincos2dTokens::column_major; }, "form tokens");
}

TEST_CASE("sincos_2d: laws hold of right tables and notice wrong values") {
  for (Convention c : conventions())
    for (const DType dtype : reference::float_dtypes) CHECK(reference::Values(*erase(c.spec), dtype).broken(*erase(c.spec)) == "");
  const auto encoding = erase(conventions()[0].spec);
  reference::Values values(*encoding, DType::f32);
  values.at(0, 5) = 1e-30;
  CHECK(values.broken(*encoding) == "prefix");
  values = reference::Values(*encoding, DType::f32);
  values.at(7, 5) = std::nextafterf(static_cast<float>(values.at(7, 5)), 2);
  CHECK(values.broken(*encoding) == "separable");
  values.at(7, 5) = 0.9;
  CHECK(values.broken(*encoding) == "norm separable");
}

}  // namespace
