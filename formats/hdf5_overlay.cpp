#include "hdf5_overlay.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "atomic_file.hpp"
#include "cleanup.hpp"
#include "grow_journal.hpp"
#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc::formats::hdf5 {

Overlay::Overlay(const std::string& path) : path_(path), target_(follow_links(path)) {
  fd_ = ::open(target_.c_str(), O_RDWR | O_CLOEXEC);
  if (fd_ < 0) fail_system("cannot open " + path, errno);
  cutting_ = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  struct stat status {};
  if (cutting_ < 0 || ::fstat(fd_, &status) != 0) {
    const int number = errno;
    ::close(fd_);
    if (cutting_ >= 0) ::close(cutting_);
    fail_system("cannot open " + path, number);
  }
  old_end_ = end_of_file_ = static_cast<std::uint64_t>(status.st_size);
}

Overlay::~Overlay() {
  if (armed_) {
    (void)!::ftruncate(fd_, static_cast<off_t>(old_end_));
    forget_growth(slot_);
  }
  ::close(fd_);
  ::close(cutting_);
}

void Overlay::arm() {
  if (end() > old_end_) fail_input(fmt::format("{}: is shorter than its structure says", path_));
  if (end() < old_end_ && ::ftruncate(fd_, static_cast<off_t>(end())) != 0) fail_system("cannot write " + path_, errno);
  old_end_ = end_of_file_ = end();
  slot_ = remember_growth(fd_, cutting_, old_end_);
  armed_ = true;
}

void Overlay::reserve(std::uint64_t bytes) const {
  struct statvfs disk {};
  if (::fstatvfs(fd_, &disk) == 0 && disk.f_blocks != 0 && bytes / disk.f_frsize > disk.f_bavail)
    fail_system(fmt::format("cannot write {}: it needs {} more", path_, human_bytes(bytes)), ENOSPC);
  // In one piece, which is also cut off again in no time.
  if (bytes > 0 && ::fallocate(fd_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(old_end_), static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
    fail_system(fmt::format("cannot write {}: it needs {} more", path_, human_bytes(bytes)), errno);
}

void Overlay::check() const {
  if (error_number_ != 0) fail_system("cannot write " + path_, error_number_);
}

bool Overlay::read_file(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) {
      std::fill(out.begin(), out.end(), std::byte{0});
      return true;
    }
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool Overlay::read(std::uint64_t offset, std::span<std::byte> out) {
  if (!read_file(offset, out)) return false;
  const std::uint64_t end = offset + out.size();
  for (auto page = pages_.lower_bound(offset / page_size); page != pages_.end() && page->first * page_size < end; ++page) {
    const std::uint64_t at = page->first * page_size;
    const std::uint64_t first = std::max(at, offset), last = std::min({at + page_size, end, old_end_});
    if (first < last) std::memcpy(out.data() + (first - offset), page->second.data() + (first - at), last - first);
  }
  return true;
}

bool Overlay::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (discarded_) return true;
  if (offset < old_end_) {
    const std::size_t kept = std::min<std::uint64_t>(bytes.size(), old_end_ - offset);
    keep(offset, bytes.first(kept));
    offset += kept;
    bytes = bytes.subspan(kept);
  }
  if (bytes.empty() || error_number_ != 0) return true;
  end_of_file_ = std::max(end_of_file_, offset + bytes.size());
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      error_number_ = put < 0 ? errno : ENOSPC;
      return true;
    }
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

void Overlay::keep(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t number = offset / page_size, at = offset % page_size;
    const auto [page, fresh] = pages_.try_emplace(number);
    const std::size_t count = std::min<std::size_t>(bytes.size(), page_size - at);
    if (fresh && count < page_size && !read_file(number * page_size, page->second)) error_number_ = EIO;
    std::memcpy(page->second.data() + at, bytes.data(), count);
    offset += count;
    bytes = bytes.subspan(count);
  }
}

void Overlay::commit() {
  check();
  if (::ftruncate(fd_, static_cast<off_t>(end())) != 0 || ::fsync(fd_) != 0) fail_system("cannot write " + path_, errno);
  std::vector<Patch> patches;
  for (const auto& [number, page] : pages_) {
    const std::uint64_t at = number * page_size;
    if (at >= old_end_) continue;
    Patch patch{at, std::string(std::min<std::uint64_t>(page_size, old_end_ - at), '\0'), ""};
    if (!read_file(at, std::as_writable_bytes(std::span(patch.before)))) fail_system("cannot read " + path_, EIO);
    patch.after.assign(reinterpret_cast<const char*>(page.data()), patch.before.size());
    if (patch.before != patch.after) patches.push_back(std::move(patch));
  }
  replace_bytes(target_, fd_, end(), patches, [this] {
    forget_growth(slot_);
    armed_ = false;
  });
}

}  // namespace posenc::formats::hdf5
