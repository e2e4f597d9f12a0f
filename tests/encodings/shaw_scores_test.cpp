// shaw_scores: terms, softmax and outputs, values that are rational against the odds, refusals, laws.
#include "encodings/shaw_scores.hpp"

#include <doctest/doctest.h>

#include "encodings/score_checks.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

ShawScores sample(ShawTerms terms) {
  return {.terms = terms,
          .query = some_array({2, 3, 3}, 1),
          .key = some_array({2, 5, 3}, 2),
          .value = some_array({2, 5, 2}, 3),
          .max_relative_position = terms == ShawTerms::shaw ? 2 : 4,
          .key_vectors = some_array({terms == ShawTerms::shaw ? 5 : 9, 3}, 4),
          .value_vectors = some_array({terms == ShawTerms::shaw ? 5 : 9, 2}, 5)};
}

TEST_CASE("shaw_scores: terms, weights and outputs, correctly rounded") {
  for (const ShawTerms terms : {ShawTerms::shaw, ShawTerms::relative_key, ShawTerms::relative_key_query}) {
    ShawScores s = sample(terms);
    s.scaled = terms != ShawTerms::relative_key;
    const auto encoding = erase(s);
    // Three queries are the last of five positions.
    const auto row = [&](std::int64_t i, std::int64_t j) {
      const std::int64_t k = s.max_relative_position, d = terms == ShawTerms::shaw ? j - (i + 2) : i + 2 - j;
      return std::min(std::max(d, -k), k) + k;
    };
    const Big root = sqrt(Big(3));
    const auto content = [&](auto h, auto i, auto j) { return dot(s.query, {h, i}, s.key, {h, j}); };
    const auto position = [&](auto h, auto i, auto j) {
      const Big own = dot(s.query, {h, i}, s.key_vectors, {row(i, j)});
      return terms == ShawTerms::relative_key_query ? Big(own + dot(s.key, {h, j}, s.key_vectors, {row(i, j)})) : own;
    };
    const auto weight = [&](auto h, auto i, auto j) {
      Big sum = 0;
      for (std::int64_t t = 0; t < 5; ++t) sum += exp((content(h, i, t) + position(h, i, t)) / root);
      return Big(exp((content(h, i, j) + position(h, i, j)) / root) / sum);
    };
    const Big scale = s.scaled ? root : Big(1);
    CHECK(wrong_values(*encoding, "content", [&](const auto& at) { return Big(content(at[0], at[1], at[2]) / scale); }) == 0);
    CHECK(wrong_values(*encoding, "position", [&](const auto& at) { return Big(position(at[0], at[1], at[2]) / scale); }) == 0);
    CHECK(wrong_values(*encoding, "logits",
                       [&](const auto& at) { return Big((content(at[0], at[1], at[2]) + position(at[0], at[1], at[2])) / scale); }) == 0);
    CHECK(wrong_values(*encoding, "weights", [&](const auto& at) { return weight(at[0], at[1], at[2]); }) == 0);
    CHECK(wrong_values(*encoding, "out", [&](const auto& index) {
            Big sum = 0;
            for (std::int64_t j = 0; j < 5; ++j)
              sum += weight(index[0], index[1], j) * (at(s.value, {index[0], j, index[2]}) + at(s.value_vectors, {row(index[1], j), index[2]}));
            return sum;
          }) == 0);
    check_encoding(*encoding);
  }
}

