// kerple, sandwich, xpos: truths, fills, golden values that need an input, refusals, laws.
#include <doctest/doctest.h>

#include "encodings/encoding_checks.hpp"
#include "encodings/kerple.hpp"
#include "encodings/oracle.hpp"
#include "encodings/sandwich.hpp"
#include "encodings/xpos.hpp"
#include "golden/golden.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

constexpr SpanForm forms[] = {SpanForm::row, SpanForm::toeplitz, SpanForm::matrix};
constexpr FutureKeys futures[] = {FutureKeys::symmetric, FutureKeys::zero, FutureKeys::mask};

// Wrong values of [head, ..] tensors of a distance; want(head, |distance|) is the formula.
template <class F>
int wrong_biases(const Encoding& encoding, const AttentionSpan& span, FutureKeys future, double masked, F&& want) {
  int wrong = 0;
  const Tensor tensor = encoding.tensors()[0];
  for (const DType dtype : reference::float_dtypes) {
    const auto values = values_of(encoding, dtype);
    for (std::size_t flat = 0; flat < values.size(); ++flat) {
      const auto index = unravel(static_cast<std::int64_t>(flat), tensor);
      const std::int64_t offset = span.query_offset.value_or(0), queries = span.query_length.value_or(span.key_length);
      const std::int64_t d = span.form == SpanForm::matrix ? index[2] - (offset + index[1]) : index[1] - (offset + queries - 1);
      if (d > 0 && future == FutureKeys::mask)
        wrong += values[flat] == masked ? 0 : 1;
      else
        wrong += oracle::correctly_rounded(dtype, values[flat], want(index[0], d > 0 && future == FutureKeys::zero ? 0 : std::abs(d))) ? 0 : 1;
    }
  }
  return wrong;
}

TEST_CASE("kerple: biases and weights, correctly rounded") {
  const std::vector<double> first{0.5, 1, 1.9}, second{0.2, 0.7, 0.004};
  for (const SpanForm form : forms)
    for (const FutureKeys future : futures) {
      const AttentionSpan span{.form = form, .key_length = 13, .query_length = 9, .query_offset = 2};
      Kerple s{.r1 = first, .r2 = second, .future = future, .span = span};
      CHECK(wrong_biases(*erase(s), span, future, -HUGE_VAL, [&](std::int64_t h, std::int64_t m) {
              const auto at = static_cast<std::size_t>(h);
              return Big(-Big(first[at]) * log(1 + Big(std::max(second[at], 0.01)) * m));
            }) == 0);
      check_encoding(*erase(s));
      s.kind = KerpleKind::power;
      s.r1 = second;
      s.r2 = {0.5, 1, 2.6};  // 2.6 is clamped to 2; the square root and the square have exact values among them
      CHECK(wrong_biases(*erase(s), span, future, -HUGE_VAL, [&](std::int64_t h, std::int64_t m) {
              const auto at = static_cast<std::size_t>(h);
              return m == 0 ? Big(0) : Big(-Big(std::max(second[at], 0.01)) * pow(Big(m), Big(std::min(s.r2[at], 2.0))));
            }) == 0);
      check_encoding(*erase(s));
      s.output = KerpleOutput::weight;
      s.w1 = {0.1, 0.2, 0.3};
      s.w2 = {1, 0.5, 2};
      CHECK(wrong_biases(*erase(s), span, future, 0, [&](std::int64_t h, std::int64_t m) {
              const auto at = static_cast<std::size_t>(h);
              return m == 0 ? Big(1) : Big(exp(-Big(s.w1[at]) * pow(Big(m), Big(s.w2[at]))));
            }) == 0);
      check_encoding(*erase(s));
    }
  // Power with exponent 1 is ALiBi's line; without the clamp 0.004 stays.
  CHECK(values_of(*erase(Kerple{.kind = KerpleKind::power, .r1 = {0.004}, .r2 = {1}, .clamp = false, .span = {.form = SpanForm::row, .key_length = 3}})) ==
        std::vector<double>{-0.008, -0.004, 0});
}

// The published layer returns logits * weight + bias.
TEST_CASE("kerple: the public code's outputs") {
  const auto check = [](const char* id, const Kerple& bias, const std::optional<Kerple>& weight) {
    const std::string path = golden::folder + "papers/" + id;
    const auto out = golden::load(path + ".out.npy"), logits = golden::load(path + ".in_logits.npy");
    const auto biases = values_of(*erase(bias));
    const auto weights = weight ? values_of(*erase(*weight)) : std::vector<double>(biases.size(), 1.0);
    REQUIRE(out.size() == biases.size());
    double worst = 0;
    for (std::size_t i = 0; i < out.size(); ++i) worst = std::max(worst, std::fabs(logits[i] * weights[i] + biases[i] - out[i]));
    CHECK(worst <= 1e-12);  // the manifest's
  };
  const AttentionSpan span{.key_length = 6};
  const Kerple log{.r1 = {0.5, 1, 1.9}, .r2 = {0.2, 0.7, 0.004}, .future = FutureKeys::zero, .span = span};
  check("kerple_log", log, {});
  const Kerple power{.kind = KerpleKind::power, .r1 = {0.2, 0.7, 0.004}, .r2 = {0.5, 1, 2.6}, .future = FutureKeys::zero, .span = span};
  check("kerple_power", power, {});
  Kerple weighted = power;
  weighted.r2 = {0.5, 1, 1.9};
  Kerple weight = weighted;
  weight.output = KerpleOutput::weight;
  weight.w1 = {0.1, 0.2, 0.3};
  weight.w2 = {1, 0.5, 2};
  check("kerple_power_weighted", weighted, weight);
}

