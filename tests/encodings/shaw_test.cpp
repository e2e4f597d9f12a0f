// shaw and NEZHA: index, given and sinusoidal vectors, refusals, laws.
#include "encodings/shaw.hpp"

#include <doctest/doctest.h>

#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"

namespace {

using namespace posenc;
using namespace testing_support;

TEST_CASE("shaw: the index is the clipped distance, key minus query") {
  for (const ShawSign sign : {ShawSign::key_query, ShawSign::query_key})
    for (const std::int64_t offset : {-3, 0, 5}) {
      const Shaw s{.max_relative_position = 4, .sign = sign, .span = {.key_length = 12, .query_length = 9, .query_offset = offset}};
      const auto values = values_of(*erase(s));
      bool same = true;
      for (std::int64_t i = 0; i < 9; ++i)
        for (std::int64_t j = 0; j < 12; ++j) {
          std::int64_t d = j - (offset + i);
          if (sign == ShawSign::query_key) d = -d;
          same = same && values[static_cast<std::size_t>(12 * i + j)] == static_cast<double>(std::min<std::int64_t>(std::max<std::int64_t>(d, -4), 4) + 4);
        }
      CHECK(same);
      check_encoding(*erase(s));
    }
  // Queries are the last positions; one step of cached decode.
  CHECK(values_of(*erase(Shaw{.max_relative_position = 4, .span = {.form = SpanForm::row, .key_length = 7}})) ==
        std::vector<double>{0, 0, 0, 1, 2, 3, 4});
  CHECK(values_of(*erase(Shaw{.max_relative_position = 2, .span = {.form = SpanForm::toeplitz, .key_length = 4}})) ==
        std::vector<double>{0, 0, 1, 2, 3, 4, 4});
}

TEST_CASE("shaw: NEZHA's sinusoids, correctly rounded and gathered") {
  const Shaw table{.output = ShawOutput::table, .max_relative_position = 7, .head_dim = 16};
  const Shaw gathered{.output = ShawOutput::vectors, .max_relative_position = 7, .head_dim = 16, .span = {.key_length = 11, .query_length = 20, .query_offset = 0}};
  for (const DType dtype : reference::float_dtypes) {
    const auto rows = values_of(*erase(table), dtype), vectors = values_of(*erase(gathered), dtype);
    int wrong = 0;
    for (int r = 0; r < 15; ++r)
      for (int c = 0; c < 16; ++c) {
        const oracle::Big angle = r * exp(-oracle::Big(2 * (c / 2)) / 16 * log(oracle::Big(10000)));
        wrong += oracle::correctly_rounded(dtype, rows[static_cast<std::size_t>(16 * r + c)], c % 2 == 0 ? oracle::Big(sin(angle)) : oracle::Big(cos(angle))) ? 0 : 1;
      }
    CHECK(wrong == 0);
    bool same = true;
    for (std::int64_t i = 0; i < 20; ++i)
      for (std::int64_t j = 0; j < 11; ++j)
        for (std::int64_t c = 0; c < 16; ++c) {
          const std::int64_t r = std::min<std::int64_t>(std::max<std::int64_t>(j - i, -7), 7) + 7;
          same = same && vectors[static_cast<std::size_t>((i * 11 + j) * 16 + c)] == rows[static_cast<std::size_t>(16 * r + c)];
        }
    CHECK(same);
  }
  check_encoding(*erase(table));
  check_encoding(*erase(gathered));
  // Too large to keep: the same numbers, computed where they stand.
  const Shaw large{.output = ShawOutput::vectors, .max_relative_position = 1 << 20, .head_dim = 8, .span = {.form = SpanForm::row, .key_length = 9}};
  check_encoding(*erase(large));
}

TEST_CASE("shaw: given vectors in every form") {
  for (const SpanForm form : {SpanForm::row, SpanForm::toeplitz, SpanForm::matrix})
    check_encoding(*erase(Shaw{.output = ShawOutput::vectors, .max_relative_position = 3, .vectors = some_array({7, 5}, 2), .span = {.form = form, .key_length = 9}}));
  const Shaw s{.output = ShawOutput::table, .max_relative_position = 3, .vectors = some_array({7, 5}, 2)};
  CHECK(values_of(*erase(s)) == s.vectors.values);
}

TEST_CASE("shaw: what makes no sense is refused in one sentence") {
  const auto has = [](const Shaw& s, const char* part) { return reference::refusal(*erase(s)).find(part) != std::string::npos; };
  CHECK(reference::refusal(*erase(Shaw{})).empty());
  CHECK(has({.output = ShawOutput::table, .head_dim = 5}, "head_dim 5 is odd"));
  CHECK(has({.max_relative_position = 0}, "max_relative_position"));
  CHECK(has({.max_relative_position = 3, .vectors = some_array({6, 5}, 2)}, "vectors wants shape [7, any], got [6, 5]"));
  CHECK(has({.max_relative_position = 15, .beyond = ShawBeyond::refuse, .span = {.key_length = 17}}, "distances run from -16 to 16"));
  CHECK(reference::refusal(*erase(Shaw{.max_relative_position = 15, .beyond = ShawBeyond::refuse, .span = {.key_length = 16}})).empty());
}

TEST_CASE("shaw: laws notice wrong values") {
  const Shaw s{.max_relative_position = 4, .span = {.key_length = 20}};
  CHECK(broken_laws(*erase(s), 0, 4).empty());
  CHECK(broken_laws(*erase(s), 10 * 20 + 11, 4) == "toeplitz steps");
  CHECK(broken_laws(*erase(s), 0 * 20 + 19, 7) == "constant");
  CHECK(broken_laws(*erase(Shaw{.output = ShawOutput::table, .max_relative_position = 4, .head_dim = 4}), 5, 0.5) == "norm");
}

}  // namespace
