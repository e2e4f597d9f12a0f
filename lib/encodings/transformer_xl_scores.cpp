// transformer_xl_scores: parameters, terms, laws.
#include "encodings/transformer_xl_scores.hpp"

#include "encodings/attention_terms.hpp"
#include "encodings/dot_products.hpp"
#include "encodings/model.hpp"
#include "encodings/row_bound.hpp"
#include "encodings/transformer_xl.hpp"
#include "encodings/xlnet.hpp"

namespace posenc {
namespace {

enum Part : std::size_t { a, b, c, d, score, mask };

}  // namespace

void TransformerXlScores::check() const {
  detail::check_vectors(query, -1, -1, -1, "query");
  const detail::HeadVectors q(query);
  detail::check_vectors(key, q.heads(), -1, q.lanes(), "key");
  if (const std::int64_t keys = detail::HeadVectors(key).count(); keys < q.count())
    fail_usage(fmt::format("query has {} positions and key {}; the keys are the memory and the queries' own positions", q.count(), keys));
  if (position_weight.shape.size() == 3)
    check_shape(position_weight, {-1, q.heads(), q.lanes()}, "position_weight");
  else
    check_shape(position_weight, {q.heads() * q.lanes(), -1}, "position_weight");
  const std::int64_t dim = sinusoids().dim;
  if (dim < 2 || dim % 2 != 0) fail_usage(fmt::format("position_weight has {} channels; sines and cosines come in pairs", dim));
  if (content_bias.given()) check_shape(content_bias, {q.heads(), q.lanes()}, "content_bias");
  if (position_bias.given()) check_shape(position_bias, {q.heads(), q.lanes()}, "position_bias");
  if (base == 1) fail_usage("base 1 gives all channels one frequency; use another one");
}

std::vector<Tensor> TransformerXlScores::tensors() const {
  const detail::HeadVectors q(query), k(key);
  const std::vector<Axis> pairs{{"head", q.heads()}, {"query", q.count()}, {"key", k.count()}};
  return {{"a", pairs, Kind::real, "query . key"},
          {"b", pairs, Kind::real, "query . W_R R"},
          {"c", pairs, Kind::real, "u . key"},
          {"d", pairs, Kind::real, "v . W_R R"},
          {"score", pairs, Kind::real, "a + b + c + d"},
          {"mask", {{"query", q.count()}, {"key", k.count()}}, Kind::integer, "1: the key is not after the query, or keys on both sides count"}};
}

detail::RelativeSinusoids TransformerXlScores::sinusoids() const {
  const std::int64_t dim = position_weight.shape[position_weight.shape.size() == 3 ? 0 : 1];
  const std::int64_t queries = detail::HeadVectors(query).count(), keys = detail::HeadVectors(key).count();
  if (future == TransformerXlFuture::both)
    return Xlnet{.dim = dim, .base = base, .key_length = keys, .query_length = queries, .clamp_len = clamp_len}.rows();
  return TransformerXl{.dim = dim, .base = base, .key_length = keys, .clamp_len = clamp_len}.rows();
}

namespace {

using detail::Near;
using detail::RelativeSinusoids;

// Whether sizes leave two doubles room for products of two of these numbers.
bool is_moderate(const TransformerXlScores& s) {
  for (const Array* array : {&s.query, &s.key, &s.position_weight, &s.content_bias, &s.position_bias})
    for (const double x : array->values)
      if (!(std::fabs(x) <= 0x1p200)) return false;
  return true;
}

struct Rows {
  explicit Rows(const TransformerXlScores& s)
      : spec(s), tensors(s.tensors()), sinusoids(s.sinusoids()), sines(sinusoids), q(spec.query), k(spec.key), moderate(is_moderate(s)) {
    const num::Precision precision(160);
    if (spec.scaled) scale.e = pow(num::Real::of(q.lanes()), -1, 2).two_double(scale.v.hi, scale.v.lo);
  }

  [[nodiscard]] std::int64_t distance(std::int64_t query, std::int64_t key) const { return query + k.count() - q.count() - key; }
  [[nodiscard]] bool visible(std::int64_t query, std::int64_t key) const {
    return spec.future == TransformerXlFuture::both || distance(query, key) >= 0;
  }
  [[nodiscard]] double weight(std::int64_t head, std::int64_t lane, std::int64_t channel) const {
    const std::int64_t at = head * q.lanes() + lane;
    const bool xlnet = spec.position_weight.shape.size() == 3;
    return spec.position_weight.values[static_cast<std::size_t>(xlnet ? channel * q.heads() * q.lanes() + at : at * sinusoids.dim + channel)];
  }
  template <class T>
  std::vector<T> bias(const Array& given, std::int64_t head) const {
    if (!given.given()) return std::vector<T>(static_cast<std::size_t>(q.lanes()), T::of(std::int64_t{0}));
    return detail::lifted<T>(detail::row_of(given, head, q.lanes()));
  }

