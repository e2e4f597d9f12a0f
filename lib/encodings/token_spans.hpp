// A sequence of tokens as spans of text, images and videos, in one text:
//   text:N            N tokens
//   image:1xHxW       H rows of W tokens (image_grid_thw)
//   video:TxHxW       T grids of H rows of W tokens (video_grid_thw); video:TxHxW@S says the seconds from a grid to the next
// joined by commas: "text:3,image:1x2x3,text:2,video:3x2x2@0.5".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace posenc {

enum class TokenSpanKind : std::uint8_t { text, image, video };

struct TokenSpan {
  TokenSpanKind kind = TokenSpanKind::text;
  std::int64_t grids = 1, height = 1, width = 1;  ///< a text is one row of `width` tokens
  double seconds = 1;                             ///< of a video, from one grid to the next
  [[nodiscard]] std::int64_t tokens() const { return grids * height * width; }
  bool operator==(const TokenSpan&) const = default;
};

struct TokenSpans {
  std::vector<TokenSpan> spans;

  static constexpr std::int64_t max_tokens = std::int64_t{1} << 24;  ///< of all spans together
  static TokenSpans text_only(std::int64_t tokens) { return {{{.width = tokens}}}; }
  /// Throws usage naming `what` for anything that is not exactly the form above.
  static TokenSpans parse(std::string_view text, std::string_view what);
  /// The shortest text that parses back to the same spans.
  [[nodiscard]] std::string text() const;
  /// Throws usage for sizes below 1, images of several grids, or more than max_tokens.
  void check(std::string_view what) const;
  bool operator==(const TokenSpans&) const = default;
};

}  // namespace posenc
