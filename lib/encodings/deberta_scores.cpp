// deberta_scores: parameters, terms, laws.
#include "encodings/deberta_scores.hpp"

#include <map>

#include "encodings/attention_terms.hpp"
#include "encodings/model.hpp"

namespace posenc {
namespace {

// The terms in the order of the tensors.
enum class Term : std::uint8_t { content, c2p, p2c, bias, score };

std::vector<Term> terms_of(const DebertaScores& s) {
  std::vector<Term> terms{Term::content};
  if (s.has_c2p()) terms.push_back(Term::c2p);
  if (s.has_p2c()) terms.push_back(Term::p2c);
  terms.push_back(Term::bias);
  terms.push_back(Term::score);
  return terms;
}
std::size_t number_of(const DebertaScores& s, Term term) {
  const auto all = terms_of(s);
  return static_cast<std::size_t>(std::find(all.begin(), all.end(), term) - all.begin());
}

}  // namespace

std::int64_t DebertaScores::table_rows() const {
  if (position_buckets) return 2 * *position_buckets;
  if (max_relative_positions) return 2 * *max_relative_positions;
  for (const Array* table : {&key_table, &query_table})
    if (table->given()) return detail::HeadVectors(*table).count();
  return rel_embeddings.given() ? rel_embeddings.shape[0] : 0;
}

Deberta DebertaScores::index(DebertaOutput output) const {
  return {.output = output,
          .max_relative_positions = max_relative_positions.value_or(table_rows() / 2),
          .position_buckets = position_buckets,
          .p2c_rule = p2c_rule,
          .span = {.key_length = detail::HeadVectors(key).count(), .query_length = detail::HeadVectors(query).count(), .query_offset = query_offset}};
}

void DebertaScores::check() const {
  detail::check_vectors(query, -1, -1, -1, "query");
  const detail::HeadVectors q(query);
  detail::check_vectors(key, q.heads(), -1, q.lanes(), "key");
  if (terms() == 0) detail::check_vectors(key_table, q.heads(), -1, q.lanes(), "key_table");  // says what it wants
  if (key_table.given() && key_weight.given()) fail_usage("key_table and key_weight are two ways to give one table; leave one out");
  if (query_table.given() && query_weight.given()) fail_usage("query_table and query_weight are two ways to give one table; leave one out");
  if (position_buckets && !max_relative_positions) fail_usage("position_buckets needs max_relative_positions, where the buckets end");
  const bool weights = key_weight.given() || query_weight.given();
  if (rel_embeddings.given() && !weights) fail_usage("rel_embeddings needs key_weight or query_weight");
  if (weights) {
    check_shape(rel_embeddings, {-1, -1}, "rel_embeddings");
    if (rel_embeddings.values.empty()) fail_usage("rel_embeddings has no values; give it the shape [row, channel]");
  }
  const std::int64_t rows = table_rows();
  if (rows % 2 != 0) fail_usage(fmt::format("the tables have {} rows; they want 2k, k for queries before the key and k for others", rows));
  if (key_table.given()) detail::check_vectors(key_table, q.heads(), rows, q.lanes(), "key_table");
  if (query_table.given()) detail::check_vectors(query_table, q.heads(), rows, q.lanes(), "query_table");
  if (weights) check_shape(rel_embeddings, {rows, -1}, "rel_embeddings");
  if (key_weight.given()) check_shape(key_weight, {q.heads() * q.lanes(), rel_embeddings.shape[1]}, "key_weight");
  if (query_weight.given()) check_shape(query_weight, {q.heads() * q.lanes(), rel_embeddings.shape[1]}, "query_weight");
  index(DebertaOutput::c2p).check();
}

std::vector<Tensor> DebertaScores::tensors() const {
  const detail::HeadVectors q(query), k(key);
  const std::vector<Axis> pairs{{"head", q.heads()}, {"query", q.count()}, {"key", k.count()}};
  std::vector<Tensor> all;
  for (const Term term : terms_of(*this)) switch (term) {
      case Term::content: all.push_back({"content", pairs, Kind::real, "query . key"}); break;
      case Term::c2p: all.push_back({"c2p", pairs, Kind::real, "content to position, query . Kr"}); break;
      case Term::p2c: all.push_back({"p2c", pairs, Kind::real, "position to content, key . Qr"}); break;
      case Term::bias: all.push_back({"bias", pairs, Kind::real, "c2p + p2c"}); break;
      case Term::score: all.push_back({"score", pairs, Kind::real, "content + bias"}); break;
    }
  return all;
}

namespace {

// A position table over any scalar type, [row][head * lane]. Rows made of the relative embeddings are kept by each thread.
class PositionTable {
 public:
  PositionTable() = default;
  PositionTable(const Array& table, const Array& embeddings, const Array& weight) : embeddings_(&embeddings), weight_(&weight) {
    if (table.given()) given_ = detail::HeadVectors(table), is_given_ = true;
  }
  template <class T>
  struct Kept {
    int bits = 0;
    std::map<std::int64_t, std::vector<T>> rows;
  };
  /// x . table[head, row]
  template <class T>
  T product(Kept<T>& kept, std::span<const double> x, std::int64_t head, std::int64_t row) const {
    if (is_given_) return detail::dot<T>(x, given_.at(head, row));
    if (kept.bits != num::Precision::bits()) {
      kept.rows.clear();
      kept.bits = num::Precision::bits();
    }
    std::vector<T>& all = kept.rows[row];
    const std::int64_t channels = embeddings_->shape[1];
    if (all.empty())
      for (std::int64_t at = 0; at < weight_->shape[0]; ++at)
        all.push_back(detail::dot<T>(detail::row_of(*embeddings_, row, channels), detail::row_of(*weight_, at, channels)));
    const auto first = static_cast<std::size_t>(head) * x.size();
    T sum = T::of(x[0]) * all[first];
    for (std::size_t lane = 1; lane < x.size(); ++lane) sum = sum + T::of(x[lane]) * all[first + lane];
    return sum;
  }

