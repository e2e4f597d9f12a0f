// apply: values against the formula in 400 bits, cuts and threads, IEEE specials, imitated arithmetic, scores, refusals.
#include "posenc/apply.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <random>

#include "encodings/alibi.hpp"
#include "encodings/attention_temperature.hpp"
#include "encodings/memory_file.hpp"
#include "encodings/oracle.hpp"
#include "encodings/rope.hpp"
#include "encodings/rope_2d.hpp"
#include "encodings/sincos_2d.hpp"
#include "encodings/sinusoidal.hpp"
#include "posenc/error.hpp"
#include "stream/block_source.hpp"
#include "posenc/text.hpp"
#include "support/refusals.hpp"

using namespace posenc;
using namespace testing_support;
using oracle::Big;
using oracle::correctly_rounded;

namespace {

constexpr DType float_dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16};

class MemoryInput final : public Input {
 public:
  MemoryInput(std::vector<std::int64_t> shape, std::vector<double> values) : shape_(std::move(shape)), values_(std::move(values)) {}
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  void read(std::int64_t first, std::span<double> out) const override {
    std::copy_n(values_.begin() + first, out.size(), out.begin());
  }

 private:
  std::vector<std::int64_t> shape_;
  std::vector<double> values_;
};

std::int64_t product(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// Normal numbers in binary32, or with all 53 bits.
std::vector<double> some_values(std::int64_t count, bool single, std::uint64_t seed = 3) {
  std::mt19937_64 random(seed);
  std::vector<double> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const double v = std::ldexp(static_cast<double>(random() >> 11), -53) * 8 - 4;
    out.push_back(single ? static_cast<double>(static_cast<float>(v)) : v);
  }
  return out;
}

std::shared_ptr<const Input> memory(std::vector<std::int64_t> shape, std::vector<double> values) {
  return std::make_shared<MemoryInput>(std::move(shape), std::move(values));
}

Spec spec_of(std::shared_ptr<const Encoding> encoding, DType dtype) {
  Spec spec;
  spec.tables.push_back({"", std::move(encoding)});
  spec.dtype = dtype;
  return spec;
}

std::vector<double> results(const std::shared_ptr<const Encoding>& y, DType dtype, Arithmetic arithmetic = Arithmetic::exact) {
  Spec spec = spec_of(y, dtype);
  spec.arithmetic = arithmetic;
  const auto planned = plan(spec, ComplexForm::pair);
  const MemoryFile file = generated(spec, planned, {.threads = 2, .block_bytes = 4096});
  std::vector<double> out;
  for (std::size_t at = 0; at < file.bytes[0].size(); at += size_of(dtype)) out.push_back(stored_value(dtype, file.bytes[0].data() + at));
  return out;
}

// cos and sin of a position's turn of pair i of d lanes.
std::pair<Big, Big> turn(std::int64_t position, std::int64_t i, std::int64_t d, double base = 10000) {
  const Big angle = Big(position) * exp(-Big(2 * i) / d * log(Big(base)));
  return {cos(angle), sin(angle)};
}

}  // namespace

