#include "hdf5_types.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "hdf5_attributes.hpp"
#include "posenc/error.hpp"

namespace posenc::formats::hdf5 {
namespace {

// Bit positions count from the least significant bit, in either byte order.
struct FloatBits {
  std::size_t size, sign, exponent, exponent_size, mantissa, mantissa_size, bias;
  ElementType::Kind kind;
  friend bool operator==(const FloatBits&, const FloatBits&) = default;
};
constexpr FloatBits binary16{2, 15, 10, 5, 0, 10, 15, ElementType::Kind::ieee};
constexpr FloatBits bfloat16{2, 15, 7, 8, 0, 7, 127, ElementType::Kind::bfloat};
constexpr std::array<FloatBits, 4> known{{
    {8, 63, 52, 11, 0, 52, 1023, ElementType::Kind::ieee},
    {4, 31, 23, 8, 0, 23, 127, ElementType::Kind::ieee},
    binary16,
    bfloat16,
}};

Handle small_float(const FloatBits& bits, const std::string& path) {
  Handle type(checked(H5Tcopy(H5T_IEEE_F32LE), path, false));
  // Fields before size: they must lie inside the type at every step.
  checked_status(H5Tset_fields(type.get(), bits.sign, bits.exponent, bits.exponent_size, bits.mantissa, bits.mantissa_size), path, false);
  checked_status(H5Tset_size(type.get(), bits.size), path, false);
  checked_status(H5Tset_ebias(type.get(), bits.bias), path, false);
  return type;
}

std::string_view class_name(H5T_class_t type_class) {
  switch (type_class) {
    case H5T_STRING: return "text";
    case H5T_BITFIELD: return "bit fields";
    case H5T_OPAQUE: return "opaque bytes";
    case H5T_COMPOUND: return "a compound";
    case H5T_REFERENCE: return "references";
    case H5T_ENUM: return "an enumeration";
    case H5T_VLEN: return "lists of varying length";
    case H5T_ARRAY: return "arrays";
    case H5T_TIME: return "times";
    default: return "of a type it does not know";
  }
}

std::optional<ElementType> float_type(hid_t type, const std::string& what, std::string& why) {
  FloatBits bits{};
  bits.size = H5Tget_size(type);
  bits.bias = H5Tget_ebias(type);
  checked_status(H5Tget_fields(type, &bits.sign, &bits.exponent, &bits.exponent_size, &bits.mantissa, &bits.mantissa_size), what, true);
  const H5T_order_t order = H5Tget_order(type);
  if (bits.size == 2 && bits.exponent_size == 8 && bits.bias != bfloat16.bias)
    fail_input(fmt::format("{}: is a 16-bit float with an 8-bit exponent and bias {}; bfloat16 has bias 127, so its values would be wrong by a "
                           "power of two; correct the type of the dataset",
                           what, bits.bias));
  if ((order == H5T_ORDER_LE || order == H5T_ORDER_BE) && H5Tget_norm(type) == H5T_NORM_IMPLIED && H5Tget_offset(type) == 0)
    for (const FloatBits& candidate : known) {
      bits.kind = candidate.kind;
      if (bits == candidate) return ElementType{candidate.kind, candidate.size, order == H5T_ORDER_BE};
    }
  why = fmt::format("a floating-point type of {} bits that is not IEEE", 8 * bits.size);
  return std::nullopt;
}

std::optional<ElementType> integer_type(hid_t type, std::string& why) {
  const std::size_t size = H5Tget_size(type);
  const H5T_order_t order = H5Tget_order(type);
  const bool plain = H5Tget_precision(type) == 8 * size && H5Tget_offset(type) == 0;
  const ElementType found{H5Tget_sign(type) == H5T_SGN_NONE ? ElementType::Kind::uint : ElementType::Kind::sint, size, order == H5T_ORDER_BE};
  if (plain && (order == H5T_ORDER_LE || order == H5T_ORDER_BE) && holding(found)) return found;
  why = fmt::format("an integer type of {} bytes with padding", size);
  return std::nullopt;
}

std::string member_name(hid_t type, unsigned index) {
  char* name = H5Tget_member_name(type, index);
  std::string copy = name == nullptr ? "" : name;
  H5free_memory(name);
  return copy;
}

}  // namespace

Handle type_of(const StoredTensor& tensor, const std::string& path) {
  if (tensor.is_complex) {
    StoredTensor part = tensor;
    part.is_complex = false;
    const Handle base = type_of(part, path);
    const std::size_t size = size_of(tensor.dtype);
    Handle pair(checked(H5Tcreate(H5T_COMPOUND, 2 * size), path, false));
    checked_status(H5Tinsert(pair.get(), "r", 0, base.get()), path, false);
    checked_status(H5Tinsert(pair.get(), "i", size, base.get()), path, false);
    return pair;
  }
  switch (tensor.dtype) {
    case DType::f64: return Handle(checked(H5Tcopy(H5T_IEEE_F64LE), path, false));
    case DType::f32: return Handle(checked(H5Tcopy(H5T_IEEE_F32LE), path, false));
    case DType::f16: return small_float(binary16, path);
    case DType::bf16: return small_float(bfloat16, path);
    case DType::i32: return Handle(checked(H5Tcopy(H5T_STD_I32LE), path, false));
    case DType::i64: return Handle(checked(H5Tcopy(H5T_STD_I64LE), path, false));
  }
  fail(path, false);
}

std::optional<ElementType> element_type(hid_t dataset, hid_t type, const std::string& what, std::string& why) {
  const H5T_class_t type_class = H5Tget_class(type);
  const std::size_t size = H5Tget_size(type);
  switch (type_class) {
    case H5T_FLOAT: return float_type(type, what, why);
    case H5T_INTEGER: return integer_type(type, why);
    case H5T_ENUM:  // how h5py stores truth values
      if (size == 1 && H5Tget_nmembers(type) == 2 && member_name(type, 0) == "FALSE" && member_name(type, 1) == "TRUE")
        return ElementType{ElementType::Kind::boolean, 1, false};
      break;
    case H5T_OPAQUE:  // how Keras 3 stores bfloat16
      if (size == 2 && get_text(dataset, "dtype", what) == "bfloat16") return ElementType{ElementType::Kind::bfloat, 2, false};
      break;
    case H5T_COMPOUND: {
      if (H5Tget_nmembers(type) != 2) break;
      const std::string first = member_name(type, 0), second = member_name(type, 1);
      const bool named = (first == "r" && second == "i") || (first == "re" && second == "im") || (first == "real" && second == "imag");
      if (!named || H5Tget_member_offset(type, 0) != 0 || H5Tget_member_offset(type, 1) != size / 2) break;
      const Handle real(H5Tget_member_type(type, 0)), imaginary(H5Tget_member_type(type, 1));
      if (!real || !imaginary || H5Tequal(real.get(), imaginary.get()) <= 0 || H5Tget_class(real.get()) != H5T_FLOAT) break;
      const auto part = float_type(real.get(), what, why);
      if (!part) return std::nullopt;
      const ElementType pair{ElementType::Kind::complex, 2 * part->size, part->big_endian};
      if (part->kind == ElementType::Kind::ieee && pair.size == size && holding(pair)) return pair;
      break;
    }
    default: break;
  }
  why = fmt::format("its elements are {}", class_name(type_class));
  return std::nullopt;
}

}  // namespace posenc::formats::hdf5
