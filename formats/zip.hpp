// Zip archives, as far as arrays need them: written stored, read stored or deflated, with 64-bit records. Layout in zip.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "input_file.hpp"

namespace posenc::formats {

struct ZipEntry {
  std::string name;
  std::uint64_t size = 0;
  // Filled by plan_zip; crc by the caller before the headers are made.
  std::uint64_t header_offset = 0;
  std::uint64_t data_offset = 0;  ///< a multiple of 64
  std::uint32_t crc = 0;
};

/// Gives every entry its place and returns the offset of the central directory.
std::uint64_t plan_zip(std::vector<ZipEntry>& entries);
[[nodiscard]] std::string local_header(const ZipEntry& entry);
[[nodiscard]] std::string central_directory(const std::vector<ZipEntry>& entries, std::uint64_t offset);

struct ZipMember {
  std::string name;
  std::uint16_t method = 0;  ///< 0 stored, 8 deflated
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0;
  std::uint64_t header_offset = 0, data_offset = 0;
};

/// The members, in directory order, after every check that needs no data. Throws bad_input.
[[nodiscard]] std::vector<ZipMember> read_zip_directory(const InputFile& file);
/// The member's bytes. Once all of them have been read, a wrong CRC is an error.
[[nodiscard]] std::shared_ptr<const ByteSource> open_zip_member(std::shared_ptr<const InputFile> file, const ZipMember& member);

}  // namespace posenc::formats
