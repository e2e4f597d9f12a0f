#include "crc32.hpp"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <iterator>

namespace posenc::formats {
namespace {

std::uint32_t join(std::uint32_t first, std::uint32_t second, std::uint64_t second_size) {
  return static_cast<std::uint32_t>(::crc32_combine64(first, second, static_cast<z_off64_t>(second_size)));
}

}  // namespace

void Crc32::add(std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::uint64_t end = offset + bytes.size();
  std::uint64_t at = offset;
  while (at < end) {
    // The next stretch that has not been summed: a reader may look at some bytes twice.
    std::uint64_t stop = end;
    {
      const std::scoped_lock lock(mutex_);
      auto after = pieces_.upper_bound(at);
      if (after != pieces_.begin() && std::prev(after)->second.end > at) {
        at = std::prev(after)->second.end;
        continue;
      }
      if (after != pieces_.end()) stop = std::min(stop, after->first);
    }
    const std::span<const std::byte> part = bytes.subspan(at - offset, stop - at);
    insert(at, {stop, libdeflate_crc32(0, part.data(), part.size())});
    at = stop;
  }
}

void Crc32::insert(std::uint64_t offset, Piece piece) {
  const std::scoped_lock lock(mutex_);
  auto after = pieces_.lower_bound(offset);
  if (after != pieces_.end() && after->first < piece.end) return;  // another thread summed the same stretch meanwhile
  if (after != pieces_.begin()) {
    const auto before = std::prev(after);
    if (before->second.end > offset) return;
    if (before->second.end == offset) {
      piece.crc = join(before->second.crc, piece.crc, piece.end - offset);
      offset = before->first;
      pieces_.erase(before);
    }
  }
  if (after != pieces_.end() && after->first == piece.end) {
    piece.crc = join(piece.crc, after->second.crc, after->second.end - after->first);
    piece.end = after->second.end;
    pieces_.erase(after);
  }
  pieces_.emplace(offset, piece);
}

std::optional<std::uint32_t> Crc32::of(std::uint64_t size) const {
  if (size == 0) return 0;
  const std::scoped_lock lock(mutex_);
  if (pieces_.size() != 1 || pieces_.begin()->first != 0 || pieces_.begin()->second.end != size) return std::nullopt;
  return pieces_.begin()->second.crc;
}

}  // namespace posenc::formats
