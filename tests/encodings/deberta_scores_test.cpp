// deberta_scores and deberta_emd: terms over either form of the tables, refusals, laws.
#include "encodings/deberta_scores.hpp"

#include <doctest/doctest.h>

#include "encodings/deberta_emd.hpp"
#include "encodings/score_checks.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

DebertaScores sample() {
  return {.query = some_array({2, 4, 3}, 1), .key = some_array({2, 5, 3}, 2), .key_table = some_array({2, 6, 3}, 3), .query_table = some_array({2, 6, 3}, 4)};
}

// rel_embeddings . weight^T as [head, row, lane]: numbers of 21 bits each and few of them, exact in binary64.
Array projected(const Array& embeddings, const Array& weight, std::int64_t heads) {
  const std::int64_t lanes = weight.shape[0] / heads;
  Array out{{heads, embeddings.shape[0], lanes}, {}};
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t r = 0; r < embeddings.shape[0]; ++r)
      for (std::int64_t l = 0; l < lanes; ++l) out.values.push_back(static_cast<double>(dot(embeddings, {r}, weight, {h * lanes + l})));
  return out;
}

TEST_CASE("deberta_scores: every term, correctly rounded") {
  for (const DebertaP2c rule : {DebertaP2c::paper, DebertaP2c::code})
    for (const int given : {1, 2, 3}) {  // c2p, p2c, both
      DebertaScores s = sample();
      s.p2c_rule = rule;
      s.query_offset = 0;
      if (given == 1) s.query_table = {};
      if (given == 2) s.key_table = {};
      if (given == 3) s.max_relative_positions = 3;
      const auto encoding = erase(s);
      const Big scale = sqrt(Big(given == 3 ? 9 : 6));
      const auto delta = [](std::int64_t i, std::int64_t j) { return std::clamp<std::int64_t>(i - j + 3, 0, 5); };
      const auto c2p = [&](const auto& x) { return given == 2 ? Big(0) : dot(s.query, {x[0], x[1]}, s.key_table, {x[0], delta(x[1], x[2])}); };
      const auto p2c = [&](const auto& x) {
        const std::int64_t row = rule == DebertaP2c::code ? delta(x[1], x[2]) : delta(x[2], x[1]);
        return given == 1 ? Big(0) : dot(s.key, {x[0], x[2]}, s.query_table, {x[0], row});
      };
      const auto content = [&](const auto& x) { return dot(s.query, {x[0], x[1]}, s.key, {x[0], x[2]}); };
      CHECK(wrong_values(*encoding, "content", [&](const auto& x) { return Big(content(x) / scale); }) == 0);
      if (given != 2) CHECK(wrong_values(*encoding, "c2p", [&](const auto& x) { return Big(c2p(x) / scale); }) == 0);
      if (given != 1) CHECK(wrong_values(*encoding, "p2c", [&](const auto& x) { return Big(p2c(x) / scale); }) == 0);
      CHECK(wrong_values(*encoding, "bias", [&](const auto& x) { return Big((c2p(x) + p2c(x)) / scale); }) == 0);
      CHECK(wrong_values(*encoding, "score", [&](const auto& x) { return Big((content(x) + c2p(x) + p2c(x)) / scale); }) == 0);
      check_encoding(*encoding);
    }
}

TEST_CASE("deberta_scores: relative embeddings and weights make the tables, buckets the rows") {
  DebertaScores s = sample();
  s.key_table = s.query_table = {};
  s.rel_embeddings = some_array({8, 2}, 5);
  s.key_weight = some_array({6, 2}, 6);
  s.query_weight = some_array({6, 2}, 7);
  s.position_buckets = 4;
  s.max_relative_positions = 6;
  DebertaScores tables = s;
  tables.rel_embeddings = tables.key_weight = tables.query_weight = {};
  tables.key_table = projected(s.rel_embeddings, s.key_weight, 2);
  tables.query_table = projected(s.rel_embeddings, s.query_weight, 2);
  for (const char* tensor : {"content", "c2p", "p2c", "bias", "score"})
    for (const DType dtype : reference::float_dtypes) CHECK(values_of(*erase(s), tensor, dtype) == values_of(*erase(tables), tensor, dtype));
  check_encoding(*erase(s));
  s.scaled = false;
  // Worked: one head of one lane at distance 0, row 2 of 4: content 6, c2p 2 * 5, p2c 3 * 7; over sqrt(3) where scaled.
  s = {.query = {{1, 1, 1}, {2}}, .key = {{1, 1, 1}, {3}}, .key_table = {{1, 4, 1}, {0, 0, 5, 0}}, .query_table = {{1, 4, 1}, {0, 0, 7, 0}}, .scaled = false};
  CHECK(values_of(*erase(s), "bias") == std::vector<double>{31});
  CHECK(values_of(*erase(s), "score") == std::vector<double>{37});
}

