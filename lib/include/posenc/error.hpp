// The one exception type of posenc. A message is one sentence: what, where, what to do.
#pragma once
#include <stdexcept>
#include <string>

namespace posenc {

/// What went wrong; the value is the exit status of the command line.
enum class Failure : int {
  difference = 1,  ///< verify, diff or identify found a difference
  usage = 2,       ///< a spec or an argument makes no sense
  bad_input = 3,   ///< an input file breaks its format
  system = 4,      ///< the operating system refused (disk full, permission)
};

class Error : public std::runtime_error {
 public:
  Error(Failure failure, const std::string& sentence) : std::runtime_error(sentence), failure_(failure) {}
  [[nodiscard]] Failure failure() const noexcept { return failure_; }
  [[nodiscard]] int exit_status() const noexcept { return static_cast<int>(failure_); }

 private:
  Failure failure_;
};

[[noreturn]] void fail_usage(const std::string& sentence);
[[noreturn]] void fail_input(const std::string& sentence);
/// Appends the meaning of `error_number` (an errno) to the sentence.
[[noreturn]] void fail_system(const std::string& sentence, int error_number);

}  // namespace posenc
