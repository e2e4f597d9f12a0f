// Copies, layouts and refusals; stretch, distances, buckets, BEiT's offsets against second opinions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "posenc/error.hpp"
#include "posenc/names.hpp"
#include "resample/oracle.hpp"

namespace {

using namespace posenc;
using namespace resample_oracle;
using oracle::Big;
using Method = ResampleMethod;
using Rows = TableRowKind;
using Shape = std::vector<std::int64_t>;

std::vector<double> rows_of(const Array& a, std::int64_t first, std::int64_t count) {
  const std::int64_t lanes = a.shape.back();
  return {a.values.begin() + first * lanes, a.values.begin() + (first + count) * lanes};
}

TEST_CASE("resample: the same size is the same table, bit for bit") {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const auto& entry : EnumNames<Method>::values) {
      CAPTURE(entry.name);
      const Array in = table({28, 5}, 7);
      Resampling how{.method = entry.value};
      switch (entry.value) {
        case Method::replicate: how.rows = Rows::distances, how.new_distance = 14; break;
        case Method::geometric:
        case Method::geometric_spline: how.rows = Rows::window, how.extra = 3, how.new_height = how.new_width = 3; break;
        case Method::rebucket: how.rows = Rows::buckets; break;
        default: how.length = 28;
      }
      const Array got = resample(in, how, dtype);
      CHECK(got.shape == in.shape);
      CHECK(same_bits(got.values, in.values));
    }
  const Array in = table({1, 26, 5}, 8);
  for (const Method method : {Method::nearest, Method::linear, Method::cubic})
    for (const auto& preset : EnumNames<ResamplePreset>::values) {
      Resampling how{.rows = Rows::grid, .method = method, .new_height = 5, .new_width = 5};
      if (method != Method::nearest) how.preset = preset.value;
      CHECK(same_bits(resample(in, how).values, in.values));
    }
  for (const Alignment alignment : {Alignment::half_pixel, Alignment::corners, Alignment::stride})
    for (const Method method : {Method::linear, Method::cubic}) CHECK(same_bits(resample(in, {.method = method, .alignment = alignment, .length = 26}).values, in.values));
  CHECK(same_bits(resample(table({9, 4}, 3), {.rows = Rows::distances, .new_distance = 4}).values, table({9, 4}, 3).values));
}

TEST_CASE("resample: prefix and extra rows are copied bit for bit") {
  const Array grid = table({5 + 36 + 2, 4}, 11);
  const Array got = resample(grid, {.rows = Rows::grid, .method = Method::cubic, .prefix = 5, .extra = 2, .new_height = 9, .new_width = 4});
  CHECK(got.shape == Shape{43, 4});
  CHECK(same_bits(rows_of(got, 0, 5), rows_of(grid, 0, 5)));
  CHECK(same_bits(rows_of(got, 41, 2), rows_of(grid, 41, 2)));
  const Array window = table({28, 3}, 12);
  for (const Method method : {Method::linear, Method::cubic, Method::geometric, Method::geometric_spline}) {
    const Array wider = resample(window, {.rows = Rows::window, .method = method, .new_height = 4, .new_width = 6});
    CHECK(wider.shape == Shape{7 * 11 + 3, 3});
    CHECK(same_bits(rows_of(wider, 77, 3), rows_of(window, 25, 3)));
  }
  // RoBERTa's 514 rows for 4096 positions: rows 0 and 1, then 8 copies of the others.
  const Array roberta = table({514, 2}, 13);
  const Array long_table = resample(roberta, {.method = Method::tile, .length = 4096, .prefix = 2});
  CHECK(long_table.shape == Shape{4098, 2});
  CHECK(same_bits(rows_of(long_table, 0, 2), rows_of(roberta, 0, 2)));
  for (std::int64_t k = 0; k < 8; ++k) CHECK(same_bits(rows_of(long_table, 2 + 512 * k, 512), rows_of(roberta, 2, 512)));
  // Narrower dtypes round once.
  const Array half = resample(grid, {.rows = Rows::grid, .method = Method::cubic, .prefix = 5, .extra = 2, .new_height = 9, .new_width = 4}, DType::f16);
  for (std::size_t i = 0; i < 20; ++i) CHECK(oracle::correctly_rounded(DType::f16, half.values[i], Big(grid.values[i])));
}

