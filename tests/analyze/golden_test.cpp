// The published bases for context lengths, and LongRoPE2's critical dimension (tests/golden/papers).
#include "golden/golden.hpp"

#include <cmath>

#include "analyze/base_search.hpp"
#include "analyze/report.hpp"

namespace posenc::test {
namespace {

golden::Json entry(const std::string& id) {
  for (const golden::Json& c : golden::Json::parse(golden::slurp(golden::folder + "papers/manifest.json")))
    if (c.at("id") == id) return c;
  FAIL("no case " << id);
  return {};
}
golden::Values stored(const std::string& name) { return golden::load(golden::folder + "papers/" + name + ".npy"); }

}  // namespace

TEST_CASE("rope_base_bound_table: the smallest base of a context, by Su's search") {
  const golden::Values published = stored("rope_base_bound_table.published"), computed = stored("rope_base_bound_table.computed");
  REQUIRE(published.size() == 33);
  REQUIRE(computed.size() == 22);
  // Longer contexts take the search seconds.
  for (std::size_t i = 0; i <= 6; ++i) {
    const auto length = static_cast<std::int64_t>(computed[2 * i]) * 1024;
    CAPTURE(length);
    const auto found = analyze_sections::smallest_base({length, 64, 128});
    REQUIRE(found);
    // The same j / 10^k of the same bounds; both sides round the product and the quotient of each round.
    CHECK(found->base == doctest::Approx(computed[2 * i + 1]).epsilon(1e-14));
    const double printed = published[3 * i + 2];  // two digits, rounded
    CHECK(std::fabs(found->base - printed) <= std::pow(10, std::floor(std::log10(printed)) - 1) / 2);
  }
}

TEST_CASE("smallest base: a round without one leaves the finer rounds to find it") {
  // By a plain scan of every base and position in C (double pow and cos of libm), run for this test. Of 10 and of 100 equal parts of
  // 1000 * 10000 none carries 10000 positions with 16 pairs; of 1000 parts the 963rd is the first that does.
  const auto late = analyze_sections::smallest_base({10000, 16, 32, 3});
  REQUIRE(late);
  CHECK(late->base == 9630000);
  CHECK(late->step == 10000);
  CHECK(!analyze_sections::smallest_base({10000, 16, 32, 2}));
  const auto fine = analyze_sections::smallest_base({10000, 16, 32});
  REQUIRE(fine);
  CHECK(fine->base == doctest::Approx(3133539.32796).epsilon(1e-14));
  // Llama 3.2 1B's question: 1000 * 131072 itself carries too little, 77 hundredths of it enough.
  const auto llama = analyze_sections::smallest_base({131072, 32, 64, 2});
  REQUIRE(llama);
  CHECK(llama->base == 100925440);
  CHECK(llama->step == 1310720);
}

TEST_CASE("rope_base_fmin: the context that a base carries") {
  const golden::Json pairs = entry("rope_base_fmin").at("params").at("pairs");
  const golden::Values first = stored("rope_base_fmin.first_negative_m");
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Subject s = report("rope", {{"base", golden::Json(pairs[i][1]).dump()}}, pairs[i][0].get<std::int64_t>());
    CHECK(value<bool>(figure(s, "base", "holds")) == (first[i] < 0));
    if (first[i] < 0)
      CHECK(empty(figure(s, "decay", "first_negative")));
    else
      CHECK(count(s, "base", "carries") == static_cast<std::int64_t>(first[i]));
    if (first[i] >= 0) CHECK(count(s, "decay", "first_negative") == static_cast<std::int64_t>(first[i]));
  }
}

TEST_CASE("longrope2_critical") {
  const golden::Json cases = entry("longrope2_critical").at("params").at("cases");
  const golden::Values want = stored("longrope2_critical.d_tcd");
  REQUIRE(cases.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Subject s = report("rope", {{"head_dim", cases[i][0].dump()}, {"base", cases[i][1].dump()}, {"positions", cases[i][2].dump()}});
    CHECK(count(s, "wavelengths", "critical_dimension") == static_cast<std::int64_t>(want[i]));
    // Twice the first pair that never completes a turn.
    CHECK(count(s, "wavelengths", "first_never_turn") == static_cast<std::int64_t>(want[i]) / 2);
  }
}

TEST_CASE("rope_decay_bound and rope_same_vector: the curves at powers of two") {
  const golden::Values bound = stored("rope_decay_bound.curve"), sum = stored("rope_same_vector.ones"), mean = stored("rope_same_vector.mean_cos");
  const Subject s = report("rope", {{"positions", "257"}});
  REQUIRE(rows(s, "decay").size() == 10);  // 0, 1, 2, .., 128, 256
  for (std::size_t i = 0; i < 10; ++i) {
    const auto m = static_cast<std::size_t>(cell<std::int64_t>(s, "decay", i, "distance"));
    CHECK(m == (i == 0 ? 0u : 1u << (i - 1)));
    // The manifest's tolerance.
    CHECK(std::fabs(cell<double>(s, "decay", i, "upper_bound") - bound[m]) <= 1e-10);
    CHECK(std::fabs(2 * cell<double>(s, "decay", i, "same_vector") - sum[m]) <= 1e-10);
    CHECK(std::fabs(cell<double>(s, "decay", i, "mean") - mean[m]) <= 1e-10);
  }
}

}  // namespace posenc::test
