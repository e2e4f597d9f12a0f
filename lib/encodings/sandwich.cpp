// sandwich: parameters, formula, sums in two doubles, laws.
#include "encodings/sandwich.hpp"

#include <mutex>

#include "encodings/distance_rows.hpp"
#include "encodings/model.hpp"
#include "encodings/sinusoid.hpp"
#include "encodings/span_laws.hpp"
#include "numeric/rotation_rows.hpp"
#include "numeric/two_double.hpp"

namespace posenc {
namespace {

// What the formula makes of a distance: its magnitude, or -1 where masked.
std::int64_t magnitude_of(const Sandwich& s, std::int64_t distance) {
  if (distance > 0 && s.future == FutureKeys::mask) return -1;
  return distance > 0 && s.future == FutureKeys::zero ? 0 : std::abs(distance);
}

template <class T>
T bias_of(const Sandwich& s, std::int64_t head, std::int64_t distance) {
  const std::int64_t m = magnitude_of(s, distance), half = s.dim / 2;
  if (m < 0) return T::infinity(-1);
  if (m == 0) return T::of(std::int64_t{0});
  T sum = T::of(std::int64_t{0});
  for (std::int64_t i = 1; i <= half; ++i) sum = sum + cos(T::of(m) * detail::sinusoid_frequency<T>(s.base, i, s.dim));
  return (sum - T::of(half)) / (T::of(8 * (head + 1)) / T::of(s.num_heads));
}

}  // namespace

void Sandwich::check() const {
  span.check();
  if (dim % 2 != 0) fail_usage(fmt::format("dim {} is odd; sines and cosines come in pairs", dim));
}

std::vector<Tensor> Sandwich::tensors() const {
  return {{"bias", span.axes({{"head", num_heads}}), Kind::real, "added to the scores"}};
}

// The sums of the cosines less dim / 2 are the same for every head: made once, in two doubles.
struct Sandwich::Table::State {
  explicit State(const Sandwich& s) : spec(s), tensor(s.tensors()[0]) {
    farthest = std::max(std::abs(s.span.first_distance()), std::abs(s.span.key_length - 1 - s.span.first_query()));
  }
  [[nodiscard]] bool sums_serve() const { return farthest < (std::int64_t{1} << 20); }

  // A cosine is off by RotationRows::bound2; each of the dim / 2 sums by 3 * 2^-106 of the magnitudes of its terms, at most
  // dim / 2 + 1; the last sum, with -dim / 2, by 3 * 2^-106 * dim.
  void make_sums() const {
    std::call_once(once, [&] {
      const auto half = static_cast<std::size_t>(spec.dim / 2);
      std::vector<num::Real> frequencies;
      num::Real unit;
      {
        const num::Precision precision(320);
        for (std::size_t i = 1; i <= half; ++i)
          frequencies.push_back(detail::sinusoid_frequency<num::Real>(spec.base, static_cast<std::int64_t>(i), spec.dim));
        unit = num::Real::of(std::int64_t{1});
        for (std::int64_t h = 1; h <= spec.num_heads; ++h) {
          num::TwoDouble factor;
          (num::Real::of(spec.num_heads) / num::Real::of(8 * h)).two_double(factor.hi, factor.lo);
          factors.push_back(factor);
        }
      }
      const num::RotationRows rows(Positions::range(0, farthest + 1), frequencies, unit);
      num::RotationRows::Cursor cursor(rows);
      std::vector<num::Phasor> phasors(half);
      const double n = static_cast<double>(half);
      error = n * rows.bound2().absolute + n * 3 * 0x1p-106 * (n + 1) + 6 * 0x1p-106 * n;
      for (std::int64_t m = 0; m <= farthest; ++m) {
        if (!cursor.row2(m, phasors.data())) error = HUGE_VAL;
        num::TwoDouble sum{};
        for (const num::Phasor& p : phasors) sum = sum + p.cos;
        sums.push_back(sum - num::TwoDouble{n, 0});
      }
    });
  }

