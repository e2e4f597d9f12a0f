// Section precision of analyze: FIELD_LOG's right values, numpy's, and every position by itself in arithmetic of the test.
#include <bit>
#include <cmath>
#include <random>

#include "analyze/angle_error.hpp"
#include "analyze/sections.hpp"
#include "encodings/mrope.hpp"
#include "posenc/text.hpp"

using namespace posenc;
using namespace analyze_test;

namespace posenc::analyze_sections {
std::optional<Section> precision(const Question&);
}

namespace {

Section precision_of(const Encoding& encoding, std::int64_t context, DType dtype = DType::f32) {
  const auto section = analyze_sections::precision({encoding, nullptr, {}, context, dtype, false});
  REQUIRE(section.has_value());
  check_shape(*section);
  return *section;
}

float bf16(float x) {
  auto u = std::bit_cast<std::uint32_t>(x);
  u += 0x7fff + (u >> 16 & 1);
  return std::bit_cast<float>(u & 0xffff0000);
}
// The C++ compiler's own binary16, with its conversions of the machine.
float f16(float x) { return static_cast<float>(static_cast<_Float16>(x)); }

// One angle as code of each way forms it.
double angle(std::string_view way, double exact, float model, std::int64_t p) {
  const auto position = static_cast<float>(p);
  if (way == "f64") return static_cast<double>(p) * exact;
  if (way == "f32") return position * model;
  if (way == "bf16_kept") return position * bf16(model);
  if (way == "f16_kept") return position * f16(model);
  if (way == "bf16") return bf16(bf16(position) * bf16(model));  // 16 bits: exact in binary32
  return f16(f16(position) * f16(model));                        // 22 bits: the same
}

}  // namespace

TEST_CASE("B02: positions and frequencies in 16 bits") {
  const auto rope = made("rope", {{"head_dim", "128"}});
  const Section at4096 = precision_of(*rope, 4096, DType::bf16);
  CHECK(count(figure(at4096, "distinct_positions")) == 769);
  CHECK(count(cell(grid(at4096, "casts"), "float16", "distinct")) == 3073);
  CHECK(count(cell(grid(at4096, "casts"), "bfloat16", "first_lost")) == 257);
  // (c): pair 1 at 4095. Its worst is there: the product with 111/128 is exact in binary32.
  const Grid& ways = grid(at4096, "ways");
  CHECK(number(cell(ways, "float32, inv_freq cast to bfloat16", "worst")) == doctest::Approx(5.0089083).epsilon(1e-8));
  CHECK(count(cell(ways, "float32, inv_freq cast to bfloat16", "pair")) == 1);
  CHECK(count(cell(ways, "float32, inv_freq cast to bfloat16", "position")) == 4095);
  CHECK(count(cell(ways, "float32, inv_freq cast to bfloat16", "past_limit")) == 28);  // numpy, all positions
  CHECK(at4096.findings.front() ==
        "bfloat16 positions: 769 of 4096 rows are distinct, 257 is the first that equals the one before; form angles in float32 or "
        "better and round only cos and sin");
  CHECK(has_finding(at4096, "inv_freq cast to bfloat16: 28 of 64 pairs are off by more than 0.1 rad, the first at position 82, pair 1 "
                            "by 5.008908 rad at 4095"));

  const auto base1e6 = made("rope", {{"base", "1000000"}});
  CHECK(number(cell(grid(precision_of(*base1e6, 32768), "ways"), "float32, inv_freq cast to bfloat16", "worst")) ==
        doctest::Approx(37.8356539).epsilon(1e-8));
  // At 131071 the product with 209/256 needs 25 bits: half a step of binary32 (1/256) more than the frequency's 234.4881349.
  const auto base5e5 = made("rope", {{"base", "500000"}});
  CHECK(number(cell(grid(precision_of(*base5e5, 131072), "ways"), "float32, inv_freq cast to bfloat16", "worst")) ==
        doctest::Approx(234.4881349 + 1.0 / 256).epsilon(1e-8));

  const Section long_table = precision_of(*rope, 131072, DType::bf16);
  CHECK(has_finding(long_table, "bfloat16 positions: 1409 of 131072 rows are distinct"));
  CHECK(has_finding(long_table, "float16 positions: 7169 of 131072 rows are distinct"));
  CHECK(has_finding(long_table, "from 65520 on all are infinite"));
  CHECK(count(cell(grid(long_table, "ways"), "float16 throughout", "infinite_from")) == 65520);

  // (b): d = 32, position 1857, pair 1: 1045 in place of 1044.2678408785. Worst of the table at 2008: cos off by 0.78, so the
  // angle by at least as much.
  const auto narrow = made("rope", {{"head_dim", "32"}});
  const Grid worst = grid(precision_of(*narrow, 1858, DType::f16), "worst");
  CHECK(number(worst.rows[1][column(worst, "f16")]) >= 1045 - 1044.2678408785 - 1e-9);
  const Grid whole = grid(precision_of(*narrow, 2048, DType::f16), "worst");
  CHECK(number(whole.rows[1][column(whole, "f16")]) >= 0.7818925);
}

