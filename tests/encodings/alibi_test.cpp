// alibi: truth, fast fill, forms and kinds, refusals, laws. The reference is MPFR in another shape of the formula.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "encodings/alibi.hpp"
#include "encodings/encoding_checks.hpp"
#include "encodings/memory_file.hpp"
#include "encodings/mpfr_reference.hpp"
#include "numeric/scalar.hpp"

namespace {

using namespace posenc;
using reference::Number;
using testing_support::generated;
using testing_support::MemoryFile;
using Rule = AlibiRule;
using Form = AlibiForm;
using Kind = AlibiKind;

std::unique_ptr<Encoding> erased(const Alibi& s) { return erase(s); }

// The list as MPT builds it, by quotients: every second slope of the next power of two, then the others.
std::vector<Number> strided_slopes(std::int64_t heads, double max) {
  std::int64_t q = 1;
  while (q < heads) q *= 2;
  std::vector<Number> all, out;
  for (std::int64_t i = 1; i <= q; ++i) all.push_back(Number(1) / exp2(Number(max) * static_cast<double>(i) / static_cast<double>(q)));
  if (q == heads) return all;
  for (std::int64_t i = 1; i < q; i += 2) out.push_back(all[static_cast<std::size_t>(i)]);
  for (std::int64_t i = 0; i < q; i += 2) out.push_back(all[static_cast<std::size_t>(i)]);
  out.resize(static_cast<std::size_t>(heads));
  return out;
}

std::vector<double> truths(const Alibi& s, DType dtype = DType::f64) {
  const auto encoding = erased(s);
  const auto evaluator = encoding->evaluator();
  const Tensor tensor = encoding->tensors()[0];
  std::vector<std::int64_t> index(tensor.axes.size(), 0);
  std::vector<double> out;
  for (std::int64_t r = 0; r < tensor.rows(); ++r) {
    tensor.row_index(r, index);
    for (index.back() = 0; index.back() < tensor.columns(); ++index.back()) out.push_back(evaluator->truth(0, index, dtype));
  }
  return out;
}

// What is added for a query and a key, as the papers write it.
Number expected(Kind kind, const Number& slope, double query, double key, double last) {
  const double d = query - key;  // the papers' i - j
  switch (kind) {
    case Kind::causal: return d < 0 ? Number(-HUGE_VAL) : Number(0) - slope * d;
    case Kind::relative: return Number(0) - slope * d;
    case Kind::symmetric: return Number(0) - slope * std::fabs(d);
    case Kind::deepmind: return slope * (0.5 * (d > 0 ? 1 : 0) - std::fabs(d));
    case Kind::key_only: return slope * key;
    case Kind::last_key: break;
  }
  return Number(0) - slope * (last - key);
}

constexpr Kind kinds[] = {Kind::causal, Kind::symmetric, Kind::relative, Kind::key_only, Kind::last_key, Kind::deepmind};
bool of_distance(Kind kind) { return kind != Kind::key_only && kind != Kind::last_key; }

TEST_CASE("alibi: slopes of every head count are the correctly rounded reference list") {
  int wrong = 0;
  for (const std::int64_t heads : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 20, 24, 31, 32, 33, 40, 64, 71, 112, 127, 128, 129})
    for (const double max : {8.0, 16.0, 7.5}) {
      const auto expected_slopes = strided_slopes(heads, max);
      const auto evaluator = erased({.num_heads = heads, .alibi_bias_max = max, .form = Form::slopes})->evaluator();
      for (const bool two : {false, true}) {
        const reference::Filled f = reference::fill(*evaluator, {0, 1, 0, heads}, two);
        for (std::size_t h = 0; h < f.hi.size(); ++h) wrong += reference::within(f, 0, h, f.hi.size(), expected_slopes[h]) ? 0 : 1;
      }
      for (std::int64_t h = 0; h < heads; ++h)
        for (const DType dtype : reference::float_dtypes)
          wrong += evaluator->truth(0, std::array{h}, dtype) == expected_slopes[static_cast<std::size_t>(h)].rounded(dtype) ? 0 : 1;
    }
  CHECK(wrong == 0);
}

