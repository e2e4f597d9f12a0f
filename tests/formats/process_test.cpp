// What a process leaves behind when it is stopped or the system refuses: tried in child processes.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "support.hpp"

using namespace posenc;
using namespace posenc::test;

namespace {

template <class F>
int in_child(F&& f) {
  const pid_t id = ::fork();
  REQUIRE(id >= 0);
  if (id == 0) {
    try {
      ::_exit(f());
    } catch (...) {
      ::_exit(99);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(id, &status, 0) == id);
  return status;
}

FilePlan megabyte() {
  FilePlan plan;
  plan.tensors = {tensor("x", DType::f32, {1024, 256})};
  plan.metadata = {{"title", "t"}};
  return plan;
}

}  // namespace

TEST_SUITE("formats") {
  TEST_CASE("a signal removes unfinished files and still ends the process") {
    for (const formats::FormatTraits& format : formats::formats())
      for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        CAPTURE(format.name);
        const Scratch folder;
        const int status = in_child([&] {
          for (const int n : {SIGINT, SIGTERM, SIGHUP}) ::signal(n, SIG_DFL);
          formats::install_signal_cleanup();
          const auto writer = formats::create(format, folder / "file", megabyte());
          if (folder.names().empty()) return 1;
          ::raise(number);
          return 2;
        });
        CHECK(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == number);
        CHECK(folder.names().empty());
      }
  }

  TEST_CASE("an ignored signal stays ignored") {
    const Scratch folder;
    const int status = in_child([&] {
      ::signal(SIGHUP, SIG_IGN);
      formats::install_signal_cleanup();
      const auto writer = formats::create(formats::formats()[0], folder / "file", megabyte());
      ::raise(SIGHUP);
      return folder.names().empty() ? 1 : 0;
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }

  TEST_CASE("no room: an error of the system, nothing left behind") {
    for (const formats::FormatTraits& format : formats::formats())
      for (const int level : {-1, 0, 1}) {
        if (level >= 0 && !format.chunking) continue;
        CAPTURE(format.name);
        CAPTURE(level);
        const Scratch folder;
        const int status = in_child([&] {
          FilePlan plan = megabyte();
          if (level >= 0) plan.chunking = {.chunked = true, .chunk_bytes = 65536, .gzip_level = level};
          const std::vector<Bytes> values = values_of(plan);
          ::signal(SIGXFSZ, SIG_IGN);
          const rlimit limit{200000, 200000};
          ::setrlimit(RLIMIT_FSIZE, &limit);
          const auto failure = failure_of([&] { write_file(format, folder / "file", plan, values, 2); });
          if (failure != Failure::system) return 1;
          return folder.names().empty() ? 0 : 2;
        });
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
      }
  }
}