TEST_CASE("B19, B28: what binary32 costs") {
  // numpy binary32 with frequencies 1 / pow, pow rounded from 60 digits: the worst of all positions below 131072.
  const auto rope = made("rope", {{"base", "500000"}});
  const Section section = precision_of(*rope, 131072);
  const Grid& worst = grid(section, "worst");
  const std::size_t f32 = column(worst, "f32");
  CHECK(number(worst.rows[1][f32]) == doctest::Approx(0.006155909820094507).epsilon(1e-9));
  CHECK(number(worst.rows[2][f32]) == doctest::Approx(0.009338426532288224).epsilon(1e-9));
  CHECK(number(worst.rows[30][f32]) == doctest::Approx(2.3903182322704275e-05).epsilon(1e-9));
  CHECK(number(worst.rows[0][f32]) == 0);  // frequency 1, integers below 2^24
  const Grid& ways = grid(section, "ways");
  CHECK(count(cell(ways, "float32, as model code does", "pair")) == 2);
  CHECK(count(cell(ways, "float32, as model code does", "position")) == 130928);
  CHECK(has_finding(section, "float32 as in model code: the phase error is at most 0.00934 rad (pair 2, position 130928), cos and sin are off by no more before"));
  // 1.25 times 0.009338426.
  const auto louder = made("rope", {{"base", "500000"}, {"attention_factor", "1.25"}});
  CHECK(has_finding(precision_of(*louder, 131072), "(pair 2, position 130928), cos and sin are off by no more than 0.0117 before"));
  // B19: the cosine of one position, 131071, is already off by 1.91e-3 in pair-by-pair binary32.
  CHECK(number(worst.rows[2][f32]) >= 1.91e-3);
  // B28: an ulp of inv_freq is 0.00781244 rad at 131071; binary32 code (1.3 ulp and half an ulp of the angle) stays within
  // twice that.
  const double f = 0.814617233857, ulp = 0x1p-24;
  const analyze_sections::AngleError one_ulp(num::Real::of(f), f + ulp, num::format_of(DType::f64), num::format_of(DType::f64));
  CHECK(one_ulp.worst(131072).error == doctest::Approx(0.00781244).epsilon(1e-6));
  for (const auto& row : worst.rows) CHECK(number(row[f32]) <= 2 * 0.00781244);
}

