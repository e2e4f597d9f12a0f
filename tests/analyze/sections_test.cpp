// Every section's numbers against formulas in long double, sums by hand, or values recorded from elsewhere (said where).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "analyze/report.hpp"
#include "cli/process.hpp"
#include "posenc/config.hpp"
#include "posenc/text.hpp"
#include "support/configs.hpp"

namespace posenc::test {
namespace {

constexpr long double two_pi = 2 * std::numbers::pi_v<long double>;

long double theta(double base, int i, int d) { return std::pow(static_cast<long double>(base), -2.0L * i / d); }

Subject config_report(const std::string& json, std::optional<std::int64_t> context = {}) {
  AnalysisOptions options;
  options.context = context;
  Analysis a = analyze(read_config(json, "config.json"), options);
  REQUIRE(a.subjects.size() == 1);
  return a.subjects[0];
}
Subject folder_report(const std::string& name, std::optional<std::int64_t> context = {}) {
  return config_report(config_of(name), context);
}

// frequencies, wavelengths and turns: two correctly rounded numbers and up to three more roundings.
doctest::Approx near(long double x) { return doctest::Approx(static_cast<double>(x)).epsilon(1e-15); }

}  // namespace

TEST_CASE("wavelengths and turns of plain frequencies") {
  const Subject s = report("rope", {{"head_dim", "96"}, {"base", "500000"}, {"positions", "4096"}}, 10000);
  CHECK(rows(s, "wavelengths").size() == 48);
  std::int64_t never = 0, first = -1;
  for (int i = 0; i < 48; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const long double f = theta(500000, i, 96);
    CHECK(cell<std::int64_t>(s, "wavelengths", row, "pair") == i);
    for (const char* column : {"inv_freq_plain", "inv_freq"}) CHECK(cell<double>(s, "wavelengths", row, column) == near(f));
    for (const char* column : {"wavelength_plain", "wavelength"}) CHECK(cell<double>(s, "wavelengths", row, column) == near(two_pi / f));
    CHECK(cell<double>(s, "wavelengths", row, "turns_trained") == near(4096 * f / two_pi));
    CHECK(cell<double>(s, "wavelengths", row, "turns_context") == near(10000 * f / two_pi));
    CHECK(cell<double>(s, "wavelengths", row, "divisor") == 1);
    CHECK(cell<std::string>(s, "wavelengths", row, "band") == "unchanged");
    const bool outside = 4096 * f < two_pi;  // the context is longer and nothing is rescaled
    CHECK(cell<bool>(s, "wavelengths", row, "out_of_distribution") == outside);
    never += outside ? 1 : 0;
    if (outside && first < 0) first = i;
  }
  CHECK(count(s, "wavelengths", "never_turn") == never);
  CHECK(count(s, "wavelengths", "out_of_distribution") == never);
  CHECK(count(s, "wavelengths", "first_never_turn") == first);
  CHECK(count(s, "wavelengths", "first_out_of_distribution") == first);
}

TEST_CASE("the correctly rounded frequency") {
  // 500000^(-2 i / 128) of numpy in long double, rounded: what the field log records for pairs 1, 16, 32, 63 (B01).
  const Subject s = report("rope", {{"base", "500000"}});
  CHECK(cell<double>(s, "wavelengths", 1, "inv_freq") == doctest::Approx(0.814617233857).epsilon(1e-12));
  CHECK(cell<double>(s, "wavelengths", 16, "inv_freq") == doctest::Approx(0.0376060309309).epsilon(1e-12));
  CHECK(cell<double>(s, "wavelengths", 32, "inv_freq") == doctest::Approx(0.00141421356237).epsilon(1e-11));
  CHECK(cell<double>(s, "wavelengths", 63, "inv_freq") == doctest::Approx(2.45514079113e-6).epsilon(1e-11));
}

TEST_CASE("B03: bands of llama3") {
  const Subject s = folder_report("meta-llama--Llama-3.1-8B");
  CHECK(words(s, "wavelengths", "unchanged") == "0-28");
  CHECK(words(s, "wavelengths", "blended") == "29-34");
  CHECK(words(s, "wavelengths", "divided") == "35-63");
  const double divisors[] = {1.207483871, 1.553414629, 2.026313206, 2.694529688, 3.684252528, 5.257326589, 8.0};
  for (std::size_t i = 0; i < 7; ++i) CHECK(cell<double>(s, "wavelengths", 29 + i, "divisor") == doctest::Approx(divisors[i]).epsilon(1e-9));
  CHECK(cell<double>(s, "wavelengths", 63, "inv_freq") == doctest::Approx(3.06892598891e-7).epsilon(1e-11));
  CHECK(count(s, "length", "trained") == 8192);
  CHECK(count(s, "length", "context") == 131072);
  // 8192 theta_i < 2 pi from pair 35 on; divided by 8 they still turn twice too far at 16 times the length.
  CHECK(count(s, "wavelengths", "first_never_turn") == 35);
  CHECK(count(s, "wavelengths", "out_of_distribution") == 29);
  CHECK(count(folder_report("meta-llama--Llama-3.1-8B", 65536), "wavelengths", "out_of_distribution") == 0);
  CHECK(count(folder_report("meta-llama--Llama-3.1-8B", 65537), "wavelengths", "out_of_distribution") == 29);
  const Subject small = folder_report("meta-llama--Llama-3.2-1B");
  CHECK(words(small, "wavelengths", "unchanged") == "0-14");
  CHECK(words(small, "wavelengths", "blended") == "15-17");
  CHECK(words(small, "wavelengths", "divided") == "18-31");
}

TEST_CASE("B17: the factor, not the ratio of the lengths") {
  const Subject s = config_report(R"({"model_type": "qwen3", "hidden_size": 4096, "num_attention_heads": 32, "head_dim": 128,
    "rope_theta": 1000000, "max_position_embeddings": 40960,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}})");
  CHECK(number(s, "length", "reach") == 131072);
  CHECK(count(s, "length", "trained") == 32768);
  // Ends 23 and 40: from 40 on divided by 4, up to 23 unchanged.
  CHECK(words(s, "wavelengths", "unchanged") == "0-23");
  CHECK(words(s, "wavelengths", "blended") == "24-39");
  CHECK(words(s, "wavelengths", "divided") == "40-63");
  CHECK(cell<double>(s, "wavelengths", 30, "inv_freq") == doctest::Approx(0.00106436098125).epsilon(1e-11));
  CHECK(cell<double>(s, "wavelengths", 63, "inv_freq") == doctest::Approx(3.10234440188e-7).epsilon(1e-11));
  CHECK(cell<double>(s, "rules", 0, "attention_factor") == doctest::Approx(1.138629436112).epsilon(1e-12));
  CHECK(count(s, "length", "rows") == count(s, "length", "context"));
}

