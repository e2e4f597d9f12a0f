// cope: parameters, one query's row of each part. The laws are in cope_laws.cpp.
#include "encodings/cope.hpp"

#include "encodings/model.hpp"
#include "encodings/row_bound.hpp"
#include "numeric/per_thread.hpp"

namespace posenc {
namespace {

using num::Real;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T>
constexpr bool imitated = !std::is_same_v<T, Real> && !std::is_same_v<T, num::Bounded>;

template <class T>
T whole(std::int64_t n) {
  return T::of(n);
}

// Largest |q . k| and |q . e|, roughly.
double largest_score(const Cope& s) {
  double largest = 0;
  const auto look = [&](std::int64_t n, auto other) {
    for (std::int64_t i = 0; i < s.query_length(); ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t c = 0; c < s.head_dim(); ++c) sum += std::fabs(Cope::entry(s.queries, i, c) * other(j, c));
        largest = std::max(largest, sum);
      }
  };
  if (s.output != CopeOutput::table) look(s.key_length(), [&](std::int64_t j, std::int64_t c) { return Cope::entry(s.keys, j, c); });
  look(s.npos(), [&](std::int64_t t, std::int64_t c) { return Cope::entry(s.pos_emb, c, t); });
  return largest;
}

// Sums of gates from the last key backwards. In Real, gates of x and -x make exactly 1 and gates of 0 are exactly 1/2, whatever
// lies between them, so that a rational sum is known to be one (the proof is in cope.hpp).
template <class T>
class GateSum {
 public:
  void add(const T& product, const T& gate) {
    if constexpr (std::is_same_v<T, Real>) {
      for (std::size_t k = 0; k < single_.size(); ++k)
        if (single_[k].product.to_double() == -product.to_double() && single_[k].product == -product) {
          single_.erase(single_.begin() + static_cast<std::ptrdiff_t>(k));
          exact_ = exact_ + whole<T>(1);
          sum_ = T();
          for (const Gate& g : single_) sum_ = sum_ + g.gate;
          return;
        }
      if (gate.is_exact()) {
        exact_ = exact_ + gate;
        return;
      }
      single_.push_back({product, gate});
    }
    sum_ = sum_ + gate;
  }
  [[nodiscard]] T value() const { return exact_ + sum_; }

 private:
  struct Gate {
    T product, gate;
  };
  std::vector<Gate> single_;
  T exact_ = whole<T>(0), sum_ = whole<T>(0);
};

}  // namespace

void Cope::check() const {
  check_shape(queries, {-1, -1}, "queries");
  if (query_length() < 1 || head_dim() < 1) fail_usage("queries has no numbers; give it the shape [query, head_dim]");
  check_shape(pos_emb, {head_dim(), -1}, "pos_emb");
  if (npos() < 1) fail_usage("pos_emb has no positions; give it the shape [head_dim, npos]");
  if (output != CopeOutput::table) {
    check_shape(keys, {-1, head_dim()}, "keys");
    if (key_length() < 1) fail_usage("keys has no numbers; give it the shape [key, head_dim]");
    if (causal && query_length() > key_length())
      fail_usage(fmt::format("{} causal queries are the last of {} keys; give at least as many keys", query_length(), key_length()));
  }
  if (output == CopeOutput::out) {
    check_shape(values, {key_length(), -1}, "values");
    if (values.shape[1] < 1) fail_usage("values has no lanes; give it the shape [key, lanes]");
  }
  // Beyond, gates are 0 or 1 to a hundred thousand bits, which no precision tells apart.
  if (const double score = largest_score(*this); !(score <= 0x1p16))
    fail_usage(fmt::format("scores reach {:.3g}, beyond 65536, where every gate is 0 or 1; scale queries, keys or pos_emb down", score));
}

std::vector<Tensor> Cope::tensors() const {
  const Axis query{"query", query_length()}, key{"key", key_length()};
  switch (output) {
    case CopeOutput::table: return {{"table", {query, {"position", npos()}}, Kind::real, "q . e of every whole position"}};
    case CopeOutput::positions: return {{"positions", {query, key}, Kind::real, "sum of the gates from the key on, at most npos - 1"}};
    case CopeOutput::pos_logits: return {{"pos_logits", {query, key}, Kind::real, "q . e at the position, interpolated"}};
    case CopeOutput::attn: return {{"attn", {query, key}, Kind::real, "attention weights, 0 for masked keys"}};
    case CopeOutput::out: break;
  }
  return {{"out", {query, {"lane", values.shape.size() == 2 ? values.shape[1] : 0}}, Kind::real, "sum of the weights times the values"}};
}