  // For fill_by_distance. A factor is off by 2^-105 relative, its product by 7 * 2^-106.
  static constexpr bool is_exact = false;
  double parts(std::int64_t head, std::int64_t distance, double& hi, double& lo) const {
    const std::int64_t m = magnitude_of(spec, distance);
    if (m <= 0) {
      hi = m < 0 ? -HUGE_VAL : 0;
      lo = 0;
      return 0;
    }
    const num::TwoDouble factor = factors[static_cast<std::size_t>(head)], value = sums[static_cast<std::size_t>(m)] * factor;
    hi = value.hi;
    lo = value.lo;
    return error * factor.hi * (1 + 0x1p-50) + std::fabs(hi) * 0x1p-102;
  }

  Sandwich spec;
  Tensor tensor;
  std::int64_t farthest;  ///< largest |distance|
  std::uint64_t number = num::new_owner();
  mutable std::once_flag once;
  mutable std::vector<num::TwoDouble> sums, factors;
  mutable double error = 0;
};

Sandwich::Table::Table(const Sandwich& spec) : state_(std::make_shared<const State>(spec)) {}
Sandwich::Table Sandwich::table() const { return Table(*this); }

template <class T>
T Sandwich::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  return bias_of<T>(state_->spec, index[0], state_->spec.span.distance(index.subspan(1)));
}

void Sandwich::Table::fill(std::size_t tensor, Block& block) const {
  const State& s = *state_;
  if (!s.sums_serve()) return detail::plain_fill(*this, s.tensor, tensor, block);
  s.make_sums();
  detail::fill_by_distance(s, s.spec.span, s.number, block);
}

std::vector<Law> Sandwich::laws() const {
  const char* paper = "Chi et al. 2023, arXiv:2212.10356, section 5";
  std::vector<Law> out;
  if (span.form == SpanForm::matrix) out.push_back(detail::toeplitz_law(paper, span, num_heads));
  if (future == FutureKeys::symmetric) out.push_back(detail::symmetric_law(paper, span, num_heads));
  out.push_back(detail::row_law("sign", "0 at distance 0 and not positive elsewhere: no sum of cosines exceeds dim / 2", paper, span, num_heads,
                                [](const detail::SpanRow& row) -> detail::Failed {
                                  for (std::int64_t d = row.first; d <= row.last(); ++d)
                                    if (row.at(d) > 0 || (d == 0 && row.at(d) != 0))
                                      return fmt::format("head {}: {:.9g} at distance {}", row.head, row.at(d), d);
                                  return {};
                                }));
  // Two values are off by u relative each, or by floor_of(u); the products by 2^-53.
  if (num_heads > 1)
    out.push_back({"ratio", "h * bias is the same for every head h = 1, 2, ..", paper, [s = *this](const Stored& stored) -> detail::Failed {
                     const double u = stored.unit_roundoff(0);
                     for (const std::int64_t r : detail::spread(s.span.rows())) {
                       const auto first = stored.row(0, r);
                       for (const std::int64_t h : detail::spread(s.num_heads)) {
                         const auto row = stored.row(0, h * s.span.rows() + r);
                         if (!first || !row) return {};
                         for (std::size_t c = 0; c < row->size(); ++c) {
                           const double a = (*first)[c], b = static_cast<double>(h + 1) * (*row)[c];
                           if (!std::isfinite(a) || !std::isfinite(b)) continue;
                           const double tolerance = (2 * u + 4 * u * u + 0x1p-50) * std::fabs(a) + static_cast<double>(h + 2) * detail::floor_of(u);
                           if (!(std::fabs(a - b) <= tolerance))
                             return fmt::format("row {}, column {}: {:.9g} for head 1, {} times {:.9g} for head {}", r, c, a, h + 1, (*row)[c], h + 1);
                         }
                       }
                     }
                     return {};
                   }});
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(sandwich, Sandwich)