TEST_CASE("rotate: every pairing, every dtype, correctly rounded") {
  constexpr std::int64_t heads = 2, positions = 5, lanes = 10, rotary = 8, pairs = rotary / 2;
  const std::vector<std::int64_t> shape{heads, positions, lanes};
  const std::vector<double> x = some_values(product(shape), false);
  const auto input = memory(shape, x);
  for (const RopeLayout layout : {RopeLayout::half_width, RopeLayout::half, RopeLayout::interleaved})
    for (const Pairing pairing : {Pairing::half, Pairing::interleaved, Pairing::interleaved_to_half}) {
      const bool matched = layout == RopeLayout::half_width || (layout == RopeLayout::interleaved) == (pairing == Pairing::interleaved);
      if (!matched) continue;  // golden rope_unmatched_layout has that
      for (const bool back : {false, true}) {
        const Rope rope{.head_dim = lanes, .rotary_dim = rotary, .positions = Positions::range(131000, 131000 + positions), .layout = layout};
        const auto y = applied(erase(rope), {.operation = back ? Operation::rotate_back : Operation::rotate, .pairing = pairing}, input);
        for (const DType dtype : float_dtypes) {
          const std::vector<double> got = results(y, dtype);
          int wrong = 0;
          for (std::int64_t row = 0; row < heads * positions; ++row)
            for (std::int64_t l = 0; l < lanes; ++l) {
              const double* vector = x.data() + row * lanes;
              Big want = vector[l];
              if (l < rotary) {
                // interleaved-to-half reads halves and writes them interleaved when it turns back.
                const bool switches = pairing == Pairing::interleaved_to_half;
                const bool adjacent_out = pairing == Pairing::interleaved || (switches && back), halves_in = pairing == Pairing::half || (switches && back);
                const std::int64_t i = adjacent_out ? l / 2 : l % pairs;
                const bool first = adjacent_out ? l % 2 == 0 : l < pairs;
                const Big a = vector[halves_in ? i : 2 * i], b = vector[halves_in ? i + pairs : 2 * i + 1];
                const auto [c, s] = turn(131000 + row % positions, i, rotary);
                const Big sine = back ? Big(-s) : s;
                want = first ? Big(a * c - b * sine) : Big(b * c + a * sine);
              }
              wrong += correctly_rounded(dtype, got[static_cast<std::size_t>(row * lanes + l)], want) ? 0 : 1;
            }
          CHECK(wrong == 0);
        }
      }
    }
}

