// cnn_padding: counted paths, closed forms of the first layers, paddings that leak nothing, refusals, laws.
#include <doctest/doctest.h>

#include "encodings/cnn_padding.hpp"
#include "encodings/mpfr_reference.hpp"

namespace {

using namespace posenc;
using reference::Number;

// kernel^layer times the value: ways to walk `layer` steps of at most half from x inside [0, n), by plain counting.
double ways(std::int64_t x, std::int64_t layer, std::int64_t half, std::int64_t n) {
  if (x < 0 || x >= n) return 0;
  if (layer == 0) return 1;
  double sum = 0;
  for (std::int64_t j = -half; j <= half; ++j) sum += ways(x + j, layer - 1, half, n);
  return sum;
}

TEST_CASE("cnn_padding: values are counted walks, correctly rounded, on short and long fields") {
  int wrong = 0;
  for (const std::int64_t width : {1, 2, 5, 9, 40, 1000000})
    for (const std::int64_t kernel : {3, 5}) {
      CnnPaddingResponse s{.width = width, .kernel = kernel, .depth = 4};
      const auto evaluator = erase(s)->evaluator();
      double all = 1;
      for (int i = 0; i < 4; ++i) all *= static_cast<double>(kernel);
      for (const std::int64_t x : {std::int64_t{0}, std::int64_t{1}, width / 2, width - 3, width - 1}) {
        if (x < 0 || x >= width) continue;
        const Number truth = Number(ways(x, 4, kernel / 2, width)) / all;
        for (const DType dtype : reference::float_dtypes) wrong += evaluator->truth(0, std::array{x}, dtype) == truth.rounded(dtype) ? 0 : 1;
        CHECK(reference::within(reference::fill(*evaluator, {0, 1, x, 1}, false), 0, 0, 1, truth));
      }
    }
  CHECK(wrong == 0);
}

TEST_CASE("cnn_padding: two dimensions are a product; layers; distance; what differs") {
  CnnPaddingResponse s{.dimensions = CnnDimensions::two, .height = 4, .width = 7, .kernel = 3, .depth = 2, .form = CnnForm::layers};
  const auto evaluator = erase(s)->evaluator();
  const auto at = [&](std::int64_t layer, std::int64_t y, std::int64_t x) { return evaluator->truth(0, std::array{layer, y, x}, DType::f64); };
  CHECK(at(0, 0, 0) == 1);
  CHECK(at(1, 0, 0) == 4.0 / 9);
  CHECK(at(1, 0, 3) == 2.0 / 3);
  CHECK(at(2, 0, 0) == 25.0 / 81);
  CHECK(at(2, 1, 1) == 64.0 / 81);
  CHECK(at(2, 1, 3) == 8.0 / 9);
  s.form = CnnForm::distance;
  std::vector<std::int64_t> out(28);
  erase(s)->evaluator()->integers(0, {0, 4, 0, 7}, out.data());
  CHECK(out == std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  CnnPaddingResponse d{.width = 8, .kernel = 5, .depth = 2, .form = CnnForm::differs};
  out.resize(24);
  erase(d)->evaluator()->integers(0, {0, 3, 0, 8}, out.data());
  CHECK(out == std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("cnn_padding: other paddings leak nothing") {
  for (const auto padding : {CnnPadding::reflect, CnnPadding::edge, CnnPadding::circular}) {
    CnnPaddingResponse s{.kernel = 7, .padding = padding};
    reference::Values values(*erase(s), DType::f64);
    for (std::int64_t x = 0; x < 16; ++x) CHECK(values.at(0, x) == 1);
    CHECK(values.broken(*erase(s)) == "");
    values.at(0, 3) = 1 - 0x1p-53;
    CHECK(values.broken(*erase(s)) == "leak monotone symmetric");
  }
}

TEST_CASE("cnn_padding: laws hold of right responses and notice wrong values") {
  CnnPaddingResponse s{.dimensions = CnnDimensions::two, .height = 9, .width = 12, .kernel = 5, .depth = 2};
  for (const DType dtype : reference::float_dtypes) CHECK(reference::Values(*erase(s), dtype).broken(*erase(s)) == "");
  CnnPaddingResponse deep{.width = 40, .depth = 12};
  for (const DType dtype : reference::float_dtypes) CHECK(reference::Values(*erase(deep), dtype).broken(*erase(deep)) == "");
  reference::Values values(*erase(s), DType::f32);
  values.at(0, 0) = 0.7;
  CHECK(values.broken(*erase(s)) == "leak monotone symmetric");
  values = reference::Values(*erase(s), DType::f32);
  values.at(4, 5) = 0.99;
  CHECK(values.broken(*erase(s)).find("leak") == 0);
  values = reference::Values(*erase(s), DType::f32);
  values.at(0, 11) = 0.3;
  CHECK(values.broken(*erase(s)) == "symmetric");
}

TEST_CASE("cnn_padding: what makes no sense is refused in one sentence") {
  const auto refused = [](void (*change)(CnnPaddingResponse&), const char* part) {
    CnnPaddingResponse s;
    CHECK(reference::refusal(*erase(s)) == "");
    change(s);
    const std::string sentence = reference::refusal(*erase(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  refused([](CnnPaddingResponse& s) { s.kernel = 4; }, "odd");
  refused([](CnnPaddingResponse& s) { s.kernel = 0; }, "kernel");
  refused([](CnnPaddingResponse& s) { s.kernel = 255, s.depth = 9; }, "reach 1143 positions");
  refused([](CnnPaddingResponse& s) { s.padding = CnnPadding::reflect, s.width = 2, s.kernel = 5; }, "reflect");
  refused([](CnnPaddingResponse& s) { s.padding = CnnPadding::circular, s.width = 1, s.kernel = 5; }, "circular");
}

}  // namespace
