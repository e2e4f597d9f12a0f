// relative_map: every kind against sets written out or formulas of their own, real maps correctly rounded, refusals, laws.
#include "encodings/relative_map.hpp"

#include <doctest/doctest.h>

#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

std::vector<double> row_of(RelativeMap s, std::int64_t query, std::int64_t keys) {
  s.span = {.form = SpanForm::row, .key_length = keys, .query_length = 1, .query_offset = query};
  return values_of(*erase(s));
}

TEST_CASE("relative_map: hand-computed rows") {
  using V = std::vector<double>;
  CHECK(row_of({.kind = MapKind::plain}, 3, 6) == V{3, 2, 1, 0, -1, -1});
  CHECK(row_of({.kind = MapKind::plain, .future = MapFuture::formula}, 3, 6) == V{3, 2, 1, 0, -1, -2});
  CHECK(row_of({.kind = MapKind::interpolated, .factor = 4, .future = MapFuture::formula}, 3, 6) == V{0.75, 0.5, 0.25, 0, -0.25, -0.5});
  CHECK(row_of({.kind = MapKind::window, .window = 2, .future = MapFuture::formula}, 4, 9) == V{2, 2, 2, 1, 0, -1, -2, -2, -2});
  CHECK(row_of({.kind = MapKind::rerope, .window = 3, .future = MapFuture::formula}, 5, 10) == V{3, 3, 3, 2, 1, 0, -1, -2, 3, 3});
  CHECK(row_of({.kind = MapKind::rerope, .window = 3}, 5, 10) == V{3, 3, 3, 2, 1, 0, -1, -1, -1, -1});
  CHECK(row_of({.kind = MapKind::leaky_rerope, .factor = 4, .window = 2, .future = MapFuture::formula}, 5, 9) ==
        V{2.75, 2.5, 2.25, 2, 1, 0, -1, 1, 0.75});
  // Groups of 3 of keys 0 .. 7: 0 0 0 1 1 1 2 2; the query 10 is in group 3, the shift is 4 - 4 / 3 or 4 - 1.
  CHECK(row_of({.kind = MapKind::self_extend, .window = 4, .group_size = 3, .shift = MapShift::floor}, 10, 12) ==
        V{6, 6, 6, 5, 5, 5, 4, 3, 2, 1, 0, -1});
  // Chunks of 3: the query 8 is in chunk 2 at r = 2; min(2 + 3, 4) = 4 in chunk 1, min(5, 4) = 4 in chunk 0.
  CHECK(row_of({.kind = MapKind::dual_chunk, .chunk_size = 5, .local_window = 2, .clamp = MapClamp::last}, 8, 10) ==
        V{4, 3, 2, 4, 3, 2, 2, 1, 0, -1});
  CHECK(row_of({.kind = MapKind::dual_chunk, .chunk_size = 5, .local_window = 2}, 8, 9) == V{5, 4, 3, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("relative_map: real maps are correctly rounded, all cuts alike") {
  struct Case {
    RelativeMap map;
    std::int64_t divisor;
  };
  const AttentionSpan span{.key_length = 24, .query_length = 20, .query_offset = 3};
  const AttentionSpan far{.key_length = 5000, .query_length = 2, .query_offset = 70000};
  for (const AttentionSpan& where : {span, far})
    for (const MapFuture future : {MapFuture::mask, MapFuture::formula})
      for (const MapKind kind : {MapKind::interpolated, MapKind::leaky_rerope, MapKind::self_extend}) {
        RelativeMap s{.kind = kind, .factor = 7, .window = 5, .group_size = 3, .future = future, .span = where};
        const auto encoding = erase(s);
        CHECK(encoding->tensors()[0].kind == Kind::real);
        int wrong = 0;
        for (const DType dtype : reference::float_dtypes) {
          if (where.key_length > 24 && dtype == DType::f64) continue;
          const auto values = values_of(*encoding, dtype);
          for (std::size_t flat = 0; flat < values.size(); ++flat) {
            const auto n = static_cast<std::int64_t>(flat), i = *where.query_offset + n / where.key_length, j = n % where.key_length, d = i - j;
            Big want = d;
            if (d < 0 && future == MapFuture::mask)
              want = -1;
            else if (kind == MapKind::interpolated)
              want = Big(d) / 7;
            else if (kind == MapKind::leaky_rerope && (d >= 5 || d <= -5))
              want = 5 + Big(d - 5) / 7;
            else if (kind == MapKind::self_extend && d >= 5)
              want = Big((i - i % 3) / 3 - (j - j % 3) / 3) + 5 - Big(5) / 3;
            wrong += oracle::correctly_rounded(dtype, values[flat], want) ? 0 : 1;
          }
        }
        CHECK(wrong == 0);
        check_encoding(*encoding);
        if (s.is_toeplitz()) {
          s.span.form = SpanForm::toeplitz;
          check_encoding(*erase(s));
        }
        s.span.form = SpanForm::row;
        check_encoding(*erase(s));
      }
  // Ties: halves at a place where f16 and bf16 keep none.
  const RelativeMap ties{.kind = MapKind::interpolated, .factor = 2, .span = {.form = SpanForm::row, .key_length = 4096, .query_offset = 4100}};
  check_encoding(*erase(ties));
}

TEST_CASE("relative_map: integer maps under every form") {
  for (const MapKind kind : {MapKind::plain, MapKind::window, MapKind::rerope, MapKind::self_extend, MapKind::dual_chunk}) {
    RelativeMap s{.kind = kind, .window = 6, .group_size = 4, .shift = MapShift::floor, .chunk_size = 11, .local_window = 3, .span = {.key_length = 40, .query_length = 30}};
    CHECK(erase(s)->tensors()[0].kind == Kind::integer);
    check_encoding(*erase(s));
    const auto matrix = values_of(*erase(s));
    s.span.form = SpanForm::row;
    CHECK(values_of(*erase(s)) == std::vector<double>(matrix.end() - 40, matrix.end()));
  }
  // ReRoPE is Leaky ReRoPE without slope, and both are plain in a window that covers all.
  RelativeMap wide{.kind = MapKind::leaky_rerope, .factor = 9, .window = 50, .future = MapFuture::formula, .span = {.key_length = 40}};
  const auto leaky = values_of(*erase(wide));
  wide.kind = MapKind::plain;
  CHECK(values_of(*erase(wide)) == leaky);
}

TEST_CASE("relative_map: what makes no sense is refused in one sentence, laws notice wrong values") {
  const auto has = [](const RelativeMap& s, const char* part) { return reference::refusal(*erase(s)).find(part) != std::string::npos; };
  CHECK(reference::refusal(*erase(RelativeMap{})).empty());
  CHECK(has({.kind = MapKind::self_extend, .span = {.key_length = 4, .query_offset = -1}}, "query_offset -1 is before position 0"));
  CHECK(has({.kind = MapKind::dual_chunk, .span = {.form = SpanForm::toeplitz}}, "dual-chunk gives no function of the distance"));
  CHECK(has({.kind = MapKind::dual_chunk, .chunk_size = 10, .local_window = 10}, "local_window 10 leaves nothing of chunk_size 10"));
  CHECK(has({.kind = MapKind::dual_chunk, .future = MapFuture::formula}, "no formula for keys after the query"));
  CHECK(has({.factor = 0}, "factor must"));
  CHECK(has({.window = 0}, "window must"));
  const auto broken = [](RelativeMap s, std::int64_t flat, double value) {
    s.span.key_length = 20;
    return broken_laws(*erase(s), flat, value);
  };
  const RelativeMap rerope{.kind = MapKind::rerope, .window = 4}, extend{.kind = MapKind::self_extend, .window = 4, .group_size = 2},
      chunks{.kind = MapKind::dual_chunk, .chunk_size = 9, .local_window = 3};
  CHECK(broken(rerope, 0, 0).empty());
  CHECK(broken(rerope, 10 * 20 + 8, 0) == "toeplitz near order");
  CHECK(broken(rerope, 10 * 20 + 1, 5) == "toeplitz range order");
  CHECK(broken(rerope, 10 * 20 + 12, 0) == "toeplitz mask");
  CHECK(broken(extend, 15 * 20 + 3, 12) == "range order");
  CHECK(broken(chunks, 15 * 20 + 2, 6) == "chunks");
  CHECK(broken(chunks, 15 * 20 + 0, 10) == "range chunks");
}

}  // namespace
