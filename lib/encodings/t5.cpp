// t5: parameters, buckets, tensors, laws.
#include "encodings/t5.hpp"

#include <vector>

#include "encodings/distance_rows.hpp"
#include "encodings/log_buckets.hpp"
#include "encodings/model.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {

void T5::check() const {
  span.check();
  if (bidirectional && num_buckets % 2 != 0)
    fail_usage(fmt::format("num_buckets {} is odd; bidirectional buckets go to two sides", num_buckets));
  if (side_buckets() < 2)
    fail_usage(fmt::format("num_buckets {} leaves one bucket a side; use at least {}", num_buckets, bidirectional ? 4 : 2));
  if (max_distance <= side_buckets() / 2)
    fail_usage(fmt::format("max_distance {} leaves nothing to the logarithmic buckets; use more than {}, half the buckets of a side",
                           max_distance, side_buckets() / 2));
  if (bias_table.given()) {
    check_shape(bias_table, {num_buckets, -1}, "bias_table");
    if (bias_table.shape[1] < 1) fail_usage("bias_table has no heads; give it the shape [num_buckets, num_heads]");
  }
}

std::vector<Tensor> T5::tensors() const {
  if (bias_table.given())
    return {{"bias", span.axes({{"head", heads()}}), Kind::real, "added to the scores, which T5 does not divide by sqrt(head_dim)"}};
  return {{"bucket", span.axes(), Kind::integer, "row of the bias table"}};
}

struct T5::Table::State {
  explicit State(const T5& s) : spec(s), half(s.side_buckets() / 2) {
    // Buckets of n = 0, 1, .. up to where the last begins.
    const std::int64_t steps = s.side_buckets() - half;
    for (std::int64_t n = 0; n < half; ++n) buckets.push_back(static_cast<std::int32_t>(n));
    for (std::int64_t k = 0; k < steps; ++k) {
      const auto end = k + 1 == steps ? static_cast<std::int64_t>(buckets.size()) + 1 : detail::ladder_ceil(half, s.max_distance, k + 1, steps);
      while (static_cast<std::int64_t>(buckets.size()) < end) buckets.push_back(static_cast<std::int32_t>(half + k));
    }
  }

  [[nodiscard]] std::int64_t bucket(std::int64_t distance) const {
    std::int64_t n = -distance, base = 0;
    if (n < 0) {
      n = spec.bidirectional ? -n : 0;
      base = spec.bidirectional ? spec.side_buckets() : 0;
    }
    return base + buckets[static_cast<std::size_t>(std::min(n, static_cast<std::int64_t>(buckets.size()) - 1))];
  }
  // For fill_by_distance.
  static constexpr bool is_exact = true;
  [[nodiscard]] double exact(std::int64_t head, std::int64_t distance) const {
    return spec.bias_table.values[static_cast<std::size_t>(bucket(distance) * spec.heads() + head)];
  }

  T5 spec;
  std::int64_t half;
  std::vector<std::int32_t> buckets;
  std::uint64_t number = num::new_owner();
};

T5::Table::Table(const T5& spec) : state_(std::make_shared<const State>(spec)) {}
T5::Table T5::table() const { return Table(*this); }

std::int64_t T5::Table::bucket(std::int64_t distance) const { return state_->bucket(distance); }

std::int64_t T5::Table::integer(std::size_t, std::span<const std::int64_t> index) const {
  return state_->bucket(state_->spec.span.distance(index));
}

template <class T>
T T5::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  return T::of(state_->exact(index[0], state_->spec.span.distance(index.subspan(1))));
}

void T5::Table::fill(std::size_t, Block& block) const { detail::fill_by_distance(*state_, state_->spec.span, state_->number, block); }

std::vector<Law> T5::laws() const {
  const char* paper = "Raffel et al. 2020, arXiv:1910.10683, section 2.1";
  std::vector<Law> out;
  if (span.form == SpanForm::matrix) out.push_back(detail::toeplitz_law(paper, span, heads()));
  out.push_back(detail::constant_law(paper, span, heads(), -max_distance, bidirectional ? max_distance : 0));
  if (bias_table.given()) return out;
  out.push_back(detail::row_law(
      "monotone", "on either side the bucket never falls as the distance grows, by at most 1 up to num_buckets / 4 or / 2", paper, span, 1,
      [s = *this](const detail::SpanRow& row) -> detail::Failed {
        for (std::int64_t d = row.first; d < row.last(); ++d) {
          if (d == 0) continue;  // between the query and the key after it the side changes
          const double near = d < 0 ? row.at(d + 1) : row.at(d), far = d < 0 ? row.at(d) : row.at(d + 1);
          const bool exact_part = std::max(std::abs(d), std::abs(d + 1)) < s.side_buckets() / 2 && (d < 0 || s.bidirectional);
          if (far < near || (exact_part && far != near + 1))
            return fmt::format("bucket {:.9g} at distance {} and {:.9g} at {}", row.at(d), d, row.at(d + 1), d + 1);
        }
        return {};
      }));
  out.push_back(detail::row_law("sides", "buckets below num_buckets; those of keys after the query are the upper half, or 0 where causal",
                                paper, span, 1, [s = *this](const detail::SpanRow& row) -> detail::Failed {
                                  for (std::int64_t d = row.first; d <= row.last(); ++d) {
                                    const double low = d > 0 && s.bidirectional ? static_cast<double>(s.side_buckets()) : 0;
                                    const double high = d > 0 && !s.bidirectional ? 0 : low + static_cast<double>(s.side_buckets()) - 1;
                                    if (row.at(d) < low || row.at(d) > high)
                                      return fmt::format("bucket {:.9g} at distance {}, outside {:.9g} to {:.9g}", row.at(d), d, low, high);
                                  }
                                  return {};
                                }));
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(t5, T5)