TEST_CASE("B07: the list that holds at a length") {
  const std::string phi = "microsoft--Phi-3-mini-128k-instruct";
  CHECK(words(folder_report(phi, 4095), "wavelengths", "set") == "short");
  CHECK(words(folder_report(phi, 4096), "wavelengths", "set") == "short");
  CHECK(words(folder_report(phi, 4097), "wavelengths", "set") == "long");
  const Subject s = folder_report(phi);
  CHECK(words(s, "wavelengths", "set") == "long");
  CHECK(cell<double>(s, "wavelengths", 0, "divisor") == doctest::Approx(1.0299999713897705).epsilon(1e-15));
  CHECK(cell<double>(folder_report(phi, 4096), "wavelengths", 0, "divisor") == doctest::Approx(1.05).epsilon(1e-15));
  CHECK(cell<double>(s, "rules", 0, "attention_factor") == doctest::Approx(1.19023807142381).epsilon(1e-14));
}

TEST_CASE("B11: dynamic NTK at a length, never from state") {
  const Settings settings{{"method", "dynamic"}, {"factor", "2"}, {"max_position_embeddings", "2048"}};
  // inv_freq of pair 32 is base^(-1/2).
  const std::pair<std::int64_t, double> bases[] = {{8192, 72195.860086509}, {2048, 10000}, {2049, 10009.920711786}, {4096, 30527.736748807}};
  for (const auto& [length, base] : bases)
    CHECK(cell<double>(report("rope", settings, length), "wavelengths", 32, "inv_freq") == doctest::Approx(1 / std::sqrt(base)).epsilon(1e-12));
}