TEST_CASE("resample: rows come out the same however they are cut, over any leading axes") {
  const Array in = table({3, 10, 4}, 21);
  const Resampler resampler(in.shape, {.rows = Rows::grid, .method = Method::cubic, .preset = ResamplePreset::torch_aa, .prefix = 1,
                                       .new_height = 5, .new_width = 2, .axis = 1});
  CHECK(resampler.shape() == Shape{3, 11, 4});
  CHECK(resampler.rows() == 33);
  CHECK(resampler.understood() == "1 prefix row, grid 3x3 -> 5x2, cubic, half-pixel, a = -0.5, antialias, edges renormalize");
  const Array all = resampler(in);
  for (const std::int64_t step : {1, 2, 5, 7, 33})
    for (std::int64_t first = 0; first < 33; first += step) {
      const std::int64_t count = std::min(step, 33 - first);
      std::vector<double> part(static_cast<std::size_t>(count * 4));
      resampler.make(in.values, DType::f64, first, count, part);
      CHECK(same_bits(part, {all.values.begin() + first * 4, all.values.begin() + (first + count) * 4}));
    }
  // Each of the three is resized by itself.
  for (std::int64_t b = 0; b < 3; ++b) {
    const Array one{{10, 4}, {in.values.begin() + b * 40, in.values.begin() + (b + 1) * 40}};
    const Array alone = resample(one, {.rows = Rows::grid, .method = Method::cubic, .preset = ResamplePreset::torch_aa, .prefix = 1, .new_height = 5, .new_width = 2});
    CHECK(same_bits(alone.values, {all.values.begin() + b * 44, all.values.begin() + (b + 1) * 44}));
  }
  // A grid of two axes, lanes behind it or before it.
  const Array axes = table({1, 4, 6, 3}, 22), flat{{24, 3}, axes.values};
  const Resampling flat_how{.rows = Rows::grid, .prefix = 0, .height = 4, .width = 6, .new_height = 5, .new_width = 5};
  const Array spread = resample(axes, {.rows = Rows::grid, .new_height = 5, .new_width = 5, .grid_axes = true, .axis = 1});
  CHECK(spread.shape == Shape{1, 5, 5, 3});
  CHECK(same_bits(spread.values, resample(flat, flat_how).values));
  CHECK(resample(table({2, 5, 7}, 1), {.rows = Rows::window, .new_height = 4, .new_width = 5, .grid_axes = true, .axis = 1}).shape == Shape{2, 7, 9});
}

