// t5: buckets against the definition in whole numbers, the printed buckets of the field, biases, refusals, laws.
#include "encodings/t5.hpp"

#include <doctest/doctest.h>

#include <boost/multiprecision/cpp_int.hpp>

#include "encodings/encoding_checks.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using Whole = boost::multiprecision::cpp_int;

// The largest k with (n / e)^N >= (D / e)^k in whole numbers, n^N e^k >= D^k e^N; the bucket is e + k, at most e + N - 1.
std::int64_t definition(std::int64_t n, std::int64_t side, std::int64_t farthest) {
  const std::int64_t e = side / 2, steps = side - e;
  if (n < e) return n;
  const auto power = [](std::int64_t x, std::int64_t p) { return Whole(boost::multiprecision::pow(Whole(x), static_cast<unsigned>(p))); };
  std::int64_t k = 0;
  while (k + 1 < steps && power(n, steps) * power(e, k + 1) >= power(farthest, k + 1) * power(e, steps)) ++k;
  return e + k;
}

TEST_CASE("t5: buckets are those of the definition in whole numbers") {
  struct Setting {
    std::int64_t buckets, farthest;
  };
  int wrong = 0;
  for (const auto& [buckets, farthest] : std::initializer_list<Setting>{
           {32, 128}, {32, 100}, {64, 200}, {20, 1000}, {16, 32}, {128, 512}, {32, 20}, {4, 3}, {8, 16384}, {10, 160}})
    for (const bool both : {false, true}) {
      const T5 s{.bidirectional = both, .num_buckets = buckets, .max_distance = farthest};
      const auto table = s.table();
      const std::int64_t side = both ? buckets / 2 : buckets;
      for (std::int64_t n = 0; n <= std::min<std::int64_t>(farthest + 20, 1500); ++n) {
        const std::int64_t want = definition(n, side, farthest);
        wrong += table.bucket(-n) == want ? 0 : 1;
        if (n > 0) wrong += table.bucket(n) == (both ? side + want : 0) ? 0 : 1;
      }
      for (const std::int64_t far : {farthest, farthest + 1, std::int64_t{1} << 50}) wrong += table.bucket(-far) == side - 1 ? 0 : 1;
    }
  CHECK(wrong == 0);
}

TEST_CASE("t5: edges that a binary64 logarithm misses") {
  CHECK(T5{.bidirectional = false, .max_distance = 100}.table().bucket(-40) == 24);
  CHECK(T5{.bidirectional = false, .max_distance = 100}.table().bucket(-39) == 23);
}

