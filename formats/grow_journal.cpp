#include "grow_journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "atomic_file.hpp"
#include "checked.hpp"
#include "cleanup.hpp"
#include "crc32.hpp"
#include "input_file.hpp"
#include "posenc/error.hpp"

namespace posenc::formats {
namespace {

constexpr std::string_view magic = "posenc-journal-1";
constexpr std::size_t head_size = 32, sum_size = 4;
constexpr std::uint64_t largest_journal = std::uint64_t{4} << 30;

struct Journal {
  std::uint64_t size = 0;
  std::vector<Patch> patches;
};

std::string journal_beside(const std::string& target) { return hidden_beside(target, "journal"); }

std::uint32_t sum_of(std::string_view text) {
  Crc32 sum;
  sum.add(0, as_bytes(text));
  return sum.of(text.size()).value_or(0);
}

std::string text_of(const Journal& journal) {
  std::string text(magic);
  put_le<std::uint64_t>(text, journal.size);
  put_le<std::uint64_t>(text, journal.patches.size());
  for (const Patch& patch : journal.patches) {
    put_le<std::uint64_t>(text, patch.offset);
    put_le<std::uint64_t>(text, patch.before.size());
    text += patch.before;
    text += patch.after;
  }
  put_le<std::uint32_t>(text, sum_of(text));
  return text;
}

// Nothing when it is no journal: it appears whole under its name, so it is not posenc's.
std::optional<Journal> parse(std::string_view text) {
  if (text.size() < head_size + sum_size || !text.starts_with(magic)) return std::nullopt;
  if (get_le<std::uint32_t>(text.data() + text.size() - sum_size) != sum_of(text.substr(0, text.size() - sum_size))) return std::nullopt;
  Journal journal;
  journal.size = get_le<std::uint64_t>(text.data() + 16);
  auto count = get_le<std::uint64_t>(text.data() + 24);
  text = text.substr(head_size, text.size() - head_size - sum_size);
  std::uint64_t end = 0;  // of the patches so far: they do not overlap
  for (; count > 0; --count) {
    if (text.size() < 16) return std::nullopt;
    const auto offset = get_le<std::uint64_t>(text.data());
    const auto size = get_le<std::uint64_t>(text.data() + 8);
    text.remove_prefix(16);
    if (size > text.size() / 2 || size > journal.size || offset > journal.size - size || offset < end) return std::nullopt;
    end = offset + size;
    journal.patches.push_back({offset, std::string(text.substr(0, size)), std::string(text.substr(size, size))});
    text.remove_prefix(2 * size);
  }
  if (!text.empty()) return std::nullopt;
  return journal;
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

void read_from(int fd, const std::string& name, std::uint64_t offset, std::string& out) {
  for (std::size_t done = 0; done < out.size();) {
    const ssize_t got = ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_system("cannot read " + name, errno);
    if (got == 0) fail_input(fmt::format("{}: became shorter while it was read", name));
    done += static_cast<std::size_t>(got);
  }
}

// Whether the file is the one that the journal is about, in whatever state between before and after.
bool belongs(const Journal& journal, const InputFile& file) {
  if (file.size() != journal.size) return false;
  for (const Patch& patch : journal.patches) {
    std::string now(patch.before.size(), '\0');
    file.read(patch.offset, as_writable_bytes(now));
    for (std::size_t i = 0; i < now.size(); ++i)
      if (now[i] != patch.before[i] && now[i] != patch.after[i]) return false;
  }
  return true;
}

// The journal beside `target` when it is about that file. Anyone who may create files in the folder can put one there, and it
// is done with the rights of whoever comes next: only a journal of the file's owner, of this user or of root is taken.
std::optional<Journal> journal_of(const std::string& target) {
  const std::string path = journal_beside(target);
  struct stat status {}, target_status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || ::stat(target.c_str(), &target_status) != 0) return std::nullopt;
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (file.fd < 0 && (errno == ENOENT || errno == ELOOP)) return std::nullopt;
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0) fail_system("cannot open " + path, errno);
  // Patches do not overlap: a journal is at most as long as one patch for each byte of the file makes it.
  const auto size = static_cast<std::uint64_t>(status.st_size), target_size = static_cast<std::uint64_t>(target_status.st_size);
  if (!S_ISREG(status.st_mode) || size < head_size + sum_size || size > largest_journal || (size - head_size - sum_size) / 18 > target_size)
    return std::nullopt;
  std::string text(magic.size(), '\0');
  read_from(file.fd, path, 0, text);
  if (text != magic) return std::nullopt;
  text.resize(size);
  read_from(file.fd, path, 0, text);
  std::optional<Journal> journal = parse(text);
  if (!journal || !belongs(*journal, InputFile(target))) return std::nullopt;  // another file has come to this name since
  if (status.st_uid != target_status.st_uid && status.st_uid != ::geteuid() && status.st_uid != 0)
    throw Error(Failure::system, fmt::format("{} would complete {} but belongs to another user (id {}); remove it, or let its owner run posenc inspect {}",
                                             path, target, status.st_uid, target));
  return journal;
}

void sync(int fd, const std::string& name) {
  int status = 0;
  do status = ::fsync(fd);
  while (status != 0 && errno == EINTR);
  if (status != 0 && errno != EINVAL && errno != ENOTSUP) fail_system("cannot write " + name, errno);
}

void carry_out(const Journal& journal, int fd, const std::string& target) {
  for (const Patch& patch : journal.patches) write_all(fd, target, patch.offset, as_bytes(patch.after));
  sync(fd, target);
}

void remove_journal(const std::string& target) {
  const std::string path = journal_beside(target);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_system("cannot remove " + path, errno);
}

// File systems without locks: nothing can be done, and one process at a time needs none.
bool lock(int fd, int how, const std::string& path) {
  int status = 0;
  do status = ::flock(fd, how);
  while (status != 0 && errno == EINTR);
  if (status == 0 || errno == ENOSYS || errno == ENOTSUP || errno == ENOLCK || errno == EINVAL) return true;
  if (errno == EWOULDBLOCK) return false;
  fail_system("cannot lock " + path, errno);
}

// The caller holds the lock of `target`, open for writing as `fd`.
void complete(const std::string& target, int fd) {
  const std::optional<Journal> journal = journal_of(target);
  if (!journal) return;
  const SignalsWait wait;
  carry_out(*journal, fd, target);
  remove_journal(target);
}

}  // namespace

