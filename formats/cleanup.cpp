#include "cleanup.hpp"

#include <csignal>
#include <cstring>
#include <unistd.h>

#include <array>
#include <atomic>

#include "posenc/formats.hpp"

namespace posenc::formats {
namespace {

enum State : int { vacant, filling, live };

struct Slot {
  std::atomic<int> state{vacant};
  std::array<char, 4096> path{};
};

struct Growing {
  std::atomic<int> state{vacant};
  int writing = -1, cutting = -1;
  off_t size = 0;
};

std::array<Slot, 1024> slots;  // 4 MiB of address space, touched as far as used
std::array<Growing, 16> growths;
volatile pid_t owner = 0;
static_assert(std::atomic<int>::is_always_lock_free);

// Async-signal-safe: atomics, getpid, unlink, close, ftruncate, signal and raise only.
void remove_and_die(int signal_number) {
  if (::getpid() == owner) {  // not in a child between fork and exec
    for (Slot& slot : slots)
      if (slot.state.load(std::memory_order_acquire) == live) ::unlink(slot.path.data());
    for (Growing& growth : growths)
      if (growth.state.load(std::memory_order_acquire) == live) {
        ::close(growth.writing);  // other threads write no further
        (void)!::ftruncate(growth.cutting, growth.size);
      }
  }
  ::signal(signal_number, SIG_DFL);
  ::raise(signal_number);
}

}  // namespace

int remember_temporary(const std::string& path) noexcept {
  if (path.size() >= slots[0].path.size()) return -1;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    int expected = vacant;
    if (!slots[i].state.compare_exchange_strong(expected, filling)) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    slots[i].state.store(live, std::memory_order_release);
    return static_cast<int>(i);
  }
  return -1;
}

void forget_temporary(int slot) noexcept {
  if (slot >= 0) slots[static_cast<std::size_t>(slot)].state.store(vacant, std::memory_order_release);
}

int remember_growth(int writing, int cutting, std::uint64_t size) noexcept {
  for (std::size_t i = 0; i < growths.size(); ++i) {
    Growing& growth = growths[i];
    int expected = vacant;
    if (!growth.state.compare_exchange_strong(expected, filling)) continue;
    growth.writing = writing;
    growth.cutting = cutting;
    growth.size = static_cast<off_t>(size);
    growth.state.store(live, std::memory_order_release);
    return static_cast<int>(i);
  }
  return -1;
}

void forget_growth(int slot) noexcept {
  if (slot >= 0) growths[static_cast<std::size_t>(slot)].state.store(vacant, std::memory_order_release);
}

void install_signal_cleanup() {
  owner = ::getpid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    struct sigaction old {};
    if (::sigaction(number, nullptr, &old) != 0 || old.sa_handler != SIG_DFL) continue;  // nohup, a host's own handler
    struct sigaction action {};
    action.sa_handler = remove_and_die;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
  }
  ::signal(SIGXFSZ, SIG_IGN);  // a write past the file size limit then fails with EFBIG
}

}  // namespace posenc::formats
