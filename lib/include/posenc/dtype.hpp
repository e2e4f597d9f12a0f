// Element types that a tensor can be stored in.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace posenc {

enum class DType : std::uint8_t { f64, f32, f16, bf16, i32, i64 };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  ///< as spelt on the command line and in specs
  std::size_t size;       ///< bytes
  bool integer;
  std::string_view help;
};

/// The list of dtypes; help, parsing and tests loop over it.
[[nodiscard]] std::span<const DTypeInfo> dtypes();
[[nodiscard]] const DTypeInfo& info(DType dtype);
/// Accepts the posenc name and the usual spellings (float32, fp16, bfloat16, int64); throws usage with a suggestion.
[[nodiscard]] DType parse_dtype(std::string_view text);

[[nodiscard]] inline std::size_t size_of(DType dtype) { return info(dtype).size; }
[[nodiscard]] inline std::string_view name_of(DType dtype) { return info(dtype).name; }

}  // namespace posenc
