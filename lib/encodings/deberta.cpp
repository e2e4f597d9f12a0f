// deberta: parameters, buckets, indices, laws.
#include "encodings/deberta.hpp"

#include "encodings/log_buckets.hpp"
#include "encodings/model.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {

void Deberta::check() const {
  span.check();
  if (!position_buckets) return;
  const std::int64_t mid = *position_buckets / 2;
  if (*position_buckets % 2 != 0) fail_usage(fmt::format("position_buckets {} is odd; half of them are exact distances", *position_buckets));
  if (max_relative_positions - 1 <= mid)
    fail_usage(fmt::format("max_relative_positions {} leaves nothing to the logarithmic buckets; use more than {}, half of position_buckets and 1",
                           max_relative_positions, mid + 1));
}

std::vector<Tensor> Deberta::tensors() const {
  const char* help = output == DebertaOutput::relative ? "query - key" : "row of the position table";
  return {{std::string(enum_name(output)), span.axes(), Kind::integer, help}};
}

struct Deberta::Table::State {
  explicit State(const Deberta& s) : spec(s) {
    if (!s.position_buckets) return;
    mid = *s.position_buckets / 2;
    const std::int64_t farthest = s.max_relative_positions - 1;
    for (std::int64_t r = 0; r <= mid; ++r) buckets.push_back(static_cast<std::int32_t>(r));
    for (std::int64_t m = 1; m < mid; ++m) {
      const std::int64_t last = m == mid - 1 ? farthest : detail::ladder_floor(mid, farthest, m, mid - 1);
      while (static_cast<std::int64_t>(buckets.size()) <= last) buckets.push_back(static_cast<std::int32_t>(mid + m));
    }
  }
  // Bucket of a magnitude above the last: the ladder goes on. Found by doubling and bisection; only asked for by `relative`.
  [[nodiscard]] std::int64_t beyond(std::int64_t magnitude) const {
    const std::int64_t farthest = spec.max_relative_positions - 1;
    const auto reaches = [&](std::int64_t m) { return detail::ladder_floor(mid, farthest, m, mid - 1) >= magnitude; };
    // The bucket is mid + the least m whose step is not below the magnitude.
    std::int64_t low = mid - 1, high = mid;
    while (!reaches(high)) {
      low = high;
      high *= 2;
    }
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (reaches(middle) ? high : low) = middle;
    }
    return mid + high;
  }

  Deberta spec;
  std::int64_t mid = 0;
  std::vector<std::int32_t> buckets;  ///< of |query - key|; empty in v1
};

Deberta::Table::Table(const Deberta& spec) : state_(std::make_shared<const State>(spec)) {}
Deberta::Table Deberta::table() const { return Table(*this); }

std::int64_t Deberta::Table::relative(std::int64_t r) const {
  const State& s = *state_;
  if (s.buckets.empty()) return r;
  const std::int64_t magnitude = r < 0 ? -r : r, kept = static_cast<std::int64_t>(s.buckets.size());
  std::int64_t bucket;
  if (magnitude < kept)
    bucket = s.buckets[static_cast<std::size_t>(magnitude)];
  else if (s.spec.beyond == DebertaBeyond::clip || s.spec.output != DebertaOutput::relative)
    bucket = s.buckets.back() + (s.spec.beyond == DebertaBeyond::clip ? 0 : 1);  // a table row is clamped either way
  else
    bucket = s.beyond(magnitude);
  return r < 0 ? -bucket : bucket;
}

std::int64_t Deberta::Table::integer(std::size_t, std::span<const std::int64_t> index) const {
  const Deberta& s = state_->spec;
  const std::int64_t r = relative(-s.span.distance(index));
  if (s.output == DebertaOutput::relative) return r;
  const std::int64_t rows = 2 * s.half_rows();
  const bool reversed = s.output == DebertaOutput::p2c && s.p2c_rule == DebertaP2c::paper;
  return std::clamp<std::int64_t>((reversed ? -r : r) + s.half_rows(), 0, rows - 1);
}

std::vector<Law> Deberta::laws() const {
  const char* paper = "He et al. 2021, arXiv:2006.03654, equation 3";
  std::vector<Law> out;
  if (span.form == SpanForm::matrix) out.push_back(detail::toeplitz_law(paper, span, 1));
  const bool reversed = output == DebertaOutput::p2c && p2c_rule == DebertaP2c::paper;
  out.push_back(detail::row_law("monotone", "the index never rises with the key (never falls for p2c of the paper)", paper, span, 1,
                                [reversed](const detail::SpanRow& row) -> detail::Failed {
                                  for (std::int64_t d = row.first; d < row.last(); ++d)
                                    if (reversed ? row.at(d + 1) < row.at(d) : row.at(d + 1) > row.at(d))
                                      return fmt::format("{:.9g} at distance {} and {:.9g} at {}", row.at(d), d, row.at(d + 1), d + 1);
                                  return {};
                                }));
  // relative: odd about 0; the rows of a table: opposite distances add up to 2k while neither is clamped.
  const double sum = output == DebertaOutput::relative ? 0 : 2 * static_cast<double>(half_rows());
  const bool clamps = output != DebertaOutput::relative;
  out.push_back(detail::row_law("odd", clamps ? "index(d) + index(-d) = 2k inside the table" : "value(-d) = -value(d)", paper, span, 1,
                                [sum, clamps](const detail::SpanRow& row) -> detail::Failed {
                                  for (std::int64_t d = 1; row.holds(d) || row.holds(-d); ++d) {
                                    if (!row.holds(d) || !row.holds(-d)) continue;
                                    const double a = row.at(d), b = row.at(-d);
                                    if (clamps && (a <= 0 || b <= 0)) break;
                                    if (a + b != sum) return fmt::format("{:.9g} at distance {} and {:.9g} at {}", a, d, b, -d);
                                  }
                                  return {};
                                }));
  const std::int64_t plain = position_buckets ? *position_buckets / 2 : max_relative_positions - 1;
  const double centre = sum / 2, step = reversed ? 1 : -1;
  out.push_back(detail::row_law("identity", fmt::format("distances up to {} keep their own index", plain), paper, span, 1,
                                [=](const detail::SpanRow& row) -> detail::Failed {
                                  for (std::int64_t d = std::max(row.first, -plain); d <= std::min(row.last(), plain); ++d)
                                    if (row.at(d) != centre + step * static_cast<double>(d))
                                      return fmt::format("{:.9g} at distance {}", row.at(d), d);
                                  return {};
                                }));
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(deberta, Deberta)
