// A file that the HDF5 library opens through code of ours instead of its own: the one table of callbacks that it wants for that.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "hdf5_api.hpp"

namespace posenc::formats::hdf5 {

/// What the library asks of a file, by offset in it.
class DriverFile {
 public:
  virtual ~DriverFile() = default;
  DriverFile(const DriverFile&) = delete;
  DriverFile& operator=(const DriverFile&) = delete;

  [[nodiscard]] virtual std::uint64_t end_of_file() const = 0;
  /// False: the library fails with what the file has pushed on its error stack.
  [[nodiscard]] virtual bool read(std::uint64_t offset, std::span<std::byte> out) = 0;
  [[nodiscard]] virtual bool write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;

  /// Where the library's address space ends.
  [[nodiscard]] std::uint64_t end() const { return end_; }
  void set_end(std::uint64_t end) { end_ = end; }

 protected:
  DriverFile() = default;

 private:
  std::uint64_t end_ = 0;
};

/// A file access property list for one H5Fopen at a time, which gets `file` whatever path it is given; `file` must outlive it.
/// `path` and `reading` are for the sentence of a failure.
[[nodiscard]] Handle access_through(DriverFile& file, const std::string& path, bool reading);

}  // namespace posenc::formats::hdf5