TEST_CASE("B12: rows and bytes") {
  const Subject s = report("rope", {}, 131072);
  CHECK(count(s, "length", "rows") == 131072);
  CHECK(count(s, "length", "table_bytes") == 67108864);
  CHECK(count(report("rope", {}, 4500), "length", "rows") == 4500);
}

TEST_CASE("rules side by side keep to the two lengths") {
  const Subject s = report("rope", {{"positions", "4096"}}, 32768);
  std::vector<std::string> methods;
  for (std::size_t i = 0; i < rows(s, "rules").size(); ++i) {
    const std::string method = cell<std::string>(s, "rules", i, "method");
    methods.push_back(method);
    const double ratio = cell<double>(s, "rules", i, "lowest_frequency_ratio");
    const double amplitude = cell<double>(s, "rules", i, "attention_factor");
    const std::int64_t outside = cell<std::int64_t>(s, "rules", i, "out_of_distribution");
    CAPTURE(method);
    // 0.1 ln 8 + 1; every other rule leaves the amplitude alone.
    CHECK(amplitude == (method.find("yarn") == std::string::npos ? doctest::Approx(1) : doctest::Approx(1 + 0.1 * std::log(8.0)).epsilon(1e-15)));
    // Pairs 46 to 63 never turn in 4096 positions (golden rope_wavelengths).
    if (method == "default") CHECK((ratio == 1 && outside == 18));
    if (method == "linear" || method == "dynamic-linear") CHECK((ratio == 0.125 && outside == 0));
    if (method == "yarn" || method == "llama3" || method == "ntk-by-parts") CHECK((ratio == 0.125 && outside == 0));
    // The base grows: only the last pair is divided by all of the factor.
    if (method == "ntk") CHECK((ratio == 0.125 && outside == 17));
    // transformers: base (factor L / max - (factor - 1))^(d / (d - 2)), and factor is how much longer: 8 * 8 - 7.
    if (method == "dynamic") CHECK(ratio == doctest::Approx(1.0 / 57).epsilon(1e-14));
    if (method == "ntk-old") CHECK((ratio == doctest::Approx(std::pow(8.0, -126.0 / 128)).epsilon(1e-14) && outside == 18));
    if (method == "ntk-fixed") CHECK((ratio == 0.125 && outside == 17));
  }
  const std::vector<std::string> want{"default", "linear", "ntk", "dynamic", "yarn", "llama3", "dynamic-linear", "dynamic-yarn", "ntk-old", "ntk-fixed", "ntk-mixed", "ntk-by-parts", "yarn-transformers-4.48"};
  CHECK(methods == want);
  const auto& findings = section(s, "rules").findings;
  CHECK(std::count(findings.begin(), findings.end(), "dynamic has factor 8 here, on top of the length in use, 8 times the trained one: alpha is 57, and 8 with factor 1") == 1);
  CHECK(!has(report("rope", {{"positions", "4096"}}), "rules"));  // nothing to rescale
  CHECK(!has(report("alibi", {}, 99999), "rules"));
}

