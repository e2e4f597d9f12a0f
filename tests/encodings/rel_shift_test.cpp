// rel_shift: the reshaping done step by step, on either axes, what stands beyond, refusals, laws.
#include "encodings/rel_shift.hpp"

#include <doctest/doctest.h>

#include "encodings/score_checks.hpp"

namespace {

using namespace posenc;
using namespace testing_support;

// The published steps on one [queries, columns] matrix, row-major: pad, view, drop, view, keep.
std::vector<double> reshaped(const std::vector<double>& x, std::size_t queries, std::size_t columns, bool pad, std::size_t keep) {
  std::vector<double> padded;
  for (std::size_t i = 0; i < queries; ++i) {
    if (pad) padded.push_back(0);
    padded.insert(padded.end(), x.begin() + static_cast<std::ptrdiff_t>(i * columns), x.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
  }
  padded.erase(padded.begin(), padded.begin() + static_cast<std::ptrdiff_t>(queries));
  const std::size_t width = pad ? columns : columns - 1;
  std::vector<double> out;
  for (std::size_t i = 0; i < queries; ++i)
    for (std::size_t j = 0; j < keep; ++j) out.push_back(padded[i * width + j]);
  return out;
}

TEST_CASE("rel_shift: as the published code reshapes") {
  for (const auto& [queries, columns] : {std::pair<std::size_t, std::size_t>{4, 6}, {3, 8}, {5, 5}, {7, 3}, {1, 2}}) {
    const Array x = some_array({2, static_cast<std::int64_t>(queries), static_cast<std::int64_t>(columns)}, 1);
    const auto half = static_cast<std::ptrdiff_t>(queries * columns);
    const auto both = [&](bool pad, std::size_t keep) {
      auto out = reshaped({x.values.begin(), x.values.begin() + half}, queries, columns, pad, keep);
      const auto second = reshaped({x.values.begin() + half, x.values.end()}, queries, columns, pad, keep);
      out.insert(out.end(), second.begin(), second.end());
      return out;
    };
    const RelShift transformer_xl{.scores = x};
    CHECK(values_of(*erase(transformer_xl)) == both(true, columns));
    check_encoding(*erase(transformer_xl));
    for (std::size_t keep = 1; keep < columns; ++keep) {
      const RelShift xlnet{.variant = RelShiftVariant::xlnet, .scores = x, .key_length = static_cast<std::int64_t>(keep)};
      CHECK(values_of(*erase(xlnet)) == both(false, keep));
      check_encoding(*erase(xlnet));
    }
    // Leading axes: the same of [query, column, 2].
    Array turned{{x.shape[1], x.shape[2], 2}, {}};
    for (std::size_t at = 0; at < queries * columns; ++at)
      for (std::size_t copy = 0; copy < 2; ++copy) turned.values.push_back(x.values[copy * queries * columns + at]);
    const auto leading = values_of(*erase(RelShift{.scores = turned, .axes = RelShiftAxes::leading})), trailing = both(true, columns);
    bool same = true;
    for (std::size_t at = 0; at < queries * columns; ++at)
      for (std::size_t copy = 0; copy < 2; ++copy) same = same && leading[2 * at + copy] == trailing[copy * queries * columns + at];
    CHECK(same);
    check_encoding(*erase(RelShift{.scores = turned, .axes = RelShiftAxes::leading}));
  }
}

TEST_CASE("rel_shift: what stands beyond, columns kept by default") {
  const Array x{{2, 3}, {1, 2, 3, 4, 5, 6}};
  CHECK(values_of(*erase(RelShift{.scores = x})) == std::vector<double>{2, 3, 0, 4, 5, 6});
  CHECK(values_of(*erase(RelShift{.scores = {{2, 3}, {1, 2, 3, -0.0, 5, 6}}, .beyond = RelShiftBeyond::zero})) == std::vector<double>{2, 3, 0, 0, 5, 6});
  CHECK(values_of(*erase(RelShift{.scores = x, .beyond = RelShiftBeyond::mask})) == std::vector<double>{2, 3, -HUGE_VAL, 4, 5, 6});
  CHECK(values_of(*erase(RelShift{.variant = RelShiftVariant::xlnet, .scores = x})) == std::vector<double>{3, 5});  // one key
  CHECK(values_of(*erase(RelShift{.variant = RelShiftVariant::xlnet, .scores = x, .key_length = 2, .beyond = RelShiftBeyond::mask})) ==
        std::vector<double>{3, -HUGE_VAL, 5, 6});
  check_encoding(*erase(RelShift{.scores = x, .beyond = RelShiftBeyond::mask}));
}

TEST_CASE("rel_shift: what makes no sense is refused in one sentence, laws notice wrong values") {
  const auto has = [](const RelShift& s, const char* part) { return reference::refusal(*erase(s)).find(part) != std::string::npos; };
  CHECK(has({}, "scores wants shape [any, any], got nothing"));
  CHECK(has({.scores = some_array({5}, 1)}, "scores wants shape [any, any], got [5]"));
  CHECK(has({.scores = {{0, 3}, {}}}, "scores has no values"));
  CHECK(has({.scores = some_array({2, 3}, 1), .key_length = 2}, "key_length belongs to variant xlnet"));
  CHECK(has({.variant = RelShiftVariant::xlnet, .scores = some_array({2, 3}, 1), .key_length = 3}, "keeps 1 to 2"));
  CHECK(has({.variant = RelShiftVariant::xlnet, .scores = some_array({3, 3}, 1)}, "key_length is 0 of 3 queries and 3 columns"));
  const RelShift s{.scores = some_array({4, 6}, 1)};
  CHECK(broken_laws(*erase(s), 5, 9).empty());  // a place beyond
  CHECK(broken_laws(*erase(s), 6 + 2, 9) == "shift");
}

}  // namespace
