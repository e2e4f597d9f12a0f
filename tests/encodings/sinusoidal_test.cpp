// sinusoidal: truth, fast fill, conventions, refusals, laws. The reference is MPFR in other shapes of the formula.
#include <doctest/doctest.h>

#include <random>

#include "encodings/sinusoidal.hpp"
#include "encodings/mpfr_reference.hpp"
#include "numeric/scalar.hpp"

namespace {

using namespace posenc;
using reference::Number;
using Divisor = SinusoidalDivisor;
using Layout = SinusoidalLayout;
using First = SinusoidalFirst;
using Odd = SinusoidalOdd;

std::unique_ptr<Encoding> erased(const Sinusoidal& s) { return erase(s); }

// One convention, with what its channels hold spelt out by hand: (frequency number, sine?) and the exponent's fraction.
struct Convention {
  const char* name;
  Sinusoidal spec;
  std::int64_t (*pair)(std::int64_t channel);  // -1: zero
  bool (*sine)(std::int64_t channel);
  double (*top)(std::int64_t pair);  // exponent = top / bottom
  double bottom;
  double ratio_top = 10000, ratio_bottom = 1;
};

std::vector<Convention> conventions() {
  const auto make = [](std::int64_t dim, Divisor divisor, Layout layout, Odd odd) {
    Sinusoidal s;
    s.dim = dim;
    s.divisor = divisor;
    s.layout = layout;
    s.odd = odd;
    return s;
  };
  std::vector<Convention> all;
  const auto twice = [](std::int64_t i) { return 2.0 * static_cast<double>(i); };
  const auto once = [](std::int64_t i) { return static_cast<double>(i); };
  all.push_back({"paper", make(64, Divisor::n, Layout::interleaved, Odd::refuse), [](std::int64_t c) { return c / 2; },
                 [](std::int64_t c) { return c % 2 == 0; }, twice, 64});
  all.push_back({"tutorial, odd", make(13, Divisor::n, Layout::interleaved, Odd::sine), [](std::int64_t c) { return c / 2; },
                 [](std::int64_t c) { return c % 2 == 0; }, twice, 13});
  all.push_back({"cos first", make(16, Divisor::n, Layout::interleaved, Odd::refuse), [](std::int64_t c) { return c / 2; },
                 [](std::int64_t c) { return c % 2 == 1; }, twice, 16});
  all.back().spec.first = First::cosine;
  all.push_back({"GPT-J", make(32, Divisor::n, Layout::concatenated, Odd::refuse), [](std::int64_t c) { return c % 16; },
                 [](std::int64_t c) { return c < 16; }, twice, 32});
  all.push_back({"Marian, odd", make(13, Divisor::n, Layout::concatenated, Odd::split),
                 [](std::int64_t c) { return c < 7 ? c : c - 7; }, [](std::int64_t c) { return c < 7; }, twice, 13});
  all.push_back({"fairseq", make(33, Divisor::n_minus_1, Layout::concatenated, Odd::zero),
                 [](std::int64_t c) { return c == 32 ? -1 : c % 16; }, [](std::int64_t c) { return c < 16; }, once, 15});
  all.push_back({"flipped, n - 1", make(17, Divisor::n_minus_1, Layout::concatenated, Odd::zero),
                 [](std::int64_t c) { return c == 16 ? -1 : c % 8; }, [](std::int64_t c) { return c >= 8; }, once, 7});
  all.back().spec.first = First::cosine;
  all.push_back({"interleaved, zero column", make(9, Divisor::n, Layout::interleaved, Odd::zero),
                 [](std::int64_t c) { return c == 8 ? -1 : c / 2; }, [](std::int64_t c) { return c % 2 == 0; }, twice, 8});
  all.push_back({"tensor2tensor, min 2", make(22, Divisor::n_minus_1_guarded, Layout::concatenated, Odd::zero),
                 [](std::int64_t c) { return c % 11; }, [](std::int64_t c) { return c < 11; }, once, 10});
  all.back().spec.min_timescale = 2;
  all.back().spec.max_timescale = all.back().ratio_top = 500;
  all.back().ratio_bottom = 2;
  all.push_back({"tensor2tensor, one pair", make(3, Divisor::n_minus_1_guarded, Layout::concatenated, Odd::zero),
                 [](std::int64_t c) -> std::int64_t { return c == 2 ? -1 : 0; }, [](std::int64_t c) { return c == 0; }, once, 1});
  return all;
}

// sin x = 2t / (1 + t^2) with t = tan(x/2), cos x = 1 - 2 sin^2(x/2), frequency by powers of two.
Number expected(const Convention& c, double position, std::int64_t channel) {
  const std::int64_t pair = c.pair(channel);
  if (pair < 0) return 0;
  const Number exponent = Number(c.top(pair)) / c.bottom * log2(Number(c.ratio_top) / c.ratio_bottom);
  const Number half = Number(position) * c.spec.min_timescale * exp2(Number(0) - exponent) / 2;
  const Number s = sin(half), t = tan(half);
  return c.sine(channel) ? Number(2) * t / (Number(1) + t * t) : Number(1) - Number(2) * s * s;
}

TEST_CASE("sinusoidal: every value is the correctly rounded one, positions to 2^53") {
  const std::vector<double> positions{0, 1, 2, 3, 999, 131071, 0x1p31 - 1, 0x1p31 + 1, 0x1p53 - 1, 0x1p53, -7, 0.5, 0.1, 1e-5};
  int wrong = 0, seen = 0;
  for (Convention c : conventions()) {
    CAPTURE(c.name);
    c.spec.positions = Positions::list(positions);
    const auto evaluator = erased(c.spec)->evaluator();
    for (std::size_t p = 0; p < positions.size(); ++p)
      for (std::int64_t channel = 0; channel < c.spec.dim; ++channel) {
        const Number truth = expected(c, positions[p], channel);
        const std::int64_t index[] = {static_cast<std::int64_t>(p), channel};
        for (const DType dtype : reference::float_dtypes) {
          wrong += evaluator->truth(0, index, dtype) == truth.rounded(dtype) ? 0 : 1;
          ++seen;
        }
      }
  }
  CHECK(seen > 10000);
  CHECK(wrong == 0);
}

TEST_CASE("sinusoidal: the fill keeps its bound, in one double and in two") {
  const std::vector<Positions> ranges{Positions::range(0, 600),
                                      Positions::range(-300, 300),
                                      Positions::range(5, 5000, 7),
                                      Positions::range((std::int64_t{1} << 31) - 3, (std::int64_t{1} << 31) + 400),
                                      Positions::range(max_position - 300, max_position),
                                      Positions::list({0, 1, 0.5, 0.1, 1e-5, -3.25, 0x1p53, 1e9})};
  std::mt19937_64 random(1);
  for (Convention c : conventions()) {
    for (const Positions& positions : ranges) {
      c.spec.positions = positions;
      const auto evaluator = erased(c.spec)->evaluator();
      const Extent all{0, positions.size(), 0, c.spec.dim};
      for (const bool two : {false, true}) {
        const reference::Filled f = reference::fill(*evaluator, all, two);
        int outside = 0, slow = 0;
        for (int k = 0; k < 120; ++k) {
          const std::size_t r = random() % static_cast<std::size_t>(positions.size());
          const std::size_t col = random() % static_cast<std::size_t>(c.spec.dim);
          const Number truth = expected(c, positions[static_cast<std::int64_t>(r)], static_cast<std::int64_t>(col));
          outside += reference::within(f, r, col, static_cast<std::size_t>(c.spec.dim), truth) ? 0 : 1;
          slow += positions.is_range() && f.bounds[r].absolute > 0x1p-49 ? 1 : 0;
        }
        CAPTURE(c.name);
        CAPTURE(positions.text());
        CHECK(outside == 0);
        CHECK(slow == 0);
      }
    }
  }
}

TEST_CASE("sinusoidal: any block gives the same bits") {
  std::mt19937_64 random(2);
  for (Convention c : conventions()) {
    c.spec.positions = Positions::range(-20, 700);
    c.spec.padding_row = 1;
    const auto evaluator = erased(c.spec)->evaluator();
    const std::int64_t dim = c.spec.dim;
    for (const bool two : {false, true}) {
      const reference::Filled whole = reference::fill(*evaluator, {0, 720, 0, dim}, two);
      for (int k = 0; k < 40; ++k) {
        const auto row = static_cast<std::int64_t>(random() % 700);
        const auto col = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(dim));
        const Extent extent =
            k % 2 ? Extent{row, 1, col, dim - col} : Extent{row, static_cast<std::int64_t>(random() % 20 + 1), 0, dim};
        const reference::Filled part = reference::fill(*evaluator, extent, two);
        bool same = true;
        for (std::int64_t i = 0; i < extent.elements(); ++i) {
          const auto at = static_cast<std::size_t>((row + i / extent.cols) * dim + extent.col + i % extent.cols);
          const auto here = static_cast<std::size_t>(i);
          same = same && part.hi[here] == whole.hi[at] && part.lo[here] == whole.lo[at] &&
                 std::signbit(part.hi[here]) == std::signbit(whole.hi[at]);
        }
        CHECK(same);
      }
    }
  }
}

