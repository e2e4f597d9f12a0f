// The pairs that turn: which of two frequency sets holds at a length, under every rule that has two.
#include "analyze/sections.hpp"
#include "analyze/turning.hpp"

using namespace posenc;
using namespace analyze_test;
using analyze_sections::turning_of;

TEST_CASE("LongRoPE's long list holds above the original length, in both of its rules") {
  // Divisors 2 up to 64 positions and 8 above: every frequency is halved, or an eighth; both are exact.
  for (const std::vector<std::pair<std::string, std::string>>& rule :
       {std::vector<std::pair<std::string, std::string>>{{"method", "longrope"}, {"original_max_position_embeddings", "64"}, {"factor", "4"}},
        {{"method", "longrope-transformers-4.48"}, {"original_max_position_embeddings", "64"}, {"max_position_embeddings", "256"}},
        {{"method", "longrope-transformers-4.48"}, {"max_position_embeddings", "64"}, {"factor", "4"}}}) {
    auto settings = rule;
    for (const auto& [field, value] : {std::pair{"head_dim", "8"}, {"short_factor", "2,2,2,2"}, {"long_factor", "8,8,8,8"}}) settings.emplace_back(field, value);
    CAPTURE(settings[0].second);
    const auto rope = made("rope", settings);
    for (const auto& [context, divisor] : {std::pair{std::int64_t{64}, 2.0}, {std::int64_t{65}, 8.0}}) {
      const auto turning = turning_of({.encoding = *rope, .context = context});
      REQUIRE(turning.has_value());
      CHECK(turning->set == (divisor == 2 ? "short" : "long"));
      REQUIRE(turning->used.size() == 4);
      for (std::size_t i = 0; i < 4; ++i) CHECK(turning->used[i] * divisor == turning->plain[i]);
    }
  }
}
