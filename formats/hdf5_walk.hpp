// What an HDF5 file holds and where its values lie, so that they can be read without the library.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "element_type.hpp"
#include "input_file.hpp"
#include "posenc/io.hpp"

namespace posenc::formats::hdf5 {

struct ChunkPlace {
  std::uint64_t number = 0;  ///< in the row-major grid of chunks
  std::uint64_t offset = 0, size = 0;
  std::uint32_t skipped = 0;  ///< bit i: filter i was not applied
};

struct Found {
  enum class Where : std::uint64_t { contiguous, memory, fill, chunks };
  std::string name, help;
  std::vector<std::string> axes;
  std::vector<std::int64_t> shape;
  ElementType type;
  Where where = Where::contiguous;
  std::uint64_t offset = 0;             ///< contiguous
  std::string bytes;                    ///< memory: all values; fill and chunks: one element, for what was never written
  std::vector<std::uint64_t> box;       ///< chunks: elements of a chunk along each axis
  std::vector<std::int64_t> filters;    ///< chunks: in the order they were applied
  std::uint64_t gzip_level = 0;         ///< chunks: 0 without deflate
  std::vector<ChunkPlace> places;       ///< chunks: those that were written, rising in number
};

struct Contents {
  std::map<std::string, std::string> metadata;
  std::vector<Found> arrays;
  std::vector<std::string> skipped;  ///< "NAME: why"
  std::vector<std::string> faults;   ///< see formats::faults
  std::uint64_t unused = 0;          ///< bytes behind the end of the structure
};

/// Reads the structure with the HDF5 library, which a damaged file can crash or hang: only for hdf5_apart.cpp.
[[nodiscard]] Contents walk(const InputFile& file);

/// The same in a process of its own, whose end, however it comes, is an Error here.
[[nodiscard]] Contents walk_apart(const InputFile& file);

}  // namespace posenc::formats::hdf5