TEST_CASE("alibi: rules geometric and sorted, and a range of heads") {
  for (const std::int64_t heads : {1, 2, 3, 6, 8, 12, 20, 71, 112}) {
    const auto reference_list = truths({.num_heads = heads, .form = Form::slopes});
    auto descending = reference_list;
    std::sort(descending.rbegin(), descending.rend());
    CHECK(truths({.num_heads = heads, .rule = Rule::sorted, .form = Form::slopes}) == descending);
    const auto geometric = truths({.num_heads = heads, .rule = Rule::geometric, .form = Form::slopes});
    for (std::size_t h = 0; h < geometric.size(); ++h)
      CHECK(geometric[h] == exp2(Number(-8) * static_cast<double>(h + 1) / static_cast<double>(heads)).rounded(DType::f64));
    if (heads < 6) continue;
    const auto part = truths({.num_heads = heads, .head_start = 2, .head_count = 3, .form = Form::slopes});
    CHECK(part == std::vector<double>(reference_list.begin() + 2, reference_list.begin() + 5));
    CHECK(truths({.num_heads = heads, .head_start = heads - 1, .form = Form::slopes}) == std::vector<double>{reference_list.back()});
  }
}

TEST_CASE("alibi: every cell of every kind and form is the correctly rounded value, distances to 2^50") {
  int wrong = 0, seen = 0;
  std::mt19937_64 random(3);
  for (const Kind kind : kinds)
    for (const std::int64_t offset :
         {std::int64_t{0}, std::int64_t{5}, std::int64_t{131000}, (std::int64_t{1} << 31) + 1, std::int64_t{1} << 50})
      for (const std::int64_t heads : {8, 12}) {
        const Alibi s{.num_heads = heads, .kind = kind, .key_length = 40, .query_length = 7, .query_offset = offset};
        const auto slopes = strided_slopes(heads, 8);
        const auto matrix = erased(s)->evaluator();
        Alibi one = s;
        one.form = Form::row;
        const auto row = erased(one)->evaluator();
        one.form = Form::toeplitz;
        const auto diagonal = of_distance(kind) ? erased(one)->evaluator() : nullptr;
        for (int k = 0; k < 60; ++k) {
          const auto h = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(heads));
          const auto i = static_cast<std::int64_t>(random() % 7), j = static_cast<std::int64_t>(random() % 40);
          const Number truth =
              expected(kind, slopes[static_cast<std::size_t>(h)], static_cast<double>(offset + i), static_cast<double>(j), 39);
          for (const DType dtype : reference::float_dtypes) {
            const double want = truth.rounded(dtype);
            wrong += matrix->truth(0, std::array{h, i, j}, dtype) == want ? 0 : 1;
            if (i == 6) wrong += row->truth(0, std::array{h, j}, dtype) == want ? 0 : 1;
            if (diagonal) wrong += diagonal->truth(0, std::array{h, j - i + 6}, dtype) == want ? 0 : 1;
            ++seen;
          }
        }
      }
  CHECK(seen == 6 * 5 * 2 * 60 * 4);
  CHECK(wrong == 0);
}