TEST_CASE("decay against sums in long double") {
  for (const int head_dim : {64, 600}) {  // 300 pairs are more than are taken at once
    const Subject s = report("rope", {{"head_dim", print(std::int64_t{head_dim})}, {"base", "1000"}, {"positions", "3000"}});
    const int pairs = head_dim / 2;
    for (std::size_t row = 0; row < rows(s, "decay").size(); ++row) {
      const auto m = static_cast<long double>(cell<std::int64_t>(s, "decay", row, "distance"));
      long double re = 0, im = 0, bound = 0;
      for (int i = 0; i < pairs; ++i) {
        re += std::cos(m * theta(1000, i, head_dim));
        im += std::sin(m * theta(1000, i, head_dim));
        bound += std::hypot(re, im);
      }
      // As many additions as pairs of numbers up to that many, each off by half a unit of the last place; then of their moduli.
      const double slack = pairs * pairs * 0x1p-53;
      CHECK(std::fabs(cell<double>(s, "decay", row, "same_vector") - static_cast<double>(re)) <= slack);
      CHECK(std::fabs(cell<double>(s, "decay", row, "upper_bound") - static_cast<double>(bound / pairs)) <= 4 * slack);
    }
    CHECK(cell<std::int64_t>(s, "decay", rows(s, "decay").size() - 1, "distance") == 2999);
  }
  // A rule's frequencies, not the plain ones: stretched by 4 the sum turns negative later.
  std::int64_t first = 0;
  const auto f = [](std::int64_t m, double factor) {
    long double sum = 0;
    for (int i = 0; i < 32; ++i) sum += std::cos(static_cast<long double>(m) * theta(1000, i, 64) / factor);
    return sum;
  };
  while (f(first, 1) >= 0) ++first;
  CHECK(count(report("rope", {{"head_dim", "64"}, {"base", "1000"}, {"positions", "3000"}}), "decay", "first_negative") == first);
  first = 0;
  while (f(first, 4) >= 0) ++first;
  CHECK(count(report("rope", {{"head_dim", "64"}, {"base", "1000"}, {"positions", "3000"}, {"method", "linear"}, {"factor", "4"}}), "decay", "first_negative") == first);
}

TEST_CASE("first negative sums of models, by numpy") {
  // Sums of numpy.longdouble cosines over every position up to there; the nearest value to zero on the way is above 0.07.
  const Subject llama = folder_report("meta-llama--Llama-3.1-8B");
  CHECK(count(llama, "base", "carries") == 18438);
  CHECK(count(llama, "decay", "first_negative") == 85133);
  AnalysisOptions options;
  const auto of = [&](const std::string& name) { return analyze(read_config(config_of(name), name), options); };
  CHECK(count(of("meta-llama--Llama-4-Scout-17B-16E-Instruct").subjects.at(0), "decay", "first_negative") == 193323);
  const Subject gemma = of("google--gemma-3-4b-it").subjects.at(1);
  CHECK(gemma.layer_type == "full_attention");
  CHECK(count(gemma, "base", "carries") == 71627);
}

TEST_CASE("entropy of softmax over normal scores") {
  const Subject s = report("rope", {{"positions", "1024"}, {"attention_factor", "1.25"}}, 65536);
  const auto row_of = [&](std::int64_t keys) {
    for (std::size_t i = 0; i < rows(s, "entropy").size(); ++i)
      if (cell<std::int64_t>(s, "entropy", i, "keys") == keys) return i;
    FAIL("no row for " << keys);
    return std::size_t{0};
  };
  const std::size_t row = row_of(65536);
  const double log_n = 1.6, yarn = std::pow(1 + 0.1 * std::log(64.0), 2);  // ln 65536 / ln 1024 = 16 / 10
  CHECK(cell<double>(s, "entropy", row, "log_n_factor") == doctest::Approx(log_n).epsilon(1e-15));
  CHECK(cell<double>(s, "entropy", row, "yarn_factor") == doctest::Approx(yarn).epsilon(1e-15));
  CHECK(cell<double>(s, "entropy", row, "own_factor") == doctest::Approx(1.5625).epsilon(1e-15));
  const double steady = cell<double>(s, "entropy", row, "steady_factor");
  CHECK(steady == doctest::Approx(std::sqrt(1 + 2 * std::log(64.0))).epsilon(1e-15));
  // Scores at the middles of 65536 slices of the normal law: the softmax itself, nothing of the model's algebra. Slices cut the tail at
  // 4.3 deviations, which is missed by less than 0.01 up to a factor of 1.7 (weight beyond 4.3 - 1.7 deviations, 0.005, times the
  // score and ln n there) and by less than 0.001 for a factor of 1.
  const auto measured = [](double k) {
    const int n = 65536;
    std::vector<double> z;
    double low = -6, at = 0;
    for (int i = 0; i < n; ++i) {
      const double p = (i + 0.5) / n;
      double high = 6;
      for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        (0.5 * std::erfc(-middle / std::numbers::sqrt2) < p ? low : high) = middle;
      }
      at = low;
      z.push_back(at);
    }
    double total = 0, score = 0;
    for (const double x : z) total += std::exp(k * x);
    for (const double x : z) score += k * x * std::exp(k * x);
    return std::log(total) - score / total;
  };
  CHECK(std::fabs(cell<double>(s, "entropy", row, "entropy") - measured(1)) < 0.002);
  CHECK(std::fabs(cell<double>(s, "entropy", row, "own_entropy") - measured(1.5625)) < 0.01);
  CHECK(std::fabs(cell<double>(s, "entropy", row, "log_n_entropy") - measured(1.6)) < 0.01);
  CHECK(std::fabs(cell<double>(s, "entropy", row, "yarn_entropy") - measured(yarn)) < 0.04);
  // The steady factor gives the entropy of 1024 keys again: ln 1024 - 1/2 = ln 65536 - k^2/2.
  CHECK(std::log(65536.0) - steady * steady / 2 == doctest::Approx(std::log(1024.0) - 0.5).epsilon(1e-14));
  CHECK(cell<double>(s, "entropy", row_of(1024), "entropy") == doctest::Approx(std::log(1024.0) - 0.5).epsilon(1e-15));
  // Below 1024 / sqrt(e) there is no such factor.
  CHECK(empty(rows(s, "entropy")[row_of(256)].back()));
}