  // R at a row. A thread keeps all of a modest table.
  template <class T>
  std::vector<T> made_row(std::int64_t row) const {
    std::vector<T> values;
    for (std::int64_t channel = 0; channel < sinusoids.dim; ++channel)
      values.push_back(sines.element<T>(0, std::array<std::int64_t, 2>{row, channel}));
    return values;
  }
  template <class T>
  struct Kept {
    int bits = 0;
    std::vector<std::vector<T>> rows;
  };
  template <class T>
  const std::vector<T>& sinusoid_row(std::int64_t row, std::vector<T>& scratch) const {
    constexpr std::int64_t most = std::int64_t{1} << 16;
    if (sinusoids.rows > most / sinusoids.dim) return scratch = made_row<T>(row);
    auto& kept = num::kept_for<Kept<T>>(number, [] { return std::make_unique<Kept<T>>(); });
    if (kept.bits != num::Precision::bits()) {
      kept.rows.assign(static_cast<std::size_t>(sinusoids.rows), {});
      kept.bits = num::Precision::bits();
    }
    std::vector<T>& values = kept.rows[static_cast<std::size_t>(row)];
    if (values.empty()) values = made_row<T>(row);
    return values;
  }

  // x . W_R R for each key that counts, 0 for the others.
  template <class T>
  std::vector<T> positions(std::int64_t head, std::int64_t query, detail::Columns keys, const std::vector<T>& x) const {
    std::vector<T> met;  // x W_R
    if constexpr (!detail::imitates<T>)
      for (std::int64_t channel = 0; channel < sinusoids.dim; ++channel) {
        T sum = T::of(std::int64_t{0});
        for (std::int64_t lane = 0; lane < q.lanes(); ++lane) sum = sum + x[static_cast<std::size_t>(lane)] * T::of(weight(head, lane, channel));
        met.push_back(sum);
      }
    std::vector<T> out, scratch;
    for (std::int64_t key = keys.first; key < keys.end(); ++key) {
      if (!visible(query, key)) {
        out.push_back(T::of(std::int64_t{0}));
        continue;
      }
      const std::vector<T>& r = sinusoid_row(sinusoids.first - distance(query, key), scratch);
      if constexpr (detail::imitates<T>) {
        std::vector<T> projected;
        for (std::int64_t lane = 0; lane < q.lanes(); ++lane) {
          T sum = T::of(std::int64_t{0});
          for (std::int64_t channel = 0; channel < sinusoids.dim; ++channel)
            sum = sum + T::of(weight(head, lane, channel)) * r[static_cast<std::size_t>(channel)];
          projected.push_back(sum);
        }
        out.push_back(detail::dot<T>(std::span<const T>(x), std::span<const T>(projected)));
      } else {
        out.push_back(detail::dot<T>(std::span<const T>(met), std::span<const T>(r)));
      }
    }
    return out;
  }
  // x . k for each key that counts, 0 for the others.
  template <class T>
  std::vector<T> contents(std::int64_t head, std::int64_t query, detail::Columns keys, const std::vector<T>& x) const {
    std::vector<T> out;
    for (std::int64_t key = keys.first; key < keys.end(); ++key)
      out.push_back(visible(query, key) ? detail::dot<T>(x, k.at(head, key)) : T::of(std::int64_t{0}));
    return out;
  }

  // Dai et al. 2019, section 3.3.
  template <class T>
  std::vector<T> row(std::size_t tensor, std::span<const std::int64_t> leading, detail::Columns keys) const {
    const std::int64_t head = leading[0], query = leading[1];
    const T after = masked(tensor) < 0 ? T::infinity(-1) : T::of(std::int64_t{0});
    // Keys that count come first. A value after them costs nothing: there may be as many as true ones.
    if (!visible(query, keys.first)) return std::vector<T>(static_cast<std::size_t>(keys.count), after);
    const auto sum = [](std::vector<T> x, const std::vector<T>& y) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] + y[i];
      return x;
    };
    const std::vector<T> vector = detail::lifted<T>(q.at(head, query));
    const std::vector<T> u = bias<T>(spec.content_bias, head), v = bias<T>(spec.position_bias, head);
    std::vector<T> out;
    switch (tensor) {
      case a: out = contents(head, query, keys, vector); break;
      case b: out = positions(head, query, keys, vector); break;
      case c: out = contents(head, query, keys, u); break;
      case d: out = positions(head, query, keys, v); break;
      default: out = sum(contents(head, query, keys, sum(vector, u)), positions(head, query, keys, sum(vector, v)));
    }
    if (spec.scaled) detail::divide_by_root(out, q.lanes());
    for (std::int64_t key = keys.first; key < keys.end(); ++key)
      if (!visible(query, key)) out[static_cast<std::size_t>(key - keys.first)] = after;
    return out;
  }

