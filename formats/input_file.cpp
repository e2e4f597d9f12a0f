#include "input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "posenc/error.hpp"

namespace posenc::formats {

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer; it changes nothing for a regular file.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) fail_system("cannot open " + path_, errno);
  struct stat status {};
  if (::fstat(fd_, &status) != 0) {
    const int number = errno;
    ::close(fd_);
    fail_system("cannot inspect " + path_, number);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd_);
    fail_input(fmt::format("{}: is {}; an input must be a regular file, whose end can be read first", path_,
                           S_ISDIR(status.st_mode) ? "a directory" : "a FIFO, socket or device"));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > size_ || out.size() > size_ - offset)
    fail_input(fmt::format("{}: {} bytes wanted at offset {}, but the file has {} bytes", path_, out.size(), offset, size_));
  while (!out.empty()) {
    const std::size_t piece = std::min<std::size_t>(out.size(), std::size_t{1} << 30);
    const ssize_t got = ::pread(fd_, out.data(), piece, static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      fail_system("cannot read " + path_, errno);
    }
    if (got == 0) fail_input(fmt::format("{}: became shorter while it was read (no byte at offset {})", path_, offset));
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace posenc::formats
