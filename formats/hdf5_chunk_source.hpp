// Chunked values, unpacked here rather than by the library: any thread unpacks, memory is bounded by what the file can back, and a
// damaged layout cannot lead the library astray. HDF5 only finds each chunk and hands over its bytes.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hdf5_api.hpp"
#include "hdf5_driver.hpp"
#include "input_file.hpp"

namespace posenc::formats::hdf5 {

/// The filters of a dataset, in the order they were applied; all are deflate, shuffle or fletcher32.
using Filters = std::vector<H5Z_filter_t>;

class ChunkSource : public ByteSource {
 public:
  struct Layout {
    std::vector<std::uint64_t> shape, box;  ///< elements along each axis, of the dataset and of a chunk
    std::size_t element = 1;                ///< bytes
    Filters filters;
    std::vector<std::byte> fill;  ///< one element: the value of chunks that were never written
    std::uint64_t file_size = 0;
  };
  /// `guard` lives in, and keeps open, the file that `dataset` belongs to.
  ChunkSource(std::shared_ptr<Guard> guard, Handle dataset, Layout layout, std::string what);
  ~ChunkSource() override;
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  using Chunk = std::shared_ptr<const std::vector<std::byte>>;
  [[nodiscard]] Chunk chunk(const std::vector<hsize_t>& corner) const;
  [[nodiscard]] std::vector<std::byte> fetch(const std::vector<hsize_t>& corner) const;
  [[nodiscard]] std::vector<std::byte> unpack(std::vector<std::byte> bytes, std::uint32_t skipped) const;

  std::shared_ptr<Guard> guard_;
  Handle dataset_;
  Layout layout_;
  std::string what_;
  std::uint64_t size_ = 0, chunk_bytes_ = 0;
  std::size_t most_kept_ = 1;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<hsize_t>, Chunk> kept_;  // unpacked chunks by corner; the first ones go first
};

}  // namespace posenc::formats::hdf5