TEST_CASE("alibi: the fill keeps its bound, is exact where slopes are powers of two, and any block gives the same bits") {
  std::mt19937_64 random(4);
  for (const Kind kind : kinds)
    for (const Form form : {Form::row, Form::toeplitz, Form::matrix})
      for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{20}, std::int64_t{100}, std::int64_t{1} << 49})
        for (const std::int64_t heads : {8, 12}) {
          if (form == Form::toeplitz && !of_distance(kind)) continue;
          const Alibi s{.num_heads = heads, .form = form, .kind = kind, .key_length = 50, .query_length = 23, .query_offset = offset};
          const auto encoding = erased(s);
          const auto evaluator = encoding->evaluator();
          const Tensor tensor = encoding->tensors()[0];
          const std::int64_t rows = tensor.rows(), cols = tensor.columns();
          const auto slopes = strided_slopes(heads, 8);
          for (const bool two : {false, true}) {
            const reference::Filled f = reference::fill(*evaluator, {0, rows, 0, cols}, two);
            bool inside = true, exact = true, one_zero = true;
            for (std::int64_t r = 0; r < rows; ++r) {
              const std::int64_t h = form == Form::matrix ? r / 23 : r;
              const std::int64_t query = offset + (form == Form::matrix ? r % 23 : 22);
              // Slopes of the first 8 heads are powers of two.
              if (h < 8)
                exact = exact && f.bounds[static_cast<std::size_t>(r)].absolute == 0 &&
                        f.bounds[static_cast<std::size_t>(r)].relative == 0;
              for (std::int64_t c = 0; c < cols; ++c) {
                const Number truth =
                    expected(kind, slopes[static_cast<std::size_t>(h)], static_cast<double>(query), static_cast<double>(c), 49);
                inside = inside && reference::within(f, static_cast<std::size_t>(r), static_cast<std::size_t>(c),
                                                     static_cast<std::size_t>(cols), truth);
                const double value = f.hi[static_cast<std::size_t>(r * cols + c)];
                one_zero = one_zero && !(value == 0 && std::signbit(value));
              }
            }
            CHECK(inside);
            CHECK(exact);
            CHECK(one_zero);
            bool same = true;
            for (int k = 0; k < 20; ++k) {
              const auto row = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows));
              const auto col = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(cols));
              const Extent extent =
                  k % 2 ? Extent{row, 1, col, 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(cols - col))}
                        : Extent{row, 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows - row)), 0, cols};
              const reference::Filled part = reference::fill(*evaluator, extent, two);
              for (std::int64_t e = 0; e < extent.elements(); ++e) {
                const auto at = static_cast<std::size_t>((row + e / extent.cols) * cols + extent.col + e % extent.cols);
                same = same && part.hi[static_cast<std::size_t>(e)] == f.hi[at] && part.lo[static_cast<std::size_t>(e)] == f.lo[at];
              }
            }
            CHECK(same);
          }
        }
}

// 12 bits of slope times a distance of up to 12 bits fit 24; many such products are ties of bf16 and f16.
// Found by a search near midpoints of binary32: the product lies 2^-30 ulp beyond one, and its double exactly on it.
TEST_CASE("alibi: a value whose double is a midpoint that the value is not") {
  Alibi alibi{.num_heads = 280, .rule = Rule::geometric, .form = Form::row};
  alibi.key_length = 1;
  alibi.query_length = 1;
  alibi.query_offset = 605248645;
  const auto encoding = erase(alibi);
  const MemoryFile file = generated(testing_support::spec_of(*encoding, DType::f32), plan(testing_support::spec_of(*encoding, DType::f32), ComplexForm::pair), {});
  const double stored = stored_value(DType::f32, file.bytes[0].data() + 138 * 4);
  const Number truth = Number(0) - Number(605248645) / exp2(Number(8) * 139 / 280);
  CHECK(stored == truth.rounded(DType::f32));
  CHECK(stored == -38584660);
}

