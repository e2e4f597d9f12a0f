// The header of an NPY array, alone in a file or as a member of an NPZ archive. Layout in npy.cpp.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "element_type.hpp"
#include "input_file.hpp"
#include "posenc/io.hpp"

namespace posenc::formats {

/// The bytes before the values, as numpy 1.24 writes them: a multiple of 64.
[[nodiscard]] std::string make_npy_header(const StoredTensor& tensor);

struct NpyHeader {
  ElementType type;
  bool column_major = false;
  std::vector<std::int64_t> shape;
  std::uint64_t size = 0;  ///< bytes before the values
};

/// The header of the array that fills `source` exactly; `what` names it. An element type that posenc cannot hold gives
/// `unheld` its description instead of an error.
[[nodiscard]] NpyHeader read_npy_header(const ByteSource& source, const std::string& what, std::string& unheld);

}  // namespace posenc::formats