void replace_bytes(const std::string& target, int fd, std::uint64_t size, const std::vector<Patch>& patches, const std::function<void()>& committed) {
  const Journal journal{size, patches};
  // A patch may cover a hole: the disk must not turn out to be full once there is no way back.
  for (const Patch& patch : patches)
    if (::fallocate(fd, 0, static_cast<off_t>(patch.offset), static_cast<off_t>(patch.after.size())) != 0 && (errno == ENOSPC || errno == EDQUOT))
      fail_system("cannot write " + target, errno);
  AtomicFile file(journal_beside(target));
  file.write(0, as_bytes(text_of(journal)));
  file.sync();
  const SignalsWait wait;
  try {
    file.rename();
  } catch (...) {
    ::unlink(journal_beside(target).c_str());  // it may be there, but not for sure after a power failure
    throw;
  }
  committed();
  carry_out(journal, fd, target);
  remove_journal(target);
}

void complete_replacement(const std::string& path) {
  std::string target;
  try {
    target = follow_links(path);
  } catch (const Error&) {
    return;  // whoever opens it will say so
  }
  struct stat status {};
  if (::lstat(target.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  // A journal that is not about the file stays where it is, and nothing is waited for: this process may hold the lock itself.
  if (!journal_of(target)) return;
  const Descriptor file{::open(target.c_str(), O_RDWR | O_CLOEXEC)};
  if (file.fd < 0)
    fail_system(fmt::format("{}: an interrupted posenc extend has to be completed, which needs leave to write the file", path), errno);
  lock(file.fd, LOCK_EX, path);
  complete(target, file.fd);
}

std::shared_ptr<const void> lock_file(const std::string& path) {
  const std::string target = follow_links(path);
  for (;;) {
    auto file = std::make_shared<Descriptor>();
    file->fd = ::open(target.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0) fail_system("cannot open " + path, errno);
    struct stat held {}, named {};
    if (::fstat(file->fd, &held) != 0) fail_system("cannot inspect " + path, errno);
    if (!S_ISREG(held.st_mode)) fail_usage(fmt::format("{} is no regular file, and only such a file can be made longer", path));
    if (!lock(file->fd, LOCK_EX | LOCK_NB, path))
      throw Error(Failure::system, fmt::format("{} is being extended, or is open in a program that locks it; try again when that has ended", path));
    if (::stat(target.c_str(), &named) != 0) fail_system("cannot open " + path, errno);
    if (held.st_ino != named.st_ino || held.st_dev != named.st_dev) continue;  // replaced in the meantime
    complete(target, file->fd);
    return file;
  }
}

}  // namespace posenc::formats
