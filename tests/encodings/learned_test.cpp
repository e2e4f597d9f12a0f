// learned: values against MPFR's erfc at rounding boundaries, exact uniforms, conventions, refusals, laws.
#include <doctest/doctest.h>
#include <mpfr.h>

#include <cmath>

#include "encodings/learned.hpp"
#include "encodings/mpfr_reference.hpp"
#include "numeric/philox.hpp"

namespace {

using namespace posenc;
using reference::Number;
using Initialiser = LearnedInitialiser;

// Sign of the distribution function at x, minus u = (k + 1/2) / 2^53; normal(mean, std) cut to [a, b] sigmas, at 600 bits.
struct Normal {
  double mean, std;
  double a = -HUGE_VAL, b = HUGE_VAL;  // of values, in sigmas

  static void phi(mpfr_t out, const mpfr_t z) {
    mpfr_t root;
    mpfr_init2(root, 600);
    mpfr_sqrt_ui(root, 2, MPFR_RNDN);
    mpfr_div(out, z, root, MPFR_RNDN);
    mpfr_neg(out, out, MPFR_RNDN);
    mpfr_erfc(out, out, MPFR_RNDN);
    mpfr_div_2ui(out, out, 1, MPFR_RNDN);
    mpfr_clear(root);
  }
  // x = (x1 + x2) / 2.
  [[nodiscard]] int side(double x1, double x2, std::uint64_t k) const {
    mpfr_t z, low, high, u;
    mpfr_inits2(600, z, low, high, u, nullptr);
    mpfr_set_d(z, x1, MPFR_RNDN);
    mpfr_add_d(z, z, x2, MPFR_RNDN);
    mpfr_div_2ui(z, z, 1, MPFR_RNDN);
    mpfr_sub_d(z, z, mean, MPFR_RNDN);
    mpfr_div_d(z, z, std, MPFR_RNDN);
    phi(z, z);
    mpfr_set_d(low, a, MPFR_RNDN), mpfr_set_d(high, b, MPFR_RNDN);
    phi(low, low), phi(high, high);
    mpfr_sub(high, high, low, MPFR_RNDN);
    mpfr_set_ui(u, static_cast<unsigned long>(k), MPFR_RNDN);
    mpfr_add_d(u, u, 0.5, MPFR_RNDN);
    mpfr_div_2ui(u, u, 53, MPFR_RNDN);
    mpfr_mul(u, u, high, MPFR_RNDN);
    mpfr_add(u, u, low, MPFR_RNDN);
    const int sign = mpfr_cmp(z, u);
    mpfr_clears(z, low, high, u, nullptr);
    return sign;
  }
};

double next(DType dtype, double x, int direction) {
  const double ends[] = {-HUGE_VAL, HUGE_VAL};
  const double to = ends[direction > 0 ? 1 : 0];
  if (dtype == DType::f64) return std::nextafter(x, to);
  if (dtype == DType::f32) return std::nextafterf(static_cast<float>(x), static_cast<float>(to));
  const int digits = dtype == DType::f16 ? 11 : 8, emin = dtype == DType::f16 ? -14 : -126;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  // The step below a power of two, towards zero, is half as large.
  if (std::fabs(fraction) == 0.5 && (x > 0) != (direction > 0)) --exponent;
  return x + direction * std::ldexp(1.0, std::max(exponent - digits, emin - digits + 1));
}

int wrong_roundings(const Learned& s, const Normal& normal) {
  int wrong = 0;
  const auto evaluator = erase(s)->evaluator();
  for (std::int64_t r = 0; r < s.rows(); ++r)
    for (std::int64_t c = 0; c < s.dim; ++c) {
      const std::uint64_t k = num::philox_k(static_cast<std::uint64_t>(s.seed), 0, static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(c));
      for (const DType dtype : reference::float_dtypes) {
        const double x = evaluator->truth(0, std::array{r, c}, dtype);
        wrong += normal.side(x, next(dtype, x, -1), k) < 0 && normal.side(x, next(dtype, x, 1), k) > 0 ? 0 : 1;
      }
    }
  return wrong;
}

TEST_CASE("learned: normal values are the correctly rounded quantiles") {
  Learned s{.length = 12, .dim = 9, .seed = 77};
  CHECK(wrong_roundings(s, {0, 0.02}) == 0);
  s.mean = 0.3, s.std = 1.7;
  CHECK(wrong_roundings(s, {0.3, 1.7}) == 0);
}

TEST_CASE("learned: truncated values by both definitions") {
  Learned s{.length = 12, .dim = 9, .initialiser = Initialiser::truncated_sigma};
  CHECK(wrong_roundings(s, {0, 0.02, -2, 2}) == 0);
  s.mean = 1, s.std = 0.5, s.low = -1, s.high = 0.25;
  CHECK(wrong_roundings(s, {1, 0.5, -1, 0.25}) == 0);
  s.initialiser = Initialiser::truncated_absolute;
  s.low = 0.5, s.high = 3;  // -1 and 4 sigmas
  CHECK(wrong_roundings(s, {1, 0.5, -1, 4}) == 0);
  // Bounds at 100 sigma cut nothing.
  Learned plain{.length = 12, .dim = 9}, torch = plain;
  torch.initialiser = Initialiser::truncated_absolute;
  CHECK(reference::Values(*erase(plain), DType::f64).row(0, 7) == reference::Values(*erase(torch), DType::f64).row(0, 7));
}

TEST_CASE("learned: uniform values and their bounds") {
  struct Uniform {
    Initialiser initialiser;
    Number low, high;
  };
  const auto root = [](double top, double bottom) { return exp2(log2(Number(top) / bottom) / 2); };
  const Number xavier = root(6, 15 + 10), kaiming = root(6, 10);
  int wrong = 0;
  for (const Uniform& u : {Uniform{Initialiser::uniform, Number(0), Number(1)}, Uniform{Initialiser::xavier_uniform, Number(0) - xavier, xavier},
                           Uniform{Initialiser::kaiming_uniform, Number(0) - kaiming, kaiming}}) {
    Learned s{.length = 13, .dim = 10, .initialiser = u.initialiser, .seed = 5, .offset = 2};
    const auto evaluator = erase(s)->evaluator();
    for (std::int64_t r = 0; r < 15; ++r)
      for (std::int64_t c = 0; c < 10; ++c) {
        const std::uint64_t k = num::philox_k(5, 0, static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(c));
        const Number truth = u.low + (u.high - u.low) * ((Number(static_cast<double>(k)) + 0.5) / 0x1p53);
        for (const DType dtype : reference::float_dtypes) wrong += evaluator->truth(0, std::array{r, c}, dtype) == truth.rounded(dtype) ? 0 : 1;
      }
  }
  CHECK(wrong == 0);
}

TEST_CASE("learned: a longer and wider table keeps the values; a seed changes them; uniforms replace them") {
  const Learned small{.length = 5, .dim = 7}, large{.length = 9, .dim = 12};
  Learned other = small;
  other.seed = 1;
  reference::Values a(*erase(small), DType::f64), b(*erase(large), DType::f64), c(*erase(other), DType::f64);
  int equal = 0;
  for (std::int64_t r = 0; r < 5; ++r)
    for (std::int64_t k = 0; k < 7; ++k) {
      CHECK(a.at(r, k) == b.at(r, k));
      equal += a.at(r, k) == c.at(r, k) ? 1 : 0;
    }
  CHECK(equal == 0);
  Learned given{.length = 1, .dim = 3, .std = 1};
  given.uniforms = Array{{1, 3}, {0.5, 0.25, 0.975}};
  reference::Values z(*erase(given), DType::f64);
  CHECK(z.at(0, 0) == 0);
  CHECK(z.at(0, 1) == doctest::Approx(-0.6744897501960817).epsilon(1e-15));
  CHECK(z.at(0, 2) == doctest::Approx(1.959963984540054).epsilon(1e-15));
}

TEST_CASE("learned: the numbers of a distribution") {
  Learned s{.length = 50, .dim = 64, .initialiser = Initialiser::truncated_sigma, .std = 1};
  s.form = LearnedForm::distribution;
  const auto number = [&](std::size_t tensor) { return erase(s)->evaluator()->truth(tensor, std::array<std::int64_t, 1>{0}, DType::f64); };
  CHECK(number(4) == 0.87962566103423978);
  s.variance_correction = true;
  CHECK(number(4) == 1);
  s = {.length = 50, .dim = 64};
  s.form = LearnedForm::distribution;
  CHECK(number(0) == -HUGE_VAL);
  CHECK(number(5) == 0.02);
}

TEST_CASE("learned: reserved and padding rows") {
  const Learned roberta{.length = 6, .dim = 4, .offset = 2, .padding_row = 1};
  CHECK(roberta.tensors()[0].rows() == 8);
  reference::Values values(*erase(roberta), DType::f32);
  for (std::int64_t c = 0; c < 4; ++c) CHECK(values.at(1, c) == 0);
  CHECK(values.at(0, 0) != 0);
  CHECK(values.broken(*erase(roberta)) == "");
  values.at(1, 2) = 1e-9;
  CHECK(values.broken(*erase(roberta)) == "padding");
}

TEST_CASE("learned: laws notice values outside the bounds and a shifted table") {
  Learned s{.length = 40, .dim = 8, .initialiser = Initialiser::truncated_sigma};
  for (const DType dtype : reference::float_dtypes) CHECK(reference::Values(*erase(s), dtype).broken(*erase(s)) == "");
  reference::Values values(*erase(s), DType::f32);
  values.at(3, 3) = 0.0401;
  CHECK(values.broken(*erase(s)) == "range");
  for (std::int64_t r = 0; r < 40; ++r)
    for (std::int64_t c = 0; c < 8; ++c) values.at(r, c) = 0.02;
  CHECK(values.broken(*erase(s)) == "mean");
}

TEST_CASE("learned: what makes no sense is refused in one sentence") {
  const auto refused = [](void (*change)(Learned&), const char* part) {
    Learned s{.length = 8, .dim = 4};
    CHECK(reference::refusal(*erase(s)) == "");
    change(s);
    const std::string sentence = reference::refusal(*erase(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
  };
  refused([](Learned& s) { s.initialiser = Initialiser::uniform, s.std = 1; }, "std does not go");
  refused([](Learned& s) { s.initialiser = Initialiser::zeros, s.mean = 1; }, "mean does not go");
  refused([](Learned& s) { s.low = 1; }, "low and high do not go");
  refused([](Learned& s) { s.initialiser = Initialiser::uniform, s.low = 1; }, "low 1 must be below high 1");
  refused([](Learned& s) { s.initialiser = Initialiser::truncated_absolute, s.low = 1; }, "nothing of the distribution");
  refused([](Learned& s) { s.variance_correction = true; }, "truncated-sigma");
  refused([](Learned& s) { s.padding_row = 8; }, "padding_row 8");
  refused([](Learned& s) { s.uniforms = Array{{4, 8}, std::vector<double>(32, 0.5)}; }, "uniforms wants shape [8, 4]");
  refused([](Learned& s) { s.uniforms = Array{{8, 4}, std::vector<double>(32, 1.0)}; }, "uniforms must be");
  refused([](Learned& s) { s.std = 0; }, "std");
}

}  // namespace
