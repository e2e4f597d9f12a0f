// transformer_xl_scores: the four terms against the published code's values and a formula of its own, refusals, laws.
#include "encodings/transformer_xl_scores.hpp"

#include <doctest/doctest.h>

#include "encodings/score_checks.hpp"
#include "golden/golden.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

// [x, y, ..] -> [y, x, ..]
Array swapped(const Array& a) {
  Array out{a.shape, {}};
  std::swap(out.shape[0], out.shape[1]);
  const std::int64_t rest = static_cast<std::int64_t>(a.values.size()) / (a.shape[0] * a.shape[1]);
  for (std::int64_t y = 0; y < a.shape[1]; ++y)
    for (std::int64_t x = 0; x < a.shape[0]; ++x)
      for (std::int64_t i = 0; i < rest; ++i) out.values.push_back(a.values[static_cast<std::size_t>((x * a.shape[1] + y) * rest + i)]);
  return out;
}

TransformerXlScores sample() {
  return {.query = some_array({2, 3, 3}, 1),
          .key = some_array({2, 5, 3}, 2),
          .position_weight = some_array({6, 4}, 3),
          .content_bias = some_array({2, 3}, 4),
          .position_bias = some_array({2, 3}, 5)};
}

TEST_CASE("transformer_xl_scores: the public code's terms, scores and mask") {
  const auto in = [](const char* what) { return golden::load_array(golden::folder + "papers/txl_four_terms." + what + ".npy"); };
  // Stored as [position, head, lane] and [query, key, head].
  const TransformerXlScores s{.query = swapped(in("in_q")),
                              .key = swapped(in("in_k")),
                              .position_weight = in("in_W_R"),
                              .content_bias = in("in_u"),
                              .position_bias = in("in_v"),
                              .scaled = false};
  const auto encoding = erase(s);
  const std::int64_t queries = 4, keys = 7, heads = 2;
  for (const auto& [tensor, output] : std::vector<std::pair<std::string, const char*>>{{"a", "a"}, {"b", "b"}, {"c", "c"}, {"d", "d"}, {"score", "score_unscaled"}}) {
    CAPTURE(tensor);
    const auto values = values_of(*encoding, tensor), want = in(output).values;
    REQUIRE(values.size() == want.size());
    double worst = 0;
    for (std::int64_t i = 0; i < queries; ++i)
      for (std::int64_t j = 0; j < keys; ++j)
        for (std::int64_t h = 0; h < heads; ++h)
          worst = std::max(worst, std::fabs(values[static_cast<std::size_t>((h * queries + i) * keys + j)] - want[static_cast<std::size_t>((i * keys + j) * heads + h)]));
    CHECK(worst <= 1e-12);  // the manifest's
  }
  CHECK(values_of(*encoding, "mask") == in("mask").values);
  check_encoding(*encoding);
}

