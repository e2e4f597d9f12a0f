// alibi: parameters, tensors, formula, fast fill. The laws are in alibi_laws.cpp.
#include "encodings/alibi.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "encodings/model.hpp"
#include "numeric/two_double.hpp"

namespace posenc {
namespace {

using num::Real;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest_position = 0x1p51;

bool of_distance(AlibiKind kind) { return kind != AlibiKind::key_only && kind != AlibiKind::last_key; }

// step / steps of a head under the paper's rule: the series of c, then every second of the series of 2c.
Alibi::Exponent reference(std::int64_t heads, std::int64_t head) {
  const auto c = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  return head < c ? Alibi::Exponent{head + 1, c} : Alibi::Exponent{2 * (head - c) + 1, 2 * c};
}

// The slope of one head: Press et al. 2021, section 3, and as the code of its users forms it.
template <class T>
T slope_of(const Alibi& s, std::int64_t head) {
  if (!s.slopes.empty()) return T::of(s.slopes[static_cast<std::size_t>(head)]);
  const Alibi::Exponent e = s.exponent(head);
  const T two = T::of(std::int64_t{2});
  if constexpr (std::is_same_v<T, Real> || std::is_same_v<T, num::Bounded>) {
    return pow(two, -(T::of(s.alibi_bias_max) * T::of(e.step) / T::of(e.steps)));
  } else if (s.kind == AlibiKind::last_key) {
    // MPT: 1 / 2^(i * (max / steps)), the quotient in binary64.
    return T::of(std::int64_t{1}) / pow(two, T::of(e.step) * T::of(s.alibi_bias_max / static_cast<double>(e.steps)));
  } else {
    // BLOOM: the ratio of the series in binary64, cut to binary32, to an integer power.
    const double ratio =
        num::decide(DType::f64, [&] { return pow(Real::of(std::int64_t{2}), -(Real::of(s.alibi_bias_max) / Real::of(e.steps))); });
    return pow(T::of(ratio), T::of(e.step));
  }
}

// Falcon makes its slopes in binary32 and cuts them to bfloat16.
template <>
num::BFloat16 slope_of<num::BFloat16>(const Alibi& s, std::int64_t head) {
  return num::BFloat16::of(slope_of<num::Float32>(s, head).to_double());
}

// Bits from the highest set bit of a double's significand to the lowest.
int significant_bits(double x) {
  if (x == 0) return 0;
  int exponent = 0;
  const auto integer = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
  return 53 - std::countr_zero(integer);
}

}  // namespace

double Alibi::weight(std::int64_t query, std::int64_t key) const {
  const std::int64_t distance = key - query;
  switch (kind) {
    case AlibiKind::causal: return distance > 0 ? -infinity : static_cast<double>(distance);
    case AlibiKind::relative: return static_cast<double>(distance);
    case AlibiKind::symmetric: return static_cast<double>(distance > 0 ? -distance : distance);
    case AlibiKind::deepmind: return distance < 0 ? static_cast<double>(distance) + 0.5 : static_cast<double>(-distance);
    case AlibiKind::key_only: return static_cast<double>(key);
    case AlibiKind::last_key: break;
  }
  return static_cast<double>(key - key_position(key_length - 1));
}

Alibi::Exponent Alibi::exponent(std::int64_t head) const {
  if (rule == AlibiRule::geometric) return {head + 1, num_heads};
  if (rule == AlibiRule::reference) return reference(num_heads, head);
  // Sorted: with c + r heads, the first r odd steps of 2c interleave with the first r of its even ones, the rest follow.
  const auto c = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(num_heads)));
  const std::int64_t odd = num_heads - c;
  if (head >= 2 * odd) return {head - odd + 1, c};
  return head % 2 == 0 ? Exponent{head + 1, 2 * c} : Exponent{(head + 1) / 2, c};
}

Real Alibi::slope(std::int64_t head) const { return slope_of<Real>(*this, head); }

