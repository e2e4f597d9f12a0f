// radix: the articles' worked numbers, digits against printed numbers, truth of the real forms, refusals, laws.
#include <doctest/doctest.h>

#include <random>

#include "encodings/mpfr_reference.hpp"
#include "encodings/radix.hpp"

namespace {

using namespace posenc;
using reference::Number;

std::vector<double> row(const Radix& s, std::int64_t r = 0) {
  std::vector<double> out;
  const auto evaluator = erase(s)->evaluator();
  const Tensor tensor = s.tensors()[0];
  for (std::int64_t c = 0; c < s.digits(); ++c) {
    std::int64_t digit = 0;
    if (tensor.kind == Kind::integer)
      evaluator->integers(0, {r, 1, c, 1}, &digit), out.push_back(static_cast<double>(digit));
    else
      out.push_back(evaluator->truth(0, std::array{r, c}, DType::f64));
  }
  return out;
}

Radix of(double position, std::int64_t width, std::int64_t base = 10) {
  Radix s{.base = base, .width = width};
  s.positions = Positions::list({position});
  return s;
}

TEST_CASE("radix: the worked numbers of kexue.fm 9675") {
  using Row = std::vector<double>;
  CHECK(row(of(104, 3)) == Row{1, 0, 4});
  CHECK(row(of(105, 3)) == Row{1, 0, 5});
  Radix direct = of(1749, 3);
  direct.reserved = 1;
  CHECK(row(direct) == Row{1, 7, 4, 9});
  direct.positions = Positions::list({749});
  CHECK(row(direct) == Row{0, 7, 4, 9});
  Radix half = of(1749, 3);
  half.factor = 2;
  CHECK(row(half) == Row{8, 7, 4.5});
  half.positions = Positions::list({1498});
  CHECK(row(half) == Row{7, 4, 9});  // what [7,4,9] means after interpolation by 2
  CHECK(row(of(1749, 3, 16)) == Row{6, 13, 5});
  CHECK(erase(of(4095, 3, 16))->evaluator() != nullptr);
  CHECK(reference::refusal(*erase(of(4096, 3, 16))) != "");
  Radix smallest = of(1749, 3);
  smallest.base_rule = RadixBase::smallest;
  smallest.capacity = 2000;
  CHECK(smallest.base_in_force() == 13);
  CHECK(row(smallest) == Row{10, 4, 7});
  smallest.capacity.reset();
  smallest.positions = Positions::range(0, 2000);
  CHECK(smallest.base_in_force() == 13);
  smallest.positions = Positions::range(0, 2197);
  CHECK(smallest.base_in_force() == 13);
  smallest.positions = Positions::range(0, 2198);
  CHECK(smallest.base_in_force() == 14);
  smallest.factor = 2;
  CHECK(smallest.base_in_force() == 11);
}

TEST_CASE("radix: 9999 at the three stages") {
  Radix s = of(9999, 4);
  s.order = RadixOrder::low_first;
  CHECK(row(s) == std::vector<double>{9, 9, 9, 9});
  s.form = RadixForm::quotients;
  CHECK(row(s) == std::vector<double>{9999, 999.9, 99.99, 9.999});
  s.form = RadixForm::remainders;
  CHECK(row(s) == std::vector<double>{9, 9.9, 9.99, 9.999});
  s.form = RadixForm::rope;
  const auto evaluator = erase(s)->evaluator();
  CHECK(evaluator->truth(0, std::array<std::int64_t, 1>{0}, DType::f64) == 10);
  for (std::int64_t m = 0; m < 4; ++m)
    CHECK(evaluator->truth(1, std::array<std::int64_t, 2>{0, m}, DType::f64) == std::vector<double>{9999, 999.9, 99.99, 9.999}[static_cast<std::size_t>(m)]);
}

TEST_CASE("radix: mixed radices count days, hours, minutes and seconds") {
  Radix s;
  s.radices = {60, 60, 24, 7};
  s.order = RadixOrder::low_first;
  s.positions = Positions::list({59, 3600, 86399, 86400, 604799});
  CHECK(row(s, 1) == std::vector<double>{0, 0, 1, 0});
  CHECK(row(s, 2) == std::vector<double>{59, 59, 23, 0});
  CHECK(row(s, 4) == std::vector<double>{59, 59, 23, 6});
  CHECK(reference::refusal(*erase(s)) == "");
  s.positions = Positions::list({604800});
  CHECK(reference::refusal(*erase(s)).find("604800 does not fit") != std::string::npos);
}

TEST_CASE("radix: digits to base 10 are the printed ones, positions to 2^53, and wrap cuts them off") {
  std::mt19937_64 random(5);
  for (int k = 0; k < 200; ++k) {
    const auto n = static_cast<std::int64_t>(random() >> (11 + random() % 40));
    const std::string printed = std::to_string(n);
    Radix s = of(static_cast<double>(n), 16);
    const std::vector<double> digits = row(s);
    for (std::size_t i = 0; i < 16; ++i) CHECK(digits[15 - i] == (i < printed.size() ? printed[printed.size() - 1 - i] - '0' : 0));
    s.width = 3;
    s.overflow = RadixOverflow::wrap;
    CHECK(row(s) == std::vector<double>(digits.end() - 3, digits.end()));
  }
  Radix s = of(-1, 3);
  s.overflow = RadixOverflow::wrap;
  CHECK(row(s) == std::vector<double>{9, 9, 9});
}

// n / 7 = q + r / 7 by integer division, so the last digit is (q mod 10) + r / 7 and the others are those of q.
TEST_CASE("radix: interpolated digits, quotients and angles are correctly rounded") {
  Radix s{.width = 6, .factor = 7};
  s.positions = Positions::range(0, 3000, 11);
  const auto evaluator = erase(s)->evaluator();
  int wrong = 0;
  for (std::int64_t r = 0; r < s.positions.size(); ++r) {
    std::int64_t q = 11 * r / 7;
    for (std::int64_t m = 0; m < 6; ++m, q /= 10) {
      const Number truth = Number(static_cast<double>(q % 10)) + (m == 0 ? Number(static_cast<double>(11 * r % 7)) / 7 : Number(0));
      for (const DType dtype : reference::float_dtypes) wrong += evaluator->truth(0, std::array{r, 5 - m}, dtype) == truth.rounded(dtype) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  s.form = RadixForm::rope;
  s.head_dim = 12;
  const auto rope = erase(s)->evaluator();
  for (std::int64_t r = 0; r < s.positions.size(); r += 7)
    for (std::int64_t m = 0; m < 6; ++m) {
      const Number angle = Number(static_cast<double>(11 * r)) / 7 * exp2(Number(0) - Number(static_cast<double>(2 * m)) / 12 * log2(Number(10000)));
      for (const DType dtype : reference::float_dtypes) {
        wrong += rope->truth(1, std::array{r, m}, dtype) == angle.rounded(dtype) ? 0 : 1;
        wrong += rope->truth(3, std::array{r, m}, dtype) == sin(angle).rounded(dtype) ? 0 : 1;
      }
    }
  CHECK(wrong == 0);
}

TEST_CASE("radix: what makes no sense is refused in one sentence") {
  const auto refused = [](void (*change)(Radix&), const char* part) {
    Radix s;
    CHECK(reference::refusal(*erase(s)) == "");
    change(s);
    const std::string sentence = reference::refusal(*erase(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  refused([](Radix& s) { s.base = 1; }, "base");
  refused([](Radix& s) { s.radices = {10, 2.5}; }, "integers");
  refused([](Radix& s) { s.radices = {10, 10}, s.base_rule = RadixBase::smallest; }, "radices");
  refused([](Radix& s) { s.capacity = 100; }, "base_rule smallest");
  refused([](Radix& s) { s.width = 3; }, "position 2047 does not fit into 3 digits");
  refused([](Radix& s) { s.positions = Positions::list({3, -1}); }, "position -1");
  refused([](Radix& s) { s.form = RadixForm::rope, s.head_dim = 7; }, "even");
}

TEST_CASE("radix: laws hold of right tables and notice wrong values") {
  Radix s{.width = 3, .factor = 3};
  s.positions = Positions::range(0, 50);
  for (const DType dtype : reference::float_dtypes) CHECK(reference::Values(*erase(s), dtype).broken(*erase(s)) == "");
  reference::Values values(*erase(s), DType::f32);
  values.at(31, 1) = 2;
  CHECK(values.broken(*erase(s)) == "value");
  values.at(31, 1) = 11;
  CHECK(values.broken(*erase(s)) == "value");
}

}  // namespace
