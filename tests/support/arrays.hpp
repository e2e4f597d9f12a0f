// Values of a file, whatever its format.
#pragma once
#include <doctest/doctest.h>

#include <span>
#include <string>
#include <vector>

#include "posenc/array.hpp"
#include "posenc/dtype.hpp"
#include "posenc/formats.hpp"
#include "posenc/pipeline.hpp"

namespace posenc::test {

inline std::vector<std::byte> read_tensor(const Reader& reader, std::size_t index) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(reader.tensors().at(index).bytes()));
  reader.read(index, 0, bytes);
  return bytes;
}

inline std::size_t find_tensor(const Reader& reader, const std::string& name) {
  for (std::size_t i = 0; i < reader.tensors().size(); ++i)
    if (reader.tensors()[i].name == name) return i;
  FAIL("no tensor ", name);
  return 0;
}

inline std::vector<double> doubles(DType dtype, std::span<const std::byte> bytes) {
  std::vector<double> out;
  for (std::size_t at = 0; at < bytes.size(); at += size_of(dtype)) out.push_back(stored_value(dtype, bytes.data() + at));
  return out;
}

/// An array of a file, the first unless it is named, row-major; a complex element is two values (re, im) of which the shape knows
/// nothing.
inline Array load_array(const std::string& path, const std::string& name = "") {
  const auto reader = formats::open(path);
  const std::size_t index = name.empty() ? 0 : find_tensor(*reader, name);
  const StoredTensor& tensor = reader->tensors().at(index);
  return {tensor.shape, doubles(tensor.dtype, read_tensor(*reader, index))};
}

}  // namespace posenc::test
