// Scratch that a thread keeps from call to call, for the owner that it last worked for. An owner's number never comes
// again, so what a gone owner left behind is never touched.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

namespace posenc::num {

inline std::uint64_t new_owner() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// This thread's T for `owner`; make() gives a std::unique_ptr<T> when the thread has none.
template <class T, class Make>
T& kept_for(std::uint64_t owner, Make&& make) {
  thread_local std::uint64_t holder = 0;
  thread_local std::unique_ptr<T> kept;
  if (holder != owner) {
    holder = 0;
    kept = make();
    holder = owner;
  }
  return *kept;
}

}  // namespace posenc::num
