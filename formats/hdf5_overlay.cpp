#include "hdf5_overlay.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#include "atomic_file.hpp"
#include "cleanup.hpp"
#include "grow_journal.hpp"
#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc::formats::hdf5 {
namespace {

struct OpenOverlay {
  H5FD_t shared;  // first: the library sees this part
  Overlay* overlay;
};

Overlay& self(H5FD_t* file) { return *reinterpret_cast<OpenOverlay*>(file)->overlay; }
const Overlay& self(const H5FD_t* file) { return *reinterpret_cast<const OpenOverlay*>(file)->overlay; }

H5FD_t* open(const char*, unsigned, hid_t access, haddr_t) {
  const void* info = H5Pget_driver_info(access);
  if (info == nullptr) return nullptr;
  auto* file = new (std::nothrow) OpenOverlay{};
  if (file != nullptr) std::memcpy(&file->overlay, info, sizeof file->overlay);
  return reinterpret_cast<H5FD_t*>(file);
}

herr_t close(H5FD_t* file) {
  delete reinterpret_cast<OpenOverlay*>(file);
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = 0;
  return 0;
}

haddr_t get_eoa(const H5FD_t* file, H5FD_mem_t) { return self(file).end(); }

herr_t set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  self(file).set_end(address);
  return 0;
}

haddr_t get_eof(const H5FD_t* file, H5FD_mem_t) { return self(file).end_of_file(); }

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  return self(file).read(address, std::span(static_cast<std::byte*>(buffer), size)) ? 0 : -1;
}

herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, const void* buffer) {
  try {
    self(file).write(address, std::span(static_cast<const std::byte*>(buffer), size));
  } catch (...) {
    return -1;  // out of memory
  }
  return 0;
}

hid_t driver() {
  static const H5FD_class_t driver_class = [] {
    H5FD_class_t c{};
    c.name = "posenc_overlay";
    c.maxaddr = static_cast<haddr_t>(INT64_MAX);
    c.fc_degree = H5F_CLOSE_STRONG;
    c.fapl_size = sizeof(Overlay*);
    c.open = open;
    c.close = close;
    c.query = query;
    c.get_eoa = get_eoa;
    c.set_eoa = set_eoa;
    c.get_eof = get_eof;
    c.read = read;
    c.write = write;
    return c;
  }();
  static const hid_t id = H5FDregister(&driver_class);
  return id;
}

}  // namespace

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

Handle Overlay::access() {
  Handle access(checked(H5Pcreate(H5P_FILE_ACCESS), path_, false));
  Overlay* pointer = this;
  checked_status(H5Pset_driver(access.get(), checked(driver(), path_, false), &pointer), path_, false);
  return access;
}

void Overlay::arm() {
  if (end_ > old_end_) fail_input(fmt::format("{}: is shorter than its structure says", path_));
  if (end_ < old_end_ && ::ftruncate(fd_, static_cast<off_t>(end_)) != 0) fail_system("cannot write " + path_, errno);
  old_end_ = end_of_file_ = end_;
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

bool Overlay::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (!read_file(offset, out)) return false;
  const std::uint64_t end = offset + out.size();
  for (auto page = pages_.lower_bound(offset / page_size); page != pages_.end() && page->first * page_size < end; ++page) {
    const std::uint64_t at = page->first * page_size;
    const std::uint64_t first = std::max(at, offset), last = std::min({at + page_size, end, old_end_});
    if (first < last) std::memcpy(out.data() + (first - offset), page->second.data() + (first - at), last - first);
  }
  return true;
}

void Overlay::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (discarded_) return;
  if (offset < old_end_) {
    const std::size_t kept = std::min<std::uint64_t>(bytes.size(), old_end_ - offset);
    keep(offset, bytes.first(kept));
    offset += kept;
    bytes = bytes.subspan(kept);
  }
  if (bytes.empty() || error_number_ != 0) return;
  end_of_file_ = std::max(end_of_file_, offset + bytes.size());
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      error_number_ = put < 0 ? errno : ENOSPC;
      return;
    }
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
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
  if (::ftruncate(fd_, static_cast<off_t>(end_)) != 0 || ::fsync(fd_) != 0) fail_system("cannot write " + path_, errno);
  std::vector<Patch> patches;
  for (const auto& [number, page] : pages_) {
    const std::uint64_t at = number * page_size;
    if (at >= old_end_) continue;
    Patch patch{at, std::string(std::min<std::uint64_t>(page_size, old_end_ - at), '\0'), ""};
    if (!read_file(at, std::as_writable_bytes(std::span(patch.before)))) fail_system("cannot read " + path_, EIO);
    patch.after.assign(reinterpret_cast<const char*>(page.data()), patch.before.size());
    if (patch.before != patch.after) patches.push_back(std::move(patch));
  }
  replace_bytes(target_, fd_, end_, patches, [this] {
    forget_growth(slot_);
    armed_ = false;
  });
}

}  // namespace posenc::formats::hdf5
