// The HDF5 library in a child process. Its own checks of a file's structure are not enough: version 1.10 overruns buffers and
// loops for ever on files with a few bytes changed. The child walks the file and sends what it found through a pipe;
// if it dies or takes too long, the file is damaged.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>

#include "checked.hpp"
#include "cleanup.hpp"
#include "hdf5_api.hpp"
#include "hdf5_walk.hpp"
#include "posenc/error.hpp"

namespace posenc::formats::hdf5 {
namespace {

// The messages: numbers in 8 bytes, texts and lists with their length before them. One description serves both directions.
class Pack {
 public:
  void number(std::uint64_t& value) { put_le(text, value); }
  void characters(std::string& value) {
    std::uint64_t size = value.size();
    number(size);
    text += value;
  }
  template <class List, class Each>
  void list(List& values, Each each) {
    std::uint64_t size = values.size();
    number(size);
    for (auto& value : values) each(value);
  }
  std::string text;
};

class Unpack {
 public:
  explicit Unpack(std::string_view from) : text(from) {}
  void number(std::uint64_t& value) {
    need(8);
    value = get_le<std::uint64_t>(text.data());
    text.remove_prefix(8);
  }
  void characters(std::string& value) {
    std::uint64_t size = 0;
    number(size);
    need(size);
    value = text.substr(0, size);
    text.remove_prefix(size);
  }
  template <class List, class Each>
  void list(List& values, Each each) {
    std::uint64_t size = 0;
    number(size);
    need(size);  // an entry has a byte at least
    values.clear();
    for (; size > 0; --size) each(values.emplace_back());
  }
  void need(std::uint64_t size) const {
    if (size > text.size()) fail_input("the message about an HDF5 file is incomplete");
  }
  std::string_view text;
};

template <class Wire, class Int>
void pass_int(Wire& wire, Int& value) {
  auto wide = static_cast<std::uint64_t>(value);
  wire.number(wide);
  value = static_cast<Int>(wide);
}

template <class Wire>
void pass(Wire& wire, Contents& contents) {
  std::vector<std::pair<std::string, std::string>> metadata(contents.metadata.begin(), contents.metadata.end());
  wire.list(metadata, [&](auto& entry) {
    wire.characters(entry.first);
    wire.characters(entry.second);
  });
  contents.metadata = {metadata.begin(), metadata.end()};
  wire.list(contents.skipped, [&](std::string& skip) { wire.characters(skip); });
  wire.list(contents.faults, [&](std::string& fault) { wire.characters(fault); });
  wire.number(contents.unused);
  wire.list(contents.arrays, [&](Found& found) {
    wire.characters(found.name);
    wire.characters(found.help);
    wire.list(found.axes, [&](std::string& axis) { wire.characters(axis); });
    wire.list(found.shape, [&](std::int64_t& size) { pass_int(wire, size); });
    pass_int(wire, found.type.kind);
    pass_int(wire, found.type.size);
    std::uint64_t big = found.type.big_endian ? 1 : 0;
    wire.number(big);
    found.type.big_endian = big != 0;
    pass_int(wire, found.where);
    wire.number(found.offset);
    wire.characters(found.bytes);
    wire.list(found.box, [&](std::uint64_t& size) { wire.number(size); });
    wire.list(found.filters, [&](std::int64_t& filter) { pass_int(wire, filter); });
    wire.number(found.gzip_level);
    wire.list(found.places, [&](ChunkPlace& place) {
      wire.number(place.number);
      wire.number(place.offset);
      wire.number(place.size);
      pass_int(wire, place.skipped);
    });
  });
}

constexpr std::uint64_t sound = 0, refused = 1;  // the first number of the answer

// Processor seconds for the walk: a file of 8 MiB is walked in less than a second.
rlim_t seconds_for(std::uint64_t bytes) { return 2 + bytes / (std::uint64_t{8} << 20); }

[[noreturn]] void child(const InputFile& file, int answer) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) ::dup2(null, STDERR_FILENO);  // what the C library says when its heap is broken
  restore_signals();
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  rlimit processor{};
  ::getrlimit(RLIMIT_CPU, &processor);
  const rlim_t allowed = seconds_for(file.size());
  if (processor.rlim_max == RLIM_INFINITY || processor.rlim_max > allowed) {
    const rlimit limit{allowed, allowed};
    ::setrlimit(RLIMIT_CPU, &limit);
  }
  Pack wire;
  try {
    quieten();
    Contents contents = walk(file);
    std::uint64_t verdict = sound;
    wire.number(verdict);
    pass(wire, contents);
  } catch (const Error& e) {
    wire.text.clear();
    std::uint64_t verdict = refused;
    wire.number(verdict);
    std::uint64_t failure = static_cast<std::uint64_t>(e.failure());
    wire.number(failure);
    std::string sentence = e.what();
    wire.characters(sentence);
  } catch (...) {
    ::_exit(1);
  }
  std::string_view left = wire.text;
  while (!left.empty()) {
    const ssize_t written = ::write(answer, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(1);
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  ::_exit(0);
}

struct Pipe {
  int ends[2] = {-1, -1};
  ~Pipe() {
    for (int& end : ends) close(end);
  }
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

}  // namespace

Contents walk_apart(const InputFile& file) {
  Pipe pipe;
  if (::pipe2(pipe.ends, O_CLOEXEC) != 0) fail_system("cannot read " + file.path(), errno);
  pid_t id = -1;
  {
    // No other thread of posenc is inside the library at this moment, so the child finds it whole and unlocked.
    const Session session;
    id = ::fork();
    if (id == 0) child(file, pipe.ends[1]);
  }
  if (id < 0) fail_system("cannot read " + file.path(), errno);
  Pipe::close(pipe.ends[1]);
  std::string answer;
  std::vector<char> block(1 << 16);
  // Waiting on a slow disk takes no processor time; silence for this long beyond the child's own limit means that it is stuck.
  const auto patience = static_cast<int>(std::min<std::uint64_t>(1000 * (60 + 10 * seconds_for(file.size())), INT32_MAX));
  int problem = 0;
  for (;;) {
    pollfd wait{pipe.ends[0], POLLIN, 0};
    const int ready = ::poll(&wait, 1, patience);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      problem = ready == 0 ? ETIMEDOUT : errno;
      ::kill(id, SIGKILL);
      break;
    }
    const ssize_t got = ::read(pipe.ends[0], block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    answer.append(block.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  while (::waitpid(id, &status, 0) < 0 && errno == EINTR) continue;
  if (problem != 0) fail_system("cannot read " + file.path(), problem);
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
    fail_input(fmt::format("{}: is damaged: the HDF5 library does not come to an end with its structure", file.path()));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    fail_input(fmt::format("{}: is damaged: the HDF5 library breaks down on its structure", file.path()));
  Unpack wire(answer);
  std::uint64_t verdict = 0;
  wire.number(verdict);
  if (verdict != sound) {
    std::uint64_t failure = 0;
    std::string sentence;
    wire.number(failure);
    wire.characters(sentence);
    throw Error(static_cast<Failure>(failure), sentence);
  }
  Contents contents;
  pass(wire, contents);
  return contents;
}

}  // namespace posenc::formats::hdf5
