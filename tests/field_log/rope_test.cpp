// Field log, rotary tables: bases, widths, rescaling rules, magnitudes, precision. Right values were computed with mpmath at 40 digits.
#include "field_log/field_log.hpp"

#include <algorithm>
#include <set>

using namespace field_log;

TEST_CASE("field log: a printed number is held to half a unit of its last digit") {
  CHECK(rounds_to(Big("0.1"), "0.1"));
  CHECK(rounds_to(Big("0.1000000000004"), "0.1"));
  CHECK(!rounds_to(Big("0.1000000000006"), "0.1"));
  CHECK(rounds_to(Big("0.1000000000006"), "0.1", 0));
  CHECK(rounds_to(Big("9.5551e-7"), "9.56e-7", 0));
  CHECK(!rounds_to(Big("9.5549e-7"), "9.56e-7", 0));
  CHECK(rounds_to(Big("-1000.4"), "-1000", 0));
  CHECK(!rounds_to(Big("-1000.6"), "-1000", 0));
  CHECK(rounds_to(Big("512"), "512"));
  CHECK(!rounds_to(Big("512.000000001"), "512"));
  CHECK(significant("0.00122070") == 6);
}

TEST_CASE("B01: the base, not 10000") {
  const auto with_base = [](const std::string& base) { return Settings{{"head_dim", "128"}, {"base", base}}; };
  check(inv_freq(with_base("10000")), {{1, "0.86596432336"}, {16, "0.1"}, {32, "0.01"}, {63, "0.000115478198469"}});
  check(inv_freq(with_base("500000")), {{1, "0.814617233857"}, {16, "0.0376060309309"}, {32, "0.00141421356237"}, {63, "2.45514079113e-6"}});
  check(inv_freq(with_base("1000000")), {{1, "0.805842187761"}, {16, "0.0316227766017"}, {32, "0.001"}, {63, "1.24093776075e-6"}});
  const auto angles = [&](const std::string& base) { return produced(rope(with_base(base)).with({{"layout", "angles"}, {"positions", only(1000)}})); };
  check(angles("10000"), {{1, "865.96432336"}, {16, "100"}, {32, "10"}, {63, "0.115478198469"}});
  check(angles("500000"), {{1, "814.617233857"}, {16, "37.6060309309"}, {32, "1.41421356237"}, {63, "0.00245514079113"}});
  CHECK(angles("10000")[0] == angles("500000")[0]);
  // base = (inv_freq[0] / inv_freq[1])^(d/2): half an ulp of the second, 64 times.
  for (const std::string base : {"10000", "500000", "1000000"}) {
    const Values f = inv_freq(with_base(base));
    CHECK(abs(pow(Big(f[0]) / Big(f[1]), 64) / Big(base) - 1) < 65 * ldexp(Big(1), -53));
  }
  // Wherever the config says it; where none is said, nothing is taken for it.
  check(inv_freq_of(reading_of(config_of("meta-llama--Meta-Llama-3-8B"))), {{63, "2.45514079113e-6"}});
  check(inv_freq_of(reading_of(config_of("awkward--base_only_in_text_config"))), {{63, "1.24093776075e-6"}});
  const std::string llama = R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,)";
  const std::string nested = R"("rope_parameters":{"rope_type":"default","rope_theta":500000.0}})";
  check(inv_freq_of(reading_of(llama + nested)), {{63, "2.45514079113e-6"}});
  refused(R"({"model_type":"brand_new","hidden_size":4096,"num_attention_heads":32})", {"rope_theta"});
  refused(llama + R"("rope_theta":10000.0,)" + nested, {"10000", "500000"});
}