TEST_CASE("resample: a grid is found when there is one, and asked for otherwise") {
  const auto read = [](std::int64_t rows, Resampling how) {
    how.new_height = how.new_width = 3;
    return Resampler({rows, 2}, how).understood();
  };
  const auto starts = [&](std::int64_t rows, const Resampling& how, std::string_view text) { CHECK_MESSAGE(read(rows, how).starts_with(text), read(rows, how)); };
  const Resampling grid{.rows = Rows::grid}, window{.rows = Rows::window};
  starts(196, grid, "grid 14x14 -> 3x3");
  starts(197, grid, "1 prefix row, grid 14x14");
  starts(198, grid, "2 prefix rows, grid 14x14");
  starts(201, grid, "5 prefix rows, grid 14x14");
  starts(577, grid, "1 prefix row, grid 24x24");
  starts(1370, grid, "1 prefix row, grid 37x37");
  starts(1374, grid, "5 prefix rows, grid 37x37");
  starts(193, {.rows = Rows::grid, .height = 16, .width = 12}, "1 prefix row, grid 16x12");
  starts(1214, {.rows = Rows::grid, .prefix = 2, .height = 12, .width = 101}, "2 prefix rows, grid 12x101");
  starts(169, window, "window 7x7 -> 3x3");
  starts(732, window, "3 extra rows, window 14x14");
  starts(3972, window, "3 extra rows, window 32x32");
  starts(187, {.rows = Rows::window, .height = 6, .width = 9}, "window 6x9");
  const auto refused = [&](std::int64_t rows, const Resampling& how, const char* sentence) { CHECK_THROWS_WITH_AS(read(rows, how), sentence, Error); };
  refused(192, grid, "192 rows form no square grid; say which with height and width");
  refused(193, grid, "193 rows form no square grid; say which with height and width");
  refused(5, grid, "5 rows may be a grid of 2x2 with 1 prefix row or 1x1 with 4 prefix rows; say which with prefix or height and width");
  refused(197, {.rows = Rows::grid, .prefix = 0}, "197 rows beside 0 prefix rows form no square grid; say which with height and width");
  refused(197, {.rows = Rows::grid, .height = 15, .width = 15}, "a grid of 15x15 has 225 rows, the table has 197");
  refused(197, {.rows = Rows::grid, .prefix = 2, .height = 14, .width = 14}, "a grid of 14x14 has 196 rows, the table has 197 with 2 prefix rows");
  refused(100, window, "100 rows form no square window; say which with height and width");
  // As many rows as before are no reason to copy them.
  const Array in = table({16, 2}, 5);
  CHECK(!same_bits(resample(in, {.rows = Rows::grid, .height = 2, .width = 8, .new_height = 4, .new_width = 4}).values, in.values));
}

TEST_CASE("resample: what makes no sense is refused in a sentence") {
  const auto refused = [](const Shape& shape, const Resampling& how, const char* sentence) { CHECK_THROWS_WITH_AS(Resampler(shape, how), sentence, Error); };
  refused({8, 2}, {}, "length is missing: the positions of the new table");
  refused({8, 2}, {.rows = Rows::grid}, "new_height and new_width are missing: the new grid");
  refused({8, 2}, {.rows = Rows::distances}, "new_distance is missing: the k of the new table");
  refused({8, 2}, {.rows = Rows::grid, .method = Method::tile, .new_height = 2, .new_width = 2}, "rows grid are resized by nearest, linear or cubic, not by tile");
  refused({8, 2}, {.rows = Rows::grid, .height = 2, .new_height = 2, .new_width = 2}, "height and width of the old table go together");
  refused({8, 2}, {.length = 8, .alpha = 0.3}, "alpha does not go with rows sequence and method linear");
  refused({8, 2}, {.cubic_a = -0.5, .length = 8}, "cubic_a does not go with rows sequence and method linear");
  refused({8, 2}, {.preset = ResamplePreset::torch, .antialias = true, .length = 8}, "preset torch has another antialias; leave one of them out");
  refused({8, 2}, {.method = Method::cubic, .preset = ResamplePreset::tf, .cubic_a = -0.75, .length = 8}, "preset tf has another cubic_a; leave one of them out");
  refused({8, 2}, {.alignment = Alignment::corners, .antialias = true, .length = 8}, "alignment corners has neither antialias nor renormalized edges anywhere; use half-pixel");
  refused({8, 2}, {.antialias = true, .edges = EdgeRule::clamp, .length = 8}, "antialias needs edges renormalize: the weights of a widened kernel do not add up to 1");
  refused({8, 2}, {.method = Method::nearest, .alignment = Alignment::corners, .length = 8}, "nearest wants alignment stride (torch nearest) or half-pixel (nearest-exact)");
  refused({8, 2}, {.method = Method::hierarchical, .length = 65}, "hierarchical makes at most n^2 = 64 rows of n = 8, not 65");
  CHECK_NOTHROW(Resampler({8, 2}, {.method = Method::hierarchical, .length = 64}));
  refused({8, 2}, {.method = Method::stretch, .length = 65}, "stretch keeps 20 rows and needs 2 more in the old table and 1 in the new, got 8 and 65; see keep");
  refused({8, 2}, {.length = 8, .prefix = 8}, "the table has 8 rows, none besides 8 prefix rows and 0 extra rows");
  refused({8, 2}, {.length = 8, .axis = 2}, "a table of shape [8, 2] has no axis 2");
  refused({8, 2}, {.length = 0}, "length must be in [1, 16777216], got 0");
  refused({}, {.length = 8}, "a table to resize has rows and values, got shape []");
  refused({std::int64_t{1} << 40, 2}, {.length = 8}, "a table of shape [1099511627776, 2] is too large");
  refused({8, 0}, {.length = 8}, "a table to resize has rows and values, got shape [8, 0]");
  refused({1, 2}, {.rows = Rows::distances, .axis = 0, .new_distance = 8}, "a table of distances has 2k or 2k + 1 rows, k >= 1, got 1");
  refused({9, 2}, {.rows = Rows::window, .method = Method::geometric_spline, .new_height = 4, .new_width = 4},
          "geometric-spline needs an old window of at least 3x3: a cubic spline has 4 points or more");
  refused({3, 13, 13}, {.rows = Rows::window, .new_height = 8, .new_width = 8, .grid_axes = true}, "axis is missing: the first of the grid's two axes");
  refused({1, 4, 13}, {.rows = Rows::window, .new_height = 8, .new_width = 8, .grid_axes = true, .axis = 1}, "a window's table has odd sides, 2 height - 1 and 2 width - 1, got 4x13");
  refused({31, 2}, {.rows = Rows::buckets, .method = Method::rebucket}, "num_buckets 31 is odd; bidirectional buckets go to two sides");
  CHECK_THROWS_WITH_AS(resample({{2, 1}, {1, NAN}}, {.length = 3}), "row 1 of the table holds nan; only finite values are resized, put some there first", Error);
  CHECK_THROWS_WITH_AS(resample({{2, 1}, {1, HUGE_VAL}}, {.method = Method::tile, .length = 3}), "row 1 of the table holds inf; only finite values are resized, put some there first", Error);
  CHECK_THROWS_WITH_AS(resample({{2, 1}, {1, 2}}, {.length = 3}, DType::i32), "a resized table has real values, which i32 does not hold", Error);
  CHECK_THROWS_WITH_AS(resample({{2, 2}, {1, 2}}, {.length = 3}), "the table has 2 values, its shape 4", Error);
}

