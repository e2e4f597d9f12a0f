// xpos_rotated: rotated and scaled queries and keys, cached decode, refusals, laws.
#include "encodings/xpos_rotated.hpp"

#include <doctest/doctest.h>

#include "encodings/score_checks.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

// A lane of a vector at position p of `total`, with factor zeta^(sign n / scale_base).
Big rotated(const XposRotated& s, const Array& vectors, std::vector<std::int64_t> index, std::int64_t p, std::int64_t total, int sign) {
  const std::int64_t lane = index.back(), pair = lane / 2, d = vectors.shape.back();
  const Big angle = p == 0 ? Big(0) : Big(p * exp(-Big(2 * pair) / d * log(Big(s.base))));
  const Big zeta = (2 * pair + Big(s.gamma) * d) / ((1 + Big(s.gamma)) * d);
  const std::int64_t n = p - (s.centre == XposCentre::floor ? (total + 1) / 2 : total / 2);
  const Big factor = n == 0 ? Big(1) : Big(exp(sign * n / Big(s.scale_base) * log(zeta)));
  index.back() = 2 * pair;
  const Big x = at(vectors, index);
  index.back() = 2 * pair + 1;
  const Big y = at(vectors, index);
  return lane % 2 == 0 ? Big(factor * (x * cos(angle) - y * sin(angle))) : Big(factor * (y * cos(angle) + x * sin(angle)));
}

TEST_CASE("xpos_rotated: correctly rounded, with heads and without, queries last") {
  for (const bool heads : {false, true})
    for (const XposCentre centre : {XposCentre::floor, XposCentre::half}) {
      XposRotated s{.query = some_array(heads ? std::vector<std::int64_t>{2, 3, 6} : std::vector<std::int64_t>{3, 6}, 1),
                    .key = some_array(heads ? std::vector<std::int64_t>{2, 5, 6} : std::vector<std::int64_t>{5, 6}, 2),
                    .base = 100,
                    .scale_base = 3,
                    .centre = centre};
      CHECK(wrong_values(*erase(s), "query", [&](const auto& x) { return rotated(s, s.query, x, x[x.size() - 2] + 2, 5, 1); }) == 0);
      CHECK(wrong_values(*erase(s), "key", [&](const auto& x) { return rotated(s, s.key, x, x[x.size() - 2], 5, -1); }) == 0);
      check_encoding(*erase(s));
      // Alone, at a position of one's own.
      XposRotated alone = s;
      alone.query = {};
      alone.key_offset = 7;
      CHECK(wrong_values(*erase(alone), "key", [&](const auto& x) { return rotated(alone, alone.key, x, x[x.size() - 2] + 7, 12, -1); }) == 0);
      check_encoding(*erase(alone));
      alone = s;
      alone.key = {};
      CHECK(wrong_values(*erase(alone), "query", [&](const auto& x) { return rotated(alone, alone.query, x, x[x.size() - 2], 3, 1); }) == 0);
      s.query_offset = 1;
      CHECK(wrong_values(*erase(s), "query", [&](const auto& x) { return rotated(s, s.query, x, x[x.size() - 2] + 1, 4, 1); }) == 0);
    }
}

TEST_CASE("xpos_rotated: worked numbers at position 0, zeros everywhere") {
  // Two lanes, gamma 1: zeta 1/2. Of two positions the first has n = -1: queries are doubled, keys halved.
  const XposRotated s{.query = {{2, 2}, {3, 5, 0, 0}}, .key = {{2, 2}, {6, -2, 0, 0}}, .scale_base = 1, .gamma = 1};
  CHECK(values_of(*erase(s), "query") == std::vector<double>{6, 10, 0, 0});
  CHECK(values_of(*erase(s), "key") == std::vector<double>{3, -1, 0, 0});
  check_encoding(*erase(s));
}

TEST_CASE("xpos_rotated: what makes no sense is refused in one sentence, laws notice wrong values") {
  const auto has = [](const XposRotated& s, const char* part) { return reference::refusal(*erase(s)).find(part) != std::string::npos; };
  CHECK(has({}, "query wants shape [any, any], got nothing"));
  CHECK(has({.query = some_array({4}, 1)}, "query wants shape [any, any], got [4]"));
  CHECK(has({.key = some_array({1, 2, 3, 4}, 1)}, "key wants shape [any, any], got [1, 2, 3, 4]"));
  CHECK(has({.key = {{0, 4}, {}}}, "key has no values"));
  CHECK(has({.query = some_array({3, 5}, 1)}, "head_dim 5 is odd"));
  CHECK(has({.query = some_array({3, 4}, 1), .key = some_array({3, 6}, 1)}, "key wants shape [any, 4], got [3, 6]"));
  CHECK(has({.query = some_array({2, 3, 4}, 1), .key = some_array({3, 4}, 1)}, "key wants shape [2, any, 4], got [3, 4]"));
  CHECK(has({.query = some_array({5, 4}, 1), .key = some_array({3, 4}, 1)}, "say with query_offset where the queries are"));
  CHECK(has({.query = some_array({3, 4}, 1), .scale_base = 1e-3}, "use a larger scale_base"));
  const auto encoding = erase(XposRotated{.query = some_array({4, 6}, 1), .key = some_array({4, 6}, 2)});
  CHECK(broken_laws(*encoding, "query", 0, values_of(*encoding, "query", DType::f32)[0]).empty());
  CHECK(broken_laws(*encoding, "query", 7, 2) == "query-length score");
  CHECK(broken_laws(*encoding, "key", 7, 2) == "key-length score");
  // Turned by a half: the length stays, the score does not.
  const auto rows = values_of(*encoding, "key", DType::f32);
  CHECK(broken_laws(*encoding, "key", 7, -rows[7]) == "score");
}

}  // namespace
