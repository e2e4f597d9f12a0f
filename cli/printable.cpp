#include "printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace posenc::cli {
namespace {

// Bytes of the character that `text` begins with; 0 when it begins with none (RFC 3629).
std::size_t character(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  const std::size_t size = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
  if (size == 0 || size > text.size()) return 0;
  code = size == 1 ? first : first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 2) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return code < least[size] || surrogate || code > 0x10FFFF ? 0 : size;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::uint32_t code = 0;
    std::size_t size = character(text, code);
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);  // of ASCII, and of Latin 1, which terminals obey too
    if (size > 0 && !control) {
      out += text.substr(0, size);
    } else if (text[0] == '\n') {
      out += "\\n";
      size = 1;
    } else {
      size = std::max<std::size_t>(size, 1);
      for (const char c : text.substr(0, size)) out += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace posenc::cli
