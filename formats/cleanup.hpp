// The unfinished files of this process, so that a signal can remove them or what was added to them, and signals made to wait.
// The tables are lock-free.
#pragma once
#include <signal.h>

#include <cstdint>
#include <string>

namespace posenc::formats {

/// Signals wait in this thread as long as one lives.
class SignalsWait {
 public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_{};
};

/// A temporary file is about to be made, while SignalsWait: a signal that another thread takes waits for what comes of it. Returns
/// its slot in the table, or -1 when that is full or the path too long (then a signal leaves the file).
int expect_temporary(const std::string& absolute_path) noexcept;
/// It is there, and a signal removes it.
void remember_temporary(int slot) noexcept;
/// It is gone, under its final name, or was never made.
void forget_temporary(int slot) noexcept;

/// A file that grows: a signal closes `writing`, through which the bytes come, and cuts the file back to `size` through `cutting`,
/// another descriptor of it. Slots as above.
int remember_growth(int writing, int cutting, std::uint64_t size) noexcept;
void forget_growth(int slot) noexcept;

/// Gives every signal that ends a process its default action again unless it is ignored: in a child, whose end says what happened.
void restore_signals() noexcept;

}  // namespace posenc::formats
