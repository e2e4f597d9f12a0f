#include "atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cleanup.hpp"
#include "posenc/error.hpp"

namespace posenc::formats {
namespace {

constexpr long tmpfs_magic = 0x01021994;  // statfs(2)

// One write call moves less than 2 GiB; a piece of 1 GiB keeps the arithmetic plain.
constexpr std::size_t piece_limit = std::size_t{1} << 30;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

void sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // a folder that may be written but not read: the rename stands, its durability is the system's
  const int status = ::fsync(fd);
  const int number = errno;
  ::close(fd);
  if (status != 0 && number != EINVAL && number != ENOTSUP && number != EROFS) fail_system("cannot sync folder " + folder, number);
}

}  // namespace

void write_all(int fd, const std::string& name, std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), std::min(bytes.size(), piece_limit), static_cast<off_t>(offset));
    if (put < 0) {
      if (errno == EINTR) continue;
      fail_system("cannot write " + name, errno);
    }
    if (put == 0) fail_system("cannot write " + name, ENOSPC);
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

std::string follow_links(const std::string& path) {
  std::filesystem::path current = path;
  for (int hops = 0; hops < 40; ++hops) {
    std::error_code error;
    const auto next = std::filesystem::read_symlink(current, error);
    if (error) return current.string();
    current = next.is_absolute() ? next : current.parent_path() / next;
  }
  fail_system("cannot write " + path, ELOOP);
}

std::string hidden_beside(const std::string& path, std::string_view what) {
  return fmt::format("{}/.{}.posenc-{}", folder_of(path), name_of_file(path).substr(0, NAME_MAX - 48), what);
}

bool is_stream_target(const std::string& path) {
  if (path == "-") return true;
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  if (path.empty()) fail_usage("the output has an empty name");
  target_ = follow_links(path);
  struct stat status {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail_system("cannot write " + path, errno);
  if (path.back() == '/' || (exists && S_ISDIR(status.st_mode)))
    fail_usage(fmt::format("{} is a directory; give the name of a file in it", path));
  if (exists && !S_ISREG(status.st_mode)) fail_usage(fmt::format("{} is a FIFO, socket or device; give a regular file", path));
  // Replacing by rename would pass over a read-only mark that writing in place would respect.
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail_system("cannot replace " + path, errno);

  folder_ = folder_of(target_);
  for (int n = 0; fd_ < 0; ++n) {
    temporary_ = hidden_beside(target_, fmt::format("{}-{}", ::getpid(), n));
    std::error_code ignored;
    const std::string absolute = std::filesystem::absolute(temporary_, ignored).string();
    int number = 0;
    {
      const SignalsWait wait;
      slot_ = expect_temporary(absolute);
      fd_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
      number = errno;
      if (fd_ >= 0)
        remember_temporary(slot_);
      else
        forget_temporary(slot_);
    }
    if (fd_ < 0 && (number != EEXIST || n >= 10000)) fail_system("cannot create a file in folder " + folder_, number);
  }
  if (exists) {
    const mode_t mode = status.st_mode & 0777;
    if (::fchmod(fd_, mode) != 0 && errno != EPERM && errno != ENOTSUP) {
      const int number = errno;
      ::close(fd_);
      ::unlink(temporary_.c_str());
      forget_temporary(slot_);
      fail_system("cannot set the mode of " + temporary_, number);
    }
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  forget_temporary(slot_);
}

void AtomicFile::write(std::uint64_t offset, std::span<const std::byte> bytes) { write_all(fd_, path_, offset, bytes); }

void AtomicFile::reserve(std::uint64_t size) {
  if (size == 0) return;
  if (size > static_cast<std::uint64_t>(INT64_MAX)) fail_system("cannot write " + path_, EFBIG);
  // In memory (tmpfs) reserving costs as much as writing and one thread pays it; what is free there is asked instead.
  struct statfs disk {};
  if (::fstatfs(fd_, &disk) == 0 && disk.f_type == tmpfs_magic) {
    if (disk.f_blocks != 0 && size / static_cast<std::uint64_t>(disk.f_bsize) > disk.f_bavail)
      fail_system(fmt::format("cannot write {}: it needs {} bytes", path_, size), ENOSPC);
    if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) fail_system("cannot write " + path_, errno);
    return;
  }
  // fallocate, not posix_fallocate: where the file system cannot do it, the latter would write the whole file twice.
  int status = 0;
  do status = ::fallocate(fd_, 0, 0, static_cast<off_t>(size));
  while (status != 0 && errno == EINTR);
  if (status == 0) return;
  if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)
    fail_system(fmt::format("cannot write {}: it needs {} bytes", path_, size), errno);
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) fail_system("cannot write " + path_, errno);
}

