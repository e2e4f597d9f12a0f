// Ends in the middle: signals, readers that go away, several processes with one target.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <memory>
#include <thread>

#include "cli/process.hpp"
#include "posenc/formats.hpp"

namespace posenc::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Minutes of work in a small file: every value goes through the imitated arithmetic.
Words long_work(const std::string& name) {
  return {"generate", "rope", "--positions", "1M", "--head-dim", "64", "--tensor", "cos", "--arithmetic", "float32", "-o", name, "--yes"};
}

// Waits until `done` or half a minute is over.
template <class F>
bool eventually(F&& done) {
  for (const auto end = steady_clock::now() + std::chrono::seconds(30); steady_clock::now() < end; std::this_thread::sleep_for(milliseconds(2)))
    if (done()) return true;
  return false;
}

// Every signal that ends a process which does nothing about it, but SIGKILL: tried, not listed. SIGXFSZ is a failed write here.
std::vector<int> ending_signals() {
  std::vector<int> numbers;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction now {};
    if (number == SIGKILL || number == SIGXFSZ || ::sigaction(number, nullptr, &now) != 0) continue;
    const pid_t id = ::fork();
    REQUIRE(id >= 0);
    if (id == 0) {
      const rlimit no_core{0, 0};
      ::setrlimit(RLIMIT_CORE, &no_core);
      ::signal(number, SIG_DFL);
      ::raise(number);
      ::_exit(0);
    }
    int status = 0;
    while (::waitpid(id, &status, WUNTRACED) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status)) numbers.push_back(number);
    if (!WIFSTOPPED(status)) continue;
    ::kill(id, SIGKILL);
    ::waitpid(id, nullptr, 0);
  }
  return numbers;
}

// The signals of a line of /proc/PID/status, by their bits.
bool has_signal(const std::string& status, const std::string& line, int number) {
  const std::size_t at = status.find(line + ":");
  REQUIRE(at != std::string::npos);
  return (std::stoull(status.substr(at + line.size() + 1), nullptr, 16) >> (number - 1) & 1) != 0;
}

}  // namespace

TEST_CASE("a signal in the middle leaves the target alone and no temporary") {
  for (const auto& format : formats::formats()) {
    CAPTURE(format.name);
    const std::string name = "x" + std::string(format.suffixes.front());
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL}) {
      CAPTURE(number);
      const Scratch scratch;
      spill(scratch / name, "the old file");
      Process process(long_work(name), {.folder = scratch.path()});
      REQUIRE(eventually([&] { return scratch.names().size() > 1; }));
      std::this_thread::sleep_for(milliseconds(20));
      REQUIRE(process.running());
      process.signal(number);
      const Outcome outcome = process.wait();
      CHECK(outcome.status == 128 + number);
      CHECK(outcome.out.empty());
      CHECK(slurp(scratch / name) == "the old file");
      if (number != SIGKILL)
        CHECK(scratch.names() == Words{name});
      else  // nobody can tidy up after SIGKILL; what stays is hidden and says whose it was
        for (const std::string& left : scratch.names()) CHECK((left == name || (left.starts_with(".") && mentions(left, ".posenc-"))));
    }
  }
}

TEST_CASE("every signal that ends a process removes the unfinished file first, and is what the process ends by") {
  const std::vector<int> numbers = ending_signals();
  CHECK(numbers.size() > 40);  // some 20 and the real-time ones
  for (const int number : numbers) {
    CAPTURE(number);
    const Scratch scratch;
    Process process(long_work("x.npz"), {.folder = scratch.path(), .env = faults_are_ours});
    REQUIRE(eventually([&] { return !scratch.names().empty(); }));
    process.signal(number);
    CHECK(process.wait().status == 128 + number);
    CHECK(scratch.names().empty());
  }
}

