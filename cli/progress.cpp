#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "posenc/text.hpp"

namespace posenc::cli {
namespace {

bool plain_terminal() {
  const char* term = std::getenv("TERM");
  return term == nullptr || std::string_view(term) == "dumb";
}

}  // namespace

Progress::Progress(std::string what, bool quiet)
    : what_(std::move(what)), on_(!quiet && ::isatty(STDERR_FILENO) == 1 && !plain_terminal()), start_(std::chrono::steady_clock::now()), last_(start_) {}

void Progress::attach(PipelineOptions& options) {
  if (on_) options.progress = [this](std::int64_t done, std::int64_t total) { show(done, total); };
}

void Progress::show(std::int64_t done, std::int64_t total) {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < 1s || now - last_ < 100ms) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done) / seconds;
  const double left = rate > 0 ? static_cast<double>(total - done) / rate : 0;
  fmt::print(stderr, "\r{} {:3.0f}%  {} of {}  {}/s  {:.0f} s left\033[K", what_, 100.0 * static_cast<double>(done) / static_cast<double>(total),
             human_bytes(static_cast<std::uint64_t>(done)), human_bytes(static_cast<std::uint64_t>(total)), human_bytes(static_cast<std::uint64_t>(rate)), left);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

}  // namespace posenc::cli