TEST_CASE("axes by name: positions before heads are the transpose of positions after heads") {
  constexpr std::int64_t batch = 2, heads = 3, positions = 7, lanes = 8;
  const std::vector<double> x = some_values(batch * heads * positions * lanes, true);
  std::vector<double> turned(x.size());
  const auto at = [&](std::int64_t b, std::int64_t h, std::int64_t p, std::int64_t l) { return static_cast<std::size_t>(((b * heads + h) * positions + p) * lanes + l); };
  const auto other = [&](std::int64_t b, std::int64_t h, std::int64_t p, std::int64_t l) { return static_cast<std::size_t>(((b * positions + p) * heads + h) * lanes + l); };
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t p = 0; p < positions; ++p)
        for (std::int64_t l = 0; l < lanes; ++l) turned[other(b, h, p, l)] = x[at(b, h, p, l)];
  const Rope rope{.head_dim = lanes, .positions = Positions::range(0, positions), .layout = RopeLayout::half};
  const auto plain = results(applied(erase(rope), {}, memory({batch, heads, positions, lanes}, x)), DType::f32);
  const auto named = results(applied(erase(rope), {.axes = {"batch", "position", "head", "lane"}}, memory({batch, positions, heads, lanes}, turned)), DType::f32);
  int wrong = 0;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t p = 0; p < positions; ++p)
        for (std::int64_t l = 0; l < lanes; ++l) wrong += plain[at(b, h, p, l)] == named[other(b, h, p, l)] ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("add and multiply: sinusoids, correctly rounded in every dtype, zeros and huge values too") {
  constexpr std::int64_t rows = 6, dim = 8;
  std::vector<double> x = some_values(2 * rows * dim, false, 5);
  x[3] = 0;
  x[17] = 0x1p1000;
  x[18] = 0x1p-1060;
  x[19] = -0x1p-300;
  const Sinusoidal sinusoid{.dim = dim, .positions = Positions::range(0, rows)};
  for (const Operation operation : {Operation::add, Operation::multiply, Operation::multiply_plus_one}) {
    const auto y = applied(erase(sinusoid), {.operation = operation}, memory({2, rows, dim}, x));
    for (const DType dtype : float_dtypes) {
      const std::vector<double> got = results(y, dtype);
      int wrong = 0;
      for (std::int64_t flat = 0; flat < 2 * rows * dim; ++flat) {
        const std::int64_t c = flat % dim, p = flat / dim % rows;
        const auto [cosine, sine] = turn(p, c / 2, dim);
        const Big t = c % 2 == 0 ? sine : cosine, v = x[static_cast<std::size_t>(flat)];
        const Big want = operation == Operation::add ? Big(v + t) : operation == Operation::multiply ? Big(v * t) : Big(v * (t + 1));
        wrong += correctly_rounded(dtype, got[static_cast<std::size_t>(flat)], want) ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a bias onto scores: sums that lie half way between two numbers go to the even one; a mask stays one") {
  // Slopes 1/4 and 1/16; scores in f16 whose sums with k/16 are ties of bf16 (8 bits) and f16 (11 bits).
  Alibi alibi{.num_heads = 4};
  alibi.query_length = 6;
  alibi.key_length = 6;
  const std::vector<std::int64_t> shape{3, 4, 6, 6};
  std::vector<double> x;
  for (std::int64_t i = 0; i < product(shape); ++i) x.push_back(1 + static_cast<double>(i % 97) / 512 + (i % 3 == 0 ? 256 : 0));
  const std::shared_ptr<const Encoding> table = erase(alibi);
  const auto y = applied(table, {}, memory(shape, x));
  for (const DType dtype : float_dtypes) {
    const std::vector<double> got = results(y, dtype);
    int wrong = 0, masked = 0;
    for (std::int64_t flat = 0; flat < product(shape); ++flat) {
      const std::int64_t key = flat % 6, query = flat / 6 % 6, head = flat / 36 % 4;
      const double bias = table->evaluator()->truth(0, std::array{head, query, key}, DType::f64);  // a multiple of 2^-8: exact
      const double sum = x[static_cast<std::size_t>(flat)] + bias;                                  // exact
      if (std::isinf(bias)) {
        ++masked;
        wrong += got[static_cast<std::size_t>(flat)] == bias ? 0 : 1;
        continue;
      }
      std::byte bytes[8];
      put_value(dtype, sum, bytes);
      wrong += got[static_cast<std::size_t>(flat)] == stored_value(dtype, bytes) ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(masked == 3 * 4 * 15);
  }
}

TEST_CASE("huge and tiny inputs: every f64 is the formula's, though two doubles overflow on the way") {
  constexpr std::int64_t rows = 8, dim = 8;
  for (const double size : {1e305, 0x1p-1030, 0x1p-1074}) {
    const std::vector<double> x(rows * dim, size);
    const Sinusoidal sinusoid{.dim = dim, .positions = Positions::range(0, rows)};
    const Rope rope{.head_dim = dim, .positions = Positions::range(0, rows), .layout = RopeLayout::half_width};
    const auto product = results(applied(erase(sinusoid), {.operation = Operation::multiply}, memory({rows, dim}, x)), DType::f64);
    const auto turned = results(applied(erase(rope), {.pairing = Pairing::half}, memory({rows, dim}, x)), DType::f64);
    int wrong = 0;
    for (std::int64_t flat = 0; flat < rows * dim; ++flat) {
      const std::int64_t c = flat % dim, p = flat / dim;
      const auto [cosine, sine] = turn(p, c / 2, dim);
      wrong += correctly_rounded(DType::f64, product[static_cast<std::size_t>(flat)], Big(size) * (c % 2 == 0 ? sine : cosine)) ? 0 : 1;
      const auto [cp, sp] = turn(p, c % (dim / 2), dim);
      wrong += correctly_rounded(DType::f64, turned[static_cast<std::size_t>(flat)], Big(size) * (c < dim / 2 ? Big(cp - sp) : Big(cp + sp))) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("zeros times a table are +0 or -0 by the table's sign, in every dtype and however the rows are cut") {
  const Sinusoidal sinusoid{.dim = 8, .positions = Positions::range(0, 4)};
  const auto y = applied(erase(sinusoid), {.operation = Operation::multiply}, memory({4, 8}, std::vector<double>(32, 0.0)));
  for (const DType dtype : float_dtypes)
    for (const double v : results(y, dtype)) CHECK((v == 0 && !std::signbit(v)));  // 0 is exact: no sign
}

TEST_CASE("a sum that lies on a tie without being known as one ends, at the even number") {
  // sin(2 pi) is 0, which no interval tells: x + 0 with x between two f32 numbers.
  const Sincos2d grid{.dim = 8, .height = 4, .width = 4, .coordinates = Sincos2dCoordinates::normalized, .eps = 0};
  const auto y = applied(erase(grid), {}, memory({16, 8}, std::vector<double>(128, 1 + 0x1p-24)));
  for (const double v : results(y, DType::f32)) CHECK(std::isfinite(v));
}

TEST_CASE("a factor for each position multiplies all of the last axis") {
  // Powers of L0 make log-n factors rational: log_2(4) = 2, log_2(8) = 3.
  AttentionTemperature temperature;
  temperature.positions = Positions::list({3, 7, 4});
  temperature.original_max_position_embeddings = 2;
  const std::vector<double> x = some_values(2 * 3 * 5, false, 8);
  const auto table = std::shared_ptr<const Encoding>(erase(temperature));
  const auto factors = table->evaluator();
  for (const DType dtype : float_dtypes) {
    const auto y = results(applied(table, {.axes = {"head", "position", "key"}}, memory({2, 3, 5}, x)), dtype);
    int wrong = 0;
    for (std::int64_t flat = 0; flat < 30; ++flat) {
      const std::int64_t p = flat / 5 % 3;
      const Big factor = p == 0 ? Big(2) : p == 1 ? Big(3) : Big(log(Big(5)) / log(Big(2)));
      wrong += correctly_rounded(dtype, y[static_cast<std::size_t>(flat)], Big(x[static_cast<std::size_t>(flat)]) * factor) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("axis-halves: each half of the vector turns by halves, the row's and the column's") {
  constexpr std::int64_t height = 3, width = 2, lanes = 12, pairs = 6;
  const std::vector<double> x = some_values(height * width * lanes, false, 9);
  Rope2d grid;
  grid.head_dim = lanes;
  grid.height = height;
  grid.width = width;
  for (const RotaryLayout layout : {RotaryLayout::half_width, RotaryLayout::axis_halves}) {
    grid.layout = layout;
    const auto y = results(applied(erase(grid), {.pairing = Pairing::axis_halves}, memory({height * width, lanes}, x)), DType::f64);
    int wrong = 0;
    for (std::int64_t flat = 0; flat < height * width * lanes; ++flat) {
      const std::int64_t token = flat / lanes, l = flat % lanes, axis = l / pairs, i = l % pairs % 3;
      const bool first = l % pairs < 3;
      const Big angle = Big(axis == 0 ? token / width : token % width) * exp(-Big(4 * i) / lanes * log(Big(10000)));
      const auto at = [&](std::int64_t lane) { return Big(x[static_cast<std::size_t>(token * lanes + axis * pairs + lane)]); };
      const Big want = first ? Big(at(i) * cos(angle) - at(i + 3) * sin(angle)) : Big(at(i + 3) * cos(angle) + at(i) * sin(angle));
      wrong += correctly_rounded(DType::f64, y[static_cast<std::size_t>(flat)], want) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
  CHECK(pairing_remark(*erase(grid), Pairing::half).find("no rotation") != std::string::npos);
  CHECK(pairing_remark(*erase(grid), Pairing::axis_halves).empty());
}

TEST_CASE("infinities and NaN in the input follow IEEE 754 and touch nothing else") {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> x = some_values(4 * 8, true);
  const auto clean = x;
  x[8] = -inf;
  x[17] = nan;
  const Sinusoidal sinusoid{.dim = 8, .positions = Positions::range(0, 4)};
  const Rope rope{.head_dim = 8, .positions = Positions::range(0, 4), .layout = RopeLayout::half};
  for (const DType dtype : float_dtypes) {
    const auto sum = results(applied(erase(sinusoid), {}, memory({4, 8}, x)), dtype), plain = results(applied(erase(sinusoid), {}, memory({4, 8}, clean)), dtype);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i == 8) CHECK(sum[i] == -inf);
      else if (i == 17) CHECK(std::isnan(sum[i]));
      else CHECK(sum[i] == plain[i]);
    }
    const auto turned = results(applied(erase(rope), {}, memory({4, 8}, x)), dtype), untouched = results(applied(erase(rope), {}, memory({4, 8}, clean)), dtype);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i == 8 || i == 12) CHECK(std::isinf(turned[i]));  // position 1, lanes 0 and 4
      else if (i == 17 || i == 21) CHECK(std::isnan(turned[i]));
      else CHECK(turned[i] == untouched[i]);
    }
  }
}

TEST_CASE("any cut and any number of threads gives the same bytes") {
  const std::vector<std::int64_t> shape{3, 2, 33, 12};
  const auto input = memory(shape, some_values(product(shape), true));
  const Rope rope{.head_dim = 12, .positions = Positions::range(0, 33), .layout = RopeLayout::interleaved};
  const Sinusoidal sinusoid{.dim = 12, .positions = Positions::range(0, 33)};
  for (const auto& y : {applied(erase(rope), {}, input), applied(erase(sinusoid), {}, input)})
    for (const DType dtype : float_dtypes) {
      const Spec spec = spec_of(y, dtype);
      const auto planned = plan(spec, ComplexForm::pair);
      const MemoryFile whole = generated(spec, planned, {.threads = 1});
      for (const std::int64_t bytes : {1, 7, 40, 333, 5000})
        for (const int threads : {1, 3}) CHECK(generated(spec, planned, {.threads = threads, .block_bytes = bytes}).bytes == whole.bytes);
    }
}

TEST_CASE("arithmetic float32 takes model code's steps: two products and a sum, each rounded") {
  constexpr std::int64_t rows = 40, lanes = 16;
  const std::vector<double> x = some_values(rows * lanes, true);
  const Rope rope{.head_dim = lanes, .positions = Positions::range(100, 100 + rows), .layout = RopeLayout::half};
  const auto tables = erase(rope)->evaluator();
  const auto got = results(applied(erase(rope), {}, memory({rows, lanes}, x)), DType::f32, Arithmetic::float32);
  int wrong = 0;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t l = 0; l < lanes; ++l) {
      const auto own = static_cast<float>(x[static_cast<std::size_t>(r * lanes + l)]);
      const auto partner = static_cast<float>(x[static_cast<std::size_t>(r * lanes + (l + lanes / 2) % lanes)]);
      const auto c = static_cast<float>(tables->imitate(Arithmetic::float32, 0, std::array{r, l})), s = static_cast<float>(tables->imitate(Arithmetic::float32, 1, std::array{r, l}));
      const float first = own * c, second = (l < lanes / 2 ? -partner : partner) * s;
      wrong += got[static_cast<std::size_t>(r * lanes + l)] == static_cast<double>(first + second) ? 0 : 1;
    }
  CHECK(wrong == 0);
}

TEST_CASE("scores depend on the distance only, and orthogonal vectors score 0") {
  const Rope rope{.head_dim = 4, .positions = Positions::range(0, 50), .layout = RopeLayout::interleaved};
  const auto x_axis = memory({4}, {1, 0, 0, 0}), y_axis = memory({4}, {0, 1, 0, 0});
  CHECK(scores(erase(rope), {}, x_axis, y_axis, 7, 7).at(0).value == 0);
  CHECK(scores(erase(rope), {}, x_axis, x_axis, 9, 9).at(0).value == 1);
  CHECK(scores(erase(rope), {}, x_axis, x_axis, 1000005, 1000003).at(0).value == std::cos(2.0));
  // q(m) . k(n) = q^T R(n - m) k: pair 0 turns by the distance, pair 1 by a hundredth of it.
  const std::vector<double> q = some_values(4, false, 1), k = some_values(4, false, 2);
  const Big d = -13;
  const auto part = [&](std::size_t a, const Big& angle) {
    return Big(q[a]) * (Big(k[a]) * cos(angle) - Big(k[a + 1]) * sin(angle)) + Big(q[a + 1]) * (Big(k[a + 1]) * cos(angle) + Big(k[a]) * sin(angle));
  };
  const Big want = part(0, d) + part(2, d / 100);
  for (const std::int64_t n : {0, 20, 123456}) CHECK(correctly_rounded(DType::f64, scores(erase(rope), {}, memory({4}, q), memory({4}, k), n + 13, n).at(0).value, want));

  // Rows of an array, one score for each of the other axes' places.
  const std::vector<double> x = some_values(2 * 3 * 50 * 4, false, 6);
  const auto all = scores(erase(rope), {}, memory({2, 3, 50, 4}, x), memory({2, 3, 50, 4}, x), 30, 30);
  REQUIRE(all.size() == 6);
  CHECK(all[5].where == std::vector<std::int64_t>{1, 2});
  Big square = 0;
  for (int l = 0; l < 4; ++l) square += Big(x[static_cast<std::size_t>((5 * 50 + 30) * 4 + l)]) * Big(x[static_cast<std::size_t>((5 * 50 + 30) * 4 + l)]);
  CHECK(correctly_rounded(DType::f64, all[5].value, square));
  CHECK(test::refusal_of([&] { (void)scores(erase(rope), {}, memory({50, 4}, some_values(200, true)), y_axis, 50, 0); }).find("there is no 50") != std::string::npos);
}

TEST_CASE("scores of infinities and NaN are what IEEE 754 has") {
  const Rope rope{.head_dim = 4, .positions = Positions::range(0, 8), .layout = RopeLayout::half};
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(scores(erase(rope), {}, memory({4}, {nan, 1, 1, 1}), memory({4}, {1, 1, 1, 1}), 3, 2).at(0).value));
  CHECK(scores(erase(rope), {}, memory({4}, {inf, 1, 1, 1}), memory({4}, {1, 1, 1, 1}), 0, 0).at(0).value != 0);
}

TEST_CASE("what does not meet is refused in one sentence") {
  const Rope rope{.head_dim = 8, .positions = Positions::range(0, 4), .layout = RopeLayout::half};
  const auto x = memory({4, 8}, some_values(32, true));
  const auto says = [&](const Application& a, const std::shared_ptr<const Input>& input, const std::shared_ptr<const Encoding>& tables, const std::string& word) {
    const std::string line = test::refusal_of([&] { (void)applied(tables, a, input); });
    CHECK_MESSAGE(line.find(word) != std::string::npos, line);
  };
  const std::shared_ptr<const Encoding> tables = erase(rope);
  says({}, memory({5, 8}, some_values(40, true)), tables, "4 positions, the input has 5");
  says({}, memory({4, 6}, some_values(24, true)), tables, "turns 8 lanes, the input's last axis has 6");
  says({}, memory({8}, some_values(8, true)), tables, "more than the input's shape");
  says({.axes = {"position"}}, x, tables, "1 axis name for an array of 2 axes");
  says({.axes = {"batch", "lane"}}, x, tables, "axis position");
  says({.axes = {"position", "position", "lane"}}, memory({4, 4, 8}, some_values(128, true)), tables, "named twice");
  says({.operation = Operation::add}, x, tables, "say which with tensor");
  says({.operation = Operation::add, .pairing = Pairing::half, .tensor = "cos"}, x, tables, "pairing is for rotate");
  says({.operation = Operation::add, .tensor = "con"}, x, tables, "did you mean");
  says({.operation = Operation::rotate}, x, erase(Sinusoidal{.dim = 8, .positions = Positions::range(0, 4)}), "cos and sin");
  Rope angles = rope;
  angles.layout = RopeLayout::complex;
  says({.operation = Operation::add}, x, erase(angles), "complex");
  says({.operation = Operation::rotate, .tensor = "cos"}, x, tables, "leave tensor 'cos' out");
  says({.operation = Operation::add, .set = "long", .tensor = "cos"}, x, tables, "frequency set is for rotate");
  says({.operation = Operation::add}, memory({4, 7}, some_values(28, true)), erase(Sinusoidal{.dim = 8, .positions = Positions::range(0, 4)}), "the input's last axis has 7");
}