TEST_CASE("alibi: learned slopes, whose products are exact and may be ties") {
  const Alibi s{.num_heads = 3, .slopes = {0.7001953125, -0.25, 0}, .kind = Kind::symmetric, .key_length = 600};
  const auto evaluator = erased(s)->evaluator();
  const reference::Filled f = reference::fill(*evaluator, {0, 1800, 0, 600}, false);
  int wrong = 0, ties = 0;
  for (std::size_t r = 0; r < 1800; r += 37) {
    CHECK(f.bounds[r].absolute == 0);
    CHECK(f.bounds[r].relative == 0);
    for (std::size_t c = 0; c < 600; ++c) {
      const Number truth = Number(s.slopes[r / 600]) * -std::fabs(static_cast<double>(c) - static_cast<double>(r % 600));
      wrong += truth.to_double() == f.hi[r * 600 + c] && (f.hi[r * 600 + c] != 0 || !std::signbit(f.hi[r * 600 + c])) ? 0 : 1;
      const double halved = truth.rounded(DType::bf16);
      const double other = 2 * truth.to_double() - halved;  // as far on the other side: a value of the format only in a tie
      ties += other != halved && Number(other).rounded(DType::bf16) == other ? 1 : 0;
      const std::int64_t index[] = {static_cast<std::int64_t>(r / 600), static_cast<std::int64_t>(r % 600), static_cast<std::int64_t>(c)};
      if (c % 50 == 0)
        for (const DType dtype : reference::float_dtypes) wrong += evaluator->truth(0, index, dtype) == truth.rounded(dtype) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  CHECK(ties > 0);
  // A slope of 53 bits is not exact times 3; the bound says so.
  const auto third =
      erased({.num_heads = 1, .slopes = {1.0 / 3}, .form = Form::row, .kind = Kind::relative, .key_length = 9})->evaluator();
  CHECK(reference::fill(*third, {0, 1, 0, 9}, false).bounds[0].relative > 0);
}

// The values of FIELD_LOG B20 (to its printed digits) and B21.
TEST_CASE("alibi: slopes that implementations get wrong") {
  CHECK(truths({.num_heads = 6, .form = Form::slopes}) == std::vector<double>{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125});
  CHECK(truths({.form = Form::slopes}) == std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625});
  const auto near = [](double a, double b) { return std::fabs(a - b) <= 5e-11; };
  const auto twelve = truths({.num_heads = 12, .form = Form::slopes});
  CHECK(near(twelve[8], 0.70710678119));
  CHECK(near(twelve[9], 0.35355339059));
  CHECK(near(twelve[10], 0.1767766953));
  CHECK(near(twelve[11], 0.088388347648));
  const auto forty = truths({.num_heads = 40, .form = Form::slopes});
  CHECK(near(forty[0], 0.84089641525));
  CHECK(near(forty[1], 0.70710678119));
  CHECK(forty[31] == 0.00390625);
  CHECK(near(forty[32], 0.9170040432));
  CHECK(near(forty[33], 0.7711054127));
  CHECK(near(forty[39], 0.27262693317));
  const auto plain = truths({.num_heads = 12, .rule = Rule::geometric, .form = Form::slopes});
  CHECK(near(plain[0], 0.62996052495));
  CHECK(near(plain[1], 0.39685026299));
}

TEST_CASE("alibi: cached decode") {
  // The first of 8 heads has slope 1/2.
  Alibi s{.head_count = 1, .form = Form::row, .key_length = 8};
  const std::vector<double> decode{-3.5, -3, -2.5, -2, -1.5, -1, -0.5, 0};
  CHECK(truths(s) == decode);
  s.query_length = 1;
  CHECK(truths(s) == decode);
  s.form = Form::matrix;  // one query, which sits at the last key
  CHECK(truths(s) == decode);
  s.kind = Kind::last_key;
  CHECK(truths(s) == decode);
  s.kind = Kind::key_only;
  CHECK(truths(s) == std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5});
  const auto causal = truths({.head_count = 1, .key_length = 5});
  const auto symmetric = truths({.head_count = 1, .kind = Kind::symmetric, .key_length = 5});
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) {
      CHECK(causal[static_cast<std::size_t>(5 * i + j)] == (j <= i ? -0.5 * (i - j) : -HUGE_VAL));
      CHECK(symmetric[static_cast<std::size_t>(5 * i + j)] == -0.5 * std::abs(i - j));
    }
  // Two queries at the end of 5 keys are the last two rows of the whole matrix.
  CHECK(truths({.head_count = 1, .key_length = 5, .query_length = 2}) == std::vector<double>(causal.begin() + 15, causal.end()));
}

