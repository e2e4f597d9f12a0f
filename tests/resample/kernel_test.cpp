// linear, cubic, nearest: every value is the correctly rounded sum, against weights in exact rationals.
#include <algorithm>

#include "posenc/error.hpp"
#include "resample/axis_map.hpp"
#include "resample/oracle.hpp"

namespace {

using namespace posenc;
using namespace resample_oracle;

// Keys' kernel, his two pieces.
Q keys(const Q& x, const Q& a) {
  const Q t = abs(x);
  if (t <= 1) return (a + 2) * t * t * t - (a + 3) * t * t + 1;
  return t < 2 ? Q(a * (t * t * t - 5 * t * t + 8 * t - 4)) : Q(0);
}
Q triangle(const Q& x) { return abs(x) < 1 ? Q(1 - abs(x)) : Q(0); }

// torch without antialias: indices and weights as upsample_bicubic2d and upsample_bilinear2d have them.
Matrix torch_matrix(std::int64_t n, std::int64_t m, bool cubic, Alignment alignment, const Q& a, const Q& offset = 0) {
  Matrix w = zeros(m, n);
  for (std::int64_t k = 0; k < m; ++k) {
    Q x = alignment == Alignment::stride    ? Q(k * n, m)
          : alignment == Alignment::corners ? (m == 1 ? Q(0) : Q(k * (n - 1), m - 1))
                                            : Q(Q(2 * k + 1, 2) * n / (m + offset) - Q(1, 2));
    auto& row = w[static_cast<std::size_t>(k)];
    const auto at = [&](std::int64_t j) -> Q& { return row[static_cast<std::size_t>(std::clamp<std::int64_t>(j, 0, n - 1))]; };
    if (cubic) {
      const std::int64_t f = floor_of(x);
      for (std::int64_t j = f - 1; j <= f + 2; ++j) at(j) += keys(Q(j) - x, a);
    } else {
      if (x < 0) x = 0;
      const std::int64_t f = std::min(floor_of(x), n - 1);
      const Q t = x - f;
      at(f) += 1 - t;
      at(f + 1) += t;
    }
  }
  return w;
}

// Separable kernel, widened when shrinking, over the rows there are and divided by the sum: torch's antialias, JAX, Pillow.
Matrix widened_matrix(std::int64_t n, std::int64_t m, bool cubic, bool antialias, const Q& a, const Q& offset = 0) {
  Matrix w = zeros(m, n);
  const Q step = n / (m + offset), scale = antialias && step > 1 ? step : Q(1);
  for (std::int64_t k = 0; k < m; ++k) {
    auto& row = w[static_cast<std::size_t>(k)];
    const Q centre = step * Q(2 * k + 1, 2);
    Q sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const Q t = (Q(2 * j + 1, 2) - centre) / scale;
      sum += row[static_cast<std::size_t>(j)] = cubic ? keys(t, a) : triangle(t);
    }
    for (Q& v : row) v /= sum;
  }
  return w;
}

constexpr std::pair<std::int64_t, std::int64_t> lengths[] = {{1, 1}, {1, 4}, {2, 3}, {5, 1}, {4, 8}, {8, 4}, {7, 7}, {10, 17}, {9, 4}, {3, 16}, {13, 5}};

TEST_CASE("resample: sequences under every kernel, correctly rounded") {
  int tables = 0;
  for (const auto& [n, m] : lengths)
    for (const bool cubic : {false, true})
      for (const Alignment alignment : {Alignment::half_pixel, Alignment::corners, Alignment::stride}) {
        const Array in = table({n, 6}, static_cast<unsigned>(100 * n + m));
        Resampling how{.method = cubic ? ResampleMethod::cubic : ResampleMethod::linear, .alignment = alignment, .length = m};
        INFO(n, " ", m, " ", cubic);
        for (const DType dtype : float_dtypes) {
          how.cubic_a.reset();
          CHECK(wrong_values(in, resample(in, how, dtype), 0, 6, torch_matrix(n, m, cubic, alignment, Q(-3, 4)), one_column(), dtype) == 0);
          if (cubic) {
            how.cubic_a = -0.5;
            CHECK(wrong_values(in, resample(in, how, dtype), 0, 6, torch_matrix(n, m, cubic, alignment, Q(-1, 2)), one_column(), dtype) == 0);
          }
          ++tables;
        }
      }
  for (const auto& [n, m] : lengths)
    for (const bool cubic : {false, true})
      for (const ResamplePreset preset : {ResamplePreset::torch_aa, ResamplePreset::jax, ResamplePreset::tf}) {
        const Array in = table({n, 6}, static_cast<unsigned>(100 * n + m));
        const Resampling how{.method = cubic ? ResampleMethod::cubic : ResampleMethod::linear, .preset = preset, .length = m};
        INFO(n, " ", m, " ", cubic);
        for (const DType dtype : float_dtypes)
          CHECK(wrong_values(in, resample(in, how, dtype), 0, 6, widened_matrix(n, m, cubic, preset != ResamplePreset::tf, Q(-1, 2)), one_column(), dtype) == 0);
      }
  CHECK(tables == 11 * 2 * 3 * 4);
}

