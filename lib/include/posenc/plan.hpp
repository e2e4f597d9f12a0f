// A spec made concrete: tensors, shapes, dtypes, names, metadata and sizes, before the first value is computed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "posenc/io.hpp"
#include "posenc/spec.hpp"

namespace posenc {

/// How complex tensors are stored.
enum class ComplexForm : std::uint8_t {
  native,  ///< complex64 / complex128
  pair,    ///< a last axis of size 2 (re, im), as torch.view_as_real
  split,   ///< two real tensors, NAME.real and NAME.imag
};
template <>
struct EnumNames<ComplexForm> {
  static constexpr std::array<EnumName<ComplexForm>, 3> values{{
      {ComplexForm::native, "native", "complex64 or complex128 elements"},
      {ComplexForm::pair, "pair", "a last axis of size 2: (re, im)"},
      {ComplexForm::split, "split", "two real tensors, NAME.real and NAME.imag"},
  }};
};

/// One tensor of a file: where its values come from and how it is stored.
struct PlannedTensor {
  std::size_t table = 0, tensor = 0;  ///< of the spec; of the table's encoding
  int part = -1;                      ///< of a complex tensor: 0 re, 1 im, -1 both
  Tensor source;
  StoredTensor stored;
};

/// All tensors of a spec in order, filtered by spec.only. Throws usage for names in `only` that do not exist (with a
/// suggestion) and for two tensors of one name. Real tensors get spec.dtype, integer ones spec.index_dtype.
[[nodiscard]] std::vector<PlannedTensor> plan(const Spec& spec, ComplexForm complex_form);

/// Metadata of a file that holds `tensors`: the spec (restricted to them) and posenc's version.
[[nodiscard]] std::map<std::string, std::string> provenance(const Spec& spec);

[[nodiscard]] std::string_view version();

}  // namespace posenc
