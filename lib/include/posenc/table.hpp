// Tables in memory, as xtensor arrays: the C++ face of the pipeline.
//
//   #include <posenc/encodings/rope.hpp>
//   #include <posenc/table.hpp>
//   auto cos = posenc::generate<float>(posenc::Rope{.head_dim = 64}, "cos");   // xt::xarray<float>, [position, pair]
//
// Values are those of a file: the real number rounded once, the same bits on every machine.
#pragma once
#include <complex>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>
#include <xtensor/xarray.hpp>

#include "posenc/encoding.hpp"
#include "posenc/pipeline.hpp"

namespace posenc {

namespace detail {
/// The shape of a tensor (by name; "" when the encoding has one only). Throws usage when there is no such tensor, or when
/// its kind is not `kind`.
std::vector<std::size_t> shape_of(const Encoding& encoding, std::string_view tensor, Kind kind);
/// Fills `out` with the tensor's values in `dtype`, row-major.
void generate_into(const Encoding& encoding, std::string_view tensor, DType dtype, std::byte* out, const PipelineOptions& options);

template <class T>
struct ElementOf;
template <>
struct ElementOf<float> {
  static constexpr DType dtype = DType::f32;
  static constexpr Kind kind = Kind::real;
};
template <>
struct ElementOf<double> {
  static constexpr DType dtype = DType::f64;
  static constexpr Kind kind = Kind::real;
};
template <>
struct ElementOf<std::int32_t> {
  static constexpr DType dtype = DType::i32;
  static constexpr Kind kind = Kind::integer;
};
template <>
struct ElementOf<std::int64_t> {
  static constexpr DType dtype = DType::i64;
  static constexpr Kind kind = Kind::integer;
};
template <class T>
struct ElementOf<std::complex<T>> {
  static constexpr DType dtype = ElementOf<T>::dtype;
  static constexpr Kind kind = Kind::complex;
};
}  // namespace detail

/// One tensor of an encoding as an array of T: float, double, std::complex of these, std::int32_t or std::int64_t.
/// Throws Error (usage) for parameters that make no sense, an unknown tensor, or a T that does not fit its kind.
template <class T>
xt::xarray<T> generate(const Encoding& encoding, std::string_view tensor = "", const PipelineOptions& options = {}) {
  using Element = detail::ElementOf<T>;
  xt::xarray<T> out = xt::xarray<T>::from_shape(detail::shape_of(encoding, tensor, Element::kind));
  detail::generate_into(encoding, tensor, Element::dtype, reinterpret_cast<std::byte*>(out.data()), options);
  return out;
}

/// The same from typed parameters: generate<float>(Rope{.head_dim = 64}, "cos").
template <class T, class E>
  requires requires(const E& e) { erase(e); }
xt::xarray<T> generate(const E& encoding, std::string_view tensor = "", const PipelineOptions& options = {}) {
  return generate<T>(*erase(encoding), tensor, options);
}

}  // namespace posenc
