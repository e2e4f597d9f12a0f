// How the HDF5 library reads a file: through an InputFile, not by opening the path again. So there are no file locks to
// fail on network disks, the file read is the file that was checked, and damage that the library would loop on is caught.
#pragma once
#include <cstdint>

#include "hdf5_api.hpp"
#include "input_file.hpp"

namespace posenc::formats::hdf5 {

/// What the driver shares with the walk; outlives the open file.
struct Guard {
  const InputFile* file = nullptr;
  std::uint64_t budget = 0;  ///< bytes that may still be read
  /// A read into this address is noted, not carried out.
  const void* probe = nullptr;
  std::uint64_t probed_offset = 0, probed_size = 0;
};

/// A file access property list for H5Fopen; `guard` must outlive the file.
[[nodiscard]] Handle access_through(Guard& guard);

}  // namespace posenc::formats::hdf5