TEST_CASE("sinusoidal: what is exact is declared exact") {
  Sinusoidal s{.dim = 9, .divisor = Divisor::n_minus_1, .layout = Layout::concatenated, .odd = Odd::zero};
  s.positions = Positions::range(-2, 10);
  s.padding_row = 5;
  const auto evaluator = erased(s)->evaluator();
  for (const bool two : {false, true}) {
    const reference::Filled f = reference::fill(*evaluator, {0, 12, 0, 9}, two);
    for (const std::size_t row : {2, 5}) {
      CHECK(f.bounds[row].absolute == 0);
      CHECK(f.bounds[row].relative == 0);
      for (std::size_t c = 0; c < 9; ++c) CHECK(f.hi[row * 9 + c] == (row == 2 && c >= 4 && c < 8 ? 1.0 : 0.0));
    }
    CHECK(f.bounds[3].absolute > 0);
    CHECK(f.weight[8] == 0);
    CHECK(f.weight[0] == 1);
    for (std::size_t row = 0; row < 12; ++row) {
      CHECK(f.hi[row * 9 + 8] == 0);
      CHECK_FALSE(std::signbit(f.hi[row * 9 + 8]));
    }
  }
}

TEST_CASE("sinusoidal: frequencies beyond the fast path still have an honest bound") {
  Convention c = conventions()[0];
  c.spec.min_timescale = 1e12;
  c.spec.positions = Positions::range(0, 9);
  const auto evaluator = erased(c.spec)->evaluator();
  const reference::Filled f = reference::fill(*evaluator, {0, 9, 0, 64}, false);
  for (std::size_t r = 0; r < 9; ++r)
    for (std::size_t col = 0; col < 64; ++col)
      CHECK(reference::within(f, r, col, 64, expected(c, static_cast<double>(r), static_cast<std::int64_t>(col))));
}