TEST_CASE("signals that are ignored at the start stay ignored") {
  const std::vector<int> numbers = ending_signals();
  const Scratch scratch;
  Process process(long_work("x.npz"), {.folder = scratch.path(), .env = faults_are_ours, .ignored = numbers});
  REQUIRE(eventually([&] { return !scratch.names().empty(); }));
  const std::string status = slurp("/proc/" + std::to_string(process.id()) + "/status");
  for (const int number : numbers) {
    CAPTURE(number);
    CHECK(has_signal(status, "SigIgn", number));
    CHECK_FALSE(has_signal(status, "SigCgt", number));
    process.signal(number);
  }
  CHECK(process.running());
}

TEST_CASE("a reader that goes away ends the writer at once") {
  const Scratch scratch;
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  const int reader = ::open((scratch / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  Process process({"generate", "rope", "--positions", "1M", "--tensor", "cos", "-o", "-"}, {.folder = scratch.path(), .out_path = scratch / "pipe"});
  char byte = 0;
  REQUIRE(eventually([&] { return ::read(reader, &byte, 1) == 1; }));
  CHECK(byte == '\x93');
  ::close(reader);
  REQUIRE(eventually([&] { return !process.running(); }));
  const Outcome outcome = process.wait();
  CHECK((outcome.status == 128 + SIGPIPE || outcome.status == 4));
  CHECK(outcome.error_lines() <= 1);
}

TEST_CASE("a slow reader gets every byte") {
  const Scratch scratch;
  const Words table{"generate", "rope", "--positions", "4096", "--tensor", "sin"};
  Words to_file = table, to_pipe = table;
  to_file.insert(to_file.end(), {"-o", "x.npy"});
  to_pipe.insert(to_pipe.end(), {"-o", "-", "--threads", "3", "--block-bytes", "5000"});
  REQUIRE(run(to_file, {.folder = scratch.path()}).status == 0);
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  const int reader = ::open((scratch / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  Process process(to_pipe, {.folder = scratch.path(), .out_path = scratch / "pipe"});
  std::string got;
  char buffer[3001];
  REQUIRE(eventually([&] {
    const bool ended = !process.running();
    const ssize_t size = ::read(reader, buffer, sizeof buffer);
    if (size > 0) got.append(buffer, static_cast<std::size_t>(size));
    return ended && size <= 0;
  }));
  ::close(reader);
  CHECK(process.wait().status == 0);
  CHECK(got == slurp(scratch / "x.npy"));
}

TEST_CASE("several processes with one target: one whole file wins") {
  for (const auto& format : formats::formats()) {
    CAPTURE(format.name);
    const std::string name = "x" + std::string(format.suffixes.front());
    const Scratch scratch;
    const auto words = [&](int base) {
      return Words{"generate", "rope", "--positions", "2000", "--tensor", "cos", "--base", std::to_string(base), "-o", name};
    };
    Words candidates;
    for (int base = 2; base < 8; ++base) {
      const Scratch alone;
      REQUIRE(run(words(base), {.folder = alone.path()}).status == 0);
      candidates.push_back(slurp(alone / name));
    }
    std::vector<std::unique_ptr<Process>> crew;
    for (int base = 2; base < 8; ++base) crew.push_back(std::make_unique<Process>(words(base), Setup{.folder = scratch.path()}));
    for (const auto& process : crew) {
      const Outcome outcome = process->wait();
      CHECK_MESSAGE(outcome.status == 0, outcome.err);
    }
    const std::string bytes = slurp(scratch / name);
    CHECK(std::count(candidates.begin(), candidates.end(), bytes) == 1);
    for (const std::string& left : scratch.names()) CHECK_MESSAGE(left.starts_with(name), left);  // the array, and its sidecar
  }
}

TEST_CASE("a symbolic link stays one, and a file keeps its mode") {
  const Scratch scratch;
  spill(scratch / "real.npz", "old");
  fs::permissions(scratch / "real.npz", fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  fs::create_symlink("real.npz", scratch / "link.npz");
  REQUIRE(run({"generate", "rope", "--positions", "4", "-o", "link.npz"}, {.folder = scratch.path()}).status == 0);
  CHECK(fs::is_symlink(scratch / "link.npz"));
  CHECK(run({"verify", "real.npz"}, {.folder = scratch.path()}).status == 0);
  CHECK(fs::status(scratch / "real.npz").permissions() == (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
}

}  // namespace posenc::test
