// The element types files have, and how posenc holds each: exactly, widened when there is no dtype of that size.
//   i8 i16 u8 u16 bool -> i32;  u32 u64 -> i64 (a u64 above 2^63 - 1 is an error where it is read)
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "posenc/dtype.hpp"

namespace posenc::formats {

struct ElementType {
  enum class Kind : std::uint8_t { boolean, sint, uint, ieee, bfloat, complex };
  Kind kind = Kind::ieee;
  std::size_t size = 4;  ///< bytes of one element; complex: of the (re, im) pair
  bool big_endian = false;

  friend bool operator==(const ElementType&, const ElementType&) = default;
};

struct Holding {
  DType dtype;
  bool is_complex;
};

/// Nothing when no dtype holds every value of the type.
[[nodiscard]] std::optional<Holding> holding(const ElementType& type);
/// True when the bytes in the file are the bytes posenc delivers.
[[nodiscard]] bool stored_as_held(const ElementType& type);
/// Converts whole elements; `what` names the array in the error for a value that does not fit.
void convert(const ElementType& type, std::span<const std::byte> in, std::span<std::byte> out, const std::string& what);

}  // namespace posenc::formats
