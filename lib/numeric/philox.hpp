// Philox 4x32-10, a counter-based generator: 128 random bits as a pure function of a 128-bit counter and a 64-bit key
// (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3; constants of table 2).
#pragma once
#include <array>
#include <cstdint>

namespace posenc::num {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

inline PhiloxCounter philox(PhiloxCounter x, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ key[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;  // the golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return x;
}

/// k, 0 <= k < 2^53, for element (row, column) of stream `stream` of a seed: the uniform number is (k + 1/2) / 2^53, never 0
/// or 1. Counter {column / 2, stream, low and high word of the row}; an even column takes words 0 and 1 (word 1 high), an odd
/// one words 2 and 3; the top 53 of the 64 bits. Longer and wider tables keep the values of shorter ones.
inline std::uint64_t philox_k(std::uint64_t seed, std::uint32_t stream, std::uint64_t row, std::uint64_t column) {
  const PhiloxCounter words =
      philox({static_cast<std::uint32_t>(column / 2), stream, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32)},
             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const std::size_t first = column % 2 * 2;
  return (std::uint64_t{words[first + 1]} << 32 | words[first]) >> 11;
}

/// A number from 0 to n - 1, 1 <= n <= 2^53: floor(n k / 2^53). The chance of each is within 2^-53 of 1 / n.
inline std::uint64_t philox_below(std::uint64_t n, std::uint64_t seed, std::uint32_t stream, std::uint64_t row, std::uint64_t column) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(n) * philox_k(seed, stream, row, column) >> 53);
}

}  // namespace posenc::num