TEST_CASE("B02: positions and frequencies in 16 bits") {
  // (a) With frequency 1 the angle is the position, rounded once to the dtype.
  const auto distinct = [](const std::string& n, const std::string& dtype) {
    const Values v = produced(Command{"rope"}.with({{"head_dim", "2"}, {"layout", "angles"}, {"positions", n}}).as(dtype));
    return std::set<double>(v.begin(), v.end()).size();
  };
  CHECK(distinct("4096", "bf16") == 769);
  CHECK(distinct("4096", "f16") == 3073);
  CHECK(distinct("8192", "bf16") == 897);
  CHECK(distinct("8192", "f16") == 4097);
  CHECK(distinct("32768", "bf16") == 1153);
  CHECK(distinct("32768", "f16") == 6145);
  CHECK(distinct("131072", "bf16") == 1409);
  CHECK(distinct("131072", "f16") == 7169);  // infinity counts: from 65520 on
  // (b) 1857 times the frequency of pair 1, and where binary16 takes it.
  check(produced(rope({{"head_dim", "32"}, {"layout", "angles"}, {"positions", only(1857)}})), {{1, "1044.2678408785"}});
  check(row({{"head_dim", "32"}}, 1857), {{1, "0.306692809819"}});
  check(row({{"head_dim", "2"}}, 1045), {{0, "-0.408164620577"}});
  // The whole of 2048 x 16: angles are products in binary16. The log compares with binary32's path (0.7818925, cut where
  // rounding gives 0.7818926); the truth is 1.5e-5 further off. Both by numpy 1.24: 0.78189256433 and 0.78190768390.
  const std::string all = "2048";
  const Values half_frequencies = produced(rope({{"head_dim", "32"}, {"layout", "inv-freq"}}).as("f16"));
  const Values half_angles = produced(
      rope({{"head_dim", "32"}, {"inv_freq", posenc::print(std::span<const double>(half_frequencies))}, {"layout", "angles"}, {"positions", all}}).as("f16"));
  check(half_angles.at(1857 * 16 + 1), 1045);
  const Command whole = rope({{"head_dim", "32"}, {"positions", all}}).only("cos");
  const auto worst_cosine = [&](const Values& reference) {
    std::size_t worst = 0;
    const auto off = [&](std::size_t at) { return std::fabs(std::cos(half_angles[at]) - reference[at]); };
    for (std::size_t at = 0; at < half_angles.size(); ++at)
      if (off(at) > off(worst)) worst = at;
    CHECK(worst == 2008 * 16 + 1);
    return off(worst);
  };
  check(worst_cosine(produced(whole.as("f32", "float32"))), "0.78189256", 0);
  check(worst_cosine(produced(whole)), "0.78190768", 0);
  // (c) Frequencies kept as bfloat16.
  const auto worst_phase = [](const std::string& base, double position) {
    const Command f = rope({{"head_dim", "128"}, {"base", base}, {"layout", "inv-freq"}});
    const Values exact = produced(f), rounded = produced(f.as("bf16"));
    double most = 0;
    for (std::size_t i = 0; i < 64; ++i) most = std::max(most, position * std::fabs(exact[i] - rounded[i]));
    return most;
  };
  const Values bf16 = produced(rope({{"head_dim", "128"}, {"layout", "inv-freq"}}).as("bf16"));
  check(bf16[1], 0.8671875);
  // A product and a difference of binary64: 2^-52 of position, no part of the eight digits.
  check(worst_phase("10000", 4095), "5.0089083", 0, 1e-12);
  check(worst_phase("1000000", 32767), "37.8356539", 0, 1e-11);
  check(worst_phase("500000", 131071), "234.4881349", 0, 1e-10);
  const Values right = row({{"head_dim", "128"}}, 4095);
  const Values wrong = row({{"head_dim", "128"}, {"inv_freq", posenc::print(std::span<const double>(bf16))}}, 4095);
  double most = 0;
  int off = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    most = std::max(most, std::fabs(right[i] - wrong[i]));
    off += std::fabs(right[i] - wrong[i]) > 0.1 ? 1 : 0;
  }
  check(most, "1.6787847", 0);
  CHECK(off == 23);
  // (d) bfloat16's step at 15962 is 64.
  check(produced(Command{"rope"}.with({{"head_dim", "2"}, {"layout", "angles"}, {"positions", only(15962)}}).as("bf16"))[0], 15936);
  const Values cosines = produced(rope({{"head_dim", "2"}, {"positions", "15962,15936,16000"}}).only("cos"));
  check(cosines, {{0, "-0.908015901251"}, {1, "-0.267950071128"}, {2, "-0.991381434468"}});
}

