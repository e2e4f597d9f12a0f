// rope against an independent evaluation: values, bounds, layouts, refusals.
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "encodings/memory_file.hpp"
#include "encodings/model.hpp"
#include "encodings/oracle.hpp"
#include "encodings/rope.hpp"
#include "posenc/pipeline.hpp"
#include "stream/block_source.hpp"

using namespace posenc;
using oracle::Big;

namespace {

Spec spec_of(const Rope& rope, DType dtype) {
  Spec spec;
  spec.tables.push_back({"", std::shared_ptr<const Encoding>(erase(rope))});
  spec.dtype = dtype;
  return spec;
}

// Stored values [first, first + count) of tensor `number`, through the pipeline's own block source.
std::vector<double> produced(const Spec& spec, std::size_t number, std::int64_t first, std::int64_t count) {
  const auto tensors = plan(spec, ComplexForm::pair);
  const Evaluators evaluators(spec);
  BlockSource source(evaluators);
  const std::size_t size = size_of(tensors[number].stored.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
  source.produce(tensors[number], first, count, bytes.data());
  std::vector<double> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(stored_value(tensors[number].stored.dtype, bytes.data() + static_cast<std::size_t>(i) * size));
  return out;
}

Big plain_frequency(double base, std::int64_t i, std::int64_t d) { return exp(-Big(2 * i) / d * log(Big(base))); }

const DType float_dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16};

}  // namespace

TEST_CASE("rope: stored values are the correctly rounded truth at positions up to 2^53") {
  std::mt19937_64 random(20240229);
  const double bases[] = {10000, 500000, 1e6, 150000};
  int wrong = 0, checked = 0;
  for (const DType dtype : float_dtypes) {
    for (int trial = 0; trial < 24; ++trial) {
      const double base = bases[trial % 4];
      const int magnitude = trial < 4 ? 11 : 12 + trial * 41 / 24;
      const auto start = static_cast<std::int64_t>(random() % (std::uint64_t{1} << magnitude));
      Rope rope{.head_dim = 32, .base = base, .positions = Positions::range(start, std::min(start + 3, max_position))};
      rope.layout = RopeLayout::half_width;
      for (std::size_t tensor : {0u, 1u}) {
        const std::int64_t n = rope.positions.size() * 16;
        const auto values = produced(spec_of(rope, dtype), tensor, 0, n);
        for (std::int64_t at = 0; at < n; ++at) {
          const Big angle = Big(start + at / 16) * plain_frequency(base, at % 16, 32);
          const Big truth = tensor == 0 ? cos(angle) : sin(angle);
          ++checked;
          if (!oracle::correctly_rounded(dtype, values[static_cast<std::size_t>(at)], truth)) ++wrong;
        }
      }
    }
  }
  CHECK(checked > 9000);
  CHECK(wrong == 0);
}

TEST_CASE("rope: the fast fill keeps its stated bound") {
  std::mt19937_64 random(7);
  for (const double factor : {1.0, 1.138629436111989, 0.3}) {
    for (int trial = 0; trial < 12; ++trial) {
      const auto start = static_cast<std::int64_t>(random() >> (11 + 3 * trial));
      Rope rope{.head_dim = 16, .positions = Positions::range(start, std::min(start + 300, max_position))};
      rope.attention_factor = factor;
      const auto evaluator = erase(rope)->evaluator();
      for (const bool two : {false, true}) {
        std::vector<double> hi(8), lo(8);
        ErrorBound bound;
        const std::int64_t row = rope.positions.size() - 1 - trial % std::min<std::int64_t>(12, rope.positions.size());
        Block block{{row, 1, 0, 8}, hi.data(), two ? lo.data() : nullptr, &bound};
        for (std::size_t tensor : {0u, 1u}) {
          evaluator->fill(tensor, block);
          for (std::int64_t i = 0; i < 8; ++i) {
            const Big angle = Big(start + row) * plain_frequency(10000, i, 16);
            const Big truth = Big(factor) * (tensor == 0 ? Big(cos(angle)) : Big(sin(angle)));
            Big value = Big(hi[static_cast<std::size_t>(i)]);
            if (two) value += Big(lo[static_cast<std::size_t>(i)]);
            const double off = static_cast<double>(Big(abs(value - truth)));
            CHECK(off <= bound.absolute);
          }
        }
        CHECK(bound.absolute < (two ? 1e-26 : 1e-14));
      }
    }
  }
}