TEST_CASE("resample: every option is refused by the methods that do not look at it") {
  // Options given one by one to every kind of rows and method that go together.
  std::vector<std::string> names;
  const Resampling none;
  Resampling::fields(none, [&](const Field& field, const auto&) { names.emplace_back(field.name); });
  for (const std::string& name : names) {
    if (name == "rows" || name == "method" || name == "axis") continue;  // for all
    int refused = 0, taken = 0;
    for (const auto& rows : EnumNames<Rows>::values)
      for (const auto& method : EnumNames<Method>::values) {
        Resampling how{.rows = rows.value, .method = method.value};
        Resampling::fields(how, [&](const Field& field, auto& member) {
          using Member = std::decay_t<decltype(member)>;
          if (field.name != name) return;
          if constexpr (std::is_same_v<Member, bool>)
            member = true;
          else if constexpr (!std::is_enum_v<Member>)
            member.emplace(typename Member::value_type{});
        });
        try {
          how.check();
          ++taken;
        } catch (const Error& error) {
          const std::string sentence = error.what();
          if (sentence.find(" are resized by ") != std::string::npos) continue;
          ++(sentence == fmt::format("{} does not go with rows {} and method {}", name, rows.name, method.name) ? refused : taken);
        }
      }
    INFO(name);
    CHECK(taken > 0);
    CHECK((refused > 0 || name == "prefix" || name == "extra"));  // those do not go with grid_axes
  }
}

