// HDF5 element types: those posenc writes, and what it makes of those it finds.
#pragma once
#include <optional>
#include <string>

#include "element_type.hpp"
#include "hdf5_api.hpp"
#include "posenc/io.hpp"

namespace posenc::formats::hdf5 {

/// IEEE and bfloat16 as true floating-point types, integers, complex as the compound {r, i} that h5py reads as complex.
[[nodiscard]] Handle type_of(const StoredTensor& tensor, const std::string& path);

/// The element type of an open dataset; nothing, with the reason in `why`, when posenc cannot hold it. Throws bad_input for a
/// 16-bit float whose exponent has 8 bits but not the bias of bfloat16: its values would be read wrong without a word.
[[nodiscard]] std::optional<ElementType> element_type(hid_t dataset, hid_t type, const std::string& what, std::string& why);

}  // namespace posenc::formats::hdf5