TEST_CASE("shaw_scores: worked numbers, rational ones where exponentials cancel") {
  // One head, one query that is the second of two positions, four lanes: root 2.
  ShawScores s{.query = {{1, 1, 4}, {1, 2, 3, 4}},
               .key = {{1, 2, 4}, {1, 1, 1, 1, 0, 0, 0, 2}},
               .max_relative_position = 1,
               .key_vectors = {{3, 4}, {0, 1, 0, 0, -1, 1, 1, 0, 9, 9, 9, 9}}};
  CHECK(values_of(*erase(s), "content") == std::vector<double>{5, 4});
  CHECK(values_of(*erase(s), "position") == std::vector<double>{1, 2});
  CHECK(values_of(*erase(s), "logits") == std::vector<double>{6, 6});
  CHECK(values_of(*erase(s), "weights") == std::vector<double>{0.5, 0.5});
  // Logits 0, 0, 1 / sqrt(3): the mean of the first two values is the third's, so that the output is that; a lane of ones stays.
  s = {.query = {{1, 1, 3}, {1, 0, 0}},
       .key = {{1, 3, 3}, {0, 1, 2, 0, 2, 1, 1, 0, 0}},
       .value = {{1, 3, 2}, {0, 1, 2, 1, 1, 1}},
       .max_relative_position = 2,
       .key_vectors = {{5, 3}, std::vector<double>(15, 0.0)}};
  CHECK(values_of(*erase(s), "out") == std::vector<double>{1, 1});
  check_encoding(*erase(s));
  // Queries of nothing attend to all keys alike; a batch axis of 1 does not count.
  s.query = {{1, 1, 1, 3}, {0, 0, 0}};
  CHECK(values_of(*erase(s), "weights") == std::vector<double>(3, 1.0 / 3));
  CHECK(values_of(*erase(s), "out") == std::vector<double>{1, 1});
}

TEST_CASE("shaw_scores: logits far apart") {
  ShawScores s = sample(ShawTerms::shaw);
  for (double& v : s.query.values) v *= 4000;
  check_encoding(*erase(s));
  // Products beyond the range of binary64.
  s = {.query = {{1, 1, 2}, {1e308, 0}}, .key = {{1, 2, 2}, {1e308, 0, 1.5e308, 0}}, .max_relative_position = 1, .key_vectors = {{3, 2}, std::vector<double>(6, 0.0)}};
  CHECK(values_of(*erase(s), "weights") == std::vector<double>{0, 1});
  CHECK(std::isinf(values_of(*erase(s), "logits")[0]));
}

TEST_CASE("shaw_scores: what makes no sense is refused in one sentence, laws notice wrong values") {
  const auto has = [](ShawScores s, const char* part) { return reference::refusal(*erase(s)).find(part) != std::string::npos; };
  const ShawScores s = sample(ShawTerms::shaw);
  const auto with = [&](auto&& change) {
    ShawScores other = s;
    change(other);
    return other;
  };
  CHECK(has({}, "query wants shape [any, any, any], got nothing"));
  CHECK(has(with([](auto& o) { o.key = some_array({1, 5, 3}, 1); }), "key wants shape [2, any, 3], got [1, 5, 3]"));
  CHECK(has(with([](auto& o) { o.query = {{2, 0, 3}, {}}; }), "query has no values"));
  CHECK(has(with([](auto& o) { o.max_relative_position = 3; }), "key_vectors wants shape [7, 3], got [5, 3]"));
  CHECK(has(with([](auto& o) { o.value = some_array({2, 4, 3}, 1); }), "value wants shape [2, 5, any], got [2, 4, 3]"));
  CHECK(has(with([](auto& o) { o.value = {}; }), "value_vectors needs value"));
  CHECK(has(with([](auto& o) { o.value_vectors = some_array({5, 3}, 1); }), "value_vectors wants shape [5, 2], got [5, 3]"));
  CHECK(has(with([](auto& o) { o.terms = ShawTerms::relative_key; }), "beyond max_relative_position 2"));
  CHECK(has(with([](auto& o) { o.query = some_array({2, 6, 3}, 1); }), "query_length 6 is larger than key_length 5"));

  const auto encoding = erase(s);
  CHECK(broken_laws(*encoding, "content", 0, values_of(*encoding, "content", DType::f32)[0]).empty());
  CHECK(broken_laws(*encoding, "content", 7, 3) == "terms");
  CHECK(broken_laws(*encoding, "logits", 7, 9) == "terms order");
  CHECK(broken_laws(*encoding, "weights", 7, 0.9) == "sum order");
  CHECK(broken_laws(*encoding, "out", 3, 5) == "between");
}

}  // namespace