TEST_CASE("resample: stretch keeps the first rows; 77 become 248 as in Long-CLIP") {
  const Array in = table({77, 3}, 31);
  Matrix w = zeros(248, 77);
  for (std::size_t k = 0; k < 20; ++k) w[k][k] = 1;
  for (std::size_t i = 0; i < 57; ++i)
    for (std::size_t r = 0; r < 4; ++r) {
      auto& row = w[20 + 4 * i + r];
      if (i < 56)
        row[20 + i] += Q(4 - r, 4), row[21 + i] += Q(r, 4);
      else
        row[76] += 1 + Q(r, 4), row[75] -= Q(r, 4);
    }
  for (const DType dtype : float_dtypes) CHECK(wrong_values(in, resample(in, {.method = Method::stretch, .length = 248}, dtype), 0, 3, w, one_column(), dtype) == 0);
  CHECK(same_bits(rows_of(resample(in, {.method = Method::stretch, .length = 248}), 0, 20), rows_of(in, 0, 20)));
  // Any other length: the table of k is a line beyond `keep`, and stays one.
  Array line{{10, 1}, {}};
  for (int k = 0; k < 10; ++k) line.values.push_back(k);
  const Array longer = resample(line, {.method = Method::stretch, .length = 18, .keep = 2});
  for (int k = 0; k < 18; ++k) CHECK(longer.values[static_cast<std::size_t>(k)] == (k < 2 ? k : 2 + (k - 2) / 2.0));
}

TEST_CASE("resample: hierarchical rows are alpha u_i + (1 - alpha) u_j") {
  const Array in = table({6, 4}, 41);
  for (const double alpha : {0.4, 0.3, 0.9}) {
    Matrix w = zeros(36, 6);
    const Q a(alpha);
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 6; ++j) {
        auto& row = w[6 * i + j];
        row[i] += a / (1 - a), row[0] -= a * a / (1 - a);
        row[j] += 1, row[0] -= a;
      }
    for (const DType dtype : float_dtypes) {
      const Array got = resample(in, {.method = Method::hierarchical, .length = 36, .alpha = alpha}, dtype);
      CHECK(wrong_values(in, got, 0, 4, w, one_column(), dtype) == 0);
    }
  }
}

TEST_CASE("resample: tables of distances around their centre") {
  for (const std::int64_t odd : {0, 1})
    for (const std::int64_t k : {1, 4, 7})
      for (const std::int64_t to : {1, 3, 4, 10, 32}) {
        const std::int64_t n = 2 * k + odd, m = 2 * to + odd;
        INFO(n, " ", m);
        const Array in = table({n, 3}, static_cast<unsigned>(n));
        Matrix clipped = zeros(m, n), stretched = zeros(m, n);
        for (std::int64_t r = -to; r <= to - 1 + odd; ++r) {
          clipped[static_cast<std::size_t>(r + to)][static_cast<std::size_t>(std::clamp(r, -k, k - 1 + odd) + k)] = 1;
          const std::int64_t side = r < 0 ? k : k - 1 + odd, new_side = r < 0 ? to : to - 1 + odd;
          const Q x = k + (r == 0 ? Q(0) : Q(r * side, new_side));
          const std::int64_t below = floor_of(x);
          auto& row = stretched[static_cast<std::size_t>(r + to)];
          row[static_cast<std::size_t>(below)] += 1 - (x - below);
          if (x != below) row[static_cast<std::size_t>(below + 1)] += x - below;
        }
        for (const DType dtype : float_dtypes) {
          const Array a = resample(in, {.rows = Rows::distances, .method = Method::replicate, .new_distance = to}, dtype);
          const Array b = resample(in, {.rows = Rows::distances, .method = Method::linear, .new_distance = to}, dtype);
          CHECK(a.shape == Shape{m, 3});
          CHECK(wrong_values(in, a, 0, 3, clipped, one_column(), dtype) == 0);
          CHECK(wrong_values(in, b, 0, 3, stretched, one_column(), dtype) == 0);
        }
        const Array wide = resample(in, {.rows = Rows::distances, .new_distance = to});
        CHECK(same_bits(rows_of(wide, to, 1), rows_of(in, k, 1)));
      }
}

