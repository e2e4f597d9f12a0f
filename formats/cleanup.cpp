#include "cleanup.hpp"

#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <string_view>

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

std::atomic<bool> dying{false};

// The one list: what does not end a process by default, or (SIGXFSZ) is turned into an error. All others do, the real-time signals
// too; SIGKILL cannot be caught.
constexpr bool ends_process(int number) {
  for (const int other : {SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGXFSZ})
    if (number == other) return false;
  return true;
}

template <class F>
void for_ending_signals(F&& f) {
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction action {};
    if (ends_process(number) && ::sigaction(number, nullptr, &action) == 0) f(number, action.sa_handler);  // not the C library's own two
  }
}

// Memory may be rubbish.
constexpr bool is_fault(int number) {
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
    if (number == fault) return true;
  return false;
}

// Another thread makes the file, with signals waiting. A second is for a disk that is slow, and the limit for one that is gone.
State settled(const Slot& slot) {
  int state = filling;
  for (int patience = 1000; patience > 0 && (state = slot.state.load()) == filling; --patience) {
    const timespec millisecond{0, 1'000'000};
    ::nanosleep(&millisecond, nullptr);
  }
  return static_cast<State>(state);
}

// Async-signal-safe: atomics, getpid, nanosleep, unlink, close, ftruncate, signal and raise only. After a fault a file is removed
// only under a name that posenc gives, and nothing is cut: what a growing file has past its end is ignored, and cut by the next growth.
void remove_and_die(int number) {
  if (::getpid() == owner) {  // not in a child between fork and exec
    dying.store(true);
    for (const Slot& slot : slots)
      if (settled(slot) == live && std::string_view(slot.path.data(), ::strnlen(slot.path.data(), slot.path.size())).find(".posenc-") != std::string_view::npos)
        ::unlink(slot.path.data());
    for (Growing& growth : growths)
      if (!is_fault(number) && growth.state.load(std::memory_order_acquire) == live) {
        ::close(growth.writing);  // other threads write no further
        (void)!::ftruncate(growth.cutting, growth.size);
      }
  }
  ::signal(number, SIG_DFL);
  ::raise(number);
}

}  // namespace

SignalsWait::SignalsWait() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before_);
}

SignalsWait::~SignalsWait() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int expect_temporary(const std::string& path) noexcept {
  if (path.size() >= slots[0].path.size()) return -1;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    int expected = vacant;
    if (!slots[i].state.compare_exchange_strong(expected, filling)) continue;
    // Here either the handler sees that this slot is being filled, or this thread sees the handler, and makes nothing any more.
    while (dying.load()) {
      slots[i].state.store(vacant);  // nothing to wait for
      ::pause();
    }
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    return static_cast<int>(i);
  }
  return -1;
}

void remember_temporary(int slot) noexcept {
  if (slot >= 0) slots[static_cast<std::size_t>(slot)].state.store(live);
}

void forget_temporary(int slot) noexcept {
  if (slot >= 0) slots[static_cast<std::size_t>(slot)].state.store(vacant);
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

void restore_signals() noexcept {
  for_ending_signals([](int number, auto action) {
    if (action != SIG_IGN) ::signal(number, SIG_DFL);
  });
}

void install_signal_cleanup() {
  owner = ::getpid();
  for_ending_signals([](int number, auto old) {
    if (old != SIG_DFL) return;  // nohup, a host's own handler
    struct sigaction action {};
    action.sa_handler = remove_and_die;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
  });
  ::signal(SIGXFSZ, SIG_IGN);  // a write past the file size limit then fails with EFBIG
}

}  // namespace posenc::formats
