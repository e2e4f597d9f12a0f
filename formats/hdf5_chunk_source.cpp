#include "hdf5_chunk_source.hpp"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include <hdf5.h>  // names of filters

#include "checked.hpp"
#include "posenc/error.hpp"

namespace posenc::formats::hdf5 {
namespace {

constexpr std::uint64_t kept_bytes = std::uint64_t{32} << 20;
constexpr std::size_t checksum_size = 4;

void unshuffle(const std::vector<std::byte>& in, std::size_t element, std::vector<std::byte>& out) {
  const std::size_t count = in.size() / element;
  out.resize(in.size());
  for (std::size_t b = 0; b < element; ++b)
    for (std::size_t i = 0; i < count; ++i) out[i * element + b] = in[b * count + i];
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(count * element), in.end(), out.begin() + static_cast<std::ptrdiff_t>(count * element));
}

// Fletcher's sum over big-endian 16-bit words, the last padded with a zero byte, as HDF5 forms it.
std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  std::uint32_t a = 0, b = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const auto high = std::to_integer<std::uint32_t>(bytes[i]);
    const auto low = i + 1 < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + 1]) : 0;
    a = (a + (high << 8 | low)) % 65535;
    b = (b + a) % 65535;
  }
  return b << 16 | a;
}

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

}  // namespace

ChunkSource::ChunkSource(std::shared_ptr<const InputFile> file, Found& found, std::string what)
    : file_(std::move(file)), what_(std::move(what)), shape_(found.shape.begin(), found.shape.end()), box_(std::move(found.box)),
      element_(found.type.size), filters_(std::move(found.filters)), places_(std::move(found.places)), fill_(std::move(found.bytes)) {
  size_ = checked_bytes(shape_, element_).value();
  chunk_bytes_ = checked_bytes(box_, element_).value();
  most_kept_ = std::max<std::size_t>(1, kept_bytes / chunk_bytes_);
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) grid_.push_back((shape_[axis] - 1) / box_[axis] + 1);
}

void ChunkSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::size_t rank = shape_.size();
  std::vector<std::uint64_t> at(rank);
  while (!out.empty()) {
    // Where the element lies, and how far its run along the last axis goes in the same chunk.
    std::uint64_t rest = offset / element_, number = 0, inside = 0;
    for (std::size_t axis = rank; axis-- > 0;) {
      at[axis] = rest % shape_[axis];
      rest /= shape_[axis];
    }
    for (std::size_t axis = 0; axis < rank; ++axis) {
      number = number * grid_[axis] + at[axis] / box_[axis];
      inside = inside * box_[axis] + at[axis] % box_[axis];
    }
    const std::uint64_t run = std::min(box_.back() - at.back() % box_.back(), shape_.back() - at.back());
    const std::size_t lead = offset % element_;
    const std::size_t bytes = std::min<std::uint64_t>(run * element_ - lead, out.size());
    std::memcpy(out.data(), chunk(number)->data() + inside * element_ + lead, bytes);
    offset += bytes;
    out = out.subspan(bytes);
  }
}

ChunkSource::Chunk ChunkSource::chunk(std::uint64_t number) const {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = kept_.find(number); found != kept_.end()) return found->second;
  }
  auto made = std::make_shared<const std::vector<std::byte>>(fetch(number));
  const std::scoped_lock lock(mutex_);
  // Reading goes forward: the lowest goes first, or the highest when it has started over.
  if (kept_.size() >= most_kept_) kept_.erase(kept_.begin()->first < number ? kept_.begin() : std::prev(kept_.end()));
  kept_[number] = made;
  return made;
}

std::vector<std::byte> ChunkSource::fetch(std::uint64_t number) const {
  const auto place = std::lower_bound(places_.begin(), places_.end(), number, [](const ChunkPlace& p, std::uint64_t n) { return p.number < n; });
  std::vector<std::byte> bytes;
  if (place != places_.end() && place->number == number) {
    bytes.resize(place->size);
    file_->read(place->offset, bytes);
    return unpack(std::move(bytes), place->skipped);
  }
  bytes.resize(chunk_bytes_);
  for (std::size_t i = 0; i < bytes.size(); i += element_) std::memcpy(bytes.data() + i, fill_.data(), element_);
  return bytes;
}

std::vector<std::byte> ChunkSource::unpack(std::vector<std::byte> bytes, std::uint32_t skipped) const {
  const auto active = [&](std::size_t i) { return i >= 32 || (skipped >> i & 1) == 0; };
  const auto damaged = [&](const char* why) { fail_input(fmt::format("{}: a chunk is damaged: {}", what_, why)); };
  std::vector<std::byte> other;
  for (std::size_t i = filters_.size(); i-- > 0;) {
    if (!active(i)) continue;
    if (filters_[i] == H5Z_FILTER_SHUFFLE) {
      unshuffle(bytes, element_, other);
      bytes.swap(other);
    } else if (filters_[i] == H5Z_FILTER_FLETCHER32) {
      if (bytes.size() < checksum_size) damaged("it is shorter than its checksum");
      const auto sum = get_le<std::uint32_t>(reinterpret_cast<const char*>(bytes.data() + bytes.size() - checksum_size));
      bytes.resize(bytes.size() - checksum_size);
      const std::uint32_t made = fletcher32(bytes);
      // HDF5 before 1.6.3 stored the halves of each word the other way round; the library still reads that.
      const std::uint32_t swapped = (made & 0x00FF00FF) << 8 | (made >> 8 & 0x00FF00FF);
      if (sum != made && sum != swapped) damaged("its Fletcher checksum is wrong");
    } else {
      std::size_t size = chunk_bytes_;
      for (std::size_t k = 0; k < i; ++k)
        if (filters_[k] == H5Z_FILTER_FLETCHER32 && active(k)) size += checksum_size;
      const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(libdeflate_alloc_decompressor());
      if (!decompressor) throw std::bad_alloc();
      other.resize(size);
      if (libdeflate_zlib_decompress(decompressor.get(), bytes.data(), bytes.size(), other.data(), size, nullptr) != LIBDEFLATE_SUCCESS)
        damaged("its deflated data does not give the chunk");
      bytes.swap(other);
    }
  }
  if (bytes.size() != chunk_bytes_) damaged("its size is not that of the chunk");
  return bytes;
}

}  // namespace posenc::formats::hdf5
