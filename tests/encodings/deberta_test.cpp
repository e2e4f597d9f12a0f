// deberta: buckets against the definition in whole numbers, both index rules, refusals, laws.
#include "encodings/deberta.hpp"

#include <doctest/doctest.h>

#include <boost/multiprecision/cpp_int.hpp>

#include "encodings/encoding_checks.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using Whole = boost::multiprecision::cpp_int;

// mid + the least m with (r / mid)^(mid - 1) <= ((M - 1) / mid)^m, in whole numbers.
std::int64_t definition(std::int64_t r, std::int64_t buckets, std::int64_t farthest) {
  const std::int64_t mid = buckets / 2, steps = mid - 1, edge = farthest - 1;
  if (r <= mid) return r;
  const auto power = [](std::int64_t x, std::int64_t p) { return Whole(boost::multiprecision::pow(Whole(x), static_cast<unsigned>(p))); };
  std::int64_t m = 0;
  while (power(r, steps) * power(mid, m) > power(edge, m) * power(mid, steps)) ++m;
  return mid + m;
}

TEST_CASE("deberta: buckets are those of the definition in whole numbers, beyond the table too") {
  struct Setting {
    std::int64_t buckets, farthest;
  };
  int wrong = 0;
  for (const auto& [buckets, farthest] : std::initializer_list<Setting>{{8, 32}, {32, 129}, {64, 200}, {4, 16}, {16, 33}, {4, 4}, {6, 7}}) {
    const auto grow = Deberta{.output = DebertaOutput::relative, .max_relative_positions = farthest, .position_buckets = buckets}.table();
    const auto clip =
        Deberta{.output = DebertaOutput::relative, .max_relative_positions = farthest, .position_buckets = buckets, .beyond = DebertaBeyond::clip}
            .table();
    for (std::int64_t r = 0; r <= 3 * farthest; ++r) {
      const std::int64_t want = definition(r, buckets, farthest);
      wrong += grow.relative(r) == want && grow.relative(-r) == -want ? 0 : 1;
      wrong += clip.relative(r) == definition(std::min(r, farthest - 1), buckets, farthest) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  const auto v3 = Deberta{.output = DebertaOutput::relative, .position_buckets = 256}.table();
  CHECK(v3.relative(128) == 128);
  CHECK(v3.relative(511) == 255);
  CHECK(v3.relative(512) == 256);
  CHECK(v3.relative(1000) == 317);
  CHECK(Deberta{.output = DebertaOutput::relative, .max_relative_positions = 129, .position_buckets = 32}.table().relative(32) == 21);
}

TEST_CASE("deberta: rows of the tables, for every rule and form") {
  for (const auto buckets : {std::optional<std::int64_t>{}, std::optional<std::int64_t>{8}})
    for (const SpanForm form : {SpanForm::row, SpanForm::toeplitz, SpanForm::matrix})
      for (const DebertaOutput output : {DebertaOutput::relative, DebertaOutput::c2p, DebertaOutput::p2c})
        for (const DebertaP2c rule : {DebertaP2c::paper, DebertaP2c::code})
          for (const DebertaBeyond beyond : {DebertaBeyond::grow, DebertaBeyond::clip}) {
            const Deberta s{.output = output,
                            .max_relative_positions = 12,
                            .position_buckets = buckets,
                            .beyond = beyond,
                            .p2c_rule = rule,
                            .span = {.form = form, .key_length = 31, .query_length = 20, .query_offset = 0}};
            const auto encoding = erase(s);
            const Tensor tensor = encoding->tensors()[0];
            const auto values = values_of(*encoding);
            const std::int64_t k = buckets.value_or(12);
            bool same = true;
            for (std::size_t flat = 0; flat < values.size(); ++flat) {
              const auto index = unravel(static_cast<std::int64_t>(flat), tensor);
              std::int64_t r = form == SpanForm::matrix ? index[0] - index[1] : 19 - index[0];
              if (buckets) {
                const std::int64_t magnitude = beyond == DebertaBeyond::clip ? std::min<std::int64_t>(std::abs(r), 11) : std::abs(r);
                r = (r < 0 ? -1 : 1) * definition(magnitude, 8, 12);
              }
              if (output == DebertaOutput::p2c && rule == DebertaP2c::paper) r = -r;
              const std::int64_t want = output == DebertaOutput::relative ? r : std::min(std::max<std::int64_t>(r + k, 0), 2 * k - 1);
              same = same && values[flat] == static_cast<double>(want);
            }
            CHECK(same);
            check_encoding(*encoding);
          }
}

// Equation 3 with k = 4: keys far ahead of the query share row 0, keys far behind it row 7.
TEST_CASE("deberta: equation 3") {
  const auto values = values_of(*erase(Deberta{.max_relative_positions = 4, .span = {.key_length = 6}}));
  CHECK(std::vector<double>(values.begin(), values.begin() + 6) == std::vector<double>{4, 3, 2, 1, 0, 0});
  CHECK(std::vector<double>(values.end() - 6, values.end()) == std::vector<double>{7, 7, 7, 6, 5, 4});
}

TEST_CASE("deberta: what makes no sense is refused in one sentence") {
  const auto has = [](const Deberta& s, const char* part) { return reference::refusal(*erase(s)).find(part) != std::string::npos; };
  CHECK(reference::refusal(*erase(Deberta{})).empty());
  CHECK(has({.position_buckets = 255}, "position_buckets 255 is odd"));
  CHECK(has({.position_buckets = 2}, "position_buckets"));
  CHECK(has({.max_relative_positions = 129, .position_buckets = 256}, "more than 129"));
  CHECK(has({.max_relative_positions = 0}, "max_relative_positions"));
  CHECK(has({.span = {.key_length = 3, .query_length = 4}}, "larger than key_length"));
}

TEST_CASE("deberta: laws notice wrong values") {
  const Deberta s{.max_relative_positions = 16, .position_buckets = 8, .span = {.key_length = 40}};
  CHECK(broken_laws(*erase(s), 0, 8).empty());
  CHECK(broken_laws(*erase(s), 20 * 40 + 19, 10) == "toeplitz odd identity");
  CHECK(broken_laws(*erase(s), 20 * 40 + 14, 12) == "toeplitz monotone odd");
}

}  // namespace
