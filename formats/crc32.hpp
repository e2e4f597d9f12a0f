// CRC-32 of bytes that come in pieces and out of order: each piece is summed where it arrives and joined with its
// neighbours by zlib's crc32_combine, so no byte is looked at twice.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>

namespace posenc::formats {

class Crc32 {
 public:
  /// From any thread. Of a piece that overlaps earlier ones only what is new counts (a reader may read twice).
  void add(std::uint64_t offset, std::span<const std::byte> bytes);
  /// The sum of [0, size), once all of it has come.
  [[nodiscard]] std::optional<std::uint32_t> of(std::uint64_t size) const;

 private:
  struct Piece {
    std::uint64_t end;
    std::uint32_t crc;
  };
  void insert(std::uint64_t offset, Piece piece);
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Piece> pieces_;  // by first offset; neighbours are joined at once
};

}  // namespace posenc::formats