TEST_CASE("transformer_xl_scores: correctly rounded, with keys on one side and on both") {
  for (const TransformerXlFuture future : {TransformerXlFuture::zero, TransformerXlFuture::mask, TransformerXlFuture::both})
    for (const bool scaled : {false, true}) {
      TransformerXlScores s = sample();
      s.base = 50;
      s.future = future;
      s.scaled = scaled;
      s.clamp_len = scaled ? 2 : -1;
      const auto encoding = erase(s);
      const Big scale = scaled ? Big(sqrt(Big(3))) : Big(1);
      const auto distance = [](std::int64_t i, std::int64_t j) { return i + 2 - j; };
      const auto seen = [&](std::int64_t i, std::int64_t j) { return future == TransformerXlFuture::both || distance(i, j) >= 0; };
      // [sin | cos] of distances 0 to 4 either way, and W_R R of a head's lane.
      std::vector<std::array<Big, 4>> sinusoids;
      for (int d = -4; d <= 4; ++d) {
        const Big slow = d * exp(-log(Big(50)) / 2);
        sinusoids.push_back({sin(Big(d)), sin(slow), cos(Big(d)), cos(slow)});
      }
      const auto projected = [&](std::int64_t h, std::int64_t lane, std::int64_t i, std::int64_t j) {
        const std::int64_t clamped = s.clamp_len > 0 ? std::clamp<std::int64_t>(distance(i, j), -2, 2) : distance(i, j);
        Big sum = 0;
        for (std::size_t c = 0; c < 4; ++c) sum += at(s.position_weight, {h * 3 + lane, static_cast<std::int64_t>(c)}) * sinusoids[static_cast<std::size_t>(clamped + 4)][c];
        return sum;
      };
      const auto term = [&](char which, std::int64_t h, std::int64_t i, std::int64_t j) {
        Big sum = 0;
        if (!seen(i, j)) return sum;
        if (which == 'a') return dot(s.query, {h, i}, s.key, {h, j});
        if (which == 'c') return dot(s.content_bias, {h}, s.key, {h, j});
        for (std::int64_t lane = 0; lane < 3; ++lane)
          sum += (which == 'b' ? at(s.query, {h, i, lane}) : at(s.position_bias, {h, lane})) * projected(h, lane, i, j);
        return sum;
      };
      for (const char which : {'a', 'b', 'c', 'd'})
        CHECK(wrong_values(*encoding, std::string(1, which), [&](const auto& index) { return Big(term(which, index[0], index[1], index[2]) / scale); }) == 0);
      if (future != TransformerXlFuture::mask)
        CHECK(wrong_values(*encoding, "score", [&](const auto& index) {
                Big sum = 0;
                for (const char which : {'a', 'b', 'c', 'd'}) sum += term(which, index[0], index[1], index[2]);
                return Big(sum / scale);
              }) == 0);
      else
        CHECK(std::isinf(values_of(*encoding, "score")[4]));
      check_encoding(*encoding);
    }
}

// The bound of a sum over many channels leaves next to nothing to the truth, keys after the query included.
TEST_CASE("transformer_xl_scores: wide tables") {
  TransformerXlScores s{.query = some_array({1, 20, 8}, 1), .key = some_array({1, 30, 8}, 2), .position_weight = some_array({8, 300}, 3)};
  for (std::size_t lane = 0; lane < 8; ++lane) s.query.values[lane] = 0;  // the first query: every term is exactly 0
  for (const TransformerXlFuture future : {TransformerXlFuture::zero, TransformerXlFuture::mask, TransformerXlFuture::both}) {
    s.future = future;
    const auto encoding = erase(s);
    const auto evaluator = encoding->evaluator();
    for (const char* name : {"a", "b", "c", "d", "score"})
      for (const bool two : {false, true}) {
        CAPTURE(name);
        std::vector<double> hi(20 * 30), lo(hi.size());
        std::vector<ErrorBound> bounds(20);
        Block block{{0, 20, 0, 30}, hi.data(), two ? lo.data() : nullptr, bounds.data()};
        evaluator->fill(tensor_number(*encoding, name), block);
        for (const ErrorBound& bound : bounds) {
          CHECK(bound.absolute == 0);
          CHECK(bound.relative < (two ? 0x1p-64 : 0x1p-52));
        }
      }
  }
  // A distance of 10 by a formula of its own.
  s.future = TransformerXlFuture::zero;
  CHECK(oracle::correctly_rounded(DType::f64, values_of(*erase(s), "score")[5 * 30 + 5], [&] {
    Big sum = dot(s.query, {0, 5}, s.key, {0, 5});
    for (std::int64_t lane = 0; lane < 8; ++lane)
      for (std::int64_t c = 0; c < 300; ++c) {
        const Big angle = 10 * exp(-Big(2 * (c % 150)) / 300 * log(Big(10000)));
        const Big r = c < 150 ? sin(angle) : cos(angle);
        sum += at(s.query, {0, 5, lane}) * Big(s.position_weight.values[static_cast<std::size_t>(lane * 300 + c)]) * r;
      }
    return Big(sum / sqrt(Big(8)));
  }()));
}

