// Runs the real binary: arguments in, status, stdout and stderr out. Nothing here knows what posenc does.
#pragma once
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/files.hpp"
#include "support/refusals.hpp"

namespace posenc::test {

using Words = std::vector<std::string>;

struct Setup {
  fs::path folder = {};                                          ///< working directory; empty: the test's own
  std::vector<std::pair<std::string, std::string>> env = {};     ///< added to the environment
  std::string input = {};                                        ///< standard input
  std::string out_path = {};                                     ///< standard output goes to this file or device instead
  bool close_out = false;                                        ///< standard output is closed at the start
  rlim_t file_limit = RLIM_INFINITY;                             ///< RLIMIT_FSIZE, bytes
  std::vector<int> ignored = {};                                 ///< signals that are ignored at the start
};

struct Outcome {
  int status = 0;  ///< exit status; 128 + number when a signal ended the process
  std::string out, err;
  [[nodiscard]] std::size_t error_lines() const { return static_cast<std::size_t>(std::count(err.begin(), err.end(), '\n')); }
};

/// Environment of a process that is to end by a fault: sanitizers take faults for themselves unless they are told not to.
inline const std::vector<std::pair<std::string, std::string>> faults_are_ours = [] {
  const std::string options = "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:handle_sigtrap=0:handle_sigfpe=0:exitcode=99";
  return std::vector<std::pair<std::string, std::string>>{
      {"ASAN_OPTIONS", options + ":detect_leaks=0"}, {"TSAN_OPTIONS", options + ":atexit_sleep_ms=0"}, {"UBSAN_OPTIONS", options}};
}();

/// A started posenc. Output goes to nameless files, so it never waits for a reader.
class Process {
 public:
  explicit Process(const Words& words, const Setup& setup = {}) {
    const auto nameless = [] {
      std::string name = (fs::temp_directory_path() / "posenc-io-XXXXXX").string();
      const int fd = ::mkostemp(name.data(), O_CLOEXEC);
      REQUIRE(fd >= 0);
      ::unlink(name.c_str());
      return fd;
    };
    out_ = nameless();
    err_ = nameless();
    const int in = nameless();
    REQUIRE(::write(in, setup.input.data(), setup.input.size()) == static_cast<ssize_t>(setup.input.size()));
    REQUIRE(::lseek(in, 0, SEEK_SET) == 0);
    std::vector<char*> argv{const_cast<char*>(POSENC_BINARY)};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::setenv("ASAN_OPTIONS", "exitcode=99:detect_leaks=0", 0);  // a sanitizer's finding is not exit status 1
      ::unsetenv("POSENC_SIMD");
      for (const auto& [name, value] : setup.env) ::setenv(name.c_str(), value.c_str(), 1);
      ::dup2(in, 0);
      ::dup2(err_, 2);
      ::dup2(out_, 1);
      if (!setup.out_path.empty()) {
        const int fd = ::open(setup.out_path.c_str(), O_WRONLY);
        if (fd < 0) ::_exit(126);
        ::dup2(fd, 1);
      }
      if (setup.close_out) ::close(1);
      if (!setup.folder.empty() && ::chdir(setup.folder.c_str()) != 0) ::_exit(126);
      if (setup.file_limit != RLIM_INFINITY) {
        const rlimit limit{setup.file_limit, setup.file_limit};
        ::setrlimit(RLIMIT_FSIZE, &limit);
      }
      const rlimit no_core{0, 0};
      ::setrlimit(RLIMIT_CORE, &no_core);
      for (int number = 1; number <= SIGRTMAX; ++number) ::signal(number, SIG_DFL);  // fails for those that stay as they are
      for (const int number : setup.ignored) ::signal(number, SIG_IGN);
      sigset_t none;
      ::sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(in);
  }
  ~Process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(out_);
    ::close(err_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t id() const { return pid_; }
  void signal(int number) const { REQUIRE(::kill(pid_, number) == 0); }
  [[nodiscard]] bool running() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
  }
  Outcome wait() {
    int status = 0;
    pid_t got = 0;
    do got = ::waitpid(pid_, &status, 0);
    while (got < 0 && errno == EINTR);
    REQUIRE(got == pid_);
    pid_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read(out_), read(err_)};
  }

 private:
  static std::string read(int fd) {
    std::string text;
    char buffer[65536];
    ::lseek(fd, 0, SEEK_SET);
    for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(got));
    return text;
  }
  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
};

inline Outcome run(const Words& words, const Setup& setup = {}) { return Process(words, setup).wait(); }

inline std::string joined(const Words& words) {
  std::string text = "posenc";
  for (const std::string& word : words) text += " '" + (word.size() > 60 ? word.substr(0, 60) + "..." : word) + "'";
  return text;
}

/// Runs what must succeed.
inline Outcome done(const Words& words, const Setup& setup = {}) {
  CAPTURE(joined(words));
  Outcome outcome = run(words, setup);
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  return outcome;
}

inline Words plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Runs in a fresh folder and expects the refusal that the documentation promises: that status, one line on stderr that
/// begins with "posenc: ", nothing on stdout, nothing left behind. Returns the line.
inline std::string refused(const Words& words, int status, Setup setup = {}) {
  CAPTURE(joined(words));
  const Scratch scratch;
  if (setup.folder.empty()) setup.folder = scratch.path();
  const Outcome outcome = run(words, setup);
  CHECK(outcome.status == status);
  CHECK_MESSAGE((outcome.err.starts_with("posenc: ") && outcome.err.ends_with('\n') && outcome.error_lines() == 1), outcome.err);
  CHECK(outcome.out.empty());
  CHECK(scratch.names().empty());
  return outcome.err;
}

}  // namespace posenc::test