 private:
  bool is_given_ = false;
  detail::HeadVectors given_;
  const Array* embeddings_ = nullptr;
  const Array* weight_ = nullptr;
};

struct Rows {
  explicit Rows(const DebertaScores& s)
      : spec(s), tensors(s.tensors()), terms(terms_of(s)), q(spec.query), k(spec.key), c2p(s.index(DebertaOutput::c2p)), p2c(s.index(DebertaOutput::p2c)),
        key_table(spec.key_table, spec.rel_embeddings, spec.key_weight), query_table(spec.query_table, spec.rel_embeddings, spec.query_weight) {}

  template <class T>
  struct Kept {
    typename PositionTable::Kept<T> key, query;
  };
  // He et al. 2021, equation 4, before the division.
  template <class T>
  T term(Term which, std::int64_t head, std::int64_t query, std::int64_t key, Kept<T>& kept) const {
    const std::array<std::int64_t, 2> at{query, key};
    switch (which) {
      case Term::content: return detail::dot<T>(q.at(head, query), k.at(head, key));
      case Term::c2p: return key_table.product<T>(kept.key, q.at(head, query), head, c2p.integer(0, at));
      case Term::p2c: return query_table.product<T>(kept.query, k.at(head, key), head, p2c.integer(0, at));
      case Term::bias: {
        if (!spec.has_p2c()) return term(Term::c2p, head, query, key, kept);
        if (!spec.has_c2p()) return term(Term::p2c, head, query, key, kept);
        return term(Term::c2p, head, query, key, kept) + term(Term::p2c, head, query, key, kept);
      }
      case Term::score: break;
    }
    return term(Term::content, head, query, key, kept) + term(Term::bias, head, query, key, kept);
  }
  template <class T>
  std::vector<T> row(std::size_t tensor, std::span<const std::int64_t> leading, detail::Columns keys) const {
    auto& kept = num::kept_for<Kept<T>>(number, [] { return std::make_unique<Kept<T>>(); });
    std::vector<T> out;
    for (std::int64_t key = keys.first; key < keys.end(); ++key) out.push_back(term(terms[tensor], leading[0], leading[1], key, kept));
    if (spec.scaled) detail::divide_by_root(out, q.lanes() * (1 + spec.terms()));
    return out;
  }

  DebertaScores spec;
  std::vector<Tensor> tensors;
  std::vector<Term> terms;
  detail::HeadVectors q, k;
  Deberta::Table c2p, p2c;
  PositionTable key_table, query_table;
  std::uint64_t number = num::new_owner();
};

}  // namespace

class DebertaScores::Table : public detail::RowTable<Rows> {
  using RowTable::RowTable;
};
DebertaScores::Table DebertaScores::table() const { return Table(std::make_shared<const Rows>(*this)); }

std::vector<Law> DebertaScores::laws() const {
  const char* paper = "He et al. 2021, arXiv:2006.03654, equations 2 to 4";
  const std::int64_t rows = tensors()[0].rows();
  std::vector<Law> laws;
  std::vector<std::size_t> parts;
  if (has_c2p()) parts.push_back(number_of(*this, Term::c2p));
  if (has_p2c()) parts.push_back(number_of(*this, Term::p2c));
  laws.push_back(detail::sum_law("bias", "c2p + p2c = bias", paper, rows, parts, number_of(*this, Term::bias)));
  laws.push_back(detail::sum_law("terms", "content + bias = score", paper, rows, {number_of(*this, Term::content), number_of(*this, Term::bias)},
                                 number_of(*this, Term::score)));
  if (!has_c2p()) return laws;
  // Equal numbers round alike: no tolerance.
  laws.push_back({"shared", "keys that share a row of the table have the same c2p of a query", paper,
                  [rows, number = number_of(*this, Term::c2p), index = this->index(DebertaOutput::c2p)](const Stored& stored) -> detail::Failed {
                    const Deberta::Table places = index.table();
                    for (const std::int64_t r : detail::spread(rows)) {
                      const auto row = stored.row(number, r);
                      if (!row) return {};
                      const auto place = [&](std::size_t j) {
                        return places.integer(0, std::array<std::int64_t, 2>{r % index.span.queries(), static_cast<std::int64_t>(j)});
                      };
                      for (std::size_t j = 1; j < row->size(); ++j)
                        if (place(j) == place(j - 1) && (*row)[j] != (*row)[j - 1])
                          return fmt::format("row {}, keys {} and {}: {:.9g} and {:.9g}", r, j - 1, j, (*row)[j - 1], (*row)[j]);
                    }
                    return {};
                  }});
  return laws;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(deberta_scores, DebertaScores)