TEST_CASE("resample: grids under every kernel, correctly rounded") {
  constexpr std::int64_t sizes[][4] = {{4, 4, 6, 6}, {4, 4, 3, 7}, {3, 6, 6, 4}, {1, 1, 3, 2}, {6, 5, 3, 2}, {4, 4, 2, 8}, {2, 4, 4, 8}};
  for (const auto& [h, w, nh, nw] : sizes)
    for (const bool cubic : {false, true})
      for (const bool antialias : {false, true}) {
        INFO(h, " ", w, " ", nh, " ", nw, " ", cubic, " ", antialias);
        const Array in = table({2 + h * w, 3}, static_cast<unsigned>(h * 7 + w));
        const Resampling how{.rows = TableRowKind::grid, .method = cubic ? ResampleMethod::cubic : ResampleMethod::linear, .antialias = antialias,
                             .prefix = 2, .height = h, .width = w, .new_height = nh, .new_width = nw};
        const auto matrix = [&](std::int64_t n, std::int64_t m) {
          return antialias ? widened_matrix(n, m, cubic, true, Q(-1, 2)) : torch_matrix(n, m, cubic, Alignment::half_pixel, Q(-3, 4));
        };
        for (const DType dtype : float_dtypes) {
          const Array got = resample(in, how, dtype);
          CHECK(got.shape == std::vector<std::int64_t>{2 + nh * nw, 3});
          CHECK(wrong_values(in, got, 2, 3, matrix(h, nh), matrix(w, nw), dtype) == 0);
        }
      }
}

TEST_CASE("resample: DINOv2's offset of the scale") {
  constexpr double offset = 0.1;
  const Array in = table({1 + 30, 3}, 71);
  for (const bool antialias : {false, true})
    for (const auto& [nh, nw] : {std::pair<std::int64_t, std::int64_t>{7, 9}, {3, 4}, {6, 2}}) {
      const Resampling how{.rows = TableRowKind::grid, .method = ResampleMethod::cubic, .antialias = antialias, .scale_offset = offset,
                           .prefix = 1, .height = 6, .width = 5, .new_height = nh, .new_width = nw};
      const auto matrix = [&](std::int64_t n, std::int64_t m) {
        return antialias ? widened_matrix(n, m, true, true, Q(-1, 2), Q(offset)) : torch_matrix(n, m, true, Alignment::half_pixel, Q(-3, 4), Q(offset));
      };
      for (const DType dtype : float_dtypes) CHECK(wrong_values(in, resample(in, how, dtype), 1, 3, matrix(6, nh), matrix(5, nw), dtype) == 0);
    }
  CHECK(same_bits(resample(in, {.rows = TableRowKind::grid, .method = ResampleMethod::cubic, .scale_offset = offset, .prefix = 1, .height = 6, .width = 5,
                                .new_height = 6, .new_width = 5}).values, in.values));
}

TEST_CASE("resample: values far apart, ties and what cancels are decided") {
  // 1 and 2^-60 beside ties of every format; the sums of two cancel; the smallest numbers there are; the largest.
  const std::vector<double> hard{1, 0x1p-60, -1, 0x1p-60, 1 + 0x1p-52, 1, 1 + 0x1p-23, 1, 1 + 0x1p-10, 1, 1 + 0x1p-7, 1, 3, -1, 0x1p-1074, 0x1.8p-1073,
                                 0x1p-149, 0x1p-148, 0x1p-24, 0, 0x1p-1000, 0x1p-1001, -0x1p-1000, 1e-300, 65504, 65504, -3e38, 3e38};
  const Array in{{static_cast<std::int64_t>(hard.size()), 1}, hard};
  for (const std::int64_t m : {55, 56, 41, 112, 14})
    for (const bool cubic : {false, true}) {
      Resampling how{.method = cubic ? ResampleMethod::cubic : ResampleMethod::linear, .length = m};
      const std::int64_t n = in.shape[0];
      CHECK(wrong_values(in, resample(in, how), 0, 1, torch_matrix(n, m, cubic, Alignment::half_pixel, Q(-3, 4)), one_column(), DType::f64) == 0);
      how.preset = ResamplePreset::torch_aa;
      CHECK(wrong_values(in, resample(in, how), 0, 1, widened_matrix(n, m, cubic, true, Q(-1, 2)), one_column(), DType::f64) == 0);
      // Without the largest and the middle one every format holds the results.
      Array small{{26, 1}, std::vector<double>(hard.begin(), hard.begin() + 24)};
      small.values.insert(small.values.end(), {100, -100});
      how.preset = ResamplePreset::torch;
      INFO(m, " ", cubic);
      for (const DType dtype : float_dtypes)
        CHECK(wrong_values(small, resample(small, how, dtype), 0, 1, torch_matrix(26, m, cubic, Alignment::half_pixel, Q(-3, 4)), one_column(), dtype) == 0);
    }
  // The largest doubles of all: four of them weighed, and what overflows is refused.
  const Array huge{{3, 1}, {0x1.fffffffffffffp1023, 0x1p1023, -0x1p1023}};
  CHECK(wrong_values(huge, resample(huge, {.length = 8}), 0, 1, torch_matrix(3, 8, false, Alignment::half_pixel, 0), one_column(), DType::f64) == 0);
  CHECK_THROWS_WITH_AS(resample(huge, {.method = ResampleMethod::cubic, .length = 8}), doctest::Contains("of the new table is too large for f64"), Error);
  CHECK_THROWS_WITH_AS(resample(huge, {.length = 8}, DType::f16), "a value of row 0 of the new table is too large for f16; use a wider dtype", Error);
}