TEST_CASE("B03: llama3 frequency scaling is applied, with the checkpoint's factor") {
  const posenc::Reading large = reading_of(config_of("meta-llama--Llama-3.1-8B"));
  const Values plain = inv_freq_of(large, {{"method", "default"}}), scaled = inv_freq_of(large);
  for (std::size_t i = 0; i < 64; ++i) {
    INFO(i);
    if (i <= 28) CHECK(scaled[i] == plain[i]);
    if (i > 28 && i < 35) CHECK((scaled[i] < plain[i] && scaled[i] > plain[i] / 8));
    if (i >= 35) CHECK(scaled[i] == plain[i] / 8);
  }
  check(scaled, {{29, "0.0021665707635"}, {30, "0.00137189356776"}, {31, "0.00085675141292"}, {32, "0.000524846160993"},
                 {33, "0.000312693750384"}, {34, "0.000178507812768"}, {35, "9.55621235396e-5"}, {63, "3.06892598891e-7"}});
  const Values divisors = produced(spec_of(large, {{"layout", "divisors"}}));
  REQUIRE(divisors.size() == 64);
  for (std::size_t i = 0; i <= 28; ++i) CHECK(divisors[i] == 1);
  for (std::size_t i = 35; i < 64; ++i) CHECK(divisors[i] == 8);
  check(divisors, {{29, "1.207483871"}, {30, "1.553414629"}, {31, "2.026313206"}, {32, "2.694529688"}, {33, "3.684252528"}, {34, "5.257326589"}}, 10);

  const posenc::Reading small = reading_of(config_of("meta-llama--Llama-3.2-1B"));
  const Values plain_small = inv_freq_of(small, {{"method", "default"}}), scaled_small = inv_freq_of(small);
  REQUIRE(scaled_small.size() == 32);
  for (std::size_t i = 0; i <= 14; ++i) CHECK(scaled_small[i] == plain_small[i]);
  for (std::size_t i = 18; i < 32; ++i) CHECK(scaled_small[i] == plain_small[i] / 32);
  check(scaled_small, {{15, "0.00129054792821"}, {16, "0.000429556796559"}, {17, "9.70828780263e-5"}, {31, "9.41830672543e-8"}});
  check(inv_freq_of(small, {{"factor", "8"}}), {{31, "3.76732269017e-7"}});

  const auto cosine = [&](const Settings& more) {
    Settings settings{{"layout", "half-width"}, {"positions", only(100000)}};
    settings.insert(settings.end(), more.begin(), more.end());
    return produced(spec_of(large, settings)).at(40);
  };
  check(cosine({{"method", "default"}}), "-0.660346451966");
  check(cosine({}), "-0.959236140336");
  check(produced(spec_of(large, {{"layout", "cache"}, {"positions", only(8191)}})),
        {{0, "-0.646390469764"}, {64, "-0.763006789352"}, {29, "0.450764437144"}, {93, "-0.89264294217"}, {63, "0.999996840514"}, {127, "0.00251375463013"}});
}

TEST_CASE("B04: YaRN's two magnitudes") {
  const auto yarn = [](const std::string& s, const Settings& more = {}) {
    Settings settings{{"method", "yarn"}, {"factor", s}, {"original_max_position_embeddings", "4096"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return amplitude(settings);
  };
  // Rule 1: g(s) = 0.1 ln(s) + 1.
  check(yarn("4"), "1.13862943611199");
  check(yarn("8"), "1.20794415416798");
  check(yarn("16"), "1.27725887222398");
  check(yarn("32"), "1.34657359027997");
  check(yarn("40"), "1.36888794541139");
  check(yarn("64"), "1.41588830833597");
  check(yarn("128"), "1.48520302639196");
  check(yarn("16") * yarn("16"), "1.63139022667487", 12, 4e-16);  // three roundings
  // Rules 2 and 3: equal weights, and 1 by name.
  for (const std::string s : {"4", "16", "40", "64"}) {
    CHECK(yarn(s, {{"mscale", "1"}, {"mscale_all_dim", "1"}}) == 1);
    CHECK(yarn(s, {{"mscale", "0.707"}, {"mscale_all_dim", "0.707"}}) == 1);
    CHECK(yarn(s, {{"mscale_rule", "one"}}) == 1);
    CHECK(yarn(s, {{"mscale", "1"}, {"mscale_all_dim", "1"}, {"mscale_rule", "paper"}}) == yarn(s));
  }
  // g(40, 0.707): the amplitude of weight 0.707 over one of weight 0.
  check(yarn("40", {{"mscale", "0.707"}, {"mscale_all_dim", "0"}, {"mscale_rule", "ratio"}}), "1.2608037774059");

  const posenc::Reading v3 = reading_of(config_of("deepseek-ai--DeepSeek-V3"));
  CHECK(amplitude(spec_of(v3, {})) == 1);
  // A logarithm, a product, a sum and a square in binary64: 4 ulp. The scale: a root and products, 4 more.
  check(v3.softmax_multiplier, "1.8738542070926", 12, 8e-16);
  REQUIRE(v3.qk_head_dim == 192);
  check(1 / std::sqrt(192.0), "0.072168783648703", 12, 3e-17);
  check(v3.softmax_multiplier / std::sqrt(192.0), "0.13523377886088", 12, 2e-16);
  const posenc::Reading lite = reading_of(
      R"({"model_type":"deepseek_v2","qk_rope_head_dim":64,"qk_nope_head_dim":128,"rope_theta":10000,"max_position_embeddings":163840,
          "rope_scaling":{"type":"yarn","factor":40,"original_max_position_embeddings":4096,"mscale":0.707,"mscale_all_dim":0.707}})");
  CHECK(amplitude(spec_of(lite, {})) == 1);
  check(lite.softmax_multiplier, "1.5896261651209", 12, 8e-16);
  const posenc::Reading kimi = reading_of(
      R"({"model_type":"kimi_k2","qk_rope_head_dim":64,"qk_nope_head_dim":128,"rope_theta":50000,"max_position_embeddings":262144,
          "rope_scaling":{"type":"yarn","factor":64,"original_max_position_embeddings":4096,"mscale":1.0,"mscale_all_dim":1.0}})");
  CHECK(amplitude(spec_of(kimi, {})) == 1);
  check(kimi.softmax_multiplier, "2.0047397016825", 12, 9e-16);
  // Ministral's equal pair is inert: no factor on the softmax.
  const posenc::Reading ministral = reading_of(config_of("mistralai--Ministral-3-3B-Reasoning-2512"));
  CHECK(amplitude(spec_of(ministral, {})) == 1);
  CHECK(ministral.softmax_multiplier == 1);
}

