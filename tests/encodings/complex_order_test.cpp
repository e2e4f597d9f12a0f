// complex_order: truth against MPFR, sharing and start values, refusals, laws.
#include <doctest/doctest.h>

#include "encodings/complex_order.hpp"
#include "encodings/mpfr_reference.hpp"

namespace {

using namespace posenc;
using reference::Number;

Array filled(std::vector<std::int64_t> shape, double first, double step) {
  Array a{shape, {}};
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  for (std::int64_t i = 0; i < n; ++i) a.values.push_back(first + step * static_cast<double>(i * 7 % 11));
  return a;
}

ComplexOrder sample() {
  ComplexOrder s{.dim = 3, .vocabulary = 4};
  s.words = Array{{5}, {2, 0, 3, 3, 1}};
  s.amplitude = filled({4, 3}, 0.25, 0.3);
  s.frequency = filled({4, 3}, -1, 0.37);
  s.phase = filled({4, 3}, 0.1, 0.9);
  s.positions = Positions::list({0, 1, 2.5, 1000, 0x1p53});
  return s;
}

// sin x = 2t / (1 + t^2), cos x = 1 - 2 sin^2(x/2).
Number turned(const Number& angle, bool imaginary) {
  const Number half = angle / 2, s = sin(half), t = tan(half);
  return imaginary ? Number(2) * t / (Number(1) + t * t) : Number(1) - Number(2) * s * s;
}

TEST_CASE("complex_order: every value is the correctly rounded one, however frequencies are shared") {
  const double words[] = {2, 0, 3, 3, 1};
  for (const auto sharing : {ComplexOrderSharing::none, ComplexOrderSharing::words, ComplexOrderSharing::dimensions}) {
    ComplexOrder s = sample(), pair = s;
    s.sharing = sharing;
    if (sharing == ComplexOrderSharing::words) s.frequency = filled({3}, 0.3, 0.7);
    if (sharing == ComplexOrderSharing::dimensions) s.frequency = filled({4}, 0.3, 0.7);
    pair = s;
    pair.form = ComplexOrderForm::pair;
    const auto evaluator = erase(s)->evaluator(), other = erase(pair)->evaluator();
    int wrong = 0;
    for (std::int64_t r = 0; r < 5; ++r)
      for (std::int64_t c = 0; c < 3; ++c)
        for (std::int64_t part = 0; part < 2; ++part) {
          const auto w = static_cast<std::size_t>(words[r]), at = w * 3 + static_cast<std::size_t>(c);
          const double omega = s.frequency.values[sharing == ComplexOrderSharing::none ? at : sharing == ComplexOrderSharing::words ? static_cast<std::size_t>(c) : w];
          const Number truth = Number(s.amplitude.values[at]) * turned(Number(s.positions[r]) * omega + Number(s.phase.values[at]), part == 1);
          for (const DType dtype : reference::float_dtypes) {
            wrong += evaluator->truth(0, std::array{r, c, part}, dtype) == truth.rounded(dtype) ? 0 : 1;
            wrong += other->truth(static_cast<std::size_t>(part), std::array{r, c}, dtype) == truth.rounded(dtype) ? 0 : 1;
          }
        }
    CHECK(wrong == 0);
  }
}

TEST_CASE("complex_order: start values of the published code") {
  ComplexOrder s{.dim = 6, .vocabulary = 3, .padding_word = 0, .form = ComplexOrderForm::frequencies};
  for (const bool classification : {false, true}) {
    s.frequency_start = classification ? ComplexOrderStart::classification : ComplexOrderStart::translation;
    const auto evaluator = erase(s)->evaluator();
    for (std::int64_t w = 0; w < 3; ++w)
      for (std::int64_t c = 0; c < 6; ++c) {
        const double exponent = 2.0 * static_cast<double>(classification ? c : c / 2);
        const Number power = exp2(Number(0) - Number(exponent) / 6 * log2(Number(10000)));
        const Number truth = w == 0 ? Number(0) : classification ? Number(static_cast<double>(w)) * power : power;
        CHECK(evaluator->truth(0, std::array{w, c}, DType::f64) == truth.rounded(DType::f64));
      }
  }
}

TEST_CASE("complex_order: what makes no sense is refused in one sentence") {
  const auto refused = [](void (*change)(ComplexOrder&), const char* part) {
    ComplexOrder s = sample();
    CHECK(reference::refusal(*erase(s)) == "");
    change(s);
    const std::string sentence = reference::refusal(*erase(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  refused([](ComplexOrder& s) { s.words.values[1] = 4; }, "words wants integers from 0 to 3");
  refused([](ComplexOrder& s) { s.words.values[1] = 0.5; }, "words wants integers");
  refused([](ComplexOrder& s) { s.words = Array{{2}, {0, 1}}; }, "words wants shape [5]");
  refused([](ComplexOrder& s) { s.amplitude = Array{{3}, {1, 1, 1}}; }, "amplitude wants shape [4, 3], got [3]");
  refused([](ComplexOrder& s) { s.sharing = ComplexOrderSharing::words; }, "frequency wants shape [3]");
  refused([](ComplexOrder& s) { s.padding_word = 1; }, "padding_word is for start frequencies");
  refused([](ComplexOrder& s) { s.frequency = {}, s.padding_word = 4; }, "padding_word 4");
}

TEST_CASE("complex_order: laws hold of right tables and notice wrong values") {
  ComplexOrder s = sample();
  s.words.values = {2, 2, 2, 1, 1};
  s.positions = Positions::range(5, 10);
  for (const auto form : {ComplexOrderForm::complex, ComplexOrderForm::pair}) {
    s.form = form;
    const auto encoding = erase(s);
    if (form == ComplexOrderForm::pair) continue;  // Values reads one tensor
    for (const DType dtype : reference::float_dtypes) CHECK(reference::Values(*encoding, dtype).broken(*encoding) == "");
    reference::Values values(*encoding, DType::f32);
    values.at(1, 0) = 7;
    CHECK(values.broken(*encoding) == "amplitude shift");
  }
  ComplexOrder other = s;
  other.form = s.form = ComplexOrderForm::complex;
  other.frequency.values[6] += 0.01;
  CHECK(reference::Values(*erase(other), DType::f32).broken(*erase(s)) == "shift");
}

}  // namespace
