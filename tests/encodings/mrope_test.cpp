// mrope: ids by the rule and as given, which axis turns a pair, values, layouts, refusals, laws.
#include "encodings/mrope.hpp"

#include <doctest/doctest.h>

#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"
#include "encodings/rope.hpp"

namespace {

using namespace posenc;
using namespace testing_support;

TokenSpans spans(const char* text) { return TokenSpans::parse(text, "spans"); }

// Rows t, h, w, one after the other.
std::vector<double> ids_of(Mrope s) {
  s.output = MropePart::position_ids;
  return values_of(*erase(s));
}

// The ids as the rule reads, token by token: times of grids of a video are given.
struct Rows {
  std::vector<double> t, h, w;
  double next = 0;
  void text(int n) {
    for (int i = 0; i < n; ++i) put(next, next, next), ++next;
  }
  void grids(const std::vector<double>& times, int height, int width, bool by_grid) {
    const double start = next;
    double most = 0;
    for (const double time : times)
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
          put(start + time, start + y, start + x);
          most = std::max({most, time, double(y), double(x)});
        }
    next = start + (by_grid ? std::max(height, width) : most + 1);
  }
  [[nodiscard]] std::vector<double> all() const {
    std::vector<double> out = t;
    out.insert(out.end(), h.begin(), h.end());
    out.insert(out.end(), w.begin(), w.end());
    return out;
  }

 private:
  void put(double a, double b, double c) { t.push_back(a), h.push_back(b), w.push_back(c); }
};