TEST_CASE("precision: every way, every pair, against every position") {
  std::mt19937_64 random(5);
  const std::vector<std::pair<std::string, std::string>> rules[] = {
      {},
      {{"method", "linear"}, {"factor", "3"}},
      {{"method", "ntk"}, {"factor", "5"}},
      {{"attention_factor", "1.25"}},
  };
  const double factors[] = {1, 3, 5, 1};
  for (int trial = 0; trial < 8; ++trial) {
    const std::size_t rule = static_cast<std::size_t>(trial) % 4;
    const int d = 4 + 2 * static_cast<int>(random() % 20);
    const double base = std::round(std::exp2(std::uniform_real_distribution<double>(3, 20)(random)));
    const auto n = static_cast<std::int64_t>(1000 + random() % 12000);
    auto settings = rules[rule];
    settings.insert(settings.begin(), {{"head_dim", std::to_string(d)}, {"base", std::to_string(static_cast<long>(base))}});
    const auto rope = made("rope", settings);
    const Section section = precision_of(*rope, n);
    const Grid& worst = grid(section, "worst");
    const Grid& first = grid(section, "first_past");
    REQUIRE(worst.rows.size() == static_cast<std::size_t>(d / 2));
    for (int i = 0; i < d / 2; ++i) {
      // Frequencies by the C library's long double.
      const bool ntk = rule == 2;
      const long double stretched = ntk ? base * std::pow(5.0L, static_cast<long double>(d) / (d - 2)) : base;
      const long double divisor = ntk ? 1 : factors[rule];
      const long double truth = std::pow(stretched, -2.0L * i / d) / divisor;
      const float exponent = static_cast<float>(2 * i) / static_cast<float>(d);
      const float power = static_cast<float>(std::pow(static_cast<long double>(static_cast<float>(stretched)), static_cast<long double>(exponent)));
      const float model = 1.0f / power / static_cast<float>(divisor);
      for (const char* way : {"f64", "f32", "bf16_kept", "f16_kept", "bf16", "f16"}) {
        double most = 0;
        std::int64_t past = -1;
        for (std::int64_t p = 0; p < n; ++p) {
          const auto error = static_cast<double>(std::fabs(angle(way, static_cast<double>(truth), model, p) - static_cast<long double>(p) * truth));
          most = std::max(most, error);
          if (past < 0 && error > 0.1) past = p;
        }
        CAPTURE(way);
        CAPTURE(i);
        CAPTURE(d);
        CAPTURE(base);
        // The oracle's p * truth has 64 bits: 2^-11 of what binary64 leaves, 2^-40 of binary32's.
        const double tolerance = std::string_view(way) == "f64" ? 0x1p-9 : 1e-9;
        const auto row = static_cast<std::size_t>(i);
        CHECK(number(worst.rows[row][column(worst, way)]) == doctest::Approx(most).epsilon(tolerance));
        const Cell& at = first.rows[row][column(first, way)];
        CHECK((empty(at) ? -1 : count(at)) == past);
      }
    }
  }
}

TEST_CASE("precision: what a stored type costs by itself is half a step below the amplitude") {
  const auto plain = made("rope", {});
  CHECK(number(figure(precision_of(*plain, 64, DType::f32), "rounding")) == 0x1p-25);
  CHECK(number(figure(precision_of(*plain, 64, DType::bf16), "rounding")) == 0x1p-9);
  CHECK(number(figure(precision_of(*plain, 64, DType::f16), "rounding")) == 0x1p-12);
  const auto louder = made("rope", {{"attention_factor", "1.25"}});
  CHECK(number(figure(precision_of(*louder, 64, DType::bf16), "rounding")) == 0x1p-8);
}