TEST_CASE("rope: layouts are rearrangements of the same values") {
  Rope rope{.head_dim = 8, .positions = Positions::range(3, 40, 5)};
  const auto with = [&](RopeLayout layout) {
    Rope r = rope;
    r.layout = layout;
    return r;
  };
  const std::int64_t rows = rope.positions.size();
  const auto c = produced(spec_of(with(RopeLayout::half_width), DType::f32), 0, 0, rows * 4);
  const auto s = produced(spec_of(with(RopeLayout::half_width), DType::f32), 1, 0, rows * 4);
  const auto half = produced(spec_of(with(RopeLayout::half), DType::f32), 1, 0, rows * 8);
  const auto inter = produced(spec_of(with(RopeLayout::interleaved), DType::f32), 0, 0, rows * 8);
  const auto cache = produced(spec_of(with(RopeLayout::cache), DType::f32), 0, 0, rows * 8);
  const auto cis = produced(spec_of(with(RopeLayout::complex), DType::f32), 0, 0, rows * 8);
  Rope m = with(RopeLayout::matrix);
  m.pair_stride = 4;
  const auto matrix = produced(spec_of(m, DType::f32), 0, 0, rows * 64);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < 4; ++i) {
      const auto at = static_cast<std::size_t>(r * 4 + i);
      const auto wide = static_cast<std::size_t>(r * 8);
      const auto ii = static_cast<std::size_t>(i);
      CHECK(half[wide + ii] == s[at]);
      CHECK(half[wide + 4 + ii] == s[at]);
      CHECK(inter[wide + 2 * ii] == c[at]);
      CHECK(inter[wide + 2 * ii + 1] == c[at]);
      CHECK(cache[wide + ii] == c[at]);
      CHECK(cache[wide + 4 + ii] == s[at]);
      CHECK(cis[wide + 2 * ii] == c[at]);
      CHECK(cis[wide + 2 * ii + 1] == s[at]);
      const std::size_t square = static_cast<std::size_t>(r) * 64;
      CHECK(matrix[square + ii * 8 + ii] == c[at]);
      CHECK(matrix[square + ii * 8 + ii + 4] == -s[at]);
      CHECK(matrix[square + (ii + 4) * 8 + ii] == s[at]);
      CHECK(matrix[square + ii * 8 + (ii + 1) % 4] == 0);
    }
}

TEST_CASE("rope: any cut gives the same bytes, for ranges, lists and fractions, at every dtype") {
  const Positions kinds[] = {Positions::range(1000, 1700), Positions::range(500, -500, -7), Positions::parse("5,1,99,-3,1000000007"),
                             Positions::parse("0.5,1.25,-7.75,1e-3,100000.1")};
  for (const Positions& positions : kinds)
    for (const DType dtype : float_dtypes)
      for (const RopeLayout layout : {RopeLayout::half_width, RopeLayout::half, RopeLayout::complex, RopeLayout::cache, RopeLayout::angles}) {
        Rope rope{.head_dim = 12, .positions = positions, .layout = layout};
        const Spec spec = spec_of(rope, dtype);
        const std::int64_t n = plan(spec, ComplexForm::pair)[0].stored.values();
        const auto whole = produced(spec, 0, 0, n);
        for (const std::int64_t cut : {1, 7, 12, 1023}) {
          std::vector<double> pieces;
          for (std::int64_t at = 0; at < n; at += cut) {
            const auto part = produced(spec, 0, at, std::min(cut, n - at));
            pieces.insert(pieces.end(), part.begin(), part.end());
            if (at > 40 * cut) break;  // many cuts of one value are slow to set up; 40 show the kind
          }
          CHECK(std::equal(pieces.begin(), pieces.end(), whole.begin()));
        }
      }
}