struct Cope::Table::State {
  explicit State(const Cope& s) : spec(s) {}

  // q . e of every whole position, and q . k of every key that the query sees.
  template <class T>
  std::vector<T> dots(std::int64_t query, std::int64_t n, bool of_keys) const {
    std::vector<T> out;
    for (std::int64_t j = 0; j < n; ++j) {
      T sum = whole<T>(0);
      for (std::int64_t c = 0; c < spec.head_dim(); ++c)
        sum = sum + T::of(entry(spec.queries, query, c)) * T::of(of_keys ? entry(spec.keys, j, c) : entry(spec.pos_emb, c, j));
      out.push_back(sum);
    }
    return out;
  }
  template <class T>
  std::vector<T> positions(const std::vector<T>& products, const T& root) const {
    const T one = whole<T>(1), last = whole<T>(spec.npos() - 1);
    std::vector<T> out(at(spec.key_length()), whole<T>(0));
    GateSum<T> sum;
    for (std::size_t j = products.size(); j-- > 0;) {
      sum.add(products[j], one / (one + exp(-(products[j] / root))));
      const T position = sum.value();
      out[j] = position > last ? last : position;
    }
    return out;
  }
  // Golovneva et al. 2024, section 4: between whole positions on a straight line.
  template <class T>
  std::vector<T> pos_logits(const std::vector<T>& positions, const std::vector<T>& table) const {
    std::vector<T> out;
    for (const T& p : positions) {
      const auto cell = static_cast<std::size_t>(floor(p).to_double());
      if (cell + 1 >= table.size()) {
        out.push_back(table.back());
        continue;
      }
      const T weight = p - whole<T>(static_cast<std::int64_t>(cell));
      if constexpr (imitated<T>)
        out.push_back(table[cell + 1] * weight + table[cell] * (whole<T>(1) - weight));
      else  // a level line is exact
        out.push_back(table[cell] + weight * (table[cell + 1] - table[cell]));
    }
    return out;
  }

  // exp(score - score of the key `top`), and that key: the largest score, roughly. Differences come first, so that equal
  // scores are known as such.
  template <class T>
  struct Exponentials {
    std::size_t top = 0;
    std::vector<T> difference, power;
    T sum = whole<T>(0);
  };
  template <class T>
  Exponentials<T> exponentials(const std::vector<T>& products, const std::vector<T>& logits, const T& root) const {
    const bool divided = spec.added == CopeAdded::divided;
    const auto score = [&](const T& product, const T& logit) { return divided ? (product + logit) / root : product / root + logit; };
    Exponentials<T> out;
    for (std::size_t j = 1; j < products.size(); ++j)
      if (score(products[j], logits[j]).to_double() > score(products[out.top], logits[out.top]).to_double()) out.top = j;
    for (std::size_t j = 0; j < products.size(); ++j) {
      if constexpr (imitated<T>)
        out.difference.push_back(score(products[j], logits[j]) - score(products[out.top], logits[out.top]));
      else
        out.difference.push_back(j == out.top ? whole<T>(0) : score(products[j] - products[out.top], logits[j] - logits[out.top]));
      out.power.push_back(exp(out.difference.back()));
      out.sum = out.sum + out.power.back();
    }
    return out;
  }
  // v of the largest score plus the weighted differences from it: values that are all one number give that number. Keys of
  // one score (known to be, in Real) are added up before they are weighted, so that what cancels there is exactly 0.
  template <class T>
  std::vector<T> attended(const Exponentials<T>& e) const {
    std::vector<std::size_t> first(e.power.size());
    for (std::size_t j = 0; j < first.size(); ++j) {
      first[j] = j;
      if constexpr (std::is_same_v<T, Real>)
        for (std::size_t k = 0; k < j && first[j] == j; ++k)
          if (e.difference[j].is_exact() && e.difference[k].is_exact() && e.difference[j] == e.difference[k]) first[j] = k;
    }
    std::vector<T> out;
    for (std::int64_t lane = 0; lane < spec.values.shape[1]; ++lane) {
      const auto v = [&](std::size_t j) { return T::of(entry(spec.values, static_cast<std::int64_t>(j), lane)); };
      T sum = whole<T>(0);
      if constexpr (imitated<T>) {
        for (std::size_t j = 0; j < first.size(); ++j) sum = sum + e.power[j] / e.sum * v(j);
      } else {
        std::vector<T> apart(first.size(), whole<T>(0));
        for (std::size_t j = 0; j < first.size(); ++j) apart[first[j]] = apart[first[j]] + (v(j) - v(e.top));
        for (std::size_t j = 0; j < first.size(); ++j) sum = sum + apart[j] * e.power[j];
        sum = v(e.top) + sum / e.sum;
      }
      out.push_back(sum);
    }
    return out;
  }

