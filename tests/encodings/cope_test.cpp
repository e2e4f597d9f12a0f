// cope: every part against sums of its own, gates that cancel exactly, level lines, refusals, laws.
#include "encodings/cope.hpp"

#include <doctest/doctest.h>

#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

constexpr CopeOutput parts[] = {CopeOutput::table, CopeOutput::positions, CopeOutput::pos_logits, CopeOutput::attn, CopeOutput::out};

Cope random_cope(CopeOutput output, std::int64_t queries, std::int64_t keys, std::int64_t npos) {
  return {.output = output, .queries = some_array({queries, 3}, 1), .keys = some_array({keys, 3}, 2), .values = some_array({keys, 2}, 3), .pos_emb = some_array({3, npos}, 4)};
}

// All values of one query, with the interpolation as a sum of hats: value at t times max(0, 1 - |p - t|).
std::vector<Big> row_of(const Cope& s, std::size_t i) {
  const auto lanes = static_cast<std::size_t>(s.head_dim()), npos = static_cast<std::size_t>(s.npos()), keys = static_cast<std::size_t>(s.key_length());
  std::vector<Big> table, positions(keys), logits(keys), weights(keys);
  for (std::size_t t = 0; t < npos; ++t) {
    Big sum = 0;
    for (std::size_t c = 0; c < lanes; ++c) sum += Big(s.queries.values[i * lanes + c]) * s.pos_emb.values[c * npos + t];
    table.push_back(sum);
  }
  if (s.output == CopeOutput::table) return table;
  const std::size_t seen = s.causal ? i + 1 + keys - static_cast<std::size_t>(s.query_length()) : keys;
  const Big root = sqrt(Big(lanes));
  std::vector<Big> products(keys);
  for (std::size_t j = 0; j < seen; ++j)
    for (std::size_t c = 0; c < lanes; ++c) products[j] += Big(s.queries.values[i * lanes + c]) * s.keys.values[j * lanes + c];
  Big total = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    Big p = 0;
    for (std::size_t t = j; t < seen; ++t) p += 1 / (1 + exp(-products[t] / root));
    positions[j] = p > npos - 1 ? Big(npos - 1) : p;
    for (std::size_t t = 0; t < npos; ++t) {
      const Big hat = 1 - abs(positions[j] - Big(t));
      if (hat > 0) logits[j] += hat * table[t];
    }
    if (j < seen) {
      weights[j] = exp(s.added == CopeAdded::divided ? Big((products[j] + logits[j]) / root) : Big(products[j] / root + logits[j]));
      total += weights[j];
    }
  }
  if (s.output == CopeOutput::positions) return positions;
  if (s.output == CopeOutput::pos_logits) return logits;
  for (Big& w : weights) w /= total;
  if (s.output == CopeOutput::attn) return weights;
  const auto width = static_cast<std::size_t>(s.values.shape[1]);
  std::vector<Big> out(width);
  for (std::size_t j = 0; j < keys; ++j)
    for (std::size_t lane = 0; lane < width; ++lane) out[lane] += weights[j] * s.values.values[j * width + lane];
  return out;
}

int wrong_values(const Cope& s) {
  int wrong = 0;
  for (const DType dtype : reference::float_dtypes) {
    const auto values = values_of(*erase(s), dtype);
    std::size_t flat = 0;
    for (std::int64_t i = 0; i < s.query_length(); ++i)
      for (const Big& want : row_of(s, static_cast<std::size_t>(i))) wrong += oracle::correctly_rounded(dtype, values[flat++], want) ? 0 : 1;
  }
  return wrong;
}

TEST_CASE("cope: every part, correctly rounded") {
  for (const CopeOutput part : parts)
    for (const CopeAdded added : {CopeAdded::divided, CopeAdded::undivided})
      for (const bool causal : {true, false}) {
        Cope s = random_cope(part, 5, 8, 4);
        s.added = added;
        s.causal = causal;
        CHECK(wrong_values(s) == 0);
        check_encoding(*erase(s));
      }
  check_encoding(*erase(random_cope(CopeOutput::pos_logits, 3, 3, 1)));
}

