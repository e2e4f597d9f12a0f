// Start values of torch's layers (Linear, Conv, GRU): uniform within +- bound, from a seed (numeric/philox.hpp).
#pragma once
#include <cstdint>

#include "numeric/philox.hpp"
#include "numeric/scalar.hpp"

namespace posenc::detail {

/// v = 2u - 1 of element (row, column) of stream `stream`: exact, |v| < 1.
inline double start_value(std::int64_t seed, std::uint32_t stream, std::int64_t row, std::int64_t column) {
  const std::uint64_t k = num::philox_k(static_cast<std::uint64_t>(seed), stream, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column));
  return static_cast<double>(static_cast<std::int64_t>(2 * k + 1) - (std::int64_t{1} << 53)) * 0x1p-53;
}

}  // namespace posenc::detail