// The values that FIELD_LOG B35 gives for telling the conventions apart, computed there independently to 10 digits.
TEST_CASE("sinusoidal: position 1 at width 8 in the four conventions, and Whisper's last row") {
  const auto row = [](const Sinusoidal& s, std::int64_t r) {
    std::vector<double> out;
    const auto evaluator = erased(s)->evaluator();
    for (std::int64_t c = 0; c < s.dim; ++c) out.push_back(evaluator->truth(0, std::array{r, c}, DType::f64));
    return out;
  };
  const auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::fabs(a[i] - b[i]) <= 5e-10 * std::fabs(b[i]));  // 10 printed digits
  };
  Sinusoidal s{.dim = 8, .positions = Positions::range(0, 2)};
  near(row(s, 1), {0.8414709848, 0.5403023059, 0.09983341665, 0.9950041653, 0.009999833334, 0.9999500004, 0.0009999998333, 0.9999995});
  s.layout = Layout::concatenated;
  near(row(s, 1), {0.8414709848, 0.09983341665, 0.009999833334, 0.0009999998333, 0.5403023059, 0.9950041653, 0.9999500004, 0.9999995});
  s.divisor = Divisor::n_minus_1;
  near(row(s, 1),
       {0.8414709848, 0.04639922346, 0.002154433023, 0.00009999999983, 0.5403023059, 0.998922976, 0.9999976792, 0.999999995});
  s.first = First::cosine;
  near(row(s, 1),
       {0.5403023059, 0.998922976, 0.9999976792, 0.999999995, 0.8414709848, 0.04639922346, 0.002154433023, 0.00009999999983});

  const Sinusoidal whisper{
      .dim = 1280, .divisor = Divisor::n_minus_1, .layout = Layout::concatenated, .positions = Positions::range(0, 1500)};
  const std::vector<double> last = row(whisper, 1499);
  near({last[0], last[1], last[639], last[640], last[1279]},
       {-0.444220699338, 0.841641386827, 0.149339254619, -0.895917390321, 0.988786016805});
}