TEST_CASE("mrope: spans read and print as the shortest text") {
  for (const char* text : {"text:3,image:1x2x3,text:2,video:3x2x2,text:2", "text:1", "image:1x1x1", "video:2x3x4@0.5", "video:2x3x4@0"})
    CHECK(spans(text).text() == text);
  CHECK(spans("text:2k,video:1x2x2@1.0").text() == "text:2048,video:1x2x2");
  CHECK(spans("video:1x2x3@0.10").spans == std::vector<TokenSpan>{{.kind = TokenSpanKind::video, .grids = 1, .height = 2, .width = 3, .seconds = 0.1}});
  for (const char* text : {"", ",", "text", "text:", "text:0", "text:-1", "text:1.5", "text:3,", "text:3,,text:2", " text:3", "text:3 ", "txt:3", "image:2x3", "image:1x2x3x4",
                           "image:1x2x", "image:2x2x3", "image:1x2x3@1", "video:1x2x3@", "video:1x2x3@-1", "video:1x2x3@nan", "video:1x2x3@1@2", "video:0x2x3",
                           "text:16777217", "text:16777216,text:1", "video:4097x4096x1", "video:99999999999x99999999999x99999999999", "text:1;text:2"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(spans(text), Error);
  }
}

TEST_CASE("mrope: ids by the rule") {
  // Worked by hand: a text of 2, a picture of 1 row and 3 columns, a text of 1. Ids 2..4 of the picture, then 5.
  CHECK(ids_of({.spans = spans("text:2,image:1x1x3,text:1")}) == std::vector<double>{0, 1, 2, 2, 2, 5, 0, 1, 2, 2, 2, 5, 0, 1, 2, 3, 4, 5});
  for (const bool by_grid : {false, true}) {
    const MropeNextText next = by_grid ? MropeNextText::grid : MropeNextText::largest;
    Rows rows;
    rows.text(3);
    rows.grids({0}, 2, 3, by_grid);
    rows.grids({0, 1, 2, 3, 4}, 2, 1, by_grid);  // five grids of two: the time is the largest id
    rows.text(4);
    CHECK(ids_of({.spans = spans("text:3,image:1x2x3,video:5x2x1@7,text:4"), .next_text = next}) == rows.all());
    // Times of 0, 1.5, 3, 4.5 seconds at 2 ids per second and half of it: 0, 3, 6, 9 and 0, 1, 3, 4.
    for (const auto& [rate, times] : {std::pair{2.0, std::vector<double>{0, 3, 6, 9}}, std::pair{1.0, std::vector<double>{0, 1, 3, 4}}}) {
      Rows timed;
      timed.grids(times, 2, 2, by_grid);
      timed.text(2);
      CHECK(ids_of({.spans = spans("video:4x2x2@1.5,text:2"), .next_text = next, .tokens_per_second = rate}) == timed.all());
    }
  }
  // Patches before merging, and an offset.
  CHECK(ids_of({.spans = spans("text:1,image:1x4x2"), .spatial_merge_size = 2, .offset = 100}) == std::vector<double>{100, 101, 101, 100, 101, 102, 100, 101, 101});
  // 3 * 0.7 * 10 = 21, though the double nearest 0.7 is below it; 5 * 0.3 * 2 = 3 likewise.
  const auto time = [](MropeSeconds rule, double seconds, double rate) {
    return ids_of({.spans = TokenSpans{{{.kind = TokenSpanKind::video, .grids = 4, .seconds = seconds}}}, .tokens_per_second = rate, .seconds = rule})[3];
  };
  CHECK(time(MropeSeconds::exact, 0.7, 10) == 21);
  CHECK(time(MropeSeconds::exact, 0.1, 10) == 3);
  CHECK(time(MropeSeconds::exact, 1.5e-7, 2e6) == 0);
  CHECK(time(MropeSeconds::exact, 0.333, 1) == 0);
  CHECK(time(MropeSeconds::float32, 0.7, 10) == 21);
  CHECK(time(MropeSeconds::whole, 0.7, 10) == 0);
  CHECK(time(MropeSeconds::whole, 2.9, 2) == 12);
  CHECK(time(MropeSeconds::exact, 2.9, 2) == 17);
}

TEST_CASE("mrope: given ids, which axis turns a pair") {
  const Array given{{3, 4}, {5, 0, -7, 9007199254740992.0, 1, 2, 3, 4, 0, 0, 0, 1}};
  CHECK(ids_of({.position_ids = given}) == given.values);
  const auto axes = [](std::vector<double> section, MropeArrangement arrangement) {
    const double pairs = section.empty() ? 8 : section[0] + section[1] + section[2];
    return values_of(*erase(Mrope{.output = MropePart::axis, .head_dim = 2 * static_cast<std::int64_t>(pairs), .mrope_section = std::move(section), .arrangement = arrangement}));
  };
  CHECK(axes({2, 3, 3}, MropeArrangement::chunked) == std::vector<double>{0, 0, 1, 1, 1, 2, 2, 2});
  CHECK(axes({}, MropeArrangement::chunked) == std::vector<double>{0, 0, 1, 1, 1, 2, 2, 2});
  CHECK(axes({4, 2, 2}, MropeArrangement::interleaved) == std::vector<double>{0, 1, 2, 0, 1, 2, 0, 0});
  CHECK(axes({1, 1, 4}, MropeArrangement::interleaved) == std::vector<double>{0, 1, 2, 0, 0, 2});
  CHECK(axes({0, 3, 0}, MropeArrangement::chunked) == std::vector<double>{1, 1, 1});
  const std::array<std::int64_t, 3> qwen{16, 24, 24};
  CHECK(Mrope{}.sections() == qwen);
}

TEST_CASE("mrope: values are the definition's, correctly rounded") {
  const Mrope s{.layout = MropeLayout::cache, .head_dim = 20, .rotary_dim = 16, .base = 500, .mrope_section = {2, 3, 3}, .spans = spans("text:2,image:1x3x2,video:2x1x2@90,text:1"),
                .tokens_per_second = 333, .offset = 3, .attention_factor = 1.25};
  const std::vector<double> ids = ids_of(s);
  const std::size_t n = ids.size() / 3;
  for (const DType dtype : reference::float_dtypes) {
    const auto values = values_of(*erase(s), dtype);
    int wrong = 0;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t i = 0; i < 8; ++i) {
        const std::size_t axis = i < 2 ? 0 : i < 5 ? 1 : 2;
        const oracle::Big angle = oracle::Big(ids[axis * n + p]) * exp(-oracle::Big(2 * static_cast<int>(i)) / 16 * log(oracle::Big(500)));
        wrong += oracle::correctly_rounded(dtype, values[p * 16 + i], oracle::Big(1.25) * cos(angle)) ? 0 : 1;
        wrong += oracle::correctly_rounded(dtype, values[p * 16 + 8 + i], oracle::Big(1.25) * sin(angle)) ? 0 : 1;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("mrope: equal ids are rope's table, in every layout") {
  const std::pair<MropeLayout, RopeLayout> layouts[] = {{MropeLayout::half_width, RopeLayout::half_width}, {MropeLayout::half, RopeLayout::half},
                                                        {MropeLayout::interleaved, RopeLayout::interleaved}, {MropeLayout::cache, RopeLayout::cache}};
  for (const MropeArrangement arrangement : {MropeArrangement::chunked, MropeArrangement::interleaved})
    for (const auto& [layout, ropes] : layouts) {
      const Mrope s{.layout = layout, .head_dim = 24, .base = 10000, .arrangement = arrangement, .spans = spans("text:40")};
      CHECK(values_of(*erase(s), DType::f32) == values_of(*erase(Rope{.head_dim = 24, .positions = Positions::range(0, 40), .layout = ropes}), DType::f32));
    }
  const Mrope angles{.output = MropePart::angles, .head_dim = 24, .base = 10000, .spans = spans("text:40")};
  CHECK(values_of(*erase(angles)) == values_of(*erase(Rope{.head_dim = 24, .positions = Positions::range(0, 40), .layout = RopeLayout::angles})));
  // timm's row is [sin | cos], each tiled: of two pairs s0 s1 s0 s1 c0 c1 c0 c1.
  const auto row = values_of(*erase(Mrope{.layout = MropeLayout::sin_cos, .head_dim = 4, .base = 100, .spans = spans("text:2")}));
  CHECK(std::vector<double>(row.begin(), row.begin() + 8) == std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(std::vector<double>(row.begin() + 8, row.end()) == std::vector<double>{std::sin(1.0), std::sin(0.1), std::sin(1.0), std::sin(0.1), std::cos(1.0), std::cos(0.1), std::cos(1.0), std::cos(0.1)});
}

TEST_CASE("mrope: the contract with pictures, films and given ids") {
  const TokenSpans mixed = spans("text:3,image:1x4x6,text:300,video:3x2x4@0.5,image:1x2x2,text:2");
  for (const auto& part : EnumNames<MropePart>::values)
    for (const MropeArrangement arrangement : {MropeArrangement::chunked, MropeArrangement::interleaved})
      check_encoding(*erase(Mrope{.output = part.value, .head_dim = 12, .arrangement = arrangement, .spans = mixed, .next_text = MropeNextText::grid,
                                  .spatial_merge_size = 2, .tokens_per_second = 4}));
  for (const auto& layout : EnumNames<MropeLayout>::values)
    check_encoding(*erase(Mrope{.layout = layout.value, .head_dim = 14, .rotary_dim = 12, .inv_freq = {1, 0.5, 0.25, 0.1, 0, 1e-7}, .mrope_section = {0, 5, 1}, .spans = mixed,
                                .attention_factor = 0.75}));
  check_encoding(*erase(Mrope{.head_dim = 8, .position_ids = {{3, 5}, {5, 0, -7, 9007199254740992.0, 1e9, 1, 2, 3, 4, 4, 0, 0, 0, 1, 0}}}));
  check_encoding(*erase(Mrope{.output = MropePart::angles, .head_dim = 8, .position_ids = {{3, 5}, {5, 0, -7, 9007199254740992.0, 1e9, 1, 2, 3, 4, 4, 0, 0, 0, 1, 0}}}));
  check_encoding(*erase(Mrope{.output = MropePart::position_ids, .position_ids = {{3, 2}, {5, 0, -7, 9007199254740992.0, 1e9, 1}}}));
}

TEST_CASE("mrope: what makes no sense is refused in one sentence") {
  const auto has = [](const Mrope& s, const char* part) {
    const std::string sentence = reference::refusal(*erase(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  CHECK(reference::refusal(*erase(Mrope{})).empty());
  has({.head_dim = 5}, "even and at least 2, got 5");
  has({.head_dim = 8, .rotary_dim = 10}, "rotary_dim 10 is larger");
  has({.head_dim = 8, .inv_freq = {1, 2}}, "inv_freq has 2 entries");
  has({.mrope_section = {32, 32}}, "three numbers");
  has({.mrope_section = {16, 24, 25}}, "makes 65 pairs, 128 rotated lanes have 64");
  has({.mrope_section = {16.5, 24, 23.5}}, "wants integers");
  has({.spans = spans("text:3"), .position_ids = {{3, 1}, {0, 0, 0}}}, "give one of them");
  has({.position_ids = {{2, 2}, {0, 0, 0, 1}}}, "position_ids wants shape [3, any]");
  has({.position_ids = {{3, 0}, {}}}, "holds no position");
  has({.position_ids = {{3, 1}, {0, 0.5, 0}}}, "wants integers, got 0.5");
  has({.position_ids = {{3, 1}, {0x1p53, 0, 0}}, .offset = 2}, "passes 2^53");
  has({.spans = spans("image:1x3x4"), .spatial_merge_size = 2}, "image:1x3x4 does not divide by spatial_merge_size 2");
  has({.spans = TokenSpans{}}, "at least one span");
  has({.spans = TokenSpans{{{.kind = TokenSpanKind::image, .grids = 2}}}}, "an image is one grid");
  has({.spans = spans("video:2x1x1@1e15"), .tokens_per_second = 1000}, "pass 2^51");
  has({.spans = spans("video:2x1x1@0"), .tokens_per_second = 1e40}, "pass 2^51");
  has({.spans = spans("video:2x1x1@1e40"), .tokens_per_second = 1e-39, .seconds = MropeSeconds::float32}, "pass 2^51");
  has({.attention_factor = 0}, "attention_factor");
}

TEST_CASE("mrope: laws notice wrong values") {
  const TokenSpans picture = spans("text:2,image:1x2x2,text:2");
  const Mrope ids{.output = MropePart::position_ids, .spans = picture};  // rows of 8: 0 1 2 2 2 2 4 5, ...
  CHECK(broken_laws(*erase(ids), 6, 4).empty());
  CHECK(broken_laws(*erase(ids), 0, 1) == "walk next");
  CHECK(broken_laws(*erase(ids), 1, 2) == "walk next");
  CHECK(broken_laws(*erase(ids), 8 + 4, 2) == "walk");
  CHECK(broken_laws(*erase(ids), 2, 3) == "walk next");
  CHECK(broken_laws(*erase(Mrope{.output = MropePart::axis, .head_dim = 16}), 1, 1) == "counts");
  const Mrope table{.layout = MropeLayout::cache, .head_dim = 8, .spans = picture};
  CHECK(broken_laws(*erase(table), 8 + 2, 0.5) == "norm plain");
  CHECK(broken_laws(*erase(table), 3 * 8 + 0, 0.5) == "norm one-axis");
  CHECK(broken_laws(*erase(Mrope{.layout = MropeLayout::sin_cos, .head_dim = 8, .spans = picture}), 16 + 1, 0.5) == "pairing");
  CHECK(broken_laws(*erase(Mrope{.output = MropePart::angles, .head_dim = 8, .spans = picture}), 4, 2) == "first");
}

}  // namespace
