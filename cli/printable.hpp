// Text from outside, made fit for a terminal.
#pragma once
#include <string>
#include <string_view>

namespace posenc::cli {

/// One line of UTF-8: control characters and bytes that are no UTF-8 become \xNN, a line break \n.
std::string printable(std::string_view text);

}  // namespace posenc::cli
