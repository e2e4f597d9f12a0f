// How the HDF5 library reads a file: through an InputFile, not by opening the path again. So there are no file locks to
// fail on network disks, the file read is the file that was checked, and damage that the library would loop on is caught.
#pragma once
#include <cstdint>
#include <span>

#include "hdf5_api.hpp"
#include "input_file.hpp"

namespace posenc::formats::hdf5 {

/// What the driver shares with the reader; outlives the open file.
struct Guard {
  const InputFile* file = nullptr;
  bool walking = true;       ///< structure is being read: global heaps are checked, and the budget counts
  std::uint64_t budget = 0;  ///< bytes of structure that may still be read
  /// The buffer of a chunk that is being read: the library asks twice how long the chunk is, and a damaged file has two answers.
  std::span<std::byte> chunk;
};

/// A file access property list for H5Fopen; `guard` must outlive the file.
[[nodiscard]] Handle access_through(Guard& guard);

}  // namespace posenc::formats::hdf5
