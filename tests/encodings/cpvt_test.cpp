// cpvt: the convolution by scattering instead of gathering, start values, refusals, laws.
#include <doctest/doctest.h>

#include "encodings/cpvt.hpp"
#include "encodings/filled.hpp"
#include "encodings/mpfr_reference.hpp"
#include "numeric/philox.hpp"

namespace {

using namespace posenc;
using reference::filled;
using reference::Number;

Cpvt sample(std::int64_t kernel, std::int64_t stride, std::int64_t prefix) {
  Cpvt s{.height = 4, .width = 5, .dim = 3, .kernel = kernel, .stride = stride, .prefix_rows = prefix};
  s.x = filled({prefix + 20, 3}, 0.1);
  s.weight = filled({3, 1, kernel, kernel}, 0.03);
  s.bias = filled({3}, 0.7);
  return s;
}

TEST_CASE("cpvt: every value is the correctly rounded one") {
  int wrong = 0;
  for (const std::int64_t kernel : {1, 3, 5, 11})
    for (const std::int64_t stride : {1, 2, 3})
      for (const std::int64_t prefix : {0, 2}) {
        const Cpvt s = sample(kernel, stride, prefix);
        const auto evaluator = erase(s)->evaluator();
        const std::int64_t h = s.out_height(), w = s.out_width();
        for (std::int64_t c = 0; c < 3; ++c) {
          // Each token goes to every output whose window it is in.
          std::vector<Number> y(static_cast<std::size_t>(h * w), Number(s.bias.values[static_cast<std::size_t>(c)]));
          for (std::int64_t t = 0; t < 20; ++t)
            for (std::int64_t o = 0; o < h * w; ++o) {
              const std::int64_t j = t / 5 - o / w * stride + kernel / 2, i = t % 5 - o % w * stride + kernel / 2;
              const Number token = s.x.values[static_cast<std::size_t>((prefix + t) * 3 + c)];
              Number& to = y[static_cast<std::size_t>(o)];
              if (j >= 0 && j < kernel && i >= 0 && i < kernel)
                to = to + token * s.weight.values[static_cast<std::size_t>(c * kernel * kernel + j * kernel + i)];
              if (stride == 1 && o == t) to = to + token;
            }
          for (std::int64_t o = 0; o < h * w; ++o)
            for (const DType dtype : reference::float_dtypes)
              wrong += evaluator->truth(0, std::array{prefix + o, c}, dtype) == y[static_cast<std::size_t>(o)].rounded(dtype) ? 0 : 1;
        }
        CHECK(reference::Values(*erase(s), DType::bf16).broken(*erase(s)) == "");
      }
  CHECK(wrong == 0);
}

TEST_CASE("cpvt: start values, and ones show where the border is") {
  Cpvt s{.height = 5, .width = 6, .dim = 2, .seed = 3};
  reference::Values values(*erase(s), DType::f64);
  CHECK(values.broken(*erase(s)) == "");
  // An inner token: 1 + the sum of nine weights + the bias, each (2u - 1) / 3.
  const auto v = [](std::uint32_t stream, std::uint64_t column) {
    return (Number(2) * (Number(static_cast<double>(num::philox_k(3, stream, 1, column))) + 0.5) / 0x1p53 - Number(1)) / 3;
  };
  Number sum = Number(1) + v(2, 0);
  for (std::uint64_t k = 0; k < 9; ++k) sum = sum + v(1, k);
  CHECK(values.at(6 + 1, 1) == sum.rounded(DType::f64));
  CHECK(values.at(0, 1) != values.at(7, 1));
  values.at(8, 0) = 0;
  CHECK(values.broken(*erase(s)) == "interior");
}

TEST_CASE("cpvt: what makes no sense is refused in one sentence") {
  const auto refused = [](void (*change)(Cpvt&), const char* part) {
    Cpvt s = sample(3, 1, 1);
    CHECK(reference::refusal(*erase(s)) == "");
    change(s);
    const std::string sentence = reference::refusal(*erase(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  refused([](Cpvt& s) { s.kernel = 2; }, "odd");
  refused([](Cpvt& s) { s.stride = 0; }, "stride");
  refused([](Cpvt& s) { s.height = 5; }, "x wants shape [26, 3], got [21, 3]");
  refused([](Cpvt& s) { s.weight = filled({3, 3, 3}, 1); }, "weight wants shape [3, 1, 3, 3]");
  refused([](Cpvt& s) { s.bias = filled({2}, 1); }, "bias wants shape [3]");
}

}  // namespace
