// shaw_scores: parameters, terms, softmax, outputs, laws.
#include "encodings/shaw_scores.hpp"

#include "encodings/attention_terms.hpp"
#include "encodings/model.hpp"

namespace posenc {
namespace {

enum Part : std::size_t { content, position, logits, weights, out };

}  // namespace

Shaw ShawScores::index() const {
  const bool paper = terms == ShawTerms::shaw;
  return {.output = ShawOutput::index,
          .max_relative_position = max_relative_position,
          .sign = paper ? ShawSign::key_query : ShawSign::query_key,
          .beyond = paper ? ShawBeyond::clip : ShawBeyond::refuse,
          .span = {.key_length = detail::HeadVectors(key).count(), .query_length = detail::HeadVectors(query).count(), .query_offset = query_offset}};
}

void ShawScores::check() const {
  detail::check_vectors(query, -1, -1, -1, "query");
  const detail::HeadVectors q(query);
  detail::check_vectors(key, q.heads(), -1, q.lanes(), "key");
  check_shape(key_vectors, {2 * max_relative_position + 1, q.lanes()}, "key_vectors");
  index().check();
  if (value_vectors.given() && !value.given()) fail_usage("value_vectors needs value, the values that it is added to");
  if (!value.given()) return;
  detail::check_vectors(value, q.heads(), detail::HeadVectors(key).count(), -1, "value");
  if (value_vectors.given())
    check_shape(value_vectors, {2 * max_relative_position + 1, detail::HeadVectors(value).lanes()}, "value_vectors");
}

std::vector<Tensor> ShawScores::tensors() const {
  const detail::HeadVectors q(query), k(key);
  const std::vector<Axis> pairs{{"head", q.heads()}, {"query", q.count()}, {"key", k.count()}};
  std::vector<Tensor> all{{"content", pairs, Kind::real, "query . key"},
                          {"position", pairs, Kind::real, "products with the vectors of distances"},
                          {"logits", pairs, Kind::real, "content + position"},
                          {"weights", pairs, Kind::real, "softmax of the logits over the keys"}};
  if (value.given())
    all.push_back({"out", {{"head", q.heads()}, {"query", q.count()}, {"lane", detail::HeadVectors(value).lanes()}}, Kind::real,
                   "values and their vectors of distances, by the weights"});
  return all;
}

namespace {

struct Rows {
  explicit Rows(const ShawScores& s) : spec(s), tensors(s.tensors()), index(s.index()), q(spec.query), k(spec.key), v(spec.value) {}

  [[nodiscard]] std::int64_t row_at(std::int64_t query, std::int64_t key) const {
    return index.row(index.span.distance(std::array<std::int64_t, 2>{query, key}));
  }
  // Shaw et al. 2018, equation 5 (and 2), before the division.
  template <class T>
  T product(std::size_t part, std::int64_t head, std::int64_t query, std::int64_t key) const {
    const auto a = detail::row_of(spec.key_vectors, row_at(query, key), q.lanes());
    if (part == content) return detail::dot<T>(q.at(head, query), k.at(head, key));
    T sum = detail::dot<T>(q.at(head, query), a);
    if (part != position) sum = detail::dot<T>(q.at(head, query), k.at(head, key)) + sum;
    return spec.terms == ShawTerms::relative_key_query ? sum + detail::dot<T>(k.at(head, key), a) : sum;
  }
  template <class T>
  std::vector<T> row(std::size_t tensor, std::span<const std::int64_t> leading, detail::Columns columns) const {
    const std::int64_t head = leading[0], query = leading[1];
    const bool softmax = tensor > logits;
    std::vector<T> x;
    for (std::int64_t key = softmax ? 0 : columns.first; key < (softmax ? k.count() : columns.end()); ++key)
      x.push_back(product<T>(softmax ? logits : tensor, head, query, key));
    if (!softmax) {
      if (spec.scaled) detail::divide_by_root(x, q.lanes());
      return x;
    }
    const std::vector<T> weight = detail::softmax(x, sqrt(T::of(q.lanes())));
    if (tensor == weights) return {weight.begin() + columns.first, weight.begin() + columns.end()};
    std::vector<std::size_t> alike;
    if constexpr (std::is_same_v<T, num::Real>) alike = detail::equals(x);
    std::vector<T> sums;
    for (std::int64_t lane = columns.first; lane < columns.end(); ++lane) {
      std::vector<T> y;
      for (std::int64_t key = 0; key < k.count(); ++key) {
        y.push_back(T::of(v.at(head, key)[static_cast<std::size_t>(lane)]));
        if (spec.value_vectors.given())
          y.back() = y.back() + T::of(detail::row_of(spec.value_vectors, row_at(query, key), v.lanes())[static_cast<std::size_t>(lane)]);
      }
      sums.push_back(detail::weighted_sum(alike, weight, y));
    }
    return sums;
  }

