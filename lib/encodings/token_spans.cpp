#include "encodings/token_spans.hpp"

#include <fmt/format.h>

#include <cmath>

#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

constexpr std::string_view form = "text:N, image:1xHxW or video:TxHxW@SECONDS, joined by commas";

[[noreturn]] void refuse(std::string_view what, std::string_view item) {
  fail_usage(fmt::format("{} wants {}, got {}", what, form, quoted_word(item)));
}

// "TxHxW" into three sizes.
void parse_grid(TokenSpan& span, std::string_view grid, std::string_view item, std::string_view what) {
  std::int64_t* const sizes[] = {&span.grids, &span.height, &span.width};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t x = grid.find('x');
    if ((x == std::string_view::npos) != (i == 2)) refuse(what, item);
    *sizes[i] = parse_int(grid.substr(0, x), fmt::format("a size in {}", what));
    grid.remove_prefix(x == std::string_view::npos ? grid.size() : x + 1);
  }
}

TokenSpan parse_span(std::string_view item, std::string_view what) {
  const std::size_t colon = item.find(':');
  if (colon == std::string_view::npos) refuse(what, item);
  const std::string_view kind = item.substr(0, colon);
  std::string_view size = item.substr(colon + 1);
  TokenSpan span;
  if (kind == "text") {
    span.width = parse_int(size, fmt::format("a text in {}", what), true);
    return span;
  }
  if (kind != "image" && kind != "video") refuse(what, item);
  span.kind = kind == "image" ? TokenSpanKind::image : TokenSpanKind::video;
  if (const std::size_t at = size.find('@'); at != std::string_view::npos) {
    if (span.kind == TokenSpanKind::image) refuse(what, item);
    span.seconds = parse_real(size.substr(at + 1), fmt::format("the seconds of a video in {}", what));
    size = size.substr(0, at);
  }
  parse_grid(span, size, item, what);
  return span;
}

}  // namespace

TokenSpans TokenSpans::parse(std::string_view text, std::string_view what) {
  TokenSpans out;
  while (true) {
    const std::size_t comma = text.find(',');
    out.spans.push_back(parse_span(text.substr(0, comma), what));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  out.check(what);
  return out;
}

std::string TokenSpans::text() const {
  std::string out;
  for (const TokenSpan& s : spans) {
    if (!out.empty()) out += ',';
    if (s.kind == TokenSpanKind::text) {
      out += fmt::format("text:{}", s.width);
      continue;
    }
    out += fmt::format("{}:{}x{}x{}", s.kind == TokenSpanKind::image ? "image" : "video", s.grids, s.height, s.width);
    if (s.seconds != 1) out += "@" + print(s.seconds);
  }
  return out;
}

void TokenSpans::check(std::string_view what) const {
  if (spans.empty()) fail_usage(fmt::format("{} wants at least one span, such as text:8", what));
  std::int64_t total = 0;
  for (const TokenSpan& s : spans) {
    const TokenSpans one{{s}};
    for (const std::int64_t size : {s.grids, s.height, s.width})
      if (size < 1 || size > max_tokens) fail_usage(fmt::format("{}: sizes in {} must be from 1 to {}", what, one.text(), max_tokens));
    if (s.kind == TokenSpanKind::image && s.grids != 1)
      fail_usage(fmt::format("{}: an image is one grid, got {}; several grids are a video", what, one.text()));
    if (!(s.seconds >= 0) || !std::isfinite(s.seconds)) fail_usage(fmt::format("{}: the seconds in {} must be 0 or more", what, one.text()));
    if (s.grids * s.height > max_tokens || s.tokens() > max_tokens || (total += s.tokens()) > max_tokens)
      fail_usage(fmt::format("{} holds more than {} tokens", what, max_tokens));
  }
}

}  // namespace posenc