// T5's bucket of a real distance num / den, one side of B buckets to D: compared in whole numbers, no logarithm.
// bucket >= e + k  iff  (num / den)^N e^k >= D^k e^N, N = B - e.
std::int64_t t5_bucket(const Z& num, const Z& den, std::int64_t b, std::int64_t d) {
  const std::int64_t e = b / 2, n = b - e;
  if (num < den * e) return static_cast<std::int64_t>(num / den);
  std::int64_t k = 0;
  const auto power = [](const Z& x, std::int64_t y) { return Z(pow(x, static_cast<unsigned>(y))); };
  while (k + 1 < n && power(num, n) * power(Z(e), k + 1) >= power(Z(d), k + 1) * power(Z(e), n) * power(den, n)) ++k;
  return e + k;
}

TEST_CASE("resample: T5 tables in new buckets") {
  struct To {
    std::int64_t n, d, m, e;
    bool both;
    std::optional<double> factor;
  };
  for (const To& t : {To{32, 128, 32, 512, true, {}}, To{32, 128, 64, 256, true, {}}, To{32, 128, 48, 1024, false, {}}, To{16, 64, 40, 64, true, 1.0},
                      To{32, 100, 32, 400, false, 4.0}, To{32, 128, 16, 128, true, {}}, To{32, 128, 32, 300, true, 1.5}}) {
    const Array in = table({t.n, 4}, 51);
    const Array got = resample(in, {.rows = Rows::buckets, .method = Method::rebucket, .bidirectional = t.both, .max_distance = t.d, .new_num_buckets = t.m,
                                    .new_max_distance = t.e, .factor = t.factor});
    const std::int64_t b = t.both ? t.n / 2 : t.n, nb = t.both ? t.m / 2 : t.m;
    for (std::int64_t bucket = 0; bucket < t.m; ++bucket) {
      std::int64_t least = 0;
      while (t5_bucket(least, 1, nb, t.e) < bucket % nb) ++least;
      // factor as a fraction: whole, halves, or D'/D
      const Z num = t.factor ? Z(2 * least) : Z(least * t.d), den = t.factor ? Z(static_cast<std::int64_t>(2 * *t.factor)) : Z(t.e);
      const std::int64_t row = bucket / nb * b + t5_bucket(num, den, b, t.d);
      CHECK(same_bits(rows_of(got, bucket, 1), rows_of(in, row, 1)));
    }
  }
}

// BEiT's places of n old offsets for n' new ones, at 400 bits.
std::vector<Big> beit_places(std::int64_t n, std::int64_t m) {
  double left = 1.01, right = 1.5, q = 0;
  while (right - left > 1e-6) {
    q = (left + right) / 2;
    ((1 - pow(Big(q), n / 2)) / (1 - Big(q)) > m / 2 ? right : left) = q;
  }
  std::vector<Big> x{Big(0)};
  for (std::int64_t i = 0; i < n / 2; ++i) {
    const Big next = x.back() + pow(Big(q), i);
    x.push_back(next);
    x.insert(x.begin(), -next);
  }
  return x;
}
// Values at t of the cubic spline through (x, y) whose third derivative is continuous at the second and the last but one point
// ("not a knot"): second derivatives M from the usual equations, solved densely.
Big spline_at(const std::vector<Big>& x, const std::vector<Big>& y, Big t) {
  const std::size_t n = x.size();
  t = std::clamp(t, x.front(), x.back());
  std::vector<std::vector<Big>> a(n, std::vector<Big>(n + 1, Big(0)));
  const auto h = [&](std::size_t i) { return Big(x[i + 1] - x[i]); };
  a[0][0] = 1 / h(0), a[0][1] = -1 / h(0) - 1 / h(1), a[0][2] = 1 / h(1);
  a[n - 1][n - 3] = 1 / h(n - 3), a[n - 1][n - 2] = -1 / h(n - 3) - 1 / h(n - 2), a[n - 1][n - 1] = 1 / h(n - 2);
  for (std::size_t i = 1; i + 1 < n; ++i) {
    a[i][i - 1] = h(i - 1), a[i][i] = 2 * (h(i - 1) + h(i)), a[i][i + 1] = h(i);
    a[i][n] = 6 * ((y[i + 1] - y[i]) / h(i) - (y[i] - y[i - 1]) / h(i - 1));
  }
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k; i < n; ++i)
      if (abs(a[i][k]) > abs(a[best][k])) best = i;
    std::swap(a[k], a[best]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k || a[i][k] == 0) continue;
      const Big f = a[i][k] / a[k][k];
      for (std::size_t j = k; j <= n; ++j) a[i][j] -= f * a[k][j];
    }
  }
  std::size_t i = 0;
  while (i + 2 < n && x[i + 1] <= t) ++i;
  const auto M = [&](std::size_t at) { return Big(a[at][n] / a[at][at]); };
  const Big l = x[i + 1] - t, r = t - x[i];
  return (M(i) * l * l * l + M(i + 1) * r * r * r) / (6 * h(i)) + (y[i] / h(i) - M(i) * h(i) / 6) * l + (y[i + 1] / h(i) - M(i + 1) * h(i) / 6) * r;
}
Big line_at(const std::vector<Big>& x, const std::vector<Big>& y, Big t) {
  t = std::clamp(t, x.front(), x.back());
  std::size_t i = 0;
  while (i + 2 < x.size() && x[i + 1] <= t) ++i;
  return y[i] + (y[i + 1] - y[i]) * (t - x[i]) / (x[i + 1] - x[i]);
}