TEST_CASE("alibi: sizes beyond 32 bits, and the compact forms that replace them") {
  const auto shape = [](Form form, std::int64_t keys) {
    return erased({.num_heads = 32, .form = form, .key_length = keys})->tensors()[0];
  };
  CHECK(shape(Form::matrix, 8192).elements() == 2147483648);
  CHECK(shape(Form::matrix, 32768).elements() == 34359738368);
  CHECK(shape(Form::row, 32768).elements() * 4 == 4194304);
  CHECK(shape(Form::toeplitz, 32768).elements() * 4 == 8388480);
  CHECK(shape(Form::slopes, 32768).elements() * 4 == 128);
  // A far corner of a large matrix costs what a near one does.
  const auto evaluator = erased({.num_heads = 32, .key_length = 1 << 20})->evaluator();
  const std::int64_t last = (std::int64_t{32} << 20) - 1;
  const reference::Filled f = reference::fill(*evaluator, {last, 1, (1 << 20) - 2, 2}, false);
  CHECK(f.hi == std::vector<double>{-0.00390625, 0});
}

TEST_CASE("alibi: positions of keys in padded batches") {
  // Left padding of two: (cumsum(mask) - 1) * mask.
  Alibi s{
      .head_count = 1, .form = Form::row, .kind = Kind::key_only, .key_length = 5, .key_positions = Positions::list({0, 0, 0, 1, 2})};
  CHECK(truths(s) == std::vector<double>{0, 0, 0, 0.5, 1});
  s.kind = Kind::last_key;
  CHECK(truths(s) == std::vector<double>{-1, -1, -1, -0.5, 0});
  s.kind = Kind::causal;
  s.form = Form::matrix;
  s.query_length = 2;
  s.query_offset = 1;
  CHECK(truths(s) == std::vector<double>{-0.5, -0.5, -0.5, 0, -HUGE_VAL, -1, -1, -1, -0.5, 0});
  const auto evaluator = erased(s)->evaluator();
  for (const bool two : {false, true}) CHECK(reference::fill(*evaluator, {0, 2, 0, 5}, two).hi == truths(s));
}

// Step by step in plain binary32 and bfloat16, as the three families write it.
TEST_CASE("alibi: arithmetics of BLOOM, MPT and Falcon") {
  const auto imitated = [](const Alibi& s, Arithmetic arithmetic, std::int64_t head, std::int64_t key) {
    return erased(s)->evaluator()->imitate(arithmetic, 0, std::array{head, key});
  };
  const Alibi bloom{.num_heads = 112, .form = Form::row, .kind = Kind::key_only, .key_length = 400};
  const float base = static_cast<float>(std::exp2(-0.125)), finer = static_cast<float>(std::exp2(-0.0625));
  CHECK(imitated(bloom, Arithmetic::float32, 62, 399) == num::pow_f32(base, 63) * 399.0f);
  CHECK(imitated(bloom, Arithmetic::float32, 111, 399) == num::pow_f32(finer, 95) * 399.0f);
  Alibi mpt = bloom;
  mpt.kind = Kind::last_key;
  CHECK(imitated(mpt, Arithmetic::float32, 62, 0) == 1.0f / num::pow_f32(2.0f, 63 * 0.125f) * -399.0f);
  CHECK(imitated(mpt, Arithmetic::float32, 111, 0) == 1.0f / num::pow_f32(2.0f, 95 * 0.0625f) * -399.0f);
  const auto bf16 = [](double x) { return num::value_of_bf16(num::round_to_bf16(x)); };
  CHECK(imitated(bloom, Arithmetic::bfloat16, 62, 399) == bf16(bf16(num::pow_f32(base, 63)) * bf16(399)));
}