namespace {

// R(position) times a vector, and a product: eight terms of at most 8 each, a rounding per step.
constexpr double rotation_off = 8 * 64 * 0x1p-53;
std::vector<double> rotated(const std::string& stride, std::int64_t position, const Values& v) {
  const Values r = produced(rope({{"head_dim", "8"}, {"pair_stride", stride}, {"layout", "matrix"}, {"positions", only(position)}}));
  Values out(8);
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j) out[i] += r[8 * i + j] * v[j];
  return out;
}
double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

TEST_CASE("B05: half-split and interleaved pairs") {
  const Values q{1, 2, 3, 4, 5, 6, 7, 8}, k{8, 7, 6, 5, 4, 3, 2, 1};
  const auto all = [](const Values& got, std::initializer_list<std::string_view> right) {
    std::size_t i = 0;
    for (const std::string_view text : right) check(got[i++], text, 10, rotation_off);
  };
  all(rotated("4", 3, q), {"-1.6955925369", "0.1375517383", "2.7886815998", "3.975982036", "-4.8088424749", "6.3230593481", "7.0868367369", "8.011963982"});
  all(rotated("1", 3, q), {"-1.2722325127", "-1.8388649851", "1.6839286407", "4.7079065765", "4.8177771675", "6.1472777035", "6.975968536", "8.0209639685"});
  // A product of rotated vectors: 8 products up to 10 * 10, each factor off as above.
  const double off = 8 * 20 * rotation_off;
  check(dot(rotated("4", 5, q), rotated("4", 2, k)), "45.92956725201566", 0, off);
  check(dot(rotated("1", 5, q), rotated("1", 2, k)), "70.27903255028566", 0, off);
  check(dot(rotated("4", 5, q), rotated("1", 2, k)), "26.23439410118968", 0, off);
  // Half-split rows in the order of interleaved ones turn alike, and the order is no involution.
  const std::size_t order[] = {0, 4, 1, 5, 2, 6, 3, 7}, twice[] = {0, 2, 4, 6, 1, 3, 5, 7};
  Values permuted(8);
  for (std::size_t i = 0; i < 8; ++i) {
    permuted[i] = q[order[i]];
    CHECK(order[order[i]] == twice[i]);
  }
  const Values half = rotated("4", 3, q), interleaved = rotated("1", 3, permuted);
  for (std::size_t i = 0; i < 8; ++i) CHECK(interleaved[i] == half[order[i]]);
}

TEST_CASE("B06: head_dim, rotated width, denominator and partner are four numbers") {
  const posenc::Reading minimax = reading_of(config_of("MiniMaxAI--MiniMax-M2"));
  CHECK(setting(minimax, "head_dim") == "128");
  check(inv_freq_of(minimax), {{1, "0.617528758126"}, {16, "0.0004472135955"}, {31, "3.23871556374e-7"}});
  check(inv_freq({{"head_dim", "128"}, {"base", "5e6"}}), {{1, "0.78582998042"}, {16, "0.0211474252688"}, {31, "0.000569097141421"}});
  // GLM-4's half is its class's, the key is absent.
  const Values glm = inv_freq_of(reading_of(R"({"model_type":"glm","hidden_size":4096,"num_attention_heads":32,"rope_theta":10000.0})"));
  CHECK(glm.size() == 32);
  check(glm, {{1, "0.749894209332"}, {31, "0.000133352143216"}});
  check(inv_freq({{"head_dim", "128"}}), {{1, "0.86596432336"}, {31, "0.0115478198469"}});
  const Settings partial{{"head_dim", "256"}, {"rotary_dim", "64"}, {"base", "1e7"}};
  check(inv_freq(partial), {{1, "0.604296390238"}, {16, "0.000316227766017"}});
  check(inv_freq({{"head_dim", "256"}, {"rotary_dim", "64"}, {"base", "1e7"}, {"frequency_denominator", "256"}}),
        {{1, "0.881683066776"}, {16, "0.133352143216"}});
  // Lane 5's partner is where row 5 of R is not 0.
  const posenc::Spec matrix = golden::one_tensor(rope(partial).with({{"layout", "matrix"}, {"positions", only(1)}}));
  const Values row5 = produced(matrix, 0, std::size_t{5} * 256, 256);
  for (std::size_t lane = 0; lane < 256; ++lane) CHECK((row5[lane] != 0) == (lane == 5 || lane == 37));
  const std::string nemo = R"({"model_type":"mistral","hidden_size":5120,"num_attention_heads":32,"rope_theta":1000000.0)";
  CHECK(inv_freq_of(reading_of(nemo + R"(,"head_dim":128})")).size() == 64);
  check(inv_freq_of(reading_of(nemo + R"(,"head_dim":128})")), {{1, "0.805842187761"}});
  CHECK(inv_freq_of(reading_of(nemo + "}")).size() == 80);
  check(inv_freq_of(reading_of(nemo + "}")), {{1, "0.841395141645"}});
}

