// pose, randomized, zigzag, packed, token_positions: ids against what the rules say, refusals, laws.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "encodings/encoding_checks.hpp"
#include "encodings/packed.hpp"
#include "encodings/pose.hpp"
#include "encodings/randomized.hpp"
#include "encodings/token_positions.hpp"
#include "encodings/zigzag.hpp"
#include "numeric/philox.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using List = std::vector<double>;

template <class E>
void refuses(const E& s, const char* part) {
  const std::string sentence = reference::refusal(*erase(s));
  CAPTURE(sentence);
  CHECK(sentence.find(part) != std::string::npos);
}

TEST_CASE("philox_below stays below, and takes every number") {
  std::map<std::uint64_t, int> seen;
  for (std::uint64_t i = 0; i < 7000; ++i) ++seen[num::philox_below(7, 3, 0, i, i % 5)];
  CHECK(seen.size() == 7);
  CHECK(seen.rbegin()->first == 6);
  // 1000 expected, standard deviation sqrt(7000 6/7 1/7) = 29.3; the draws are fixed, five of them is no chance of the day.
  for (const auto& [number, count] : seen) CHECK(std::abs(count - 1000) < 147);
  CHECK(num::philox_below(1, 5, 0, 0, 0) == 0);
  // The number is floor(n k / 2^53): halving n halves it.
  CHECK(num::philox_below(std::uint64_t{1} << 53, 1, 2, 3, 4) == num::philox_k(1, 2, 3, 4));
  CHECK(num::philox_below(std::uint64_t{1} << 20, 1, 2, 3, 4) == num::philox_k(1, 2, 3, 4) >> 33);
}

TEST_CASE("pose: two chunks and a skip") {
  CHECK(values_of(*erase(Pose{.chunk_length = 6, .target = 20, .rt1 = 2, .skip = 10})) == List{0, 1, 12, 13, 14, 15});
  CHECK(values_of(*erase(Pose{.chunk_length = 5, .target = 5})) == List{0, 1, 2, 3, 4});
  // Drawn: every allowed rt1 and skip comes up and nothing else.
  const Pose drawn{.chunk_length = 7, .target = 10, .samples = 400, .seed = 11};
  const List ids = values_of(*erase(drawn));
  std::set<std::pair<int, int>> seen;
  for (std::size_t s = 0; s < 400; ++s) {
    int rt1 = 0, skip = 0;
    for (std::size_t i = 1; i < 7; ++i) {
      const int step = static_cast<int>(ids[7 * s + i] - ids[7 * s + i - 1]);
      if (step != 1) rt1 = static_cast<int>(i), skip = step - 1;
    }
    CHECK(ids[7 * s] == 0);
    CHECK(ids[7 * s + 6] == 6 + skip);
    seen.insert({rt1, skip});
  }
  // rt1 1 to 4 with skips 1 to 3, and no skip at all.
  CHECK(seen.size() == 4 * 3 + 1);
  CHECK(std::ranges::all_of(seen, [](const auto& s) { return s.first <= 4 && s.second <= 3; }));
  check_encoding(*erase(drawn));
  // More samples keep the earlier ones; another seed gives others; one may be given and the other drawn.
  CHECK(values_of(*erase(Pose{.chunk_length = 7, .target = 10, .samples = 3, .seed = 11})) == List(ids.begin(), ids.begin() + 21));
  CHECK(values_of(*erase(Pose{.chunk_length = 7, .target = 10, .samples = 400, .seed = 12})) != ids);
  check_encoding(*erase(Pose{.chunk_length = 100, .target = 1 << 20, .rt1 = 50, .samples = 5}));
  // Fixed bytes: the draws are part of the format.
  CHECK(values_of(*erase(Pose{.chunk_length = 12, .target = 64, .samples = 3, .seed = 7})) ==
        List{0, 1, 2, 3, 4, 9, 10, 11, 12, 13, 14, 15, 0, 1, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 0, 1, 2, 3, 4, 5, 18, 19, 20, 21, 22, 23});
  CHECK(erase(Pose{.rt1 = 2})->tensors()[0].axes.size() == 1);
  CHECK(erase(Pose{.samples = 1})->tensors()[0].axes.size() == 2);
  refuses(Pose{.chunk_length = 10, .target = 9}, "target 9 is shorter than chunk_length 10");
  refuses(Pose{.chunk_length = 10, .target = 20, .rt1 = 6}, "rt1 6 is more than half of chunk_length 10: at most 5");
  refuses(Pose{.chunk_length = 10, .target = 20, .skip = 11}, "at most 10");
  refuses(Pose{.rt1 = 0}, "rt1");
  const Pose s{.chunk_length = 6, .target = 20, .rt1 = 2, .skip = 10};
  CHECK(broken_laws(*erase(s), 5, 15).empty());
  CHECK(broken_laws(*erase(s), 5, 16) == "chunks");
  CHECK(broken_laws(*erase(s), 0, 1) == "chunks");
  CHECK(broken_laws(*erase(s), 5, 20) == "chunks target");
}