TEST_CASE("entropy of a model whose scores freeze is not given") {
  // Factor 6 squared is 36 > 2 ln 65536 = 22.2.
  const Subject s = report("rope", {{"positions", "65536"}, {"attention_factor", "2.449489742783178"}});
  CHECK(empty(rows(s, "entropy").back()[3]));
  CHECK(!empty(rows(s, "entropy").back()[1]));
}

TEST_CASE("reach of ALiBi's heads") {
  // 8 heads: slopes 1/2, 1/4, .., 1/256; a bias of -1 at 2, 4, .., 256, of -10 at ten times that.
  const Subject s = report("alibi", {{"key_length", "1000"}});
  REQUIRE(rows(s, "reach").size() == 8);
  for (std::size_t h = 0; h < 8; ++h) {
    const std::int64_t distance = std::int64_t{2} << h;
    CHECK(cell<double>(s, "reach", h, "slope") == 1.0 / static_cast<double>(distance));
    CHECK(cell<std::int64_t>(s, "reach", h, "distance_1") == distance);
    CHECK(cell<std::int64_t>(s, "reach", h, "distance_10") == 10 * distance);
    CHECK(cell<double>(s, "reach", h, "bias_trained") == -1000.0 / static_cast<double>(distance));
  }
  CHECK(count(s, "reach", "beyond_training") == 2);  // 1280 and 2560
  // 12 heads: head 8 is 2^(-1/2).
  const Subject other = report("alibi", {{"num_heads", "12"}});
  CHECK(cell<double>(other, "reach", 8, "slope") == std::sqrt(0.5));
  CHECK(cell<std::int64_t>(other, "reach", 8, "distance_1") == 2);    // 1.41
  CHECK(cell<std::int64_t>(other, "reach", 8, "distance_10") == 15);  // 14.14
  // Learned slopes may reach everywhere, or amplify.
  const Subject learned = report("alibi", {{"num_heads", "3"}, {"slopes", "0,-1,0.3"}});
  CHECK(empty(rows(learned, "reach")[0][2]));
  CHECK(empty(rows(learned, "reach")[1][3]));
  CHECK(cell<std::int64_t>(learned, "reach", 2, "distance_1") == 4);  // 3.33
  CHECK(count(learned, "reach", "beyond_training") == 2);
}

