// Chunked values, unpacked by the thread that reads them. Memory is bounded by what the file can back.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hdf5_walk.hpp"
#include "input_file.hpp"

namespace posenc::formats::hdf5 {

class ChunkSource : public ByteSource {
 public:
  /// Takes box, filters, places and the fill element out of `found`; its places lie inside the file.
  ChunkSource(std::shared_ptr<const InputFile> file, Found& found, std::string what);
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  using Chunk = std::shared_ptr<const std::vector<std::byte>>;
  [[nodiscard]] Chunk chunk(std::uint64_t number) const;
  [[nodiscard]] std::vector<std::byte> fetch(std::uint64_t number) const;
  [[nodiscard]] std::vector<std::byte> unpack(std::vector<std::byte> bytes, std::uint32_t skipped) const;

  std::shared_ptr<const InputFile> file_;
  std::string what_;
  std::vector<std::uint64_t> shape_, box_, grid_;
  std::size_t element_;
  std::vector<std::int64_t> filters_;
  std::vector<ChunkPlace> places_;
  std::string fill_;
  std::uint64_t size_ = 0, chunk_bytes_ = 0;
  std::size_t most_kept_ = 1;
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, Chunk> kept_;  // unpacked chunks by number
};

}  // namespace posenc::formats::hdf5