  // All values of one query.
  template <class T>
  std::vector<T> row(std::int64_t query) const {
    const std::vector<T> table = dots<T>(query, spec.npos(), false);
    if (spec.output == CopeOutput::table) return table;
    const T root = sqrt(whole<T>(spec.head_dim()));
    const std::vector<T> products = dots<T>(query, spec.seen(query), true);
    std::vector<T> positions = this->positions<T>(products, root);
    if (spec.output == CopeOutput::positions) return positions;
    std::vector<T> logits = pos_logits<T>(positions, table);
    if (spec.output == CopeOutput::pos_logits) return logits;
    const Exponentials<T> e = exponentials<T>(products, logits, root);
    if (spec.output == CopeOutput::out) return attended<T>(e);
    std::vector<T> weights(at(spec.key_length()), whole<T>(0));
    for (std::size_t j = 0; j < e.power.size(); ++j) weights[j] = e.power[j] / e.sum;
    return weights;
  }

  // A query's values are asked for one after the other: the thread keeps the row that it last made.
  template <class T>
  const T& element(std::int64_t query, std::int64_t column) const {
    struct Kept {
      std::int64_t query = -1;
      int bits = 0;
      std::vector<T> row;
    };
    Kept& kept = num::kept_for<Kept>(number, [] { return std::make_unique<Kept>(); });
    if (kept.query != query || kept.bits != num::Precision::bits()) {
      kept.query = -1;
      kept.row = row<T>(query);
      kept.query = query;
      kept.bits = num::Precision::bits();
    }
    return kept.row[at(column)];
  }

  Cope spec;
  std::uint64_t number = num::new_owner();
};

Cope::Table::Table(const Cope& spec) : state_(std::make_shared<const State>(spec)) {}
Cope::Table Cope::table() const { return Table(*this); }

template <class T>
T Cope::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  return state_->element<T>(index[0], index[1]);
}

// A query's values follow from all its keys: each row is made at once, in binary64 or, where that leaves a cell open or two
// doubles are asked for, in Real. A row that stays open is left to the truth.
void Cope::Table::fill(std::size_t, Block& block) const {
  const Extent& e = block.extent;
  for (std::int64_t r = 0; r < e.rows; ++r) {
    double* hi = block.hi + r * e.cols;
    double* lo = block.lo ? block.lo + r * e.cols : nullptr;
    const auto put = [&](const auto& row, auto part) {
      detail::RowBound bound;
      for (std::int64_t c = 0; c < e.cols; ++c) {
        double rest = 0;
        const double error = part(row[at(e.col + c)], hi[c], lo ? lo[c] : rest);
        bound.note(hi[c], error + std::fabs(rest));
      }
      block.bounds[r] = bound.value();
    };
    try {
      if (!lo) {
        try {
          put(state_->row<num::Bounded>(e.row + r), [](const num::Bounded& x, double& h, double&) {
            h = x.v + 0.0;
            return x.e;
          });
          continue;
        } catch (const num::Undecided&) {
        }
      }
      const num::Precision precision(192);
      put(state_->row<Real>(e.row + r), [](const Real& x, double& h, double& l) { return x.two_double(h, l); });
    } catch (const num::Undecided&) {
      std::fill_n(hi, e.cols, 0.0);
      if (lo) std::fill_n(lo, e.cols, 0.0);
      block.bounds[r] = {HUGE_VAL, 0};
    }
  }
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(cope, Cope)
