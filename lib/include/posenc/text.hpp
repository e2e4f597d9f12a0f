// Text <-> value: the one place where a word from outside is parsed and the one place where it is printed.
// Numbers go through from_chars/to_chars: whole or not at all, and the shortest text that reads back to the same bits.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace posenc {

/// A decimal integer with optional sign; `count` also allows 1e6 and the suffixes k = 1024, M = 1024^2, G = 1024^3.
/// Throws usage: "`what` wants an integer, got `text`".
std::int64_t parse_int(std::string_view text, std::string_view what, bool count = false);
/// A finite decimal number; throws usage otherwise (nan, inf, hex, trailing characters, out of range).
double parse_real(std::string_view text, std::string_view what);
/// true|false (also yes|no, on|off, 1|0).
bool parse_bool(std::string_view text, std::string_view what);
/// Comma-separated reals; empty text is an empty list.
std::vector<double> parse_reals(std::string_view text, std::string_view what);

std::string print(std::int64_t value);
std::string print(double value);
std::string print(bool value);
std::string print(std::span<const double> values);

/// A word from outside as it may stand in a message: in quotes, cut to 60 characters.
std::string quoted_word(std::string_view word);

/// The candidate nearest to `word` by edit distance, when near enough to be a slip of the finger.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);
/// "; did you mean X?" or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);
/// "a, b or c".
std::string one_of(std::span<const std::string> candidates);
/// 1536 -> "1.5 KiB".
std::string human_bytes(std::uint64_t bytes);

}  // namespace posenc