TEST_CASE("precision: sets, lengths and encodings") {
  // LongRoPE: the long list above the original length.
  const auto longrope = made("rope", {{"head_dim", "4"}, {"method", "longrope"}, {"short_factor", "1,1"}, {"long_factor", "2,4"},
                                      {"original_max_position_embeddings", "100"}, {"factor", "2"}});
  const Section below = precision_of(*longrope, 100), above = precision_of(*longrope, 101);
  CHECK(std::get<std::string>(figure(below, "frequency_set")) == "short");
  CHECK(number(grid(below, "worst").rows[0][1]) == 1);
  CHECK(std::get<std::string>(figure(above, "frequency_set")) == "long");
  CHECK(number(grid(above, "worst").rows[0][1]) == 0.5);
  // No context: the trained length; neither, and there is nothing to say.
  const auto own = made("rope", {{"positions", "300"}, {"offset", "10"}});
  CHECK(count(figure(*analyze_sections::precision({*own, nullptr, 310, {}, DType::f32, false}), "positions")) == 310);
  CHECK_FALSE(analyze_sections::precision({*own, nullptr, {}, {}, DType::f32, false}).has_value());
  // Several axes, the same frequencies.
  const Section axes = precision_of(*made("mrope", {{"head_dim", "128"}}), 4096), axis = precision_of(*made("rope", {{"head_dim", "128"}, {"base", print(Mrope{}.base)}}), 4096);
  CHECK(grid(axes, "worst").rows == grid(axis, "worst").rows);
  // Pairs that stand still are never off.
  const auto still = made("rope", {{"head_dim", "4"}, {"inv_freq", "1,0"}});
  const Section quiet = precision_of(*still, 1000);
  for (std::size_t c = 2; c < 8; ++c) CHECK(number(grid(quiet, "worst").rows[1][c]) == 0);
  // Nothing to say.
  const auto t5 = made("t5", {});
  CHECK_FALSE(analyze_sections::precision({*t5, nullptr, {}, 512, DType::f32, false}).has_value());
  CHECK_FALSE(analyze_sections::precision({*own, nullptr, {}, 512, DType::i64, false}).has_value());
  // The longest of all.
  const Section huge = precision_of(*own, std::int64_t{1} << 53);
  CHECK(count(figure(huge, "distinct_positions")) == (1 << 24) + 1 + std::int64_t{29} * (1 << 23));
  CHECK(count(cell(grid(huge, "casts"), "bfloat16", "distinct")) == 257 + 45 * 128);
}

TEST_CASE("precision: sinusoidal tables and the slopes of ALiBi") {
  // fairseq's frequencies: exp(i * -(ln 10000 / (n - 1))), the factor rounded to binary32, the exponential too.
  const auto sinusoidal = made("sinusoidal", {{"dim", "16"}, {"divisor", "n-1"}, {"layout", "concatenated"}});
  const Section table = precision_of(*sinusoidal, 3000);
  const Grid& worst = grid(table, "worst");
  REQUIRE(worst.rows.size() == 8);
  const auto step = static_cast<float>(-(std::log(10000.0) / 7));
  for (int i = 0; i < 8; ++i) {
    const float model = static_cast<float>(std::exp(static_cast<double>(static_cast<float>(i) * step)));
    const long double truth = std::pow(10000.0L, -static_cast<long double>(i) / 7);
    double most = 0;
    for (std::int64_t p = 0; p < 3000; ++p)
      most = std::max(most, static_cast<double>(std::fabs(static_cast<float>(p) * model - static_cast<long double>(p) * truth)));
    CHECK(number(worst.rows[static_cast<std::size_t>(i)][column(worst, "f32")]) == doctest::Approx(most).epsilon(1e-9));
  }
  // Falcon: 71 heads, slopes and positions in bfloat16. Head 0 of 8 is exactly 1/2: the bias of key p is bf16(p) / 2.
  const auto alibi = made("alibi", {{"num_heads", "8"}, {"kind", "key-only"}});
  const Section bias = precision_of(*alibi, 2048, DType::bf16);
  const Grid& heads = grid(bias, "worst");
  CHECK(heads.columns[0].key == "head");
  double most = 0;
  for (int p = 0; p < 2048; ++p) most = std::max(most, std::fabs(static_cast<double>(bf16(static_cast<float>(p))) / 2 - p / 2.0));
  CHECK(number(heads.rows[0][column(heads, "bf16")]) == most);
  CHECK(number(heads.rows[0][column(heads, "f32")]) == 0);
  CHECK(number(cell(grid(bias, "ways"), "float32, slope cast to bfloat16", "worst")) == 0);  // powers of two
  CHECK(has_finding(bias, "bfloat16 positions: 641 of 2048 rows are distinct"));
  CHECK(has_finding(bias, "multiply slopes by positions in float32 or better and round only the bias"));
}