  // R in two doubles. A thread keeps all of a modest table; of a larger one the row asked for last.
  struct KeptSines {
    std::int64_t first = 0, rows = 0;
    std::vector<double> hi, lo;
    std::vector<ErrorBound> bounds;
  };
  [[nodiscard]] Near sine(const KeptSines& kept, std::int64_t row, std::int64_t channel) const {
    const auto at = static_cast<std::size_t>((row - kept.first) * sinusoids.dim + channel);
    const ErrorBound& bound = kept.bounds[static_cast<std::size_t>(row - kept.first)];
    return {{kept.hi[at], kept.lo[at]}, bound.absolute + bound.relative * std::fabs(kept.hi[at])};
  }
  const KeptSines& kept_sines(std::int64_t row) const {
    constexpr std::int64_t most = std::int64_t{1} << 20;
    auto& kept = num::kept_for<KeptSines>(number, [] { return std::make_unique<KeptSines>(); });
    if (row >= kept.first && row < kept.first + kept.rows) return kept;
    const bool all = sinusoids.rows <= most / sinusoids.dim;
    kept.first = all ? 0 : row;
    kept.rows = all ? sinusoids.rows : 1;
    kept.hi.resize(static_cast<std::size_t>(kept.rows * sinusoids.dim));
    kept.lo.resize(kept.hi.size());
    kept.bounds.resize(static_cast<std::size_t>(kept.rows));
    Block block{{kept.first, kept.rows, 0, sinusoids.dim}, kept.hi.data(), kept.lo.data(), kept.bounds.data()};
    sines.fill(0, block);
    return kept;
  }

  // The same row in two doubles, as far as keys count; W_R is met before R, as in the real number's arithmetic.
  [[nodiscard]] std::vector<Near> near(std::size_t tensor, std::int64_t head, std::int64_t query, detail::Columns keys) const {
    const auto lanes = static_cast<std::size_t>(q.lanes());
    // The vector that meets what the term is about: the query, its bias, or their sum, which two doubles hold exactly.
    const auto vector = [&](const Array& bias) {
      std::vector<Near> x(lanes);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const double own = tensor == c || tensor == d ? 0 : q.at(head, query)[lane];
        const bool biased = bias.given() && tensor != a && tensor != b;
        x[lane].v = num::two_sum(own, biased ? detail::row_of(bias, head, q.lanes())[lane] : 0);
      }
      return x;
    };
    const bool content = tensor == a || tensor == c || tensor == score, position = tensor != a && tensor != c;
    const std::vector<Near> x = vector(spec.content_bias);
    std::vector<Near> met;  // (q + v) W_R
    if (position) {
      const std::vector<Near> y = vector(spec.position_bias);
      for (std::int64_t channel = 0; channel < sinusoids.dim; ++channel) {
        detail::DotProduct sum;
        for (std::size_t lane = 0; lane < lanes; ++lane)
          sum.add(y[lane], Near{{weight(head, static_cast<std::int64_t>(lane), channel), 0}, 0});
        met.push_back(sum.value());
      }
    }
    std::vector<Near> out;
    for (std::int64_t key = keys.first; key < keys.end() && visible(query, key); ++key) {
      detail::DotProduct sum, scaled;
      if (content)
        for (std::size_t lane = 0; lane < lanes; ++lane) sum.add(x[lane], Near{{k.at(head, key)[lane], 0}, 0});
      if (position) {
        const std::int64_t row = sinusoids.first - distance(query, key);
        const KeptSines& kept = kept_sines(row);
        for (std::int64_t channel = 0; channel < sinusoids.dim; ++channel) sum.add(met[static_cast<std::size_t>(channel)], sine(kept, row, channel));
      }
      if (spec.scaled) scaled.add(sum.value(), scale);
      out.push_back(spec.scaled ? scaled.value() : sum.value());
    }
    return out;
  }
  [[nodiscard]] double masked(std::size_t tensor) const { return tensor == score && spec.future == TransformerXlFuture::mask ? -HUGE_VAL : 0; }
  [[nodiscard]] std::int64_t integer(std::size_t, std::span<const std::int64_t> index) const { return visible(index[0], index[1]) ? 1 : 0; }

  TransformerXlScores spec;
  std::vector<Tensor> tensors;
  RelativeSinusoids sinusoids;
  RelativeSinusoids::Table sines;
  detail::HeadVectors q, k;
  bool moderate;
  Near scale{};  ///< 1 / sqrt(lanes)
  std::uint64_t number = num::new_owner();
};

}  // namespace