void Alibi::check() const {
  if (head_start + heads() > num_heads || heads() < 1)
    fail_usage(fmt::format("heads {} to {} are not heads of a layer of num_heads {} (0 is the first)", head_start,
                           head_start + std::max<std::int64_t>(heads(), 1) - 1, num_heads));
  if (!slopes.empty()) {
    if (static_cast<std::int64_t>(slopes.size()) != num_heads)
      fail_usage(fmt::format("slopes has {} entries, num_heads is {}", slopes.size(), num_heads));
    if (rule != AlibiRule::reference || alibi_bias_max != Alibi{}.alibi_bias_max)
      fail_usage("slopes gives the slopes themselves; rule and alibi_bias_max would make other ones");
    for (const double value : slopes)
      if (!std::isfinite(value) || (value != 0 && (std::fabs(value) < 0x1p-512 || std::fabs(value) > 0x1p512)))
        fail_usage(fmt::format("a slope of {} is not a usable number; 0 or 2^-512 to 2^512 in magnitude is", print(value)));
  }
  if (form == AlibiForm::slopes) return;
  if (queries() > key_length && !query_offset)
    fail_usage(fmt::format("query_length {} is larger than key_length {}; say with query_offset where the queries are", queries(),
                           key_length));
  if (kind == AlibiKind::causal && first_query() < 0)
    fail_usage(fmt::format("query_offset {} puts queries before every key, and kind causal would mask whole rows", first_query()));
  if (form == AlibiForm::toeplitz && !of_distance(kind))
    fail_usage(fmt::format("kind {} is no function of the distance; form row or matrix holds it", enum_name(kind)));
  if (!key_positions) return;
  if (form == AlibiForm::toeplitz) fail_usage("form toeplitz has no keys for key_positions to place; use form row or matrix");
  if (key_positions->size() != key_length)
    fail_usage(fmt::format("key_positions has {} entries, key_length is {}", key_positions->size(), key_length));
  for (std::int64_t j = 0; j < key_length; ++j) {
    const double p = (*key_positions)[j];
    if (p != std::floor(p) || std::fabs(p) > largest_position)
      fail_usage(fmt::format("key_positions wants integers up to 2^51 in magnitude, entry {} is {}", j, print(p)));
  }
}

std::vector<Tensor> Alibi::tensors() const {
  switch (form) {
    case AlibiForm::slopes: return {{"slopes", {{"head", heads()}}, Kind::real, "slope of each head, bias per position"}};
    case AlibiForm::row:
      return {{"bias", {{"head", heads()}, {"key", key_length}}, Kind::real, "added to the scores of the last query"}};
    case AlibiForm::toeplitz:
      return {{"bias",
               {{"head", heads()}, {"distance", key_length + queries() - 1}},
               Kind::real,
               fmt::format("added to the scores; column t is distance t - {}", last_query())}};
    case AlibiForm::matrix: break;
  }
  return {{"bias", {{"head", heads()}, {"query", queries()}, {"key", key_length}}, Kind::real, "added to the scores"}};
}

namespace {

// A slope as the fill needs it.
struct FastSlope {
  num::TwoDouble value;
  bool exact;     // hi is the slope
  bool products;  // and hi times any weight of the table fits a double
};

// out[i] = slope * (first + step * i), step 1 or -1. first + step * i is exact: multiples of 1/2 below 2^52. Adding 0 turns
// the -0 of a negative slope's product into 0, as the real number has one zero.
void ramp(double* out, std::int64_t n, double slope, double first, double step) {
  constexpr std::int64_t piece = 1 << 24;  // a 32-bit index converts to double in one vector instruction
  for (std::int64_t start = 0; start < n; start += piece) {
    const double from = first + step * static_cast<double>(start);
    const auto count = static_cast<std::int32_t>(std::min(piece, n - start));
    double* to = out + start;
    for (std::int32_t i = 0; i < count; ++i) to[i] = slope * (from + step * static_cast<double>(i)) + 0.0;
  }
}
void ramp(double* hi, double* lo, std::int64_t n, num::TwoDouble slope, double first, double step) {
  for (std::int64_t i = 0; i < n; ++i) {
    const num::TwoDouble value = slope * (first + step * static_cast<double>(i));
    hi[i] = value.hi + 0.0;
    lo[i] = value.lo + 0.0;
  }
}

}  // namespace

