#include "element_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "posenc/error.hpp"

namespace posenc::formats {

static_assert(std::endian::native == std::endian::little, "values are delivered as they lie in little-endian memory");

std::optional<Holding> holding(const ElementType& t) {
  using Kind = ElementType::Kind;
  switch (t.kind) {
    case Kind::boolean:
      if (t.size == 1) return Holding{DType::i32, false};
      break;
    case Kind::sint:
      if (t.size == 1 || t.size == 2 || t.size == 4) return Holding{DType::i32, false};
      if (t.size == 8) return Holding{DType::i64, false};
      break;
    case Kind::uint:
      if (t.size == 1 || t.size == 2) return Holding{DType::i32, false};
      if (t.size == 4 || t.size == 8) return Holding{DType::i64, false};
      break;
    case Kind::ieee:
      if (t.size == 2) return Holding{DType::f16, false};
      if (t.size == 4) return Holding{DType::f32, false};
      if (t.size == 8) return Holding{DType::f64, false};
      break;
    case Kind::bfloat:
      if (t.size == 2) return Holding{DType::bf16, false};
      break;
    case Kind::complex:
      if (t.size == 8) return Holding{DType::f32, true};
      if (t.size == 16) return Holding{DType::f64, true};
      break;
  }
  return std::nullopt;
}

bool stored_as_held(const ElementType& t) {
  if (t.big_endian && t.size > 1) return false;
  if (t.kind == ElementType::Kind::boolean || t.kind == ElementType::Kind::uint) return false;
  return t.kind != ElementType::Kind::sint || t.size >= 4;
}

void convert(const ElementType& t, std::span<const std::byte> in, std::span<std::byte> out, const std::string& what) {
  const std::size_t part = t.kind == ElementType::Kind::complex ? t.size / 2 : t.size;  // what byte order applies to
  const bool wider = !stored_as_held({t.kind, t.size, false});
  const std::size_t put = wider ? size_of(holding(t)->dtype) : part;
  for (std::size_t i = 0; i < in.size() / part; ++i) {
    unsigned char raw[8] = {};
    std::memcpy(raw, in.data() + i * part, part);
    if (t.big_endian) std::reverse(raw, raw + part);
    if (wider) {
      std::uint64_t value = 0;
      std::memcpy(&value, raw, part);
      if (t.kind == ElementType::Kind::sint) {
        const int shift = static_cast<int>(64 - 8 * part);
        value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
      }
      if (t.kind == ElementType::Kind::boolean && value > 1)
        fail_input(fmt::format("{}: a truth value is {}, allowed 0 and 1", what, value));
      if (t.kind == ElementType::Kind::uint && value > static_cast<std::uint64_t>(INT64_MAX))
        fail_input(fmt::format("{}: the unsigned value {} does not fit in i64", what, value));
      std::memcpy(raw, &value, put);
    }
    std::memcpy(out.data() + i * put, raw, put);
  }
}

}  // namespace posenc::formats