TEST_CASE("lanes that do not turn hold the decay up") {
  const auto said = [](const Subject& s, const std::string& in, const std::string& words) {
    bool found = false;
    for (const std::string& finding : section(s, in).findings) found = found || mentions(finding, words);
    return found;
  };
  // Phi-2: 16 pairs turn, 24 do not. By numpy, the first negative sum of 16 cosines of m 10000^(-i/16) is at m = 474; no sum is below
  // -16, and 24 more is positive.
  const Subject phi = report("rope", {{"head_dim", "80"}, {"rotary_dim", "32"}}, 2048);
  CHECK(count(phi, "decay", "first_negative") == 474);
  CHECK(said(phi, "decay", "of the 32 lanes that turn can be negative; the 48 that do not turn add 24 to it, so that whole heads score a key"));
  CHECK(said(phi, "base", "are those of the 32 lanes that turn; the 48 others are not in the sums"));
  // 16 of 48 pairs still: by numpy 725 is the first negative sum of the 32 others, which could fall to -32.
  const Subject most = report("rope", {{"head_dim", "96"}, {"rotary_dim", "64"}}, 4096);
  CHECK(count(most, "decay", "first_negative") == 725);
  CHECK(said(most, "decay", "add 16 to it, which makes up for part of it"));
  const Subject whole = report("rope", {{"head_dim", "64"}}, 4096);
  CHECK(said(whole, "decay", "from distance 725 on a query can score a key equal to itself below a random key"));
  CHECK(!said(whole, "base", "lanes that turn"));
}

TEST_CASE("the search ends early by size alone, and says so") {
  const auto depth = [](std::int64_t context, bool exhaustive) {
    const Subject s = report("rope", {{"head_dim", "8"}}, context, exhaustive);
    return section(s, "base").findings;
  };
  for (const std::string& finding : depth(1000, false)) CHECK(!mentions(finding, "--exhaustive"));
  bool said = false;
  for (const std::string& finding : depth(std::int64_t{1} << 40, true)) said = said || mentions(finding, "not searched");
  CHECK(said);
  // Two pairs carry no long context, whatever the base: cos(m) + cos(m t) falls below zero near m = 3.
  CHECK(empty(figure(report("rope", {{"head_dim", "2"}}, 100), "base", "smallest_base")));
  CHECK(count(report("rope", {{"head_dim", "2"}}, 100), "base", "carries") == 2);
}

TEST_CASE("lengths of a spec: the rule's fields, else the table's") {
  const Subject yarn = report("rope", {{"method", "yarn"}, {"factor", "4"}, {"original_max_position_embeddings", "32768"}});
  CHECK(count(yarn, "length", "trained") == 32768);
  CHECK(count(yarn, "length", "context") == 32768);  // 2048 rows are fewer than the model was trained for
  CHECK(count(report("rope", {{"positions", "100:300"}}), "length", "trained") == 300);
  CHECK(count(report("sinusoidal", {{"positions", "77"}}), "length", "context") == 77);
  CHECK(count(report("sinusoidal", {{"positions", "77"}}), "decay", "scanned") == 77);
  CHECK(count(report("learned", {{"length", "512"}}), "length", "context") == 512);
  CHECK_THROWS_AS(report("rope", {}, 0), Error);
  CHECK_THROWS_AS(report("rope", {}, (std::int64_t{1} << 53) + 1), Error);
}

TEST_CASE("a length asked for is no trained length") {
  const Subject s = report("mrope", {}, 4096);
  CHECK(!has(s, "length"));
  CHECK(count(s, "wavelengths", "out_of_distribution") == 0);
  CHECK(!has(report("swin", {}, 4096), "length"));
  const Subject bloom = folder_report("bigscience--bloom-560m", 4096);
  CHECK(empty(rows(bloom, "reach")[0][4]));
  // The first of 16 slopes is 2^(-1/2).
  CHECK(cell<double>(bloom, "reach", 0, "bias_context") == -4096 * std::sqrt(0.5));
}

TEST_CASE("every encoding is analyzed, or nothing is said about it") {
  for (const EncodingEntry& entry : encodings()) {
    CAPTURE(entry.name);
    Spec spec;
    spec.tables.push_back({"", entry.make()});
    try {
      spec.check();
    } catch (const Error&) {
      continue;  // needs parameters
    }
    const Analysis a = analyze(spec, {});
    REQUIRE(a.subjects.size() == 1);
    CHECK(a.subjects[0].encoding == entry.name);
    CHECK(a.remarks.size() == (a.subjects[0].sections.empty() ? 1 : 0));
  }
}

}  // namespace posenc::test