TEST_CASE("deberta_scores: what makes no sense is refused in one sentence, laws notice wrong values") {
  const auto refused = [](const char* part, auto&& change) {
    DebertaScores s = sample();
    change(s);
    return reference::refusal(*erase(s)).find(part) != std::string::npos;
  };
  CHECK(reference::refusal(*erase(DebertaScores{})).find("query wants shape [any, any, any], got nothing") != std::string::npos);
  CHECK(refused("key wants shape [2, any, 3], got [3, 5, 3]", [](auto& s) { s.key = some_array({3, 5, 3}, 1); }));
  CHECK(refused("key_table wants shape [2, any, 3], got nothing", [](auto& s) { s.key_table = s.query_table = {}; }));
  CHECK(refused("the tables have 5 rows", [](auto& s) { s.key_table = some_array({2, 5, 3}, 1); }));
  CHECK(refused("query_table wants shape [2, 6, 3], got [2, 8, 3]", [](auto& s) { s.query_table = some_array({2, 8, 3}, 1); }));
  CHECK(refused("key_table wants shape [2, 8, 3], got [2, 6, 3]", [](auto& s) { s.max_relative_positions = 4; }));
  CHECK(refused("position_buckets needs max_relative_positions", [](auto& s) { s.position_buckets = 4; }));
  CHECK(refused("key_table and key_weight are two ways", [](auto& s) { s.key_weight = some_array({6, 2}, 1); }));
  CHECK(refused("query_table and query_weight are two ways", [](auto& s) { s.query_weight = some_array({6, 2}, 1); }));
  CHECK(refused("rel_embeddings needs key_weight or query_weight", [](auto& s) { s.rel_embeddings = some_array({6, 2}, 1); }));
  const auto weights = [](auto& s) {
    s.key_table = s.query_table = {};
    s.rel_embeddings = some_array({6, 2}, 1);
    s.key_weight = some_array({6, 2}, 1);
  };
  CHECK(refused("rel_embeddings wants shape [any, any], got nothing", [&](auto& s) { weights(s), s.rel_embeddings = {}; }));
  CHECK(refused("rel_embeddings has no values", [&](auto& s) { weights(s), s.rel_embeddings = {{6, 0}, {}}; }));
  CHECK(refused("rel_embeddings wants shape [8, any], got [6, 2]", [&](auto& s) { weights(s), s.max_relative_positions = 4; }));
  CHECK(refused("key_weight wants shape [6, 2], got [6, 3]", [&](auto& s) { weights(s), s.key_weight = some_array({6, 3}, 1); }));
  CHECK(refused("query_weight wants shape [6, 2], got [5, 2]", [&](auto& s) { weights(s), s.query_weight = some_array({5, 2}, 1); }));

  const auto encoding = erase(sample());
  CHECK(broken_laws(*encoding, "c2p", 0, values_of(*encoding, "c2p", DType::f32)[0]).empty());
  CHECK(broken_laws(*encoding, "content", 7, 5) == "terms");
  CHECK(broken_laws(*encoding, "p2c", 7, 5) == "bias");
  CHECK(broken_laws(*encoding, "bias", 7, 5) == "bias terms");
  // Queries are positions 1 to 4 of 0 to 4: the last one's keys 0 and 1 are 4 and 3 away, beyond and at the edge of k = 3.
  CHECK(broken_laws(*encoding, "c2p", 3 * 5, 5) == "bias shared");
}

TEST_CASE("deberta_emd: states plus positions, refusals, laws") {
  const DebertaEmd s{.hidden = some_array({5, 6}, 1), .position_embeddings = some_array({9, 6}, 2), .offset = 3};
  CHECK(wrong_values(*erase(s), "query", [&](const auto& x) { return Big(at(s.hidden, {x[0], x[1]}) + at(s.position_embeddings, {x[0] + 3, x[1]})); }) == 0);
  check_encoding(*erase(s));
  // A sum that lies between two binary32 numbers.
  CHECK(values_of(*erase(DebertaEmd{.hidden = {{1, 1}, {1}}, .position_embeddings = {{1, 1}, {0x1p-24}}}), DType::f32) == std::vector<double>{1});
  const auto has = [](const DebertaEmd& e, const char* part) { return reference::refusal(*erase(e)).find(part) != std::string::npos; };
  CHECK(has({}, "hidden wants shape [any, any], got nothing"));
  CHECK(has({.hidden = {{0, 2}, {}}}, "hidden has no values"));
  CHECK(has({.hidden = some_array({2, 3}, 1), .position_embeddings = some_array({5, 2}, 1)}, "position_embeddings wants shape [any, 3], got [5, 2]"));
  CHECK(has({.hidden = some_array({2, 3}, 1), .position_embeddings = some_array({5, 3}, 1), .offset = 4}, "5 rows; 2 states from position 4 on need 6"));
  CHECK(broken_laws(*erase(s), 4, 5) == "positions");
}

}  // namespace
