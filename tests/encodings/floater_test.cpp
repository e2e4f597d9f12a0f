// floater: solvers against their closed forms, nets against plain doubles, order of convergence, refusals, laws.
#include <doctest/doctest.h>

#include <cmath>

#include "encodings/filled.hpp"
#include "encodings/floater.hpp"
#include "encodings/mpfr_reference.hpp"

namespace {

using namespace posenc;
using reference::filled;
using reference::Number;

double value(const Floater& s, std::int64_t k, std::int64_t v, std::int64_t c) {
  return erase(s)->evaluator()->truth(0, std::array{k, v, c}, DType::f64);
}

// A step turns and stretches p_2i+1 + i p_2i by the exponential's series cut after the order: even and odd terms apart.
TEST_CASE("floater: the sinusoid's field by every solver is correctly rounded") {
  for (const auto solver : {FloaterSolver::euler, FloaterSolver::midpoint, FloaterSolver::rk4, FloaterSolver::rk4_38}) {
    const int order = solver == FloaterSolver::euler ? 1 : solver == FloaterSolver::midpoint ? 2 : 4;
    Floater s{.solver = solver, .dim = 4, .length = 9, .dt = 0.75, .substeps = 3, .base = 100};
    const auto evaluator = erase(s)->evaluator();
    const reference::Filled filled_rows = reference::fill(*evaluator, {0, 9, 0, 4}, true);
    int wrong = 0, outside = 0;
    for (std::int64_t pair = 0; pair < 2; ++pair) {
      const Number x = Number(0.75) / 3 * exp2(Number(0) - Number(static_cast<double>(pair)) / 2 * log2(Number(100)));
      Number re = 1, im = 0, term = 1;
      for (int k = 1; k <= order; ++k) {
        term = term * x / static_cast<double>(k);
        if (k % 2) im = im + (k % 4 == 1 ? term : Number(0) - term);
        else re = re + (k % 4 == 0 ? term : Number(0) - term);
      }
      Number sine = 0, cosine = 1;
      for (std::int64_t k = 0; k < 9; ++k) {
        const Number both[] = {sine, cosine};
        for (std::int64_t part = 0; part < 2; ++part) {
          for (const DType dtype : reference::float_dtypes)
            wrong += evaluator->truth(0, std::array{k, std::int64_t{0}, 2 * pair + part}, dtype) == both[part].rounded(dtype) ? 0 : 1;
          outside += reference::within(filled_rows, static_cast<std::size_t>(k), static_cast<std::size_t>(2 * pair + part), 4, both[part]) ? 0 : 1;
        }
        for (int j = 0; j < 3; ++j) {
          const Number turned = cosine * im + sine * re;
          cosine = cosine * re - sine * im;
          sine = turned;
        }
      }
    }
    CHECK(wrong == 0);
    CHECK(outside == 0);
  }
}

// Halving the step divides the error by 2^order.
TEST_CASE("floater: orders of convergence, of both sinusoid's fields") {
  for (const auto field : {FloaterField::sinusoid, FloaterField::sinusoid_forced})
    for (const auto solver : {FloaterSolver::euler, FloaterSolver::midpoint, FloaterSolver::rk4, FloaterSolver::rk4_38}) {
      const int order = solver == FloaterSolver::euler ? 1 : solver == FloaterSolver::midpoint ? 2 : 4;
      Floater s{.field = field, .solver = solver, .dim = 2, .length = 5, .substeps = 8}, finer = s;
      finer.substeps = 16;
      const double exact = std::sin(4.0), ratio = (value(s, 4, 0, 0) - exact) / (value(finer, 4, 0, 0) - exact);
      CHECK(ratio == doctest::Approx(std::pow(2.0, order)).epsilon(0.12));
      for (const DType dtype : reference::float_dtypes) CHECK(reference::Values(*erase(s), dtype).broken(*erase(s)) == "");
    }
}

// Plain doubles and the classical rule: 4 steps of numbers up to about 10 stay within 1e-12.
TEST_CASE("floater: the linear-relu-linear field") {
  Floater s{.field = FloaterField::mlp, .solver = FloaterSolver::rk4, .dim = 3, .length = 3, .vectors = 2, .hidden = 4, .dt = 0.5, .substeps = 2};
  s.initial = filled({2, 3}, 0.02);
  s.weight_0 = filled({4, 4}, 0.01), s.bias_0 = filled({4}, 0.003), s.weight_2 = filled({3, 5}, -0.012), s.bias_2 = filled({3}, 0.01);
  using V = std::vector<double>;
  const auto slope = [&](double t, const V& p) {
    V inner, out;
    for (std::size_t i = 0; i < 4; ++i) {
      double sum = s.bias_0.values[i] + s.weight_0.values[i * 4 + 3] * t;
      for (std::size_t j = 0; j < 3; ++j) sum += s.weight_0.values[i * 4 + j] * p[j];
      inner.push_back(std::max(0.0, sum));
    }
    for (std::size_t i = 0; i < 3; ++i) {
      double sum = s.bias_2.values[i] + s.weight_2.values[i * 5 + 4] * t;
      for (std::size_t j = 0; j < 4; ++j) sum += s.weight_2.values[i * 5 + j] * inner[j];
      out.push_back(sum);
    }
    return out;
  };
  const auto plus = [](const V& p, double h, const V& k) {
    V out = p;
    for (std::size_t i = 0; i < 3; ++i) out[i] += h * k[i];
    return out;
  };
  for (std::int64_t v = 0; v < 2; ++v) {
    V p(s.initial.values.begin() + v * 3, s.initial.values.begin() + v * 3 + 3);
    for (std::int64_t k = 0; k < 3; ++k) {
      for (std::int64_t c = 0; c < 3; ++c) CHECK(std::fabs(value(s, k, v, c) - p[static_cast<std::size_t>(c)]) <= 1e-12);
      for (int j = 0; j < 2; ++j) {
        const double t = 0.5 * static_cast<double>(k) + 0.25 * j, h = 0.25;
        const V k1 = slope(t, p), k2 = slope(t + h / 2, plus(p, h / 2, k1)), k3 = slope(t + h / 2, plus(p, h / 2, k2)), k4 = slope(t + h, plus(p, h, k3));
        for (std::size_t i = 0; i < 3; ++i) p[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
      }
    }
  }
  for (const DType dtype : reference::float_dtypes) CHECK(reference::Values(*erase(s), dtype).broken(*erase(s)) == "");
  reference::Values values(*erase(s), DType::f32);
  values.at(1, 1) = 3;
  CHECK(values.broken(*erase(s)) == "start");
}

// One Euler step from t = 0.5: the convolutions by scattering, with the zeros outside written out.
TEST_CASE("floater: the convolutional field") {
  Floater s{.field = FloaterField::conv, .solver = FloaterSolver::euler, .dim = 6, .length = 3, .vectors = 2, .hidden = 3, .dt = 0.5, .substeps = 1};
  s.initial = filled({2, 6}, 0.02);
  s.weight_0 = filled({3, 3, 5}, 0.01), s.bias_0 = filled({3}, 0.003), s.weight_2 = filled({4, 2, 5}, -0.012), s.bias_2 = filled({2}, 0.01);
  std::vector<double> p = s.initial.values;
  for (int k = 0; k < 3; ++k) {
    for (std::int64_t v = 0; v < 2; ++v)
      for (std::int64_t c = 0; c < 6; ++c) CHECK(std::fabs(value(s, k, v, c) - p[static_cast<std::size_t>(v * 6 + c)]) <= 1e-12);
    const double t = 0.5 * k;
    double padded[3][10] = {}, inner[4][3] = {}, wide[2][11] = {};
    for (int j = 0; j < 3; ++j)
      for (int x = 0; x < 6; ++x) padded[j][x + 2] = j < 2 ? p[static_cast<std::size_t>(j * 6 + x)] : t;
    for (int c = 0; c < 4; ++c)
      for (int x = 0; x < 3; ++x) {
        if (c == 3) {
          inner[c][x] = t;
          continue;
        }
        double sum = s.bias_0.values[static_cast<std::size_t>(c)];
        for (int j = 0; j < 3; ++j)
          for (int i = 0; i < 5; ++i) sum += s.weight_0.values[static_cast<std::size_t>((c * 3 + j) * 5 + i)] * padded[j][2 * x + i];
        inner[c][x] = 1.0507009873554805 * (sum > 0 ? sum : 1.6732632423543772 * std::expm1(sum));
      }
    for (int j = 0; j < 4; ++j)
      for (int c = 0; c < 2; ++c)
        for (int x = 0; x < 3; ++x)
          for (int i = 0; i < 5; ++i) wide[c][2 * x + i] += inner[j][x] * s.weight_2.values[static_cast<std::size_t>((j * 2 + c) * 5 + i)];
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t x = 0; x < 6; ++x) p[c * 6 + x] += 0.5 * (wide[c][x + 2] + s.bias_2.values[c]);
  }
}

TEST_CASE("floater: what makes no sense is refused in one sentence") {
  const auto refused = [](void (*change)(Floater&), const char* part) {
    Floater s;
    CHECK(reference::refusal(*erase(s)) == "");
    change(s);
    const std::string sentence = reference::refusal(*erase(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  refused([](Floater& s) { s.dim = 7; }, "even");
  refused([](Floater& s) { s.dt = 0; }, "dt");
  refused([](Floater& s) { s.substeps = 0; }, "substeps");
  refused([](Floater& s) { s.initial = filled({8}, 1); }, "initial wants shape [1, 8], got [8]");
  refused([](Floater& s) { s.bias_0 = filled({8}, 1); }, "bias_0 goes with field mlp or conv");
  refused([](Floater& s) { s.field = FloaterField::mlp, s.weight_0 = filled({8, 8}, 1); }, "weight_0 wants shape [8, 9], got [8, 8]");
  refused([](Floater& s) { s.field = FloaterField::conv, s.weight_2 = filled({8, 1, 5}, 1); }, "weight_2 wants shape [9, 1, 5]");
  refused([](Floater& s) { s.field = FloaterField::conv, s.dim = 5; }, "even");
}

TEST_CASE("floater: the sinusoid law notices another base") {
  Floater s, other;
  other.base = 5000;
  CHECK(reference::Values(*erase(other), DType::f32).broken(*erase(s)) == "sinusoid");
}

}  // namespace