TEST_CASE("randomized: an ordered sample without replacement") {
  CHECK(values_of(*erase(Randomized{.length = 4, .max_length = 9, .drawn = {{4}, {7, 0, 8, 3}}})) == List{0, 3, 7, 8});
  CHECK(values_of(*erase(Randomized{.form = RandomizedForm::relative, .length = 3, .max_length = 9, .drawn = {{2}, {7, 4}}})) == List{-7, -4, 0, 4, 7});
  CHECK(values_of(*erase(Randomized{.length = 5, .max_length = 5, .seed = 3})) == List{0, 1, 2, 3, 4});
  CHECK(values_of(*erase(Randomized{.form = RandomizedForm::relative, .length = 1, .max_length = 5})) == List{0});
  // Every one of the 10 sets of 2 out of 5 is as likely: 300 of 3000 each, standard deviation sqrt(3000 0.1 0.9) = 16.4.
  const List ids = values_of(*erase(Randomized{.length = 2, .max_length = 5, .samples = 3000, .seed = 1}));
  std::map<std::pair<double, double>, int> sets;
  for (std::size_t s = 0; s < 3000; ++s) {
    CHECK(ids[2 * s] < ids[2 * s + 1]);
    ++sets[{ids[2 * s], ids[2 * s + 1]}];
  }
  CHECK(sets.size() == 10);
  for (const auto& [set, count] : sets) CHECK(std::abs(count - 300) < 82);
  // Relative: both sides from 1 .. max_length - 1, mirrored or not.
  for (const RandomizedSides sides : {RandomizedSides::mirrored, RandomizedSides::independent}) {
    const Randomized s{.form = RandomizedForm::relative, .length = 9, .max_length = 30, .sides = sides, .samples = 20, .seed = 5};
    const List all = values_of(*erase(s));
    bool mirrored = true;
    for (std::size_t r = 0; r < 20; ++r) {
      const List row(all.begin() + static_cast<long>(17 * r), all.begin() + static_cast<long>(17 * r + 17));
      CHECK(std::ranges::is_sorted(row));
      CHECK(std::set<double>(row.begin(), row.end()).size() == 17);
      CHECK(row[8] == 0);
      CHECK(row[0] > -30);
      CHECK(row[16] < 30);
      for (std::size_t d = 1; d <= 8; ++d) mirrored = mirrored && row[8 + d] == -row[8 - d];
    }
    CHECK(mirrored == (sides == RandomizedSides::mirrored));
    check_encoding(*erase(s));
  }
  check_encoding(*erase(Randomized{.length = 40}));
  check_encoding(*erase(Randomized{.length = 300, .max_length = std::int64_t{1} << 53, .samples = 2, .seed = 9}));
  // Fixed bytes: the draws are part of the format.
  CHECK(values_of(*erase(Randomized{.form = RandomizedForm::relative, .length = 6, .max_length = 64})) == List{-52, -37, -23, -21, -3, 0, 3, 21, 23, 37, 52});
  refuses(Randomized{.length = 10, .max_length = 9}, "max_length 9 is shorter than length 10");
  refuses(Randomized{.length = 1 << 20, .max_length = 1 << 20, .samples = 1 << 10}, "held in memory");
  refuses(Randomized{.length = 2, .max_length = 9, .samples = 2, .drawn = {{2}, {1, 2}}}, "one sample");
  refuses(Randomized{.length = 2, .max_length = 9, .drawn = {{3}, {1, 2, 3}}}, "drawn wants shape [2]");
  refuses(Randomized{.length = 2, .max_length = 9, .drawn = {{2}, {1, 9}}}, "integers from 0 to 8, got 9");
  refuses(Randomized{.length = 2, .max_length = 9, .drawn = {{2}, {1, 1.5}}}, "got 1.5");
  refuses(Randomized{.length = 2, .max_length = 9, .drawn = {{2}, {1, 1}}}, "drawn has 1 twice");
  refuses(Randomized{.form = RandomizedForm::relative, .length = 2, .max_length = 9, .drawn = {{1}, {0}}}, "integers from 1 to 8, got 0");
  refuses(Randomized{.form = RandomizedForm::relative, .length = 2, .max_length = 9, .sides = RandomizedSides::independent, .drawn = {{1}, {1}}}, "sides mirrored");
  const Randomized relative{.form = RandomizedForm::relative, .length = 3, .max_length = 9, .drawn = {{2}, {7, 4}}};
  CHECK(broken_laws(*erase(relative), 3, 4).empty());
  CHECK(broken_laws(*erase(relative), 3, 5) == "zero");
  CHECK(broken_laws(*erase(relative), 2, 1) == "zero");
  CHECK(broken_laws(*erase(relative), 4, 9) == "rising zero");
}

