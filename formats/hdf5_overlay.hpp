// An HDF5 file that the library makes longer without touching what is there: bytes past the old end go to the file, bytes before
// it are kept in memory until commit, which puts them in place all at once (grow_journal.hpp).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "hdf5_driver.hpp"

namespace posenc::formats::hdf5 {

class Overlay : public DriverFile {
 public:
  /// Opens `path` for reading and writing.
  explicit Overlay(const std::string& path);
  /// Without commit: cuts the file back to what it was.
  ~Overlay() override;

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

  [[nodiscard]] std::uint64_t end_of_file() const override { return end_of_file_; }
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> out) override;
  [[nodiscard]] bool write(std::uint64_t offset, std::span<const std::byte> bytes) override;

 private:
  static constexpr std::size_t page_size = 4096;
  using Page = std::array<std::byte, page_size>;
  [[nodiscard]] bool read_file(std::uint64_t offset, std::span<std::byte> out) const;
  void keep(std::uint64_t offset, std::span<const std::byte> bytes);

  std::string path_, target_;
  int fd_ = -1, cutting_ = -1, slot_ = -1;
  std::uint64_t old_end_ = 0;      // bytes before it are kept
  std::uint64_t end_of_file_ = 0;  // of old file and new bytes
  bool armed_ = false, discarded_ = false;
  int error_number_ = 0;
  std::map<std::uint64_t, Page> pages_;  // by number
};

}  // namespace posenc::formats::hdf5