void AtomicFile::sync() {
  int status = 0;
  do status = ::fsync(fd_);
  while (status != 0 && errno == EINTR);
  if (status != 0 && errno != EINVAL && errno != ENOTSUP) fail_system("cannot write " + path_, errno);
  const int closed = ::close(fd_);  // network file systems report a full disk here
  const int number = errno;
  fd_ = -1;
  if (closed != 0 && number != EINTR) fail_system("cannot write " + path_, number);
}

void AtomicFile::rename() {
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_system("cannot put " + path_ + " in place", errno);
  temporary_.clear();
  forget_temporary(slot_);
  slot_ = -1;
  sync_folder(folder_);
}

void AtomicFile::publish() {
  sync();
  rename();
}

SequentialFile::SequentialFile(const std::string& path) : name_(path == "-" ? "stdout" : path) {
  if (path == "-") {
    fd_ = STDOUT_FILENO;
    return;
  }
  do fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  while (fd_ < 0 && errno == EINTR);
  if (fd_ < 0) fail_system("cannot write " + path, errno);
  owns_ = true;
}

SequentialFile::~SequentialFile() {
  if (owns_ && fd_ >= 0) ::close(fd_);
}

void SequentialFile::put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), std::min(bytes.size(), piece_limit));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_system("cannot write " + name_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void SequentialFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  std::unique_lock lock(mutex_);
  const auto turn = [&] { return failed_ || (offset == next_ && !busy_); };
  while (!turn()) {
    if (offset < next_) fail_usage(fmt::format("the bytes at offset {} were given to {} twice", offset, name_));
    if (offset != next_ && held_bytes_ + bytes.size() <= held_limit) {
      if (!held_.emplace(offset, std::vector<std::byte>(bytes.begin(), bytes.end())).second)
        fail_usage(fmt::format("the bytes at offset {} were given to {} twice", offset, name_));
      held_bytes_ += bytes.size();
      return;
    }
    const std::uint64_t before = next_;
    const bool moved = moved_.wait_for(lock, std::chrono::seconds(30), [&] { return turn() || next_ != before; });
    if (moved || busy_) continue;  // busy: the other end of the pipe is slow, which is its right
    failed_ = true;
    moved_.notify_all();
    fail_usage(fmt::format("{} waits for the bytes at offset {} while later ones arrive; write to a regular file", name_, next_));
  }
  if (failed_) fail_system("cannot write " + name_, EIO);
  busy_ = true;
  try {
    lock.unlock();
    put(bytes);
    lock.lock();
    next_ += bytes.size();
    for (auto early = held_.find(next_); early != held_.end(); early = held_.find(next_)) {
      const std::vector<std::byte> piece = std::move(early->second);
      held_.erase(early);
      lock.unlock();
      put(piece);
      lock.lock();
      held_bytes_ -= piece.size();
      next_ += piece.size();
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    failed_ = true;
    busy_ = false;
    moved_.notify_all();
    throw;
  }
  busy_ = false;
  moved_.notify_all();
}

void SequentialFile::publish() {
  if (!held_.empty()) fail_usage(fmt::format("{} lacks the bytes at offset {}", name_, next_));
  if (!owns_) return;
  const int status = ::close(fd_);
  const int number = errno;
  fd_ = -1;
  if (status != 0 && number != EINTR) fail_system("cannot write " + name_, number);
}

SpoolFile::SpoolFile(const std::string& target) : name_("scratch space beside " + target) {
  const std::string folder = folder_of(target);
  fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ >= 0) return;
  std::string name = hidden_beside(target, fmt::format("{}-XXXXXX", ::getpid()));  // a file system without O_TMPFILE
  int number = 0;
  {
    const SignalsWait wait;
    const int slot = expect_temporary(name);
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    number = errno;
    if (fd_ >= 0) ::unlink(name.c_str());
    forget_temporary(slot);
  }
  if (fd_ < 0) fail_system("cannot create " + name_, number);
}

SpoolFile::~SpoolFile() { ::close(fd_); }

void SpoolFile::write(std::uint64_t offset, std::span<const std::byte> bytes) { write_all(fd_, name_, offset, bytes); }

void SpoolFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), std::min(out.size(), piece_limit), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail_system("cannot read " + name_, got < 0 ? errno : EIO);
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace posenc::formats