TEST_CASE("zigzag: chunks r and 2n - 1 - r, and the way back") {
  CHECK(values_of(*erase(Zigzag{.length = 8, .ranks = 2})) == List{0, 1, 6, 7, 2, 3, 4, 5});
  CHECK(values_of(*erase(Zigzag{.length = 8, .ranks = 2, .rank = 1})) == List{2, 3, 4, 5});
  CHECK(values_of(*erase(Zigzag{.output = ZigzagPart::inverse, .length = 8, .ranks = 2})) == List{0, 1, 4, 5, 6, 7, 2, 3});
  for (const std::int64_t ranks : {1, 2, 3, 8})
    for (const std::int64_t chunk : {1, 5}) {
      const std::int64_t n = 2 * ranks * chunk;
      const Zigzag s{.length = n, .ranks = ranks}, back{.output = ZigzagPart::inverse, .length = n, .ranks = ranks};
      const List order = values_of(*erase(s)), inverse = values_of(*erase(back));
      double work = 0;
      for (std::int64_t r = 0; r < ranks; ++r) {
        const auto first = order.begin() + r * 2 * chunk;
        const double sum = std::accumulate(first, first + 2 * chunk, 0.0);  // keys seen, but for one each
        CHECK((r == 0 || sum == work));
        work = sum;
        CHECK(values_of(*erase(Zigzag{.length = n, .ranks = ranks, .rank = r})) == List(first, first + 2 * chunk));
      }
      for (std::size_t i = 0; i < order.size(); ++i) CHECK(inverse[static_cast<std::size_t>(order[i])] == static_cast<double>(i));
      check_encoding(*erase(s));
      check_encoding(*erase(back));
    }
  refuses(Zigzag{.length = 12, .ranks = 4}, "length 12 does not fall into 8 equal chunks");
  refuses(Zigzag{.length = 16, .ranks = 4, .rank = 4}, "rank 4 is not one of 4 ranks");
  refuses(Zigzag{.output = ZigzagPart::inverse, .length = 16, .ranks = 4, .rank = 1}, "leave rank out");
  const Zigzag s{.length = 8, .ranks = 2};
  CHECK(broken_laws(*erase(s), 2, 6).empty());
  CHECK(broken_laws(*erase(s), 2, 5) == "balance rising");
  CHECK(broken_laws(*erase(Zigzag{.output = ZigzagPart::inverse, .length = 8, .ranks = 2}), 2, 5) == "permutation");
}

TEST_CASE("packed: ids restart at each document") {
  const auto packed = [](PackedPart part, std::optional<std::int64_t> total = {}, PackedPadding padding = PackedPadding::constant, std::int64_t id = 0, std::int64_t start = 0) {
    const Packed s{.output = part, .lengths = {3, 1, 2}, .total = total, .padding = padding, .padding_id = id, .start = start};
    check_encoding(*erase(s));
    return values_of(*erase(s));
  };
  CHECK(packed(PackedPart::position_ids) == List{0, 1, 2, 0, 0, 1});
  CHECK(packed(PackedPart::position_ids, 8) == List{0, 1, 2, 0, 0, 1, 0, 0});
  CHECK(packed(PackedPart::position_ids, 8, PackedPadding::constant, -1, 2) == List{2, 3, 4, 2, 2, 3, -1, -1});
  CHECK(packed(PackedPart::position_ids, 8, PackedPadding::restart, 0, 2) == List{2, 3, 4, 2, 2, 3, 2, 3});
  CHECK(packed(PackedPart::position_ids, 8, PackedPadding::proceed, 0, 2) == List{2, 3, 4, 2, 2, 3, 4, 5});
  CHECK(packed(PackedPart::segment_ids, 8) == List{1, 1, 1, 2, 3, 3, 0, 0});
  CHECK(packed(PackedPart::cu_seqlens) == List{0, 3, 4, 6});
  CHECK(packed(PackedPart::cu_seqlens, 6) == List{0, 3, 4, 6});
  CHECK(packed(PackedPart::cu_seqlens, 8) == List{0, 3, 4, 6, 8});
  refuses(Packed{.lengths = {}}, "lengths wants the length of each document");
  refuses(Packed{.lengths = {3, 1.5}}, "lengths wants integers, got 1.5");
  refuses(Packed{.lengths = {3, 0}}, "lengths");
  refuses(Packed{.lengths = {3, 4}, .total = 6}, "total 6 is shorter than the documents' 7");
  refuses(Packed{.lengths = List(8192, 0x1p40)}, "more than 2^52");
  const Packed s{.lengths = {3, 1, 2}, .total = 8};
  CHECK(broken_laws(*erase(s), 3, 0).empty());
  CHECK(broken_laws(*erase(s), 3, 3) == "restart");
  CHECK(broken_laws(*erase(Packed{.output = PackedPart::segment_ids, .lengths = {3, 1, 2}}), 3, 3) == "documents");
  CHECK(broken_laws(*erase(Packed{.output = PackedPart::cu_seqlens, .lengths = {3, 1, 2}}), 3, 7) == "steps");
}