TEST_CASE("resample: BEiT's offsets, lines and splines, correctly rounded") {
  constexpr std::int64_t windows[][4] = {{3, 3, 4, 5}, {4, 3, 3, 6}, {7, 7, 8, 8}, {5, 5, 3, 3}};
  for (const auto& [h, w, nh, nw] : windows)
    for (const bool spline : {false, true}) {
      INFO(h, " ", w, " ", nh, " ", nw, " ", spline);
      const std::size_t rows = static_cast<std::size_t>(2 * h - 1), columns = static_cast<std::size_t>(2 * w - 1);
      const Array in = table({static_cast<std::int64_t>(rows * columns), 1}, 61);
      const auto at = spline ? spline_at : line_at;
      const std::vector<Big> ys = beit_places(2 * h - 1, 2 * nh - 1), xs = beit_places(2 * w - 1, 2 * nw - 1);
      // Old rows over new columns, then down.
      std::vector<Big> want;
      std::vector<std::vector<Big>> across(static_cast<std::size_t>(2 * nw - 1));
      for (std::int64_t x = 0; x < 2 * nw - 1; ++x)
        for (std::size_t y = 0; y < rows; ++y) {
          const std::vector<Big> row(in.values.begin() + static_cast<std::ptrdiff_t>(y * columns), in.values.begin() + static_cast<std::ptrdiff_t>((y + 1) * columns));
          across[static_cast<std::size_t>(x)].push_back(at(xs, row, Big(x - (nw - 1))));
        }
      for (std::int64_t y = 0; y < 2 * nh - 1; ++y)
        for (const auto& column : across) want.push_back(at(ys, column, Big(y - (nh - 1))));
      for (const DType dtype : float_dtypes) {
        const Resampling how{.rows = Rows::window, .method = spline ? Method::geometric_spline : Method::geometric,
                             .height = h, .width = w, .new_height = nh, .new_width = nw};
        const Array got = resample(in, how, dtype);
        REQUIRE(got.values.size() == want.size());
        int wrong = 0;
        for (std::size_t i = 0; i < want.size(); ++i) {
          // What is exactly 0 comes out of the solver as a trace of the last of 400 bits.
          const Big truth = abs(want[i]) < ldexp(Big(1), -300) ? Big(0) : want[i];
          wrong += oracle::correctly_rounded(dtype, got.values[i], truth) ? 0 : 1;
        }
        CHECK(wrong == 0);
      }
    }
}

}  // namespace
