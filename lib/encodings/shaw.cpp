// shaw: parameters, index, vectors, laws.
#include "encodings/shaw.hpp"

#include "encodings/model.hpp"
#include "encodings/sinusoid.hpp"
#include "encodings/span_laws.hpp"
#include "encodings/stored_values.hpp"

namespace posenc {
namespace {

constexpr std::int64_t largest_table = std::int64_t{1} << 18;  // values kept as doubles; beyond, each is computed where it stands

template <class T>
T table_value(const Shaw& s, std::int64_t row, std::int64_t lane) {
  if (s.vectors.given()) return T::of(s.vectors.values[static_cast<std::size_t>(row * s.lanes() + lane)]);
  const T angle = T::of(row) * detail::sinusoid_frequency_exp<T>(s.base, lane / 2, s.head_dim);
  return lane % 2 == 0 ? sin(angle) : cos(angle);
}

}  // namespace

void Shaw::check() const {
  span.check();
  if (vectors.given())
    check_shape(vectors, {rows(), -1}, "vectors");
  else if (output != ShawOutput::index && head_dim % 2 != 0)
    fail_usage(fmt::format("head_dim {} is odd; NEZHA's sinusoids come in pairs", head_dim));
  if (vectors.given() && lanes() < 1) fail_usage("vectors has no lanes; give it the shape [2 max_relative_position + 1, head_dim]");
  if (beyond == ShawBeyond::refuse && output != ShawOutput::table) {
    const std::int64_t first = span.first_distance(), last = span.key_length - 1 - (span.form == SpanForm::row ? span.last_query() : span.first_query());
    if (-first > max_relative_position || last > max_relative_position)
      fail_usage(fmt::format("distances run from {} to {}, beyond max_relative_position {}; Shaw's own form clips them, relative_key has no row for them", first, last,
                             max_relative_position));
  }
}

std::vector<Tensor> Shaw::tensors() const {
  switch (output) {
    case ShawOutput::index: return {{"index", span.axes(), Kind::integer, "row of the table for each query and key"}};
    case ShawOutput::table: return {{"table", {{"row", rows()}, {"lane", lanes()}}, Kind::real, "row r belongs to the clipped distance r - k"}};
    case ShawOutput::vectors: break;
  }
  std::vector<Axis> axes = span.axes();
  axes.push_back({"lane", lanes()});
  return {{"vectors", std::move(axes), Kind::real, "added to the key or to the value"}};
}

struct Shaw::Table::State {
  explicit State(const Shaw& s) : spec(s), tensor(s.tensors()[0]) {
    if (s.output != ShawOutput::index && s.rows() <= largest_table / s.lanes())
      values = detail::StoredValues(s.rows() * s.lanes(),
                                    [&](std::int64_t i) { return table_value<num::Real>(s, i / s.lanes(), i % s.lanes()); });
  }
  // The table's row for the leading coordinates of an element.
  [[nodiscard]] std::int64_t row_at(std::span<const std::int64_t> leading) const {
    return spec.output == ShawOutput::table ? leading[0] : spec.row(spec.span.distance(leading));
  }

  Shaw spec;
  Tensor tensor;
  detail::StoredValues values;
};

Shaw::Table::Table(const Shaw& spec) : state_(std::make_shared<const State>(spec)) {}
Shaw::Table Shaw::table() const { return Table(*this); }

std::int64_t Shaw::Table::integer(std::size_t, std::span<const std::int64_t> index) const {
  return state_->spec.row(state_->spec.span.distance(index));
}

template <class T>
T Shaw::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  return table_value<T>(state_->spec, state_->row_at(index.first(index.size() - 1)), index.back());
}

void Shaw::Table::fill(std::size_t tensor, Block& block) const {
  const State& s = *state_;
  if (s.values.size() == 0) return detail::plain_fill(*this, s.tensor, tensor, block);
  const Extent& e = block.extent;
  std::vector<std::int64_t> index(s.tensor.axes.size());
  for (std::int64_t r = 0; r < e.rows; ++r) {
    s.tensor.row_index(e.row + r, index);
    const std::int64_t row = s.row_at(std::span<const std::int64_t>(index).first(index.size() - 1));
    s.values.put(row * s.spec.lanes() + e.col, e.cols, block.hi + r * e.cols, block.lo ? block.lo + r * e.cols : nullptr);
    block.bounds[r] = s.values.bound(block.lo != nullptr);
  }
}

std::vector<Law> Shaw::laws() const {
  const char* paper = "Shaw et al. 2018, arXiv:1803.02155, section 3.2";
  std::vector<Law> out;
  if (output == ShawOutput::index) {
    if (span.form == SpanForm::matrix) out.push_back(detail::toeplitz_law(paper, span, 1));
    out.push_back(detail::constant_law(paper, span, 1, -max_relative_position, max_relative_position));
    out.push_back(detail::row_law("steps", "the index moves by 1 with each key inside the band and stays in 0 .. 2k", paper, span, 1,
                                  [s = *this](const detail::SpanRow& row) -> detail::Failed {
                                    const double step = s.sign == ShawSign::key_query ? 1 : -1;
                                    const std::int64_t k = s.max_relative_position;
                                    for (std::int64_t d = row.first; d <= row.last(); ++d) {
                                      if (row.at(d) < 0 || row.at(d) > static_cast<double>(2 * k))
                                        return fmt::format("index {:.9g} at distance {}, outside 0 to {}", row.at(d), d, 2 * k);
                                      if (d < row.last() && d >= -k && d < k && row.at(d + 1) - row.at(d) != step)
                                        return fmt::format("index {:.9g} at distance {} and {:.9g} at {}", row.at(d), d, row.at(d + 1), d + 1);
                                    }
                                    return {};
                                  }));
    return out;
  }
  // Each of sin^2, cos^2 is off by 2u + u^2 of itself and rounds by e = 2^-53, as does their sum; a number below the smallest
  // normal is off by floor_of(u), which its square does not show.
  if (!vectors.given())
    out.push_back({"norm", "sin^2 + cos^2 = 1 in every pair of lanes", "Wei et al. 2019, arXiv:1909.00204, section 2.1",
                   [n = tensors()[0].rows()](const Stored& stored) -> std::optional<std::string> {
                     const double u = stored.unit_roundoff(0), tolerance = 2 * u + u * u + 4 * 0x1p-53;
                     for (const std::int64_t r : detail::spread(n)) {
                       const auto row = stored.row(0, r);
                       if (!row) return {};
                       for (std::size_t i = 0; i + 1 < row->size(); i += 2) {
                         const double norm = (*row)[i] * (*row)[i] + (*row)[i + 1] * (*row)[i + 1];
                         if (!(std::fabs(norm - 1) <= tolerance))
                           return fmt::format("row {}, lanes {} and {}: sin^2 + cos^2 = {:.9g}", r, i, i + 1, norm);
                       }
                     }
                     return {};
                   }});
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(shaw, Shaw)
