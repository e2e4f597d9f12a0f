// What a terminal is spared: control characters and bytes that are no UTF-8.
#include "printable.hpp"

#include "cli/process.hpp"

namespace posenc::test {

using namespace std::string_literals;

TEST_CASE("echoed text is one line of UTF-8") {
  using cli::printable;
  for (const char* plain : {"", "a b", "\u03B8 \u4E2D \U0001F600", "\\x41", "\u00A0"}) CHECK(printable(plain) == plain);
  CHECK(printable("a\nb\tc\x1B[31m\x7F\0"s) == "a\\nb\\x09c\\x1B[31m\\x7F\\x00");
  CHECK(printable("\xC2\x9B") == "\\xC2\\x9B");  // a control character of Latin 1
  // RFC 3629: bare, cut, overlong, surrogate, beyond U+10FFFF.
  CHECK(printable("\xFF") == "\\xFF");
  CHECK(printable("\x80x") == "\\x80x");
  CHECK(printable("\xE4\xB8") == "\\xE4\\xB8");
  CHECK(printable("\xC0\xAF") == "\\xC0\\xAF");
  CHECK(printable("\xED\xA0\x80") == "\\xED\\xA0\\x80");
  CHECK(printable("\xF4\x90\x80\x80") == "\\xF4\\x90\\x80\\x80");
  CHECK(printable("\xC3(") == "\\xC3(");
}

TEST_CASE("wrong words are echoed so, whatever is in them") {
  for (const std::string odd : {"\x1B[31mred", "\xFF\xFE", "a\nb", "\xC2\x9B", "caf\xC3\xA9"})
    for (const Words& words : {Words{"generate", "rope", "--head-dim", odd, "-o", "x.npz"}, Words{"generate", odd}, Words{odd}, Words{"--" + odd}, Words{"inspect", odd + ".npz"},
                               Words{"generate", "rope", "-o", odd}, Words{"generate", "rope", "-o", "x.npz", "--format", odd}, Words{"list", odd}}) {
      const Scratch scratch;
      const Outcome outcome = run(words, {.folder = scratch.path()});
      CHECK((outcome.status == 2 || outcome.status == 4));
      CHECK_MESSAGE((outcome.error_lines() == 1 && cli::printable(outcome.err.substr(0, outcome.err.size() - 1)) + "\n" == outcome.err), outcome.err);
      if (odd == "caf\xC3\xA9") CHECK(mentions(outcome.err, odd));
    }
}

}  // namespace posenc::test
