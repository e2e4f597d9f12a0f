// What laws share: which rows they look at, and how far a correctly rounded number may be from the truth.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace posenc::detail {

/// Half the smallest step of the stored dtype whose unit roundoff is u: what a value near 0 may be off by.
inline double floor_of(double u) { return u == 0x1p-11 ? u * 0x1p-14 : u == 0x1p-53 ? 0x1p-1074 : u * 0x1p-126; }
/// Whether a number is stored as one: f16 has infinities from 65520 on.
inline bool in_range(double x, double u) { return u != 0x1p-11 || std::fabs(x) < 65504; }

/// Up to `most` numbers over [0, n), ends included: laws are quick looks, not the comparison of every value.
inline std::vector<std::int64_t> spread(std::int64_t n, std::int64_t most = 24) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < std::min(n, most); ++i)
    out.push_back(n <= most ? i : static_cast<std::int64_t>(static_cast<double>(i) / static_cast<double>(most - 1) * static_cast<double>(n - 1)));
  return out;
}

}  // namespace posenc::detail