TEST_CASE("resample: weights sum to one") {
  using num::Real;
  const auto sums_to_one = [](const resampling::Taps& taps) {
    Real sum;
    for (const resampling::Tap& tap : taps) sum += tap.weight;
    return sum.is_exact() && sum == Real::of(std::int64_t{1});
  };
  for (const auto& [n, m] : lengths)
    for (std::int64_t k = 0; k < m; ++k) {
      for (const bool cubic : {false, true}) {
        for (const Alignment alignment : {Alignment::half_pixel, Alignment::corners, Alignment::stride})
          CHECK(sums_to_one(resampling::kernel_map(n, m, {.cubic = cubic, .alignment = alignment})(k)));
        for (const bool antialias : {false, true})
          CHECK(sums_to_one(resampling::kernel_map(n, m, {.cubic = cubic, .antialias = antialias, .a = -0.5, .edges = EdgeRule::renormalize})(k)));
      }
      CHECK(sums_to_one(resampling::geometric_map(2 * n - 1, 2 * m - 1)(k)));
      if (n > 2 && m >= n) CHECK(sums_to_one(resampling::stretch_map(n, m, 1)(k)));
      CHECK(sums_to_one(resampling::hierarchical_map(n, 0.3)(k % (n * n))));
    }
}

TEST_CASE("resample: [0, 1, 4, 9] to 7 and to 3") {
  // Ten digits, computed with exact fractions: half a unit of the last is 5e-11.
  const Array in{{4}, {0, 1, 4, 9}};
  const auto check = [&](const Resampling& how, const std::vector<double>& want) {
    const Array got = resample(in, how);
    REQUIRE(got.values.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(std::fabs(got.values[i] - want[i]) <= 5.1e-11);
  };
  using enum ResampleMethod;
  check({.method = cubic, .length = 7}, {-0.0992164723, 0.15625, 0.8042091837, 2.125, 4.4246537901, 7.4807762391, 9.4960823615});
  check({.method = cubic, .preset = ResamplePreset::jax, .length = 7}, {-0.0793269231, 0.1875106058, 0.8625704417, 2.25, 4.3184875477, 7.60427626, 9.3966346154});
  check({.method = cubic, .alignment = Alignment::corners, .length = 7}, {0, 0.21875, 1, 2.125, 4, 6.78125, 9});
  check({.method = cubic, .preset = ResamplePreset::torch, .length = 3}, {0.0914351852, 2.125, 8.3344907407});
  check({.method = cubic, .preset = ResamplePreset::torch_aa, .length = 3}, {0.0755148741, 2.3591954023, 7.9359267735});
  check({.preset = ResamplePreset::torch, .length = 3}, {0.1666666667, 2.5, 8.1666666667});
  check({.preset = ResamplePreset::torch_aa, .length = 3}, {0.3, 2.5, 7.5});
  // linear in strides: for a whole factor the old rows are every second new one, and the end is held.
  check({.alignment = Alignment::stride, .length = 8}, {0, 0.5, 1, 2.5, 4, 6.5, 9, 9});
  check({.method = nearest, .length = 7}, {0, 0, 1, 1, 4, 4, 9});
  check({.method = nearest, .alignment = Alignment::half_pixel, .length = 7}, {0, 0, 1, 4, 4, 9, 9});
  check({.method = nearest, .length = 3}, {0, 1, 4});
  check({.method = nearest, .alignment = Alignment::half_pixel, .length = 3}, {0, 4, 9});
}

}  // namespace