struct Alibi::Table::State {
  explicit State(const Alibi& s) : spec(s), tensor(s.tensors()[0]) {
    const num::Precision precision(256);
    const int weight_bits = bits_of_weights();
    for (std::int64_t h = 0; h < s.heads(); ++h) {
      const Real slope = s.slope(s.head_start + h);
      FastSlope fast{};
      fast.exact = slope.two_double(fast.value.hi, fast.value.lo) == 0 && fast.value.lo == 0 && slope.is_exact();
      fast.products = fast.exact && significant_bits(fast.value.hi) + weight_bits <= 53;
      slopes.push_back(fast);
      float32.push_back(slope_of<num::Float32>(s, s.head_start + h));
      bfloat16.push_back(slope_of<num::BFloat16>(s, s.head_start + h));
    }
    if (s.key_positions)
      for (std::int64_t j = 0; j < s.key_length; ++j) keys.push_back(s.key_position(j));
  }

  // Bits that hold every weight of the table (one more for halves).
  [[nodiscard]] int bits_of_weights() const {
    if (spec.form == AlibiForm::slopes) return 0;
    std::int64_t low = 0, high = spec.key_length - 1;
    if (spec.key_positions)
      for (std::int64_t j = 0; j < spec.key_length; ++j) {
        low = std::min(low, spec.key_position(j));
        high = std::max(high, spec.key_position(j));
      }
    // Distances and keys alike lie within the span of all positions that take part, 0 included.
    const std::int64_t first = spec.form == AlibiForm::row ? spec.last_query() : spec.first_query();
    const std::int64_t span = std::max(high, spec.last_query()) - std::min({low, first, std::int64_t{0}});
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(span))) + (spec.kind == AlibiKind::deepmind ? 1 : 0);
  }

  template <class T>
  T slope(std::int64_t h) const {
    const auto at = static_cast<std::size_t>(h);
    if constexpr (std::is_same_v<T, num::Float32>)
      return float32[at];
    else if constexpr (std::is_same_v<T, num::BFloat16>)
      return bfloat16[at];
    else
      return slope_of<T>(spec, spec.head_start + h);
  }
  // Head and query position of a row of `bias`.
  [[nodiscard]] std::int64_t head_of(std::int64_t row) const { return spec.form == AlibiForm::matrix ? row / spec.queries() : row; }
  [[nodiscard]] std::int64_t query_of(std::int64_t row) const {
    return spec.form == AlibiForm::matrix ? spec.first_query() + row % spec.queries() : spec.last_query();
  }

  void fill_slopes(Block& block) const;
  void fill_row(std::int64_t row, std::int64_t col, std::int64_t cols, double* hi, double* lo) const;

  Alibi spec;
  Tensor tensor;
  std::vector<FastSlope> slopes;  ///< heads of this table
  std::vector<num::Float32> float32;
  std::vector<num::BFloat16> bfloat16;
  std::vector<std::int64_t> keys;  ///< key_positions, when given
};

Alibi::Table::Table(const Alibi& spec) : state_(std::make_shared<const State>(spec)) {}
Alibi::Table Alibi::table() const { return Table(*this); }

template <class T>
T Alibi::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  const T slope = s.template slope<T>(index[0]);
  if (s.spec.form == AlibiForm::slopes) return slope;
  const std::int64_t query = s.spec.form == AlibiForm::matrix ? s.spec.first_query() + index[1] : s.spec.last_query();
  const double weight = s.spec.weight(query, s.spec.key_position(index.back()));
  if (weight == -infinity) return T::infinity(-1);
  return slope * T::of(weight);
}

