// Tables to resize and an exact second opinion on the result: weights as a matrix of rationals, from formulas written here.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "encodings/oracle.hpp"
#include "posenc/resample.hpp"

namespace resample_oracle {

using posenc::Array;
using posenc::DType;
using Q = boost::multiprecision::number<boost::multiprecision::cpp_rational_backend, boost::multiprecision::et_off>;
using Z = boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>, boost::multiprecision::et_off>;
using Matrix = std::vector<std::vector<Q>>;  ///< [new row][old row]

inline constexpr DType float_dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16};

/// Values that binary32 holds, zeros of both signs among them.
inline Array table(std::vector<std::int64_t> shape, unsigned seed) {
  std::mt19937 random(seed);
  Array out{std::move(shape), {}};
  std::int64_t count = 1;
  for (const std::int64_t size : out.shape) count *= size;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::int64_t>(random() >> 8) - (1 << 23);
    out.values.push_back(random() % 17 == 0 ? (random() % 2 == 0 ? 0.0 : -0.0) : std::ldexp(static_cast<double>(bits), -24 - static_cast<int>(random() % 6)));
  }
  return out;
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

inline Matrix zeros(std::int64_t rows, std::int64_t columns) { return Matrix(static_cast<std::size_t>(rows), std::vector<Q>(static_cast<std::size_t>(columns))); }

inline std::int64_t floor_of(const Q& x) {
  Z quotient = numerator(x) / denominator(x);
  if (quotient * denominator(x) > numerator(x)) --quotient;
  return static_cast<std::int64_t>(quotient);
}

inline Q power_of_two(int exponent) { return exponent >= 0 ? Q(Z(1) << static_cast<unsigned>(exponent)) : Q(Z(1), Z(1) << static_cast<unsigned>(-exponent)); }

/// oracle::correctly_rounded in rationals: whatever the exponents, ties are seen.
inline bool correctly_rounded(DType dtype, double stored, const Q& truth) {
  if (truth == 0) return stored == 0 && !std::signbit(stored);
  int digits = 53, emin = -1022;
  if (dtype == DType::f32) digits = 24, emin = -126;
  if (dtype == DType::f16) digits = 11, emin = -14;
  if (dtype == DType::bf16) digits = 8, emin = -126;
  const Q size = abs(truth);
  int e = static_cast<int>(msb(numerator(size))) - static_cast<int>(msb(denominator(size)));
  if (power_of_two(e) > size) --e;
  const Q step = power_of_two(std::max(e, emin) - digits + 1), steps = size / step;
  const Z below = numerator(steps) / denominator(steps);
  const Q rest = steps - Q(below);
  const bool up = rest > Q(1, 2) || (rest == Q(1, 2) && below % 2 != 0);
  return std::signbit(stored) == (truth < 0) && std::isfinite(stored) && Q(std::fabs(stored)) == Q(below + (up ? 1 : 0)) * step;
}

/// Values of the new grid [down.rows x across.rows] that are not the correctly rounded sum; `first` rows of both tables are not
/// looked at. Rows have `lanes` values.
inline int wrong_values(const Array& old_table, const Array& got, std::int64_t first, std::int64_t lanes, const Matrix& down, const Matrix& across, DType dtype) {
  int wrong = 0;
  const std::size_t width = across[0].size(), inner = static_cast<std::size_t>(lanes), skip = static_cast<std::size_t>(first);
  for (std::size_t y = 0; y < down.size(); ++y)
    for (std::size_t x = 0; x < across.size(); ++x)
      for (std::size_t c = 0; c < inner; ++c) {
        Q sum = 0;
        for (std::size_t v = 0; v < down[y].size(); ++v)
          for (std::size_t h = 0; h < width; ++h)
            if (down[y][v] != 0 && across[x][h] != 0) sum += down[y][v] * across[x][h] * Q(old_table.values[(skip + v * width + h) * inner + c]);
        const double value = got.values[(skip + y * across.size() + x) * inner + c];
        const auto one_source = [](const std::vector<Q>& weights) { return std::ranges::count_if(weights, [](const Q& w) { return w != 0; }) == 1; };
        const bool copied = one_source(down[y]) && one_source(across[x]);
        wrong += correctly_rounded(dtype, copied && value == 0 ? std::fabs(value) : value, sum) ? 0 : 1;  // copies of -0 are -0
      }
  return wrong;
}
inline Matrix one_column() { return {{Q(1)}}; }

}  // namespace resample_oracle
