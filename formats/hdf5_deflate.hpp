// HDF5's filters shuffle and deflate for one chunk, as the calling thread runs them.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

struct libdeflate_compressor;

namespace posenc::formats::hdf5 {

/// Byte 0 of every element, then byte 1 of every element, ...
void shuffle(std::span<const std::byte> in, std::size_t element, std::span<std::byte> out);

/// Compressors, one for each thread that is compressing at a time.
class Deflater {
 public:
  explicit Deflater(int level) : level_(level) {}
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  /// A zlib stream.
  [[nodiscard]] std::vector<std::byte> pack(std::span<const std::byte> bytes);
  [[nodiscard]] static std::size_t bound(std::size_t bytes);

 private:
  int level_;
  std::mutex mutex_;
  std::vector<libdeflate_compressor*> idle_;
};

}  // namespace posenc::formats::hdf5
