// rel_shift: parameters, the reshaping, laws.
#include "encodings/rel_shift.hpp"

#include "encodings/model.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {

void RelShift::check() const {
  if (scores.shape.size() < 2) check_shape(scores, {-1, -1}, "scores");
  if (scores.values.empty()) fail_usage("scores has no values; give it queries and columns");
  if (variant == RelShiftVariant::transformer_xl) {
    if (key_length) fail_usage("key_length belongs to variant xlnet; transformer-xl keeps all columns");
    return;
  }
  if (keys() < 1 || keys() >= columns())
    fail_usage(fmt::format("key_length is {} of {} queries and {} columns; variant xlnet keeps 1 to {} of them", keys(), queries(), columns(), columns() - 1));
}

std::vector<Tensor> RelShift::tensors() const {
  std::vector<Axis> all;
  for (std::size_t axis = 0; axis < scores.shape.size(); ++axis) {
    if (axis == query_axis())
      all.push_back({"query", queries()});
    else if (axis == query_axis() + 1)
      all.push_back({"key", keys()});
    else
      all.push_back({fmt::format("axis_{}", axis), scores.shape[axis]});
  }
  return {{"shifted", std::move(all), Kind::real, "scores at their keys"}};
}

double RelShift::score(std::span<const std::int64_t> index, std::int64_t query, std::int64_t at) const {
  std::int64_t flat = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis)
    flat = flat * scores.shape[axis] + (axis == query_axis() ? query : axis == query_axis() + 1 ? at : index[axis]);
  return scores.values[static_cast<std::size_t>(flat)];
}

// The place in the reshaped array, followed back.
template <class T>
T RelShift::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const RelShift& s = *spec_;
  const std::int64_t query = index[s.query_axis()], key = index[s.query_axis() + 1];
  if (s.beyond != RelShiftBeyond::reshaped && s.column(query, key) >= s.columns())
    return s.beyond == RelShiftBeyond::mask ? T::infinity(-1) : T::of(std::int64_t{0});
  const bool padded = s.variant == RelShiftVariant::transformer_xl;
  const std::int64_t width = padded ? s.columns() : s.columns() - 1;        // of the last view
  const std::int64_t flat = query * width + key + s.queries();             // before the first row of Q was dropped
  const std::int64_t row = flat / (s.columns() + (padded ? 1 : 0)), at = flat % (s.columns() + (padded ? 1 : 0)) - (padded ? 1 : 0);
  // The sum turns -0 into 0.
  return at < 0 ? T::of(std::int64_t{0}) : T::of(s.score(index, row, at) + 0.0);
}

std::vector<Law> RelShift::laws() const {
  const char* paper = "Dai et al. 2019, arXiv:1901.02860, appendix B";
  // One rounding of the score: u of itself, or half the smallest step.
  return {{"shift", "each query sees its own scores, moved by one column from query to query", paper, [s = *this](const Stored& stored) -> detail::Failed {
             const Tensor shape = s.tensors()[0];
             const double u = stored.unit_roundoff(0);
             std::vector<std::int64_t> index(shape.axes.size());
             for (const std::int64_t r : detail::spread(shape.rows())) {
               const auto row = stored.row(0, r);
               if (!row) return {};
               shape.row_index(r, index);
               for (std::size_t c = 0; c < row->size(); ++c) {
                 index.back() = static_cast<std::int64_t>(c);
                 const std::int64_t query = index[s.query_axis()], at = s.column(query, index[s.query_axis() + 1]);
                 if (at >= s.columns()) continue;
                 const double x = (*row)[c], want = s.score(index, query, at);
                 if (std::isfinite(x) && !(std::fabs(x - want) <= u * std::fabs(want) + detail::floor_of(u)))
                   return fmt::format("row {}, column {}: {:.9g}, the score is {:.9g}", r, c, x, want);
               }
             }
             return {};
           }}};
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(rel_shift, RelShift)