TEST_CASE("transformer_xl_scores: worked numbers, products that vanish, XLNet's axes") {
  // One head of two lanes, one query and one key: distance 0, sines 0 and cosines 1.
  TransformerXlScores s{.query = {{1, 1, 2}, {1, 2}},
                        .key = {{1, 1, 2}, {3, 4}},
                        .position_weight = {{2, 2}, {5, 6, 7, 8}},
                        .content_bias = {{1, 2}, {-1, 1}},
                        .position_bias = {{1, 2}, {1, 1}},
                        .scaled = false};
  const auto only = [](const TransformerXlScores& x, const char* tensor) { return values_of(*erase(x), tensor); };
  CHECK(only(s, "a") == std::vector<double>{11});
  CHECK(only(s, "b") == std::vector<double>{22});  // 1 * 6 + 2 * 8
  CHECK(only(s, "c") == std::vector<double>{1});
  CHECK(only(s, "d") == std::vector<double>{14});
  CHECK(only(s, "score") == std::vector<double>{48});
  // The same weight as [channel, head, lane].
  s.position_weight = {{2, 1, 2}, {5, 7, 6, 8}};
  CHECK(only(s, "score") == std::vector<double>{48});
  // q W_R = 0 although neither is: b is exactly 0 at every distance, and so is q + v in the score.
  s = {.query = {{1, 3, 2}, {1, -1, 2, -2, 3, -3}},
       .key = {{1, 3, 2}, {1, 0, 0, 1, 1, 1}},
       .position_weight = {{2, 4}, {0.5, 1, 2, 3, 0.5, 1, 2, 3}},
       .position_bias = {{1, 2}, {4, -4}},
       .scaled = false};
  CHECK(only(s, "b") == std::vector<double>(9, 0.0));
  CHECK(only(s, "score") == only(s, "a"));
  check_encoding(*erase(s));
  // Without u and v the score is a + b, which is a law then.
  s = sample();
  s.content_bias = s.position_bias = {};
  check_encoding(*erase(s));
  CHECK(broken_laws(*erase(s), "score", 1, 7) == "terms reduced");
}

TEST_CASE("transformer_xl_scores: what makes no sense is refused in one sentence, laws notice wrong values") {
  const auto refused = [](const char* part, auto&& change) {
    TransformerXlScores s = sample();
    change(s);
    return reference::refusal(*erase(s)).find(part) != std::string::npos;
  };
  CHECK(reference::refusal(*erase(TransformerXlScores{})).find("query wants shape [any, any, any], got nothing") != std::string::npos);
  CHECK(refused("key wants shape [2, any, 3], got [2, 5, 4]", [](auto& s) { s.key = some_array({2, 5, 4}, 1); }));
  CHECK(refused("query has 3 positions and key 2", [](auto& s) { s.key = some_array({2, 2, 3}, 1); }));
  CHECK(refused("position_weight wants shape [6, any], got [4, 6]", [](auto& s) { s.position_weight = some_array({4, 6}, 1); }));
  CHECK(refused("position_weight wants shape [any, 2, 3], got [4, 3, 2]", [](auto& s) { s.position_weight = some_array({4, 3, 2}, 1); }));
  CHECK(refused("position_weight has 5 channels", [](auto& s) { s.position_weight = some_array({6, 5}, 1); }));
  CHECK(refused("content_bias wants shape [2, 3], got [6]", [](auto& s) { s.content_bias = some_array({6}, 1); }));
  CHECK(refused("position_bias wants shape [2, 3], got [3, 2]", [](auto& s) { s.position_bias = some_array({3, 2}, 1); }));
  CHECK(refused("base 1 gives", [](auto& s) { s.base = 1; }));

  const auto encoding = erase(sample());
  CHECK(broken_laws(*encoding, "a", 0, values_of(*encoding, "a", DType::f32)[0]).empty());
  CHECK(broken_laws(*encoding, "a", 1, 5) == "terms");
  CHECK(broken_laws(*encoding, "c", 1, 5) == "terms content");
  CHECK(broken_laws(*encoding, "d", 1, 5) == "terms shift");
  CHECK(broken_laws(*encoding, "score", 6, 9) == "terms");
}

}  // namespace
