#include "posenc/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "posenc/error.hpp"

namespace posenc {
namespace {

[[noreturn]] void refuse(std::string_view what, std::string_view wanted, std::string_view text) {
  fail_usage(fmt::format("{} wants {}, got {}", what, wanted, quoted_word(text)));
}

// from_chars takes no leading '+'.
std::string_view without_plus(std::string_view text) {
  return text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+' ? text.substr(1) : text;
}

// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::int64_t parse_int(std::string_view text, std::string_view what, bool count) {
  const std::string_view wanted = count ? "an integer (1e6, 128k and 1M are allowed)" : "an integer";
  std::string_view body = without_plus(text);
  std::int64_t unit = 1;
  if (count && !body.empty()) {
    switch (body.back()) {
      case 'k': case 'K': unit = std::int64_t{1} << 10; break;
      case 'M': unit = std::int64_t{1} << 20; break;
      case 'G': unit = std::int64_t{1} << 30; break;
      default: break;
    }
    if (unit != 1) body.remove_suffix(1);
  }
  std::int64_t value = 0;
  const char* end = body.data() + body.size();
  auto [stop, code] = std::from_chars(body.data(), end, value);
  if (code == std::errc::result_out_of_range) refuse(what, "an integer below 2^63 in magnitude", text);
  if (code == std::errc{} && stop != end && count && unit == 1) {  // 1e6: a real that happens to be whole
    double real = 0;
    auto [real_stop, real_code] = std::from_chars(body.data(), end, real);
    const bool huge = real_code == std::errc::result_out_of_range && body.find("e-") == std::string_view::npos && body.find("E-") == std::string_view::npos;
    const bool whole = real_stop == end && (huge || (real_code == std::errc{} && real == std::floor(real)));
    if (whole && (real_code != std::errc{} || std::abs(real) > 9007199254740992.0)) refuse(what, "an integer up to 2^53 in magnitude", text);
    if (whole) return static_cast<std::int64_t>(real);
  }
  if (code != std::errc{} || stop != end) refuse(what, wanted, text);
  if (__builtin_mul_overflow(value, unit, &value)) refuse(what, "an integer below 2^63 in magnitude", text);
  return value;
}

double parse_real(std::string_view text, std::string_view what) {
  const std::string_view body = without_plus(text);
  double value = 0;
  const char* end = body.data() + body.size();
  const auto [stop, code] = std::from_chars(body.data(), end, value);
  if (code == std::errc::result_out_of_range) refuse(what, "a number in the range of a double", text);
  if (code != std::errc{} || stop != end || !std::isfinite(value)) refuse(what, "a finite number", text);
  return value;
}

bool parse_bool(std::string_view text, std::string_view what) {
  for (std::string_view yes : {"true", "yes", "on", "1"})
    if (text == yes) return true;
  for (std::string_view no : {"false", "no", "off", "0"})
    if (text == no) return false;
  refuse(what, "true or false", text);
}

std::vector<double> parse_reals(std::string_view text, std::string_view what) {
  std::vector<double> values;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    values.push_back(parse_real(text.substr(0, comma), what));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) refuse(what, "a number after the last comma", "");
  }
  return values;
}

std::string print(std::int64_t value) { return std::to_string(value); }

std::string print(double value) {
  // People write 500000 and 0.0001, not 5e+05 and 1e-04; the shortest digits either way.
  char buffer[40];
  const double magnitude = std::abs(value);
  const bool plain = magnitude == 0 || (magnitude >= 1e-5 && magnitude < 1e16);
  const auto result = plain ? std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed)
                            : std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

std::string print(bool value) { return value ? "true" : "false"; }

std::string print(std::span<const double> values) {
  std::string text;
  for (double value : values) {
    if (!text.empty()) text += ',';
    text += print(value);
  }
  return text;
}

std::string quoted_word(std::string_view word) {
  constexpr std::size_t shown = 60;
  return fmt::format("'{}{}'", word.substr(0, shown), word.size() > shown ? "..." : "");
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  if (word.size() > 64) return best;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  const std::size_t allowed = std::max<std::size_t>(1, word.size() / 3);
  if (least > allowed) best.reset();
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const auto best = nearest(word, candidates);
  return best ? "; did you mean '" + *best + "'?" : "";
}

std::string one_of(std::span<const std::string> candidates) {
  std::string text;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i > 0) text += i + 1 == candidates.size() ? " or " : ", ";
    text += candidates[i];
  }
  return text;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace posenc