  ShawScores spec;
  std::vector<Tensor> tensors;
  Shaw index;
  detail::HeadVectors q, k, v;
};

}  // namespace

class ShawScores::Table : public detail::RowTable<Rows> {
  using RowTable::RowTable;
};
ShawScores::Table ShawScores::table() const { return Table(std::make_shared<const Rows>(*this)); }

std::vector<Law> ShawScores::laws() const {
  const char* paper = "Shaw et al. 2018, arXiv:1803.02155, equations 2 to 5";
  const std::int64_t rows = tensors()[logits].rows();
  std::vector<Law> laws;
  laws.push_back(detail::sum_law("terms", "content + position = logits", paper, rows, {content, position}, logits));
  // Each weight is off by u of itself and half the smallest step, and rounds by 2^-53 in the sum, which stays below 2.
  laws.push_back({"sum", "the weights of a query add up to 1", paper, [rows](const Stored& stored) -> detail::Failed {
                    const double u = stored.unit_roundoff(weights);
                    for (const std::int64_t r : detail::spread(rows)) {
                      const auto row = stored.row(weights, r);
                      if (!row) return {};
                      double sum = 0;
                      for (const double w : *row) {
                        if (w < 0) return fmt::format("row {}: a weight of {:.9g}", r, w);
                        sum += w;
                      }
                      const double allowed = u * (1 + 4 * u) + static_cast<double>(row->size()) * (detail::floor_of(u) + 0x1p-52);
                      if (!(std::fabs(sum - 1) <= allowed)) return fmt::format("row {}: {:.9g}", r, sum);
                    }
                    return {};
                  }});
  // Both are rounded, which keeps order: no tolerance.
  laws.push_back({"order", "a key with the higher logit has no smaller weight", paper, [rows](const Stored& stored) -> detail::Failed {
                    for (const std::int64_t r : detail::spread(rows)) {
                      const auto x = stored.row(logits, r), w = stored.row(weights, r);
                      if (!x || !w) return {};
                      for (std::size_t j = 1; j < x->size(); ++j)
                        if (((*x)[j] > (*x)[j - 1] && (*w)[j] < (*w)[j - 1]) || ((*x)[j] < (*x)[j - 1] && (*w)[j] > (*w)[j - 1]))
                          return fmt::format("row {}, keys {} and {}: logits {:.9g} and {:.9g}, weights {:.9g} and {:.9g}", r, j - 1, j, (*x)[j - 1],
                                             (*x)[j], (*w)[j - 1], (*w)[j]);
                    }
                    return {};
                  }});
  if (!value.given()) return laws;
  // The ends round by 2^-53 in their one addition, the output by u and half the smallest step.
  laws.push_back({"between", "each lane of an output lies between the least and the greatest of the values it is made of", paper,
                  [rows, made = std::make_shared<const Rows>(*this)](const Stored& stored) -> detail::Failed {
                    const double u = stored.unit_roundoff(out);
                    for (const std::int64_t r : detail::spread(rows)) {
                      const auto row = stored.row(out, r);
                      if (!row) return {};
                      const std::int64_t head = r / made->q.count(), i = r % made->q.count();
                      for (std::size_t lane = 0; lane < row->size(); ++lane) {
                        double least = HUGE_VAL, greatest = -HUGE_VAL, largest = 0;
                        for (std::int64_t j = 0; j < made->k.count(); ++j) {
                          double y = made->v.at(head, j)[lane];
                          if (made->spec.value_vectors.given())
                            y += detail::row_of(made->spec.value_vectors, made->row_at(i, j), made->v.lanes())[lane];
                          least = std::min(least, y);
                          greatest = std::max(greatest, y);
                          largest = std::max(largest, std::fabs(y));
                        }
                        const double x = (*row)[lane], allowed = (u + 0x1p-52) * largest * (1 + u) + detail::floor_of(u);
                        if (std::isfinite(x) && !(x >= least - allowed && x <= greatest + allowed))
                          return fmt::format("row {}, lane {}: {:.9g} is not between {:.9g} and {:.9g}", r, lane, x, least, greatest);
                      }
                    }
                    return {};
                  }});
  return laws;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(shaw_scores, ShawScores)
