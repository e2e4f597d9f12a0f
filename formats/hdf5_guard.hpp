// How the HDF5 library reads a file: through an InputFile, not by opening the path again. So there are no file locks to
// fail on network disks, the file read is the file that was checked, and damage that the library would loop on is caught.
#pragma once
#include <cstdint>

#include "hdf5_driver.hpp"
#include "input_file.hpp"

namespace posenc::formats::hdf5 {

class Guard : public DriverFile {
 public:
  /// At most `budget` bytes are read in all.
  Guard(const InputFile& file, std::uint64_t budget) : file_(file), budget_(budget) {}

  struct Range {
    std::uint64_t offset = 0, size = 0;
  };
  /// From now on a read into this address is noted, not carried out; nullptr: no more.
  void probe(const void* address) { probe_ = address; }
  /// The read that was noted last.
  [[nodiscard]] const Range& probed() const { return probed_; }

  [[nodiscard]] std::uint64_t end_of_file() const override { return file_.size(); }
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> out) override;
  [[nodiscard]] bool write(std::uint64_t, std::span<const std::byte>) override { return false; }

 private:
  const InputFile& file_;
  std::uint64_t budget_;
  const void* probe_ = nullptr;
  Range probed_;
};

}  // namespace posenc::formats::hdf5