// FIELD_LOG B23, B31 and the seed's table.
TEST_CASE("t5: printed buckets") {
  const auto both = T5{}.table();
  const std::int64_t starts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
  for (std::int64_t b = 0; b < 16; ++b) {
    CHECK(both.bucket(-starts[b]) == b);
    if (b > 0) {
      CHECK(both.bucket(-(starts[b] - 1)) == b - 1);
      CHECK(both.bucket(starts[b]) == b + 16);
    }
  }
  CHECK(both.bucket(128) == 31);
  CHECK(both.bucket(-128) == 15);
  CHECK(both.bucket(200) == 31);
  const auto causal = T5{.bidirectional = false}.table();
  const std::int64_t causal_starts[] = {16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
  for (std::int64_t b = 0; b < 16; ++b) {
    CHECK(causal.bucket(-causal_starts[b]) == 16 + b);
    CHECK(causal.bucket(-(causal_starts[b] - 1)) == 15 + b);
  }
  CHECK(causal.bucket(1) == 0);
  CHECK(causal.bucket(-200) == 31);
  const auto matrix = values_of(*erase(T5{.span = {.key_length = 10}}));
  CHECK(std::vector<double>(matrix.begin(), matrix.begin() + 10) == std::vector<double>{0, 17, 18, 19, 20, 21, 22, 23, 24, 24});
  CHECK(std::vector<double>(matrix.end() - 10, matrix.end()) == std::vector<double>{8, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  // A step of cached decode: the last row of the full matrix, for every length.
  for (const std::int64_t keys : {1, 2, 6, 40}) {
    const auto full = values_of(*erase(T5{.bidirectional = false, .span = {.key_length = keys}}));
    const std::vector<double> last(full.end() - keys, full.end());
    CHECK(values_of(*erase(T5{.bidirectional = false, .span = {.key_length = keys, .query_length = 1}})) == last);
    CHECK(values_of(*erase(T5{.bidirectional = false, .span = {.form = SpanForm::row, .key_length = keys}})) == last);
    if (keys == 6) CHECK(last == std::vector<double>{5, 4, 3, 2, 1, 0});
  }
}

TEST_CASE("t5: biases are the table's numbers, in every form and any cut") {
  const Array table = some_array({32, 3}, 1);
  for (const bool both : {false, true})
    for (const SpanForm form : {SpanForm::row, SpanForm::toeplitz, SpanForm::matrix})
      for (const std::int64_t offset : {-7, 0, 300}) {
        const T5 s{.bidirectional = both,
                   .bias_table = table,
                   .span = {.form = form, .key_length = 41, .query_length = 19, .query_offset = offset}};
        const auto encoding = erase(s);
        CHECK(encoding->tensors()[0].axes[0].size == 3);
        const auto values = values_of(*encoding);
        const Tensor tensor = encoding->tensors()[0];
        bool same = true;
        for (std::size_t flat = 0; flat < values.size(); ++flat) {
          const auto index = unravel(static_cast<std::int64_t>(flat), tensor);
          const std::int64_t d = form == SpanForm::matrix     ? index[2] - index[1] - offset
                                 : form == SpanForm::toeplitz ? index[1] - (offset + 18)
                                                              : index[1] - (offset + 18);
          const std::int64_t side = both ? 16 : 32;
          const std::int64_t n = d > 0 && !both ? 0 : std::abs(d);
          const std::int64_t row = definition(n, side, 128) + (d > 0 && both ? side : 0);
          same = same && values[flat] == table.values[static_cast<std::size_t>(row * 3 + index[0])];
        }
        CHECK(same);
        check_encoding(*encoding);
      }
  check_encoding(*erase(T5{.bidirectional = false, .span = {.key_length = 200}}));
}

TEST_CASE("t5: what makes no sense is refused in one sentence") {
  const auto refusal = [](const T5& s) { return reference::refusal(*erase(s)); };
  const auto has = [](const std::string& sentence, const char* part) { return sentence.find(part) != std::string::npos; };
  CHECK(refusal(T5{}).empty());
  CHECK(has(refusal({.num_buckets = 33}), "num_buckets 33 is odd"));
  CHECK(has(refusal({.num_buckets = 2}), "at least 4"));
  CHECK(has(refusal({.num_buckets = 1}), "num_buckets"));
  CHECK(has(refusal({.max_distance = 8}), "more than 8"));
  CHECK(has(refusal({.bidirectional = false, .max_distance = 16}), "more than 16"));
  CHECK(has(refusal({.bias_table = some_array({4, 32}, 1)}), "bias_table wants shape [32, any], got [4, 32]"));
  CHECK(has(refusal({.bias_table = some_array({32}, 1)}), "bias_table"));
  CHECK(has(refusal({.span = {.key_length = 4, .query_length = 5}}), "larger than key_length"));
}

TEST_CASE("t5: laws notice wrong values") {
  const T5 s{.span = {.key_length = 30}};
  CHECK(broken_laws(*erase(s), 0, 0).empty());
  CHECK(broken_laws(*erase(s), 5 * 30 + 9, 9) == "toeplitz monotone sides");  // a key after the query in the lower half
  const T5 row{.bidirectional = false, .span = {.form = SpanForm::row, .key_length = 300}};
  CHECK(broken_laws(*erase(row), 10, 32) == "constant monotone sides");
}

}  // namespace