TEST_CASE("sandwich: correctly rounded, for every head and form") {
  for (const SpanForm form : forms)
    for (const FutureKeys future : futures) {
      const AttentionSpan span{.form = form, .key_length = 12, .query_length = 7, .query_offset = 3};
      const Sandwich s{.num_heads = 3, .dim = 10, .base = 700, .future = future, .span = span};
      CHECK(wrong_biases(*erase(s), span, future, -HUGE_VAL, [&](std::int64_t h, std::int64_t m) {
              Big sum = 0;
              for (int i = 1; i <= 5; ++i) sum += cos(m * exp(-Big(2 * i) / 10 * log(Big(700))));
              return Big((sum - 5) * 3 / (8 * (h + 1)));
            }) == 0);
      check_encoding(*erase(s));
    }
  check_encoding(*erase(Sandwich{.num_heads = 2, .span = {.key_length = 300, .query_length = 4}}));
  // Too far to keep the sums.
  check_encoding(*erase(Sandwich{.num_heads = 2, .dim = 8, .span = {.form = SpanForm::row, .key_length = 8, .query_length = 1, .query_offset = 1 << 21}}));
}

TEST_CASE("xpos: scales, correctly rounded") {
  for (const XposCentre centre : {XposCentre::floor, XposCentre::half})
    for (const std::int64_t offset : {0, 4})
      for (const XposOutput output : {XposOutput::query, XposOutput::key}) {
        const Xpos s{.output = output, .head_dim = 6, .length = 7, .offset = offset, .scale_base = 5, .centre = centre};
        const auto encoding = erase(s);
        for (const DType dtype : reference::float_dtypes) {
          const auto values = values_of(*encoding, dtype);
          int wrong = 0;
          const int total = 7 + static_cast<int>(offset), first = centre == XposCentre::floor ? -((total + 1) / 2) : -(total / 2);
          for (int r = 0; r < 7; ++r)
            for (int i = 0; i < 3; ++i) {
              const Big zeta = (2 * i + Big(0.4) * 6) / ((1 + Big(0.4)) * 6);
              const int n = first + static_cast<int>(offset) + r;
              wrong += oracle::correctly_rounded(dtype, values[static_cast<std::size_t>(3 * r + i)],
                                                 exp(Big(output == XposOutput::query ? n : -n) / 5 * log(zeta)))
                           ? 0
                           : 1;
            }
          CHECK(wrong == 0);
        }
        check_encoding(*encoding);
      }
  check_encoding(*erase(Xpos{.output = XposOutput::zeta}));
}

TEST_CASE("decaying biases: what makes no sense is refused in one sentence") {
  const auto has = [](const Encoding& e, const char* part) { return reference::refusal(e).find(part) != std::string::npos; };
  CHECK(has(*erase(Kerple{}), "r1 and r2 want one number per head each, got 0 and 0"));
  CHECK(has(*erase(Kerple{.r1 = {1}, .r2 = {1, 2}}), "got 1 and 2"));
  CHECK(has(*erase(Kerple{.r1 = {-1}, .r2 = {1}}), "r1"));
  CHECK(has(*erase(Kerple{.output = KerpleOutput::weight, .r1 = {1}, .r2 = {1}}), "w1 and w2"));
  CHECK(has(*erase(Kerple{.kind = KerpleKind::power, .r1 = {1}, .r2 = {2.5}, .clamp = false}), "2.5 is above 2"));
  CHECK(reference::refusal(*erase(Sandwich{})).empty());
  CHECK(has(*erase(Sandwich{.dim = 7}), "dim 7 is odd"));
  CHECK(has(*erase(Sandwich{.base = 0.5}), "base"));
  CHECK(reference::refusal(*erase(Xpos{})).empty());
  CHECK(has(*erase(Xpos{.head_dim = 7}), "head_dim 7 is odd"));
  CHECK(has(*erase(Xpos{.length = 1 << 20, .scale_base = 1}), "beyond the range"));
}

TEST_CASE("decaying biases: laws notice wrong values") {
  const auto kerple = erase(Kerple{.r1 = {1}, .r2 = {1}, .span = {.key_length = 9}});
  CHECK(broken_laws(*kerple, 0, 0).empty());
  CHECK(broken_laws(*kerple, 4 * 9 + 6, 0.5) == "toeplitz symmetric decay");
  CHECK(broken_laws(*kerple, 4 * 9 + 4, -0.25) == "toeplitz origin");
  const auto sandwich = erase(Sandwich{.num_heads = 2, .dim = 4, .span = {.key_length = 5}});
  CHECK(broken_laws(*sandwich, 0, 0).empty());
  CHECK(broken_laws(*sandwich, 2 * 5 + 3, 0.1) == "toeplitz symmetric sign ratio");
  const auto xpos = erase(Xpos{.head_dim = 4, .length = 5});
  CHECK(broken_laws(*xpos, 2 * 3, 1).empty());
  CHECK(broken_laws(*xpos, 3, 1.5) == "geometric");
}

}  // namespace
