// How a tensor is cut into chunks: boxes that are contiguous in row-major order, so that chunk number k holds the values
// from k * granule on.
#pragma once
#include <cstdint>
#include <vector>

#include "posenc/io.hpp"

namespace posenc::formats::hdf5 {

struct Chunks {
  std::vector<std::int64_t> box;   ///< elements along each axis; empty: not chunked
  std::int64_t granule = 1;        ///< values in a full chunk
  std::int64_t count = 0;          ///< chunks in the tensor
  std::vector<std::int64_t> grid;  ///< chunks along each axis

  /// The first element of chunk number `index`.
  [[nodiscard]] std::vector<std::int64_t> corner(std::int64_t index) const;
};

/// Near the plan's chunk_bytes. A tensor without elements or axes is not chunked.
[[nodiscard]] Chunks cut(const StoredTensor& tensor, const FilePlan::Chunking& chunking);

}  // namespace posenc::formats::hdf5
