#include "hdf5_deflate.hpp"

#include <libdeflate.h>

#include <new>

namespace posenc::formats::hdf5 {

void shuffle(std::span<const std::byte> in, std::size_t element, std::span<std::byte> out) {
  const std::size_t count = in.size() / element;
  for (std::size_t b = 0; b < element; ++b) {
    const std::byte* from = in.data() + b;
    std::byte* to = out.data() + b * count;
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i * element];
  }
}

Deflater::~Deflater() {
  for (libdeflate_compressor* compressor : idle_) libdeflate_free_compressor(compressor);
}

std::size_t Deflater::bound(std::size_t bytes) { return libdeflate_zlib_compress_bound(nullptr, bytes); }

std::vector<std::byte> Deflater::pack(std::span<const std::byte> bytes) {
  libdeflate_compressor* compressor = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      compressor = idle_.back();
      idle_.pop_back();
    }
  }
  if (compressor == nullptr) compressor = libdeflate_alloc_compressor(level_);
  if (compressor == nullptr) throw std::bad_alloc();
  std::vector<std::byte> packed(bound(bytes.size()));
  packed.resize(libdeflate_zlib_compress(compressor, bytes.data(), bytes.size(), packed.data(), packed.size()));
  const std::scoped_lock lock(mutex_);
  idle_.push_back(compressor);
  return packed;
}

}  // namespace posenc::formats::hdf5
