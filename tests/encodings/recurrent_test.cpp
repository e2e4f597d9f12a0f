// recurrent: the rotation against sines, linear maps against exact powers, a GRU against plain doubles, refusals, laws.
#include <doctest/doctest.h>

#include <cmath>

#include "encodings/filled.hpp"
#include "encodings/mpfr_reference.hpp"
#include "encodings/recurrent.hpp"

namespace {

using namespace posenc;
using reference::filled;
using reference::Number;

// sin x = 2t / (1 + t^2), cos x = 1 - 2 sin^2(x/2).
Number sinusoid(double position, double pair, double dim, bool sine) {
  const Number half = Number(position) * exp2(Number(0) - Number(2 * pair) / dim * log2(Number(10000))) / 2;
  const Number s = sin(half), t = tan(half);
  return sine ? Number(2) * t / (Number(1) + t * t) : Number(1) - Number(2) * s * s;
}

TEST_CASE("recurrent: the rotation makes the sinusoid, correctly rounded, far rows too") {
  Recurrent s{.length = 700};
  const auto evaluator = erase(s)->evaluator();
  int wrong = 0, outside = 0;
  const reference::Filled one = reference::fill(*evaluator, {0, 700, 0, 8}, false), two = reference::fill(*evaluator, {0, 700, 0, 8}, true);
  for (std::int64_t k = 0; k < 700; k += 13)
    for (std::int64_t c = 0; c < 8; ++c) {
      const Number truth = sinusoid(static_cast<double>(k), static_cast<double>(c / 2), 8, c % 2 == 0);
      for (const auto* f : {&one, &two}) outside += reference::within(*f, static_cast<std::size_t>(k), static_cast<std::size_t>(c), 8, truth) ? 0 : 1;
      if (k % 5 == 0)
        for (const DType dtype : reference::float_dtypes) wrong += evaluator->truth(0, std::array{k, c}, dtype) == truth.rounded(dtype) ? 0 : 1;
    }
  CHECK(wrong == 0);
  CHECK(outside == 0);
  CHECK(one.bounds[699].absolute < 0x1p-90);
}

TEST_CASE("recurrent: a linear map with a bias, exact where numbers are") {
  Recurrent s{.dim = 2, .length = 40};
  s.matrix = Array{{2, 2}, {1, 1, 1, 0}};  // Fibonacci
  s.initial = Array{{2}, {1, 0}};
  auto evaluator = erase(s)->evaluator();
  CHECK(evaluator->truth(0, std::array<std::int64_t, 2>{30, 0}, DType::f64) == 1346269);
  CHECK(evaluator->imitate(Arithmetic::float32, 0, std::array<std::int64_t, 2>{30, 0}) == 1346269);
  CHECK(evaluator->truth(0, std::array<std::int64_t, 2>{39, 0}, DType::f32) == 102334152.0f);  // 102334155
  s.matrix = filled({2, 2}, 0.013);
  s.bias = filled({2}, 0.1);
  evaluator = erase(s)->evaluator();
  Number p[2] = {1, 0};
  int wrong = 0;
  for (std::int64_t k = 0; k < 40; ++k) {
    for (std::int64_t c = 0; c < 2; ++c)
      for (const DType dtype : reference::float_dtypes) wrong += evaluator->truth(0, std::array{k, c}, dtype) == p[c].rounded(dtype) ? 0 : 1;
    const auto& a = s.matrix.values;
    const Number x = Number(a[0]) * p[0] + Number(a[1]) * p[1] + s.bias.values[0], y = Number(a[2]) * p[0] + Number(a[3]) * p[1] + s.bias.values[1];
    p[0] = x, p[1] = y;
  }
  CHECK(wrong == 0);
  CHECK(reference::Values(*erase(s), DType::f32).broken(*erase(s)) == "");
}

Recurrent gru() {
  Recurrent s{.map = RecurrentMap::gru, .dim = 3, .length = 12, .vectors = 2, .time_step = 0.25};
  s.initial = filled({2, 2, 3}, 0.02);
  s.weight_ih_l0 = filled({9, 1}, 0.01), s.weight_hh_l0 = filled({9, 3}, 0.013), s.bias_ih_l0 = filled({9}, 0.007), s.bias_hh_l0 = filled({9}, -0.01);
  s.weight_ih_l1 = filled({9, 3}, -0.015), s.weight_hh_l1 = filled({9, 3}, 0.011), s.bias_ih_l1 = filled({9}, 0.012), s.bias_hh_l1 = filled({9}, 0.02);
  return s;
}

// The equations once more, in double; 12 steps of some 30 roundings each on numbers up to about 2 stay within 1e-12.
TEST_CASE("recurrent: GRU layers") {
  const Recurrent s = gru();
  const auto evaluator = erase(s)->evaluator();
  std::vector<double> h = s.initial.values;
  const auto sigma = [](double x) { return 0.5 * std::tanh(x / 2) + 0.5; };
  for (std::int64_t k = 0; k < 12; ++k) {
    for (std::size_t v = 0; v < 2; ++v) {
      std::vector<double> x{0.25 * static_cast<double>(k)};
      for (std::size_t l = 0; l < 2; ++l) {
        const auto& wi = (l ? s.weight_ih_l1 : s.weight_ih_l0).values;
        const auto& wh = (l ? s.weight_hh_l1 : s.weight_hh_l0).values;
        const auto& bi = (l ? s.bias_ih_l1 : s.bias_ih_l0).values;
        const auto& bh = (l ? s.bias_hh_l1 : s.bias_hh_l0).values;
        double* state = h.data() + (l * 2 + v) * 3;
        double a[9], b[9];
        for (std::size_t g = 0; g < 9; ++g) {
          a[g] = bi[g], b[g] = bh[g];
          for (std::size_t j = 0; j < x.size(); ++j) a[g] += wi[g * x.size() + j] * x[j];
          for (std::size_t j = 0; j < 3; ++j) b[g] += wh[g * 3 + j] * state[j];
        }
        for (std::size_t i = 0; i < 3; ++i) {
          const double z = sigma(a[3 + i] + b[3 + i]);
          state[i] = (1 - z) * std::tanh(a[6 + i] + sigma(a[i] + b[i]) * b[6 + i]) + z * state[i];
        }
        x.assign(state, state + 3);
      }
      for (std::size_t c = 0; c < 3; ++c) {
        const std::array<std::int64_t, 3> index{k, static_cast<std::int64_t>(v), static_cast<std::int64_t>(c)};
        CHECK(std::fabs(evaluator->truth(0, index, DType::f64) - x[c]) <= 1e-12);
        CHECK(std::fabs(evaluator->imitate(Arithmetic::float32, 0, index) - x[c]) <= 1e-4);
      }
    }
  }
  for (const DType dtype : reference::float_dtypes) CHECK(reference::Values(*erase(s), dtype).broken(*erase(s)) == "");
}

TEST_CASE("recurrent: what makes no sense is refused in one sentence") {
  const auto refused = [](void (*change)(Recurrent&), const char* part) {
    Recurrent s;
    CHECK(reference::refusal(*erase(s)) == "");
    change(s);
    const std::string sentence = reference::refusal(*erase(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  refused([](Recurrent& s) { s.dim = 7; }, "even");
  refused([](Recurrent& s) { s.matrix = filled({8}, 1); }, "matrix wants shape [8, 8], got [8]");
  refused([](Recurrent& s) { s.vectors = 2; }, "map gru");
  refused([](Recurrent& s) { s.weight_ih_l0 = filled({24, 1}, 1); }, "weight_ih_l0 goes with map gru");
  refused([](Recurrent& s) { s.map = RecurrentMap::gru, s.bias = filled({8}, 1); }, "map linear");
  refused([](Recurrent& s) { s.map = RecurrentMap::gru, s.layers = 1, s.bias_hh_l1 = filled({24}, 1); }, "layers 2");
  refused([](Recurrent& s) { s.map = RecurrentMap::gru, s.weight_hh_l1 = filled({24, 1}, 1); }, "weight_hh_l1 wants shape [24, 8]");
  refused([](Recurrent& s) { s.map = RecurrentMap::gru, s.initial = filled({8}, 1); }, "initial wants shape [2, 1, 8]");
}

TEST_CASE("recurrent: laws notice wrong values") {
  const Recurrent s;
  for (const DType dtype : reference::float_dtypes) CHECK(reference::Values(*erase(s), dtype).broken(*erase(s)) == "");
  reference::Values values(*erase(s), DType::f32);
  values.at(31, 7) = 0.5;
  CHECK(values.broken(*erase(s)) == "sinusoid");
  Recurrent given{.dim = 2, .length = 8};
  given.matrix = filled({2, 2}, 0.013);
  values = reference::Values(*erase(given), DType::f32);
  values.at(3, 1) += 0.01;
  CHECK(values.broken(*erase(given)) == "recurrence");
}

}  // namespace