TEST_CASE("alibi: what makes no sense is refused in one sentence") {
  const auto refused = [](void (*change)(Alibi&), const char* part) {
    Alibi s;
    CHECK(reference::refusal(*erased(s)) == "");
    change(s);
    const std::string sentence = reference::refusal(*erased(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
    CHECK(sentence.find('\n') == std::string::npos);
  };
  refused([](Alibi& s) { s.num_heads = 0; }, "num_heads");
  refused([](Alibi& s) { s.head_start = 8; }, "not heads of a layer");
  refused([](Alibi& s) { s.head_start = 6, s.head_count = 3; }, "heads 6 to 8 are not heads");
  refused([](Alibi& s) { s.head_count = 0; }, "head_count");
  refused([](Alibi& s) { s.alibi_bias_max = 0; }, "alibi_bias_max");
  refused([](Alibi& s) { s.alibi_bias_max = 513; }, "alibi_bias_max");
  refused([](Alibi& s) { s.slopes = {1, 2}; }, "slopes has 2 entries");
  refused([](Alibi& s) { s.num_heads = 1, s.slopes = {1e-300}; }, "not a usable number");
  refused([](Alibi& s) { s.num_heads = 1, s.slopes = {0.5}, s.rule = Rule::sorted; }, "the slopes themselves");
  refused([](Alibi& s) { s.num_heads = 1, s.slopes = {0.5}, s.alibi_bias_max = 16; }, "the slopes themselves");
  refused([](Alibi& s) { s.key_length = 0; }, "key_length");
  refused([](Alibi& s) { s.query_length = 0; }, "query_length");
  refused([](Alibi& s) { s.query_length = 1025; }, "larger than key_length");
  refused([](Alibi& s) { s.query_offset = -1; }, "mask whole rows");
  refused([](Alibi& s) { s.form = Form::toeplitz, s.kind = Kind::key_only; }, "no function of the distance");
  refused([](Alibi& s) { s.form = Form::toeplitz, s.kind = Kind::last_key; }, "no function of the distance");
  refused([](Alibi& s) { s.form = Form::toeplitz, s.key_positions = Positions::range(0, 1024); }, "no keys for key_positions");
  refused([](Alibi& s) { s.key_positions = Positions::range(0, 5); }, "key_positions has 5 entries");
  refused([](Alibi& s) { s.key_length = 2, s.key_positions = Positions::list({0, 0.5}); }, "wants integers");
  refused([](Alibi& s) { s.key_length = 1, s.key_positions = Positions::list({0x1p52}); }, "wants integers");
}

TEST_CASE("alibi: laws hold of right tables in every dtype and notice wrong values") {
  for (const Kind kind : kinds)
    for (const Form form : {Form::slopes, Form::row, Form::toeplitz, Form::matrix})
      for (const double max : {8.0, 16.0}) {
        if (form == Form::toeplitz && !of_distance(kind)) continue;
        Alibi s{.num_heads = 12, .alibi_bias_max = max, .form = form, .kind = kind, .key_length = 13};
        for (const std::int64_t offset : {0, 7, 200000}) {  // f16 overflows at the last
          s.query_offset = offset;
          const auto encoding = erased(s);
          for (const DType dtype : reference::float_dtypes) CHECK(reference::Values(*encoding, dtype).broken(*encoding) == "");
        }
      }
  const auto broken = [](const Alibi& s, std::int64_t row, std::int64_t col, double value) {
    const auto encoding = erased(s);
    reference::Values values(*encoding, DType::f32);
    values.at(row, col) = value;
    return values.broken(*encoding);
  };
  Alibi s{.num_heads = 4, .key_length = 9};
  CHECK(broken(s, 3, 4, 0) == "toeplitz mask");
  CHECK(broken(s, 3, 1, -0.5001) == "toeplitz");
  s.kind = Kind::symmetric;
  CHECK(broken(s, 3, 5, 0.5).find("symmetric") != std::string::npos);
  s.kind = Kind::deepmind;
  CHECK(broken(s, 3, 5, 0.5).find("half") != std::string::npos);
  s.kind = Kind::key_only;
  CHECK(broken(s, 3, 5, 0.5) == "row-constant");
  s.form = Form::slopes;
  CHECK(broken(s, 0, 2, 0.3) == "ratio");
  // The plain series in place of the reference rule.
  const Alibi right{.num_heads = 12, .form = Form::slopes};
  Alibi wrong = right;
  wrong.rule = Rule::geometric;
  CHECK(reference::Values(*erased(wrong), DType::f32).broken(*erased(right)) == "ratio");
}

}  // namespace