TEST_CASE("B07: longrope's two lists, the switch and the amplitude") {
  const posenc::Reading phi3 = reading_of(config_of("microsoft--Phi-3-mini-128k-instruct"));
  const posenc::Spec spec = spec_of(phi3, {{"layout", "half-width"}, {"positions", "1"}});
  CHECK(posenc::facts(typed(spec)).sets == std::vector<std::string>{"short", "long"});
  CHECK(posenc::facts(typed(spec)).switch_text == "short up to 4096 positions, long above");
  // cos of position 0 in short.cos and long.cos.
  check(produced(spec, 0)[0], "1.19023807142381");
  check(produced(spec, 2)[0], "1.19023807142381");
  const Settings lists{{"head_dim", "4"}, {"method", "longrope"}, {"short_factor", "1,2"}, {"long_factor", "3,5"}};
  Settings variant = lists;
  variant.insert(variant.end(), {{"factor", "16"}, {"original_max_position_embeddings", "8192"}});
  check(amplitude(variant), "1.14354374979373");
  variant.emplace_back("attention_factor", "1.25");
  CHECK(amplitude(variant) == 1.25);
  // Each set has its own list: first entries 1 and 1/3, second 1/(2 * 100) and 1/(5 * 100).
  Settings tables = variant;
  check(inv_freq(tables, "short.inv_freq"), {{0, "1"}, {1, "0.005"}});
  check(inv_freq(tables, "long.inv_freq"), {{0, "0.333333333333"}, {1, "0.002"}});
  // Phi-4-mini: 0.75 of 128 lanes turn, 48 pairs; lists of head_dim / 2 entries are refused.
  const auto phi4 = [](std::size_t entries) {
    std::string ones = "1";
    for (std::size_t i = 1; i < entries; ++i) ones += ",1";
    return R"({"model_type":"phi3","hidden_size":3072,"num_attention_heads":24,"partial_rotary_factor":0.75,"max_position_embeddings":131072,
               "original_max_position_embeddings":4096,"rope_theta":10000.0,"rope_scaling":{"type":"longrope","short_factor":[)" +
           ones + R"(],"long_factor":[)" + ones + "]}}";
  };
  CHECK(inv_freq_of(reading_of(phi4(48))).size() == 48);
  refused(phi4(64), {"short_factor", "64", "48"});
}

TEST_CASE("B09: YaRN's ramp with and without whole ends") {
  const posenc::Reading oss = reading_of(config_of("openai--gpt-oss-20b"), "full_attention");
  const Ends ends = raw_ends(64, 150000, 4096);
  check(ends.low, "8.092779115512401");
  check(ends.high, "17.39802450158856");
  check_used_ends(64, 150000, 4096, 8, 18);
  const Values loose = inv_freq_of(oss), whole = inv_freq_of(oss, {{"truncate", "true"}});
  check(loose, {{8, "0.0508132748155"}, {9, "0.0317056961847"}, {10, "0.0193350011265"}, {13, "0.00386035931719"}, {16, "0.000456483919223"},
                {17, "0.000129318701245"}, {18, "3.83088123738e-5"}, {31, "3.02351142812e-7"}});
  check(whole, {{9, "0.0316207522753"}, {10, "0.0194509675441"}, {13, "0.00406955471476"}, {16, "0.000580947501931"}, {17, "0.000227947795795"}});
  // A quotient; differences of binary64 times the position.
  check(100 * (whole[17] / loose[17] - 1), "76.27", 0, 1e-12);
  check(131071 * (loose[10] - whole[10]), "-15.1998343104", 12, 131071 * 0x1p-57);
  check(131071 * (loose[17] - whole[17]), "-12.9274140518", 12, 131071 * 0x1p-57);
  CHECK(setting(oss, "truncate") == "false");
  // Absent means true.
  const Settings absent{{"head_dim", "64"}, {"base", "150000"}, {"method", "yarn"}, {"factor", "32"}, {"original_max_position_embeddings", "4096"}};
  CHECK(inv_freq(absent) == whole);
  check(amplitude(spec_of(oss, {})), "1.34657359028");
  check(amplitude(absent), "1.34657359028");
  const Values first = produced(spec_of(oss, {{"layout", "cache"}, {"positions", only(1)}}));
  check(first, {{0, "0.727556815849"}, {32, "1.13310260513"}});
}

TEST_CASE("B10: what any table of frequencies begins and ends with") {
  const auto eight = [](const Settings& more) {
    Settings settings{{"head_dim", "8"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
  };
  const Settings original{{"original_max_position_embeddings", "4096"}};
  CHECK(inv_freq(eight({}))[0] == 1);
  CHECK(inv_freq(eight({{"method", "llama3"}, {"factor", "8"}, original[0]}))[0] == 1);
  CHECK(inv_freq(eight({{"method", "yarn"}, {"factor", "8"}, original[0]}))[0] == 1);
  CHECK(inv_freq(eight({{"method", "dynamic"}, {"factor", "8"}, {"max_position_embeddings", "64"}, {"length", "100"}}))[0] == 1);
  CHECK(inv_freq(eight({{"method", "linear"}, {"factor", "8"}}))[0] == 0.125);
  const Settings longrope =
      eight({{"method", "longrope"}, {"factor", "8"}, {"short_factor", "4,5,6,7"}, {"long_factor", "8,9,10,11"}, original[0]});
  CHECK(inv_freq(longrope, "short.inv_freq")[0] == 0.25);
  CHECK(inv_freq(longrope, "long.inv_freq")[0] == 0.125);
  const Values plain = inv_freq({{"head_dim", "128"}});
  CHECK(std::ranges::is_sorted(plain, std::greater_equal<>()));
  check(plain, {{63, "0.000115478198469"}});
  check(produced(rope({{"head_dim", "128"}, {"layout", "inv-freq"}}).as("bf16"))[1], 0.8671875);
}

TEST_CASE("B11: dynamic NTK depends on the length alone") {
  // The base, from the last frequency: f = base^(-(d - 2) / d).
  const auto base = [](const Settings& settings, int d) { return pow(Big(inv_freq(settings).back()), -Big(d) / (d - 2)); };
  const auto llama = [](const std::string& length) {
    return Settings{{"head_dim", "128"}, {"method", "dynamic"}, {"factor", "2"}, {"max_position_embeddings", "2048"}, {"length", length}};
  };
  // Half an ulp of the frequency becomes 128/126 of it.
  const auto is = [&](const Settings& settings, int d, std::string_view text) {
    const Big got = base(settings, d);
    CHECK_MESSAGE(rounds_to(got, text, 12, got * ldexp(Big(1), -52)), text);
  };
  is(llama("2048"), 128, "10000");
  is(llama("2049"), 128, "10009.920711786");
  is(llama("4096"), 128, "30527.736748807");
  is(llama("8192"), 128, "72195.860086509");
  const Values before = inv_freq(llama("2048"));
  (void)inv_freq(llama("8192"));
  CHECK(inv_freq(llama("2048")) == before);
  CHECK(before == inv_freq({{"head_dim", "128"}}));
  const auto angle = [&](const std::string& length) { return produced(rope(llama(length)).with({{"layout", "angles"}, {"positions", only(2047)}}))[32]; };
  check(angle("2048"), "20.47");
  check(angle("4096"), "11.7157619477");
  const posenc::Reading nomic = reading_of(config_of("awkward--nomic_dynamic"));
  const auto nomic_base = [&](const std::string& length, std::string_view text) {
    const Big got = pow(Big(inv_freq_of(nomic, {{"length", length}}).back()), -Big(64) / 62);
    CHECK_MESSAGE(rounds_to(got, text, 12, got * ldexp(Big(1), -52)), text);
  };
  nomic_base("2048", "1000");
  nomic_base("4096", "3108.22366672");
  nomic_base("8192", "7453.48303181");
}

TEST_CASE("B13: one table per kind of layer") {
  const std::string gemma = config_of("google--gemma-3-4b-it");
  const posenc::Reading local = reading_of(gemma, "sliding_attention"), global = reading_of(gemma, "full_attention");
  CHECK(setting(local, "head_dim") == "256");
  check(inv_freq_of(local), {{0, "1"}, {1, "0.93057204093"}, {64, "0.01"}, {127, "0.000107460782832"}});
  check(inv_freq_of(global), {{0, "0.125"}, {1, "0.112210891556"}, {64, "0.000125"}, {127, "1.39246732499e-7"}});
  check(inv_freq_of(global, {{"method", "default"}}), {{1, "0.897687132447"}, {127, "1.11397385999e-6"}});
  const auto first_angle = [&](const Settings& more) {
    Settings settings{{"layout", "angles"}, {"positions", only(4096)}};
    settings.insert(settings.end(), more.begin(), more.end());
    return produced(spec_of(global, settings))[0];
  };
  CHECK(first_angle({}) == 512);
  CHECK(first_angle({{"method", "default"}}) == 4096);
  const std::string one_b = R"({"model_type":"gemma3_text","num_hidden_layers":26,"rope_scaling":{"rope_type":"linear","factor":8.0}})";
  CHECK(reading_of(one_b, "full_attention").layers == std::vector<std::int64_t>{5, 11, 17, 23});
  CHECK(reading_of(one_b, "sliding_attention").layers.size() == 22);
}

TEST_CASE("B14: proportional rotation over the whole head") {
  const posenc::Reading gemma = reading_of(config_of("google--gemma-4-31B"), "full_attention");
  const Values f = inv_freq_of(gemma);
  REQUIRE(f.size() == 256);
  check(f, {{0, "1"}, {1, "0.947463525655"}, {32, "0.177827941004"}, {63, "0.0333762469429"}});
  for (std::size_t i = 64; i < 256; ++i) CHECK(f[i] == 0);
  check(inv_freq({{"head_dim", "512"}, {"rotary_dim", "128"}, {"base", "1e6"}}), {{1, "0.805842187761"}, {32, "0.001"}, {63, "1.24093776075e-6"}});
  const Values table = produced(spec_of(gemma, {{"layout", "cache"}, {"positions", only(1000)}}));
  for (std::size_t i = 64; i < 256; ++i) {
    CHECK(table[i] == 1);
    CHECK(table[256 + i] == 0);
  }
  // Partners are (i, i + 256) for i < 64.
  const posenc::Spec matrix = spec_of(gemma, {{"layout", "matrix"}, {"positions", only(1)}});
  for (const std::size_t i : {std::size_t{0}, std::size_t{5}, std::size_t{63}, std::size_t{64}, std::size_t{200}}) {
    const Values line = produced(matrix, 0, i * 512, 512);
    for (std::size_t lane = 0; lane < 512; ++lane) CHECK((line[lane] != 0) == (lane == i || (i < 64 && lane == i + 256)));
  }
}

TEST_CASE("B17: the original length, and the factor as given") {
  const auto qwen = [](const std::string& factor, const std::string& original) {
    return Settings{{"head_dim", "128"}, {"base", "1e6"}, {"method", "yarn"}, {"factor", factor}, {"original_max_position_embeddings", original}};
  };
  const Ends q = raw_ends(128, 1e6, 32768);
  check(q.low, "23.595947608338");
  check(q.high, "39.650880710417");
  check_used_ends(128, 1e6, 32768, 23, 40);
  const std::string qwen3 = R"({"model_type":"qwen3","hidden_size":4096,"num_attention_heads":32,"head_dim":128,
          "rope_theta":1000000,"max_position_embeddings":40960,"rope_scaling":{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768}})";
  const posenc::Reading read = reading_of(qwen3);
  CHECK(read.context == 131072);
  for (const Values& f : {inv_freq_of(read), inv_freq(qwen("4", "32768"))})
    check(f, {{23, "0.0069783058486"}, {30, "0.00106436098125"}, {40, "4.4456985251e-5"}, {63, "3.10234440188e-7"}});
  check(amplitude(spec_of(read, {})), "1.138629436112");
  check_used_ends(128, 1e6, 40960, 24, 41);
  check(inv_freq(qwen("4", "40960")), {{30, "0.00113229891622"}});
  check(amplitude(qwen("1.25", "32768")), "1.0223143551314");
  check(inv_freq(qwen("1.25", "32768")), {{63, "9.92750208601e-7"}});

  const Ends d = raw_ends(64, 10000, 4096);
  check(d.low, "10.4722408103");
  check(d.high, "22.5134406369");
  check_used_ends(64, 10000, 4096, 10, 23);
  const posenc::Reading v3 = reading_of(config_of("deepseek-ai--DeepSeek-V3"));
  check(inv_freq_of(v3), {{16, "0.0055"}, {22, "0.000177827941"}, {31, "3.33380358e-6"}}, 9);
  check_used_ends(64, 10000, 163840, 23, 36);
  check(inv_freq_of(v3, {{"original_max_position_embeddings", "163840"}}), {{16, "0.01"}, {31, "5.334085729e-5"}}, 10);
  const Ends clamped = raw_ends(64, 10000, 32767);
  check(clamped.low, "17.69685468", 0);
  check(clamped.high, "29.7380545", 0);
}

TEST_CASE("B19: large angles") {
  const auto sines = [](const std::string& positions, const std::string& tensor) {
    return produced(rope({{"head_dim", "2"}, {"positions", positions}}).only(tensor));
  };
  check(sines("131071,500000,1048575,16793388,48039", "sin"),
        {{0, "-0.575241683754789"}, {1, "0.177831201518259"}, {2, "-0.615621173058751"}, {3, "-0.970823897430838"}, {4, "-0.787495013322728"}});
  check(sines("131071,500000,1048575,16786764,48039", "cos"),
        {{0, "-0.817983499387949"}, {1, "-0.984061006120338"}, {2, "0.788042239528927"}, {3, "-0.981232630541293"}, {4, "-0.616321023486816"}});
  // What the convention of a product in binary32 costs, with frequencies rounded to binary32 first.
  struct Cost {
    const char* base;
    std::string_view at_4095, at_131071, at_1048575;
  };
  for (const Cost& cost : {Cost{"10000", "1.36e-4", "1.49e-3", "2.51e-2"}, Cost{"500000", "7.4e-5", "1.91e-3", "3.90e-2"},
                           Cost{"1000000", "1.66e-4", "2.02e-3", "3.22e-2"}}) {
    INFO(cost.base);
    const Command exact = rope({{"head_dim", "128"}, {"base", cost.base}, {"positions", "4095,131071,1048575"}}).only("cos");
    const Values frequencies = produced(exact.with({{"layout", "inv-freq"}}).only("").as("f32"));
    const Command products = exact.with({{"inv_freq", posenc::print(std::span<const double>(frequencies))}});
    const Values rounded = produced(products.as("f32", "float32")), right = produced(exact);
    const auto worst = [&](std::size_t row) {
      double most = 0;
      for (std::size_t i = 0; i < 64; ++i) most = std::max(most, std::fabs(rounded[row * 64 + i] - right[row * 64 + i]));
      return most;
    };
    check(worst(0), cost.at_4095, 0, 0x1p-25);  // the cosine is rounded to binary32
    check(worst(1), cost.at_131071, 0, 0x1p-25);
    check(worst(2), cost.at_1048575, 0, 0x1p-25);
  }
}

TEST_CASE("B28: honest implementations differ in the last bit of inv_freq") {
  // torch 1.13 on a CPU (tests/golden/hf) against the correctly rounded frequencies.
  struct Spread {
    const char* golden;
    const char* base;
    int off, ulp;
    std::string_view phase;
  };
  for (const Spread& s : {Spread{"inv_default_llama3_8b", "500000", 18, 1, "0.00781244"}, Spread{"inv_default_llama2_7b", "10000", 19, 1, "0.00390622"},
                          Spread{"inv_default_codellama_7b", "1000000", 24, 1, "0.00781244"}}) {
    INFO(s.golden);
    const Values torch = golden::load(golden::folder + "hf/" + s.golden + ".inv_freq.npy");
    const Values right = produced(Command{"rope"}.with({{"head_dim", "128"}, {"base", s.base}, {"layout", "inv-freq"}}));
    int off = 0, ulp = 0;
    double phase = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const auto a = static_cast<float>(torch[i]), b = static_cast<float>(right[i]);
      off += a == b ? 0 : 1;
      ulp = std::max(ulp, a == b ? 0 : std::nextafter(a, b) == b ? 1 : 2);
      phase = std::max(phase, 131071 * std::fabs(torch[i] - right[i]));  // exact: 18 bits times a power of two
    }
    CHECK(off == s.off);
    CHECK(ulp == s.ulp);
    check(phase, s.phase, 0);
  }
}