TEST_CASE("cope: gates that cancel, equal scores and equal values are exact") {
  // Products 2, -2, 0, 0, 3, -3 of a query (1, 0): from the end the gates make 1 in pairs and 1/2 each.
  Cope s{.output = CopeOutput::positions, .causal = false, .queries = {{1, 2}, {1, 0}}, .keys = {{6, 2}, {2, 5, -2, 1, 0, 7, 0, 0, 3, 1, -3, 4}}};
  s.pos_emb = {{2, 5}, {0, 257.0 / 256, 2, 3, 4, 1, 1, 1, 1, 1}};
  const auto positions = values_of(*erase(s));
  CHECK(positions[0] == 3);
  CHECK(positions[2] == 2);
  CHECK(positions[3] == 1.5);
  CHECK(positions[4] == 1);
  // At position 1 exactly: 257/256, a tie of bf16, to even.
  s.output = CopeOutput::pos_logits;
  CHECK(values_of(*erase(s), DType::bf16)[4] == 1);
  CHECK(values_of(*erase(s))[4] == 257.0 / 256);
  check_encoding(*erase(s));
  // A level line: the same value wherever the position lies, though the position is irrational.
  s.pos_emb = {{2, 3}, {257.0 / 256, 257.0 / 256, 257.0 / 256, 0, 1, 2}};
  CHECK(values_of(*erase(s), DType::bf16) == std::vector<double>(6, 1));
  // Values that are all one number, and equal scores.
  s.output = CopeOutput::out;
  s.values = {{6, 1}, std::vector<double>(6, 257.0 / 256)};
  CHECK(values_of(*erase(s), DType::bf16) == std::vector<double>{1});
  s.keys = {{4, 2}, {1, 1, 1, 2, 1, 3, 1, 4}};
  s.pos_emb = {{2, 3}, {0, 0, 0, 1, 2, 3}};
  s.values = {{4, 1}, {257.0 / 256, 257.0 / 256 + 3, 257.0 / 256 - 3, 257.0 / 256}};
  CHECK(values_of(*erase(s), DType::bf16) == std::vector<double>{1});
  s.output = CopeOutput::attn;
  CHECK(values_of(*erase(s)) == std::vector<double>(4, 0.25));
  check_encoding(*erase(s));
}

TEST_CASE("cope: the first causal query attends to itself alone") {
  Cope s = random_cope(CopeOutput::attn, 4, 4, 3);
  const auto attn = values_of(*erase(s));
  CHECK(attn[0] == 1);
  CHECK(attn[1] == 0);
  s.output = CopeOutput::out;
  const auto out = values_of(*erase(s));
  CHECK(out[0] == s.values.values[0]);
  CHECK(out[1] == s.values.values[1]);
}

TEST_CASE("cope: what makes no sense is refused in one sentence, laws notice wrong values") {
  const auto refused = [](auto change) {
    Cope s = random_cope(CopeOutput::out, 4, 5, 3);
    change(s);
    return reference::refusal(*erase(s));
  };
  const auto has = [&](auto change, const char* part) { return refused(change).find(part) != std::string::npos; };
  CHECK(refused([](Cope&) {}).empty());
  CHECK(has([](Cope& s) { s.queries = {}; }, "queries wants shape [any, any], got nothing"));
  CHECK(has([](Cope& s) { s.queries = {{0, 3}, {}}; }, "queries has no numbers"));
  CHECK(has([](Cope& s) { s.pos_emb = some_array({4, 3}, 1); }, "pos_emb wants shape [3, any], got [4, 3]"));
  CHECK(has([](Cope& s) { s.pos_emb = {{3, 0}, {}}; }, "pos_emb has no positions"));
  CHECK(has([](Cope& s) { s.keys = some_array({5, 2}, 1); }, "keys wants shape [any, 3], got [5, 2]"));
  CHECK(has([](Cope& s) { s.keys = {{0, 3}, {}}; }, "keys has no numbers"));
  CHECK(has([](Cope& s) { s.keys = some_array({3, 3}, 1); }, "4 causal queries are the last of 3 keys"));
  CHECK(has([](Cope& s) { s.values = some_array({4, 2}, 1); }, "values wants shape [5, any], got [4, 2]"));
  CHECK(has([](Cope& s) { s.values = {{5, 0}, {}}; }, "values has no lanes"));
  CHECK(has([](Cope& s) { s.keys.values[0] = 1e9; }, "beyond 65536"));
  const auto broken = [](CopeOutput part, std::int64_t flat, double value) { return broken_laws(*erase(random_cope(part, 4, 5, 3)), flat, value); };
  CHECK(broken(CopeOutput::positions, 4, 0).empty());
  CHECK(broken(CopeOutput::positions, 4, 0.5) == "count");
  CHECK(broken(CopeOutput::positions, 0, 2.5) == "count");
  CHECK(broken(CopeOutput::pos_logits, 7, 9) == "between");
  CHECK(broken(CopeOutput::attn, 7, 0.9) == "sum");
  CHECK(broken(CopeOutput::attn, 4, 1e-9) == "sum");
  CHECK(broken(CopeOutput::out, 3, 2) == "between");
}

}  // namespace
