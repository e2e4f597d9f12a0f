// An HDF5 file that the library makes longer without touching what is there: bytes past the old end go to the file, bytes before
// it are kept in memory until commit, which puts them in place all at once (grow_journal.hpp).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "hdf5_api.hpp"

namespace posenc::formats::hdf5 {

class Overlay {
 public:
  /// Opens `path` for reading and writing.
  explicit Overlay(const std::string& path);
  /// Without commit: cuts the file back to what it was.
  ~Overlay();
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  /// A file access property list for H5Fopen with H5F_ACC_RDWR; the overlay must outlive the file.
  [[nodiscard]] Handle access();
  /// The library has the file open and knows where it ends: what lies behind, of an interrupted extension, is cut off, and
  /// bytes may go there from now on.
  void arm();
  /// Once armed: makes sure of the space for `bytes` more, where the file system can.
  void reserve(std::uint64_t bytes) const;
  /// A write that the disk refused: the library was not told, since 1.10 does not survive that. Throws system.
  void check() const;
  /// Nothing more is kept or written: what the library still does at its end is for nothing.
  void discard() { discarded_ = true; }
  /// The library has closed the file: makes it so.
  void commit();

  // What the driver asks for.
  [[nodiscard]] std::uint64_t end_of_file() const { return end_of_file_; }
  void set_end(std::uint64_t end) { end_ = end; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> out) const;
  void write(std::uint64_t offset, std::span<const std::byte> bytes);

 private:
  static constexpr std::size_t page_size = 4096;
  using Page = std::array<std::byte, page_size>;
  [[nodiscard]] bool read_file(std::uint64_t offset, std::span<std::byte> out) const;
  void keep(std::uint64_t offset, std::span<const std::byte> bytes);

  std::string path_, target_;
  int fd_ = -1, cutting_ = -1, slot_ = -1;
  std::uint64_t old_end_ = 0;      // bytes before it are kept
  std::uint64_t end_of_file_ = 0;  // of old file and new bytes
  std::uint64_t end_ = 0;          // of the library's address space
  bool armed_ = false, discarded_ = false;
  int error_number_ = 0;
  std::map<std::uint64_t, Page> pages_;  // by number
};

}  // namespace posenc::formats::hdf5
