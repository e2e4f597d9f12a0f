// tupe: buckets, biases against sums of its own, reserved rows and columns, refusals, laws.
#include "encodings/tupe.hpp"

#include <doctest/doctest.h>

#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

Tupe small(TupeOutput output, bool untied, bool biases) {
  Tupe s{.output = output, .length = 7, .num_heads = 3, .untied_cls = untied, .num_buckets = 8, .max_distance = 16};
  s.position_vectors = some_array({untied ? 8 : 7, 6}, 1);
  s.query_weight = some_array({6, 6}, 2);
  s.key_weight = some_array({6, 6}, 3);
  if (biases) s.query_bias = some_array({6}, 4), s.key_bias = some_array({6}, 5);
  s.bias_table = some_array({untied ? 9 : 8, 3}, 6);
  return s;
}

// x W^T + b of row `row` of P, lane `lane`.
Big projected(const Tupe& s, const Array& weight, const Array& bias, std::size_t row, std::size_t lane) {
  Big sum = bias.given() ? Big(bias.values[lane]) : Big(0);
  for (std::size_t k = 0; k < 6; ++k) sum += Big(s.position_vectors.values[6 * row + k]) * weight.values[6 * lane + k];
  return sum;
}

// Buckets of distances -6 .. 6 (key minus query) for 8 buckets, max_distance 16: two exact ones a side, then
// 2 + floor(2 log(n / 2) / log(8)), which is 3 from n = 6 on.
constexpr int buckets[] = {3, 2, 2, 2, 2, 1, 0, 5, 6, 6, 6, 6, 7};

TEST_CASE("tupe: buckets with and without [CLS]'s own") {
  for (const bool untied : {true, false}) {
    const Tupe s{.length = 7, .untied_cls = untied, .num_buckets = 8, .max_distance = 16};
    const auto values = values_of(*erase(s));
    bool same = true;
    for (int i = 0; i < 7; ++i)
      for (int j = 0; j < 7; ++j) {
        const int want = untied && i == 0 ? 4 : untied && j == 0 ? 8 : buckets[j - i + 6];
        same = same && values[static_cast<std::size_t>(7 * i + j)] == want;
      }
    CHECK(same);
    check_encoding(*erase(s));
  }
}

TEST_CASE("tupe: biases, correctly rounded") {
  for (const bool untied : {true, false})
    for (const TupeOutput output : {TupeOutput::abs_bias, TupeOutput::bias}) {
      const Tupe s = small(output, untied, !untied);
      const auto encoding = erase(s);
      int wrong = 0;
      for (const DType dtype : reference::float_dtypes) {
        const auto values = values_of(*encoding, dtype);
        std::size_t flat = 0;
        for (std::size_t h = 0; h < 3; ++h)
          for (std::size_t i = 0; i < 7; ++i)
            for (std::size_t j = 0; j < 7; ++j) {
              std::size_t a = i + (untied ? 1 : 0), b = j + (untied ? 1 : 0);
              if (untied && j == 0) a = b = 1;
              if (untied && i == 0) a = b = 0;
              Big sum = 0;
              for (std::size_t lane = 2 * h; lane < 2 * h + 2; ++lane)
                sum += projected(s, s.query_weight, s.query_bias, a, lane) * projected(s, s.key_weight, s.key_bias, b, lane);
              sum /= 2;  // sqrt(2 * head_dim), head_dim 2
              if (output == TupeOutput::bias) {
                const int bucket = untied && i == 0 ? 4 : untied && j == 0 ? 8 : buckets[static_cast<int>(j) - static_cast<int>(i) + 6];
                sum += s.bias_table.values[static_cast<std::size_t>(bucket) * 3 + h];
              }
              wrong += oracle::correctly_rounded(dtype, values[flat++], sum) ? 0 : 1;
            }
      }
      CHECK(wrong == 0);
      check_encoding(*encoding);
    }
  // A scale that is no square root of a square, and numbers that two doubles have no room for.
  Tupe s = small(TupeOutput::bias, true, true);
  s.attn_scale_factor = 3;
  check_encoding(*erase(s));
  s.query_weight.values[7] = 0x1p300;
  const auto evaluator = erase(s)->evaluator();
  const std::vector<std::int64_t> index{0, 3, 2};
  double hi = 0;
  ErrorBound bound;
  Block block{{3, 1, 2, 1}, &hi, nullptr, &bound};
  evaluator->fill(0, block);
  const double truth = evaluator->truth(0, index, DType::f64);
  CHECK(std::fabs(hi - truth) <= bound.absolute + std::fabs(truth) * 0x1p-53);
}

TEST_CASE("tupe: what makes no sense is refused in one sentence, laws notice wrong values") {
  const auto refused = [](auto change) {
    Tupe s = small(TupeOutput::bias, true, true);
    change(s);
    return reference::refusal(*erase(s));
  };
  const auto has = [&](auto change, const char* part) { return refused(change).find(part) != std::string::npos; };
  CHECK(refused([](Tupe&) {}).empty());
  CHECK(reference::refusal(*erase(Tupe{})).empty());
  CHECK(has([](Tupe& s) { s.position_vectors = {}; }, "position_vectors wants shape [any, any], got nothing"));
  CHECK(has([](Tupe& s) { s.length = 8; }, "position_vectors has 8 rows, 8 tokens take 9: two are reserved"));
  CHECK(has([](Tupe& s) { s.num_heads = 4; }, "num_heads 4 does not divide the 6 lanes"));
  CHECK(has([](Tupe& s) { s.query_weight = some_array({6, 5}, 1); }, "query_weight wants shape [6, 6], got [6, 5]"));
  CHECK(has([](Tupe& s) { s.key_weight = {}; }, "key_weight wants shape [6, 6], got nothing"));
  CHECK(has([](Tupe& s) { s.query_bias = some_array({5}, 1); }, "query_bias wants shape [6], got [5]"));
  CHECK(has([](Tupe& s) { s.key_bias = some_array({7}, 1); }, "key_bias wants shape [6], got [7]"));
  CHECK(has([](Tupe& s) { s.bias_table = some_array({8, 3}, 1); }, "bias_table wants shape [9, 3], got [8, 3]"));
  CHECK(has([](Tupe& s) { s.num_buckets = 7; }, "num_buckets 7 is odd"));
  CHECK(has([](Tupe& s) { s.max_distance = 2; }, "max_distance 2 leaves nothing"));
  const Tupe bias = small(TupeOutput::bias, true, false), bucket{.length = 7, .num_buckets = 8, .max_distance = 16};
  CHECK(broken_laws(*erase(bias), 3, values_of(*erase(bias), DType::f32)[3]).empty());
  CHECK(broken_laws(*erase(bias), 49 + 3, 9) == "from_cls");
  CHECK(broken_laws(*erase(bias), 98 + 14, 9) == "to_cls");
  CHECK(broken_laws(*erase(bucket), 7 * 3 + 4, 4) == "buckets");
}

}  // namespace