TEST_CASE("token_positions: each family's ids") {
  using Rule = TokenPositionsRule;
  const auto ids = [](const TokenPositions& s) {
    check_encoding(*erase(s));
    return values_of(*erase(s));
  };
  CHECK(ids({.length = 4}) == List{0, 1, 2, 3});
  CHECK(ids({.batch = 2, .length = 2, .offset = 2, .past_length = 3}) == List{5, 6, 5, 6});
  const Array tokens{{2, 4}, {0, 9, 1, 9, 1, 1, 7, 1}};
  CHECK(ids({.rule = Rule::tokens, .tokens = tokens}) == List{2, 3, 1, 4, 1, 1, 2, 1});
  CHECK(ids({.rule = Rule::tokens, .tokens = tokens, .padding_idx = 0}) == List{0, 1, 2, 3, 1, 2, 3, 4});
  CHECK(ids({.rule = Rule::tokens, .tokens = tokens, .past_length = 10}) == List{12, 13, 1, 14, 1, 1, 12, 1});
  CHECK(ids({.rule = Rule::tokens, .length = 3, .padding_idx = 5}) == List{6, 7, 8});
  const Array mask{{2, 4}, {0, 0, 1, 1, 1, 1, 1, 0}};
  CHECK(ids({.rule = Rule::mask, .attention_mask = mask, .offset = 2}) == List{1, 1, 2, 3, 2, 3, 4, 1});
  CHECK(ids({.rule = Rule::mask, .attention_mask = mask, .masked_id = 1}) == List{1, 1, 0, 1, 0, 1, 2, 1});
  CHECK(ids({.rule = Rule::mask, .attention_mask = mask, .past_length = 3}) == List{1, -1});
  CHECK(ids({.rule = Rule::mask, .attention_mask = {{3}, {1, 0, 1}}}) == List{0, -1, 1});
  CHECK(ids({.rule = Rule::mask, .length = 2, .offset = 2, .past_length = 3}) == List{5, 6});
  CHECK(erase(TokenPositions{})->tensors()[0].axes.size() == 1);
  CHECK(erase(TokenPositions{.rule = Rule::tokens, .tokens = tokens})->tensors()[0].axes.size() == 2);
  refuses(TokenPositions{.tokens = tokens}, "tokens goes with rule tokens");
  refuses(TokenPositions{.rule = Rule::tokens, .attention_mask = mask}, "attention_mask goes with rule mask");
  refuses(TokenPositions{.masked_id = 1}, "masked_id goes with rule mask");
  refuses(TokenPositions{.rule = Rule::tokens, .offset = 2}, "counts from padding_idx + 1");
  refuses(TokenPositions{.rule = Rule::tokens, .tokens = {{1, 1, 1}, {1}}}, "tokens wants shape [any, any]");
  refuses(TokenPositions{.rule = Rule::tokens, .tokens = {{0}, {}}}, "holds no token");
  refuses(TokenPositions{.rule = Rule::tokens, .tokens = {{1}, {0.5}}}, "wants integers, got 0.5");
  refuses(TokenPositions{.rule = Rule::mask, .attention_mask = {{1}, {2}}}, "attention_mask");
  refuses(TokenPositions{.rule = Rule::mask, .attention_mask = mask, .past_length = 4}, "4 columns, of which past_length 4 are past");
  const TokenPositions s{.rule = Rule::tokens, .tokens = tokens};
  CHECK(broken_laws(*erase(s), 2, 1).empty());
  CHECK(broken_laws(*erase(s), 2, 4) == "counting");
  CHECK(broken_laws(*erase(s), 6, 5) == "counting");
}

}  // namespace
