// 64-bit arithmetic that notices overflow, and little-endian numbers in byte buffers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace posenc::formats {

/// Product of a shape's sizes, left to right, then times `size`; nothing when it exceeds 63 bits.
template <class Shape>
std::optional<std::uint64_t> checked_bytes(const Shape& shape, std::uint64_t size) {
  std::int64_t product = 1;
  for (const auto extent : shape)
    if (extent < 0 || __builtin_mul_overflow(product, static_cast<std::int64_t>(extent), &product)) return std::nullopt;
  if (__builtin_mul_overflow(product, static_cast<std::int64_t>(size), &product)) return std::nullopt;
  return static_cast<std::uint64_t>(product);
}

template <class Int>
void put_le(std::string& out, Int value) {
  for (std::size_t i = 0; i < sizeof(Int); ++i) out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xFF);
}

template <class Int>
Int get_le(const char* at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Int); ++i) value |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
  return static_cast<Int>(value);
}

inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::span<std::byte> as_writable_bytes(std::string& text) { return std::as_writable_bytes(std::span(text.data(), text.size())); }

}  // namespace posenc::formats