class TransformerXlScores::Table : public detail::RowTable<Rows> {
 public:
  explicit Table(std::shared_ptr<const Rows> rows) : RowTable(rows), rows_(std::move(rows)) {}
  void fill(std::size_t tensor, Block& block) const;

 private:
  std::shared_ptr<const Rows> rows_;
};

// In two doubles, of which one is asked for or both: a sum over many channels cancels, and the bound of a sum in one double is
// so wide beside small values that one in a few hundred would be left to the truth, which takes all lanes times all channels.
void TransformerXlScores::Table::fill(std::size_t tensor, Block& block) const {
  const Rows& rows = *rows_;
  if (!rows.moderate) return RowTable::fill(tensor, block);
  const Extent& e = block.extent;
  for (std::int64_t r = 0; r < e.rows; ++r) {
    const std::int64_t head = (e.row + r) / rows.q.count(), query = (e.row + r) % rows.q.count();
    const std::vector<Near> values = rows.near(tensor, head, query, {e.col, e.cols});
    double* hi = block.hi + r * e.cols;
    double* lo = block.lo ? block.lo + r * e.cols : nullptr;
    std::fill_n(hi, e.cols, rows.masked(tensor));
    if (lo) std::fill_n(lo, e.cols, 0.0);
    detail::RowBound bound;
    for (const Near& value : values) {
      bound.note(value.v.hi, value.e);
      *hi++ = value.v.hi + 0.0;
      if (lo) *lo++ = value.v.lo;
    }
    block.bounds[r] = bound.value();
    if (!lo) block.bounds[r].relative += 0x1.0000000000001p-53;  // half an ulp
  }
}

TransformerXlScores::Table TransformerXlScores::table() const { return Table(std::make_shared<const Rows>(*this)); }

std::vector<Law> TransformerXlScores::laws() const {
  const char* paper = "Dai et al. 2019, arXiv:1901.02860, section 3.3";
  const detail::HeadVectors q(query), k(key);
  const std::int64_t heads = q.heads(), queries = q.count(), keys = k.count();
  std::vector<Law> laws;
  laws.push_back(detail::sum_law("terms", "a + b + c + d = score", paper, heads * queries, {a, b, c, d}, score));
  // Rows i and i + 1 of one head; equal numbers round alike: no tolerance. `step` columns on in the second.
  const auto alike = [=, both = future == TransformerXlFuture::both](std::size_t part, std::int64_t step) {
    return [=](const Stored& stored) -> detail::Failed {
      for (const std::int64_t r : detail::spread(heads * (queries - 1))) {
        const std::int64_t i = r % std::max<std::int64_t>(queries - 1, 1), first = r / std::max<std::int64_t>(queries - 1, 1) * queries + i;
        const auto x = stored.row(part, first), y = stored.row(part, first + 1);
        if (!x || !y) return {};
        const std::int64_t seen = both ? keys : std::min(keys, i + keys - queries + 1);
        for (std::int64_t j = 0; j < seen && j + step < keys; ++j)
          if (const double one = (*x)[static_cast<std::size_t>(j)], next = (*y)[static_cast<std::size_t>(j + step)]; one != next)
            return fmt::format("rows {} and {}, keys {} and {}: {:.9g} and {:.9g}", first, first + 1, j, j + step, one, next);
      }
      return {};
    };
  };
  laws.push_back({"content", "c does not depend on the query: c[i, j] = c[i + 1, j]", paper, alike(c, 0)});
  laws.push_back({"shift", "d depends on the distance alone: d[i, j] = d[i + 1, j + 1]", paper, alike(d, 1)});
  // Without u and v the score is a + b; as in `terms`.
  if (!content_bias.given() && !position_bias.given())
    laws.push_back(detail::sum_law("reduced", "u = v = 0: a + b = score", paper, heads * queries, {a, b}, score));
  return laws;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(transformer_xl_scores, TransformerXlScores)
