// Values into chunked datasets, from several threads. Plain chunks go to their places at once, whatever the order. Packed ones are
// shuffled and deflated by the thread that brings them and wait in a scratch file; finish copies them in chunk order, so that the
// bytes do not depend on which thread was first.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "atomic_file.hpp"
#include "hdf5_api.hpp"
#include "hdf5_chunks.hpp"
#include "hdf5_deflate.hpp"
#include "posenc/io.hpp"

namespace posenc::formats::hdf5 {

class ChunkWriter {
 public:
  /// gzip_level 0: plain.
  ChunkWriter(std::string path, int gzip_level) : path_(std::move(path)), gzip_level_(gzip_level), deflater_(gzip_level) {}
  /// The next dataset, open as long as this lives; `chunks` without a box: it is not chunked and gets no values here.
  void add(hid_t dataset, const StoredTensor& tensor, Chunks chunks);
  /// All datasets are known; scratch space, when there is need of it, goes beside `target`.
  void start(const std::string& target);
  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] const Chunks& chunks(std::size_t index) const { return places_.at(index).chunks; }
  /// Whole chunks from value `first` on, the last of the dataset excepted.
  void write(std::size_t index, std::int64_t first, std::span<const std::byte> bytes);
  /// Inside a Session, after the last write.
  void finish();

 private:
  struct Packed {
    std::uint64_t offset = 0;
    std::uint32_t size = 0;  // 0: not written
  };
  struct Place {
    hid_t dataset;
    StoredTensor tensor;
    Chunks chunks;
    std::vector<Packed> packed;
  };
  void chunk(std::size_t index, std::int64_t number, std::span<const std::byte> bytes, std::size_t full);
  void put(std::size_t index, std::int64_t number, std::span<const std::byte> bytes);

  std::string path_;
  int gzip_level_;
  bool any_ = false;
  Deflater deflater_;
  std::unique_ptr<SpoolFile> spool_;
  std::atomic<std::uint64_t> spool_end_ = 0;
  std::vector<Place> places_;
};

}  // namespace posenc::formats::hdf5
