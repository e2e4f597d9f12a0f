#include "hdf5_chunk_source.hpp"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <new>

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

ChunkSource::ChunkSource(std::shared_ptr<Guard> guard, Handle dataset, Layout layout, std::string what)
    : guard_(std::move(guard)), dataset_(std::move(dataset)), layout_(std::move(layout)), what_(std::move(what)) {
  size_ = checked_bytes(layout_.shape, layout_.element).value();
  chunk_bytes_ = checked_bytes(layout_.box, layout_.element).value();
  most_kept_ = std::max<std::size_t>(1, kept_bytes / chunk_bytes_);
}

ChunkSource::~ChunkSource() {
  const Session session;
  dataset_.close();
}

void ChunkSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::size_t rank = layout_.shape.size(), element = layout_.element;
  std::vector<hsize_t> at(rank), corner(rank);
  while (!out.empty()) {
    // Where the element lies, and how far its run along the last axis goes in the same chunk.
    std::uint64_t rest = offset / element, inside = 0;
    for (std::size_t axis = rank; axis-- > 0;) {
      at[axis] = rest % layout_.shape[axis];
      rest /= layout_.shape[axis];
    }
    for (std::size_t axis = 0; axis < rank; ++axis) {
      corner[axis] = at[axis] / layout_.box[axis] * layout_.box[axis];
      inside = inside * layout_.box[axis] + (at[axis] - corner[axis]);
    }
    const std::size_t last = rank - 1;
    const std::uint64_t run = std::min(layout_.box[last] - (at[last] - corner[last]), layout_.shape[last] - at[last]);
    const std::size_t lead = offset % element;
    const std::size_t bytes = std::min<std::uint64_t>(run * element - lead, out.size());
    std::memcpy(out.data(), chunk(corner)->data() + inside * element + lead, bytes);
    offset += bytes;
    out = out.subspan(bytes);
  }
}

ChunkSource::Chunk ChunkSource::chunk(const std::vector<hsize_t>& corner) const {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = kept_.find(corner); found != kept_.end()) return found->second;
  }
  auto made = std::make_shared<const std::vector<std::byte>>(fetch(corner));
  const std::scoped_lock lock(mutex_);
  if (kept_.size() >= most_kept_) kept_.erase(kept_.begin()->first < corner ? kept_.begin() : std::prev(kept_.end()));
  kept_[corner] = made;
  return made;
}

std::vector<std::byte> ChunkSource::fetch(const std::vector<hsize_t>& corner) const {
  std::vector<std::byte> bytes;
  std::uint32_t skipped = 0;
  {
    const Session session;
    hsize_t stored = 0;
    checked_status(H5Dget_chunk_storage_size(dataset_.get(), corner.data(), &stored), what_, true);
    if (stored > layout_.file_size)
      fail_input(fmt::format("{}: a chunk is said to take {} bytes, more than the file has", what_, stored));
    bytes.resize(stored);
    guard_->chunk = bytes;
    const herr_t status = stored > 0 ? H5Dread_chunk(dataset_.get(), H5P_DEFAULT, corner.data(), &skipped, bytes.data()) : 0;
    guard_->chunk = {};
    checked_status(status, what_, true);
  }
  if (!bytes.empty()) return unpack(std::move(bytes), skipped);
  bytes.resize(chunk_bytes_);
  for (std::size_t i = 0; i < bytes.size(); i += layout_.element) std::memcpy(bytes.data() + i, layout_.fill.data(), layout_.element);
  return bytes;
}

std::vector<std::byte> ChunkSource::unpack(std::vector<std::byte> bytes, std::uint32_t skipped) const {
  const auto active = [&](std::size_t i) { return i >= 32 || (skipped >> i & 1) == 0; };
  const auto damaged = [&](const char* why) { fail_input(fmt::format("{}: a chunk is damaged: {}", what_, why)); };
  std::vector<std::byte> other;
  for (std::size_t i = layout_.filters.size(); i-- > 0;) {
    if (!active(i)) continue;
    if (layout_.filters[i] == H5Z_FILTER_SHUFFLE) {
      unshuffle(bytes, layout_.element, other);
      bytes.swap(other);
    } else if (layout_.filters[i] == H5Z_FILTER_FLETCHER32) {
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
        if (layout_.filters[k] == H5Z_FILTER_FLETCHER32 && active(k)) size += checksum_size;
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
