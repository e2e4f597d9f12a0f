// fire: parameters, formula, laws.
#include "encodings/fire.hpp"

#include "encodings/distance_rows.hpp"
#include "encodings/model.hpp"
#include "encodings/network.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {

void Fire::check() const {
  span.check();
  if (multiplier == 0) fail_usage("multiplier 0 would divide by 1e-6 at the first position; leave it at 1");
  if (span.first_query() < 0) fail_usage(fmt::format("query_offset {} is before position 0, where the query's position counts", span.first_query()));
  if (span.form == SpanForm::toeplitz && static_cast<double>(span.last_query()) > std::fabs(threshold * multiplier))
    fail_usage(fmt::format("queries up to position {} are beyond the threshold {}, so that the bias is no function of the distance; use form row or matrix",
                           span.last_query(), print(std::fabs(threshold * multiplier))));
  if (!has_weights()) return;
  check_shape(weight_1, {-1, 1}, "weight_1");
  check_shape(bias_1, {weight_1.shape[0]}, "bias_1");
  check_shape(weight_2, {-1, weight_1.shape[0]}, "weight_2");
  check_shape(bias_2, {weight_2.shape[0]}, "bias_2");
  if (weight_1.shape[0] < 1 || weight_2.shape[0] < 1) fail_usage("weight_1 and weight_2 need at least one hidden unit and one head");
}

std::vector<Tensor> Fire::tensors() const {
  if (has_weights()) return {{"bias", span.axes({{"head", heads()}}), Kind::real, "added to the scores"}};
  return {{"normalised", span.axes(), Kind::real, "what the network makes a bias of, 0 .. 1 up to the query"}};
}

struct Fire::Table::State {
  explicit State(const Fire& s) : spec(s), tensor(s.tensors()[0]) {}

  template <class T>
  T psi(const T& y) const {
    return log(abs(T::of(spec.c) * y) + T::of(std::int64_t{1}));
  }
  // Li et al. 2024, equation 4, for a query at a position and a distance.
  template <class T>
  T value(std::int64_t head, std::int64_t query, std::int64_t distance) const {
    T longest = abs(T::of(spec.multiplier) * T::of(spec.threshold));
    if (static_cast<double>(query) > std::fabs(spec.multiplier * spec.threshold)) longest = T::of(query);
    const T x = psi(T::of(std::abs(distance))) / (psi(longest) + T::of(1e-6));
    if (!spec.has_weights()) return x;
    return detail::output_of<T>(spec.weight_2, head, detail::hidden_layer<T, 1>(spec.weight_1, spec.bias_1, {x})) +
           T::of(spec.bias_2.values[static_cast<std::size_t>(head)]);
  }
  // For fill_by_distance, of queries up to the threshold.
  static constexpr bool is_exact = false;
  template <class T>
  T bias(std::int64_t head, std::int64_t distance) const {
    return value<T>(head, 0, distance);
  }
  [[nodiscard]] std::int64_t query_at(std::int64_t row) const {
    return spec.span.form == SpanForm::matrix ? spec.span.first_query() + row % spec.span.queries() : spec.span.last_query();
  }

  Fire spec;
  Tensor tensor;
  std::uint64_t number = num::new_owner();
};

Fire::Table::Table(const Fire& spec) : state_(std::make_shared<const State>(spec)) {}
Fire::Table Fire::table() const { return Table(*this); }

template <class T>
T Fire::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  const bool weights = s.spec.has_weights();
  const auto place = index.subspan(weights ? 1 : 0);
  const std::int64_t query = s.spec.span.form == SpanForm::matrix ? s.spec.span.first_query() + place[0] : s.spec.span.last_query();
  return s.template value<T>(weights ? index[0] : 0, query, s.spec.span.distance(place));
}

void Fire::Table::fill(std::size_t tensor, Block& block) const {
  const State& s = *state_;
  const Extent& e = block.extent;
  for (std::int64_t r = 0; r < e.rows; ++r) {
    Block one{{e.row + r, 1, e.col, e.cols}, block.hi + r * e.cols, block.lo ? block.lo + r * e.cols : nullptr, block.bounds + r};
    if (static_cast<double>(s.query_at(e.row + r)) <= std::fabs(s.spec.multiplier * s.spec.threshold))
      detail::fill_by_distance(s, s.spec.span, s.number, one);
    else
      detail::plain_fill(*this, s.tensor, tensor, one);
  }
}

std::vector<Law> Fire::laws() const {
  const char* paper = "Li et al. 2024, arXiv:2310.04418, equation 4";
  const std::int64_t count = has_weights() ? heads() : 1;
  std::vector<Law> out;
  if (span.form == SpanForm::matrix && static_cast<double>(span.last_query()) <= std::fabs(threshold * multiplier))
    out.push_back(detail::toeplitz_law(paper, span, count));
  out.push_back(detail::symmetric_law(paper, span, count));
  if (has_weights()) return out;
  out.push_back(detail::row_law("range", "0 at the query, at most 1 before it, never falling with the distance", paper, span, 1,
                                [](const detail::SpanRow& row) -> detail::Failed {
                                  for (std::int64_t d = row.first; d <= row.last(); ++d) {
                                    const double x = row.at(d);
                                    if (x < 0 || (d == 0 && x != 0) || (d <= 0 && x > 1))
                                      return fmt::format("{:.9g} at distance {}", x, d);
                                    if (d < row.last() && (d < 0 ? row.at(d + 1) > x : row.at(d + 1) < x))
                                      return fmt::format("{:.9g} at distance {} and {:.9g} at {}", x, d, row.at(d + 1), d + 1);
                                  }
                                  return {};
                                }));
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(fire, Fire)
