// tupe: parameters, buckets, biases, laws.
#include "encodings/tupe.hpp"

#include <mutex>

#include "encodings/dot_products.hpp"
#include "encodings/model.hpp"
#include "encodings/span_laws.hpp"
#include "encodings/t5.hpp"

namespace posenc {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

T5 buckets_of(const Tupe& s) { return {.bidirectional = true, .num_buckets = s.num_buckets, .max_distance = s.max_distance, .span = {.key_length = 1}}; }

// One of the two projections.
struct Layer {
  const Array &weight, &bias;
};

// Whether sizes leave two doubles room for products of four of these numbers.
bool is_moderate(const Tupe& s) {
  for (const Array* array : {&s.position_vectors, &s.query_weight, &s.key_weight, &s.query_bias, &s.key_bias, &s.bias_table})
    for (const double x : array->values)
      if (!(std::fabs(x) <= 0x1p200)) return false;
  return true;
}

}  // namespace

void Tupe::check() const {
  buckets_of(*this).check();
  if (output == TupeOutput::bucket) return;
  check_shape(position_vectors, {-1, -1}, "position_vectors");
  const std::int64_t needed = length + (untied_cls ? 1 : 0);
  if (position_vectors.shape[0] < needed)
    fail_usage(fmt::format("position_vectors has {} rows, {} tokens take {}{}", position_vectors.shape[0], length, needed,
                           untied_cls ? ": two are reserved, for [CLS]" : ""));
  if (dim() < 1 || dim() % num_heads != 0)
    fail_usage(fmt::format("num_heads {} does not divide the {} lanes of position_vectors", num_heads, dim()));
  check_shape(query_weight, {dim(), dim()}, "query_weight");
  check_shape(key_weight, {dim(), dim()}, "key_weight");
  if (query_bias.given()) check_shape(query_bias, {dim()}, "query_bias");
  if (key_bias.given()) check_shape(key_bias, {dim()}, "key_bias");
  if (output == TupeOutput::bias) check_shape(bias_table, {num_buckets + (untied_cls ? 1 : 0), num_heads}, "bias_table");
}

std::vector<Tensor> Tupe::tensors() const {
  const Axis query{"query", length}, key{"key", length};
  if (output == TupeOutput::bucket) return {{"bucket", {query, key}, Kind::integer, "row of the bias table"}};
  const bool all = output == TupeOutput::bias;
  return {{all ? "bias" : "abs_bias", {{"head", num_heads}, query, key}, Kind::real,
           fmt::format("added to the scores, which are divided by sqrt({} head_dim)", attn_scale_factor)}};
}

struct Tupe::Table::State {
  explicit State(const Tupe& s) : spec(s), tensor(s.tensors()[0]), buckets(buckets_of(s).table()), moderate(is_moderate(s)) {}

  [[nodiscard]] std::int64_t bucket(std::int64_t i, std::int64_t j) const {
    if (spec.untied_cls && i == 0) return spec.num_buckets / 2;
    if (spec.untied_cls && j == 0) return spec.num_buckets;
    return buckets.bucket(j - i);
  }
  [[nodiscard]] Layer queries() const { return {spec.query_weight, spec.query_bias}; }
  [[nodiscard]] Layer keys() const { return {spec.key_weight, spec.key_bias}; }

  // A lane of a projected row of P.
  template <class T>
  T projected(const Layer& layer, std::int64_t row, std::int64_t lane) const {
    T sum = T::of(std::int64_t{0});
    for (std::int64_t k = 0; k < spec.dim(); ++k)
      sum = sum + T::of(spec.position_vectors.values[at(row * spec.dim() + k)]) * T::of(layer.weight.values[at(lane * spec.dim() + k)]);
    return layer.bias.given() ? sum + T::of(layer.bias.values[at(lane)]) : sum;
  }

  // Every projected row in two doubles, made when first asked for.
  struct Projections {
    std::vector<detail::Near> queries, keys;
  };
  const Projections& projections() const {
    std::call_once(once, [&] {
      const std::int64_t rows = spec.length + (spec.untied_cls ? 1 : 0), dim = spec.dim();
      for (const bool is_query : {true, false}) {
        const Layer layer = is_query ? queries() : keys();
        std::vector<detail::Near>& out = is_query ? made.queries : made.keys;
        for (std::int64_t row = 0; row < rows; ++row)
          for (std::int64_t lane = 0; lane < dim; ++lane) {
            detail::DotProduct sum;
            for (std::int64_t k = 0; k < dim; ++k) sum.add(spec.position_vectors.values[at(row * dim + k)], layer.weight.values[at(lane * dim + k)]);
            if (layer.bias.given()) sum.add(layer.bias.values[at(lane)]);
            out.push_back(sum.value());
          }
      }
      const num::Precision precision(160);
      scale.e = pow(num::Real::of(spec.attn_scale_factor * spec.head_dim()), -1, 2).two_double(scale.v.hi, scale.v.lo);
    });
    return made;
  }
  [[nodiscard]] detail::Near near(std::int64_t head, std::int64_t i, std::int64_t j) const {
    const Projections& p = projections();
    const Rows rows = spec.rows(i, j);
    detail::DotProduct product, sum;
    for (std::int64_t lane = head * spec.head_dim(); lane < (head + 1) * spec.head_dim(); ++lane)
      product.add(p.queries[at(rows.query * spec.dim() + lane)], p.keys[at(rows.key * spec.dim() + lane)]);
    sum.add(product.value(), scale);
    if (spec.output == TupeOutput::bias) sum.add(spec.bias_table.values[at(bucket(i, j) * spec.num_heads + head)]);
    return sum.value();
  }