// Step by step in plain binary32, as GPT-J, fairseq and tensor2tensor write it.
TEST_CASE("sinusoidal: the float32 arithmetic takes the steps of model code") {
  using num::Float32;
  const auto imitated = [](const Sinusoidal& s, std::int64_t r, std::int64_t c) {
    return erased(s)->evaluator()->imitate(Arithmetic::float32, 0, std::array{r, c});
  };
  Sinusoidal s{.dim = 64, .layout = Layout::concatenated};
  for (const std::int64_t i : {0, 1, 7, 31}) {
    const float inv = 1.0f / num::pow_f32(10000.0f, static_cast<float>(2 * i) / 64.0f);
    CHECK(imitated(s, 2047, i) == num::sin_f32(2047.0f * inv));
    CHECK(imitated(s, 2047, 32 + i) == num::cos_f32(2047.0f * inv));
  }
  s.divisor = Divisor::n_minus_1;
  for (const std::int64_t i : {0, 1, 7, 31}) {
    const float inv = num::exp_f32(static_cast<float>(i) * static_cast<float>(-9.210340371976184 / 31));
    CHECK(imitated(s, 2047, i) == num::sin_f32(2047.0f * inv));
  }
  s.divisor = Divisor::n_minus_1_guarded;
  s.min_timescale = 2;
  s.max_timescale = 20000;
  for (const std::int64_t i : {0, 1, 7, 31}) {
    const float inv = 2.0f * num::exp_f32(static_cast<float>(i) * -(9.2103404f / 31.0f));
    CHECK(imitated(s, 2047, i) == num::sin_f32(2047.0f * inv));
  }
}

TEST_CASE("sinusoidal: what makes no sense is refused in one sentence") {
  const auto refused = [](void (*change)(Sinusoidal&), const char* part) {
    Sinusoidal s;
    s.dim = 9;
    s.odd = Odd::zero;
    CHECK(reference::refusal(*erased(s)) == "");
    change(s);
    const std::string sentence = reference::refusal(*erased(s));
    CAPTURE(sentence);
    CHECK(sentence.find(part) != std::string::npos);
    CHECK(sentence.find('\n') == std::string::npos);
  };
  refused([](Sinusoidal& s) { s.odd = Odd::refuse; }, "dim 9 is odd");
  refused([](Sinusoidal& s) { s.dim = 1; }, "no room for a sine");
  refused([](Sinusoidal& s) { s.dim = 0; }, "dim");
  refused([](Sinusoidal& s) { s.odd = Odd::sine, s.first = First::cosine; }, "use odd zero");
  refused([](Sinusoidal& s) { s.odd = Odd::sine, s.divisor = Divisor::n_minus_1; }, "goes with divisor n;");
  refused([](Sinusoidal& s) { s.odd = Odd::split; }, "goes with layout concatenated");
  refused([](Sinusoidal& s) { s.odd = Odd::sine, s.layout = Layout::concatenated; }, "goes with layout interleaved");
  refused([](Sinusoidal& s) { s.dim = 2, s.divisor = Divisor::n_minus_1; }, "divide by zero");
  refused([](Sinusoidal& s) { s.dim = 3, s.divisor = Divisor::n_minus_1; }, "divide by zero");
  refused([](Sinusoidal& s) { s.base = 500, s.max_timescale = 10000; }, "disagree");
  refused([](Sinusoidal& s) { s.base = -1; }, "base");
  refused([](Sinusoidal& s) { s.min_timescale = 0; }, "min_timescale");
  refused([](Sinusoidal& s) { s.padding_row = 2048; }, "padding_row 2048");
  refused([](Sinusoidal& s) { s.padding_row = -1; }, "padding_row");
  refused([](Sinusoidal& s) { s.offset = max_position; }, "2^53");
}

TEST_CASE("sinusoidal: laws hold of right tables in every dtype and notice wrong values") {
  for (Convention c : conventions()) {
    CAPTURE(c.name);
    c.spec.positions = Positions::range(3, 40);
    c.spec.padding_row = 4;
    const auto encoding = erased(c.spec);
    for (const DType dtype : reference::float_dtypes) CHECK(reference::Values(*encoding, dtype).broken(*encoding) == "");
  }
  Sinusoidal s{.dim = 17, .divisor = Divisor::n_minus_1, .layout = Layout::concatenated, .odd = Odd::zero};
  s.positions = Positions::range(0, 30);
  s.padding_row = 1;
  const auto encoding = erased(s);
  const auto broken = [&](std::int64_t row, std::int64_t column, double value) {
    reference::Values values(*encoding, DType::f32);
    values.at(row, column) = value;
    return values.broken(*encoding);
  };
  CHECK(broken(29, 2, 0.1).find("norm") == 0);
  CHECK(broken(1, 3, 1e-30) == "padding");
  CHECK(broken(7, 16, 0.5) == "zero-column");
  // A table of another base satisfies the norm, not the rest.
  Sinusoidal other = s;
  other.base = 5000;
  CHECK(reference::Values(*erased(other), DType::f32).broken(*encoding) == "shift inner-product");
  // Sines and cosines exchanged: p(k + s) turns the other way.
  other = s;
  other.first = First::cosine;
  CHECK(reference::Values(*erased(other), DType::f32).broken(*encoding) == "shift");
}

}  // namespace