// A slope that is not a double is within half an ulp of its first part, 2^-53 relative, and 2^-106 of the two.
void Alibi::Table::State::fill_slopes(Block& block) const {
  bool exact = true;
  for (std::int64_t c = 0; c < block.extent.cols; ++c) {
    const FastSlope& slope = slopes[static_cast<std::size_t>(block.extent.col + c)];
    block.hi[c] = slope.value.hi + 0.0;
    if (block.lo) block.lo[c] = slope.value.lo;
    exact = exact && slope.exact;
  }
  block.bounds[0] = {0, exact ? 0 : block.lo ? 0x1p-105 : 0x1.0000000000001p-53};
}

void Alibi::Table::State::fill_row(std::int64_t row, std::int64_t col, std::int64_t cols, double* hi, double* lo) const {
  const num::TwoDouble slope = slopes[static_cast<std::size_t>(head_of(row))].value;
  const std::int64_t query = query_of(row);
  const bool two = lo && !slopes[static_cast<std::size_t>(head_of(row))].products;
  if (lo && !two) std::fill_n(lo, cols, 0.0);
  const auto put = [&](std::int64_t from, std::int64_t to, double first, double step) {
    if (two)
      ramp(hi + from, lo + from, to - from, slope, first, step);
    else
      ramp(hi + from, to - from, slope.hi, first, step);
  };
  const auto mask = [&](std::int64_t from, std::int64_t to) {
    std::fill(hi + from, hi + to, -infinity);
    if (two) std::fill(lo + from, lo + to, 0.0);
  };
  if (!keys.empty()) {
    for (std::int64_t c = 0; c < cols; ++c) {
      const double weight = spec.weight(query, keys[static_cast<std::size_t>(col + c)]);
      if (weight == -infinity)
        mask(c, c + 1);
      else
        put(c, c + 1, weight, 1);
    }
    return;
  }
  // Keys at 0, 1, ..: straight pieces left of the query, at it and after it. Column c of the extent has distance first + c.
  const auto first = static_cast<double>(col - query);
  const std::int64_t at_query = std::clamp<std::int64_t>(query - col, 0, cols);
  const std::int64_t after_query = std::clamp<std::int64_t>(query - col + 1, 0, cols);
  switch (spec.kind) {
    case AlibiKind::causal:
      put(0, after_query, first, 1);
      mask(after_query, cols);
      break;
    case AlibiKind::relative: put(0, cols, first, 1); break;
    case AlibiKind::symmetric:
    case AlibiKind::deepmind:
      put(0, at_query, first + (spec.kind == AlibiKind::deepmind ? 0.5 : 0.0), 1);
      put(at_query, cols, -(first + static_cast<double>(at_query)), -1);
      break;
    case AlibiKind::key_only: put(0, cols, static_cast<double>(col), 1); break;
    case AlibiKind::last_key: put(0, cols, static_cast<double>(col - (spec.key_length - 1)), 1); break;
  }
}

// A product of two doubles that fits 53 bits is exact. Otherwise the slope's first part is off by 2^-53 relative and the
// product rounds by 2^-53 of itself; as two doubles by 2^-106 and 2^-104 (two_double.hpp).
void Alibi::Table::fill(std::size_t, Block& block) const {
  const State& s = *state_;
  const Extent& extent = block.extent;
  if (s.spec.form == AlibiForm::slopes) return s.fill_slopes(block);
  for (std::int64_t r = 0; r < extent.rows; ++r) {
    const std::int64_t row = extent.row + r;
    s.fill_row(row, extent.col, extent.cols, block.hi + r * extent.cols, block.lo ? block.lo + r * extent.cols : nullptr);
    const bool exact = s.slopes[static_cast<std::size_t>(s.head_of(row))].products;
    block.bounds[r] = {0, exact ? 0 : block.lo ? 0x1p-103 : 0x1.0000000000001p-52};
  }
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(alibi, Alibi)