TEST_CASE("B30: factor, freq scale, alpha and base") {
  check(produced(rope({{"method", "linear"}, {"factor", "8"}, {"layout", "angles"}, {"positions", only(32767)}}))[0], 4095.875);
  CHECK(inv_freq({{"method", "linear"}, {"factor", "8"}})[0] == 0.125);
  const auto base = [](const std::string& alpha, int d, std::string_view text) {
    const Settings plain{{"head_dim", std::to_string(d)}};
    Settings ntk = plain;
    ntk.insert(ntk.end(), {{"method", "ntk"}, {"factor", alpha}});
    const Values f = inv_freq(ntk);
    const Big got = pow(Big(f.back()), -Big(d) / (d - 2));
    CHECK_MESSAGE(rounds_to(got, text, 12, got * ldexp(Big(1), -52)), text);
    // The last wavelength is stretched by exactly alpha, a power of two.
    CHECK(f.back() == inv_freq(plain).back() / posenc::parse_real(alpha, "alpha"));
  };
  base("2", 128, "20221.2616897");
  base("4", 128, "40889.9424325");
  base("8", 128, "82684.6226406");
  base("4", 64, "41829.3659289");
  base("4", 80, "41447.412846");
  base("4", 256, "40439.0198916");
  // Base 35000 is alpha 3.43: what the last pair is slowed by.
  const double slowed = inv_freq({{"head_dim", "128"}}).back() / inv_freq({{"head_dim", "128"}, {"method", "base"}, {"new_base", "35000"}}).back();
  check(slowed, "3.43215569788", 12, 1e-15);
  const Settings yarn{{"method", "yarn"}, {"factor", "40"}, {"original_max_position_embeddings", "4096"}};
  check(amplitude(yarn), "1.36888794541");
}
