#include "hdf5_chunk_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "posenc/error.hpp"

namespace posenc::formats::hdf5 {

void ChunkWriter::add(hid_t dataset, const StoredTensor& tensor, Chunks chunks) {
  Place place{dataset, tensor, std::move(chunks), {}};
  if (!place.chunks.box.empty()) {
    any_ = true;
    if (gzip_level_ > 0) place.packed.resize(static_cast<std::size_t>(place.chunks.count));
  }
  places_.push_back(std::move(place));
}

void ChunkWriter::start(const std::string& target) {
  if (any_ && gzip_level_ > 0) spool_ = std::make_unique<SpoolFile>(target);
}

void ChunkWriter::write(std::size_t index, std::int64_t first, std::span<const std::byte> bytes) {
  const Place& place = places_[index];
  const StoredTensor& tensor = place.tensor;
  const std::size_t size = size_of(tensor.dtype);
  const std::int64_t granule = place.chunks.granule;
  const auto values = static_cast<std::int64_t>(bytes.size() / size);
  if (first % granule != 0 || (values % granule != 0 && first + values != tensor.values()))
    fail_usage(fmt::format("tensor '{}': {} values given at value {}, but its chunks have {}", tensor.name, values, first, granule));
  const std::size_t chunk_bytes = static_cast<std::size_t>(granule) * size;
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes, first += granule)
    chunk(index, first / granule, bytes.subspan(at, std::min(chunk_bytes, bytes.size() - at)), chunk_bytes);
}

void ChunkWriter::finish() {
  if (!spool_) return;
  std::vector<std::byte> buffer;
  for (std::size_t t = 0; t < places_.size(); ++t)
    for (std::size_t k = 0; k < places_[t].packed.size(); ++k) {
      const Packed& packed = places_[t].packed[k];
      if (packed.size == 0) continue;
      buffer.resize(packed.size);
      spool_->read(packed.offset, buffer);
      put(t, static_cast<std::int64_t>(k), buffer);
    }
}

// Pads the chunk at the edge with zeros, packs it when asked to, and puts it away.
void ChunkWriter::chunk(std::size_t index, std::int64_t number, std::span<const std::byte> bytes, std::size_t full) {
  std::vector<std::byte> padded;
  if (bytes.size() < full) {
    padded.assign(full, std::byte{0});
    std::copy(bytes.begin(), bytes.end(), padded.begin());
    bytes = padded;
  }
  if (!spool_) {
    const Session session;
    put(index, number, bytes);
    return;
  }
  const StoredTensor& tensor = places_[index].tensor;
  std::vector<std::byte> shuffled(full);
  shuffle(bytes, size_of(tensor.dtype) * (tensor.is_complex ? 2 : 1), shuffled);
  const std::vector<std::byte> packed = deflater_.pack(shuffled);
  const std::uint64_t offset = spool_end_.fetch_add(packed.size());
  spool_->write(offset, packed);
  places_[index].packed[static_cast<std::size_t>(number)] = {offset, static_cast<std::uint32_t>(packed.size())};
}

void ChunkWriter::put(std::size_t index, std::int64_t number, std::span<const std::byte> bytes) {
  const std::vector<std::int64_t> corner = places_[index].chunks.corner(number);
  const std::vector<hsize_t> offset(corner.begin(), corner.end());
  checked_status(H5Dwrite_chunk(places_[index].dataset, H5P_DEFAULT, 0, offset.data(), bytes.size(), bytes.data()), path_, false);
}

}  // namespace posenc::formats::hdf5
