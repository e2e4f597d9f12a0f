#pragma once
#include <string_view>

namespace posenc::formats {

/// Well-formed UTF-8: no overlong form, no surrogate, nothing above U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace posenc::formats