  Tupe spec;
  Tensor tensor;
  T5::Table buckets;
  bool moderate;
  mutable std::once_flag once;
  mutable Projections made;
  mutable detail::Near scale;
};

Tupe::Table::Table(const Tupe& spec) : state_(std::make_shared<const State>(spec)) {}
Tupe::Table Tupe::table() const { return Table(*this); }

std::int64_t Tupe::Table::integer(std::size_t, std::span<const std::int64_t> index) const { return state_->bucket(index[0], index[1]); }

// Ke et al. 2021, section 3. The code divides queries before the product; exact numbers do better with one factor at its end,
// which leaves an exact 0 exact.
template <class T>
T Tupe::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  const Tupe& spec = s.spec;
  constexpr bool imitated = !std::is_same_v<T, num::Real> && !std::is_same_v<T, num::Bounded>;
  const Rows rows = spec.rows(index[1], index[2]);
  const T scale = pow(T::of(spec.attn_scale_factor * spec.head_dim()), -1, 2);
  T sum = T::of(std::int64_t{0});
  for (std::int64_t lane = index[0] * spec.head_dim(); lane < (index[0] + 1) * spec.head_dim(); ++lane) {
    T query = s.template projected<T>(s.queries(), rows.query, lane);
    if constexpr (imitated) query = query * scale;
    sum = sum + query * s.template projected<T>(s.keys(), rows.key, lane);
  }
  if constexpr (!imitated) sum = sum * scale;
  if (spec.output == TupeOutput::abs_bias) return sum;
  return sum + T::of(spec.bias_table.values[at(s.bucket(index[1], index[2]) * spec.num_heads + index[0])]);
}

void Tupe::Table::fill(std::size_t tensor, Block& block) const {
  const State& s = *state_;
  if (!s.moderate) return detail::plain_fill(*this, s.tensor, tensor, block);
  const std::int64_t cols = block.extent.cols;
  for (std::int64_t r = 0; r < block.extent.rows; ++r) block.bounds[r] = {0, block.lo ? 0 : 0x1.0000000000001p-53};
  detail::each_element(s.tensor, block.extent, [&](std::span<const std::int64_t> index, std::int64_t to) {
    const detail::Near value = s.near(index[0], index[1], index[2]);
    block.hi[to] = value.v.hi + 0.0;
    if (block.lo) block.lo[to] = value.v.lo;
    double& bound = block.bounds[to / cols].absolute;
    bound = std::max(bound, value.e);
  });
}

std::vector<Law> Tupe::laws() const {
  const char* section = "Ke et al. 2021, arXiv:2006.15595, section 3.2";
  const bool buckets = output == TupeOutput::bucket;
  std::vector<Law> out;
  // Row `query` of every head, or of some.
  const auto rows_law = [&](const char* label, const char* text, std::int64_t first, auto holds) {
    out.push_back({label, text, section, [=, s = *this](const Stored& stored) -> std::optional<std::string> {
                     for (const std::int64_t head : detail::spread(buckets ? 1 : s.num_heads)) {
                       const auto reference = s.length > first ? stored.row(0, head * s.length + first) : std::nullopt;
                       if (!reference) return {};
                       for (const std::int64_t i : detail::spread(s.length - first)) {
                         const auto row = stored.row(0, head * s.length + first + i);
                         if (!row) return {};
                         if (const auto wrong = holds(s, first + i, *row, *reference)) return fmt::format("head {}, query {}: {}", head, first + i, *wrong);
                       }
                     }
                     return {};
                   }});
  };
  using Row = std::vector<double>;
  if (untied_cls) {
    // Equal numbers round alike: no tolerance.
    rows_law("from_cls", "the first row is one number: [CLS] sees every position alike", 0,
             [](const Tupe&, std::int64_t i, const Row& row, const Row&) -> std::optional<std::string> {
               for (std::size_t j = 1; i == 0 && j < row.size(); ++j)
                 if (row[j] != row[0]) return fmt::format("{:.9g} at key {} and {:.9g} at key 0", row[j], j, row[0]);
               return {};
             });
    rows_law("to_cls", "the first column is one number below its top: every position sees [CLS] alike", 1,
             [](const Tupe&, std::int64_t, const Row& row, const Row& reference) -> std::optional<std::string> {
               if (row[0] != reference[0]) return fmt::format("{:.9g} at key 0 and {:.9g} of query 1", row[0], reference[0]);
               return {};
             });
  }
  if (buckets)
    rows_law("buckets", "a bucket of T5 for each distance, num_buckets / 2 from [CLS] and num_buckets to it", 0,
             [](const Tupe& s, std::int64_t i, const Row& row, const Row&) -> std::optional<std::string> {
               const auto half = static_cast<double>(s.num_buckets / 2);
               const std::int64_t first = s.untied_cls ? 1 : 0;
               for (std::int64_t j = 0; j < s.length; ++j) {
                 const double x = row[at(j)];
                 const bool right = i < first   ? x == half
                                    : j < first ? x == 2 * half
                                    : j == i    ? x == 0
                                    : j < i     ? x >= 1 && x < half
                                                : x > half && x < 2 * half;
                 if (!right) return fmt::format("{:.9g} at key {}", x, j);
               }
               return {};
             });
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(tupe, Tupe)
