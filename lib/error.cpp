#include "posenc/error.hpp"

#include <cstring>

namespace posenc {

void fail_usage(const std::string& sentence) { throw Error(Failure::usage, sentence); }
void fail_input(const std::string& sentence) { throw Error(Failure::bad_input, sentence); }
void fail_system(const std::string& sentence, int error_number) {
  throw Error(Failure::system, sentence + ": " + std::strerror(error_number));
}

}  // namespace posenc