TEST_CASE("rope: amplitudes near the ends of the dtypes: values correctly rounded, zeros without a sign, laws hold") {
  for (const double amplitude : {1e-307, 1e-33, 1e-7, 1e-5, 1e6})
    for (const DType dtype : float_dtypes) {
      Rope rope{.head_dim = 4, .positions = Positions::range(0, 64)};
      rope.attention_factor = amplitude;
      const Spec spec = spec_of(rope, dtype);
      int wrong = 0;
      for (std::size_t tensor : {0u, 1u}) {
        const auto values = produced(spec, tensor, 0, 128);
        for (std::int64_t at = 0; at < 128; ++at) {
          const Big angle = Big(at / 2) * plain_frequency(10000, at % 2, 4);
          const Big truth = Big(amplitude) * (tensor == 0 ? cos(angle) : sin(angle));
          wrong += oracle::correctly_rounded(dtype, values[static_cast<std::size_t>(at)], truth) ? 0 : 1;
          if (at < 2 && tensor == 1) wrong += std::signbit(values[static_cast<std::size_t>(at)]) ? 1 : 0;
        }
      }
      CHECK(wrong == 0);
      const auto planned = plan(spec, ComplexForm::pair);
      const auto file = testing_support::generated(spec, planned, {});
      const std::vector<std::size_t> sources{0, 1};
      for (const LawVerdict& law : check_laws(spec, file, planned, sources)) CHECK_MESSAGE(!law.failure, law.name, ": ", law.failure.value_or(""));
    }
}

TEST_CASE("positions that end at 2^53 read back from their text") {
  for (const char* text : {"9007199254740992,", "-9007199254740992,", "9007199254740990:9007199254740993", "-9007199254740990:-9007199254740993:-1", "0.5,9007199254740991,9007199254740992"}) {
    const Positions positions = Positions::parse(text);
    CHECK(Positions::parse(positions.text()) == positions);
  }
  CHECK(Positions::parse("9007199254740992,").size() == 1);
}

TEST_CASE("rope: real positions are correctly rounded too") {
  const double xs[] = {0.5, 1.0 / 3, 1e-3, 12345.678, -7.75, 1e-30, 0.1};
  Rope rope{.head_dim = 8, .positions = Positions::list({std::begin(xs), std::end(xs)})};
  for (const DType dtype : float_dtypes) {
    const auto values = produced(spec_of(rope, dtype), 1, 0, 28);
    for (std::size_t r = 0; r < 7; ++r)
      for (std::int64_t i = 0; i < 4; ++i) {
        const Big truth = sin(Big(xs[r]) * plain_frequency(10000, i, 8));
        CHECK(oracle::correctly_rounded(dtype, values[r * 4 + static_cast<std::size_t>(i)], truth));
      }
  }
}

TEST_CASE("rope: refusals name the parameter") {
  const auto message = [](Rope rope) {
    try {
      rope.check();
    } catch (const Error& e) {
      CHECK(e.failure() == Failure::usage);
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(message({.head_dim = 7}).find("even") != std::string::npos);
  CHECK(message({.head_dim = 64, .rotary_dim = 96}).find("rotary_dim 96") != std::string::npos);
  CHECK(message({.head_dim = 64, .rotary_dim = 32, .partial_rotary_factor = 0.25}).find("disagree") != std::string::npos);
  CHECK(message({.head_dim = 64, .pair_stride = 33}).find("pair_stride") != std::string::npos);
  CHECK(message({.head_dim = 2, .rule = rescale::Ntk{.factor = 4}}).find("above 2") != std::string::npos);
  CHECK(message({.head_dim = 64, .rule = rescale::Yarn{}}).find("factor") != std::string::npos);
  CHECK(message({.head_dim = 64, .offset = max_position}).find("2^53") != std::string::npos);
}
