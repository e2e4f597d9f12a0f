// mrope: multimodal rotary position embedding (Qwen2-VL: Wang et al. 2024, arXiv:2409.12191, section 2.1).
//
// A token has three position ids: time, height and width. Pair i of the rotary table turns by id[axis(i)] * inv_freq[i]:
//   arrangement chunked       the pairs in three runs of mrope_section = (t, h, w) pairs: Qwen2-VL, Qwen2.5-VL, GLM-4.1V
//   arrangement interleaved   pairs 1, 4, 7, .. below 3h of the height, 2, 5, 8, .. below 3w of the width, the others of the
//                             time: Qwen3-VL, timm. What reaches beyond the last pair is cut off
// Ids come from position_ids, [3, position], or from spans, in order; each starts at the next id, from 0:
//   a text                    counts on all three axes at once
//   an image                  has one time; height and width count its rows and columns
//   a video                   the same for each grid; time counts the grids, or is int(grid * seconds * tokens_per_second)
// The next id is the largest so far + 1, or start + max(height, width) in newer code (next_text). Equal ids on all axes are plain
// RoPE.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "../rescale/geometry.hpp"
#include "token_spans.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class MropePart : std::uint8_t { rotation, angles, position_ids, axis };
template <>
struct EnumNames<MropePart> {
  static constexpr std::array<EnumName<MropePart>, 4> values{{
      {MropePart::rotation, "rotation", "cos and sin, in the layout"},
      {MropePart::angles, "angles", "angles [position, pair], radians, not reduced"},
      {MropePart::position_ids, "position-ids", "position_ids [axis, position]: time, height, width"},
      {MropePart::axis, "axis", "axis [pair]: 0 time, 1 height, 2 width"},
  }};
};

enum class MropeLayout : std::uint8_t { half_width, half, interleaved, cache, sin_cos };
template <>
struct EnumNames<MropeLayout> {
  static constexpr std::array<EnumName<MropeLayout>, 5> values{{
      {MropeLayout::half_width, "half-width", "cos, sin [position, pair]"},
      {MropeLayout::half, "half", "cos, sin [position, lane], tiled: lanes i and i + pairs alike (Qwen2-VL, Qwen3-VL)"},
      {MropeLayout::interleaved, "interleaved", "cos, sin [position, lane], repeated: lanes 2i and 2i + 1 alike (GLM-4.1V)"},
      {MropeLayout::cache, "cache", "cos_sin [position, lane] = [cos | sin], a pair once in each (FlashInfer)"},
      {MropeLayout::sin_cos, "sin-cos", "sin_cos [position, lane] = [sin | cos], each tiled (timm)"},
  }};
};

enum class MropeArrangement : std::uint8_t { chunked, interleaved };
template <>
struct EnumNames<MropeArrangement> {
  static constexpr std::array<EnumName<MropeArrangement>, 2> values{{
      {MropeArrangement::chunked, "chunked", "runs of pairs for time, height, width: Qwen2-VL, Qwen2.5-VL, GLM-4.1V"},
      {MropeArrangement::interleaved, "interleaved", "time, height, width in turn, then the time: Qwen3-VL (mrope_interleaved), timm"},
  }};
};

enum class MropeNextText : std::uint8_t { largest, grid };
template <>
struct EnumNames<MropeNextText> {
  static constexpr std::array<EnumName<MropeNextText>, 2> values{{
      {MropeNextText::largest, "largest", "the largest id so far + 1: the paper, Qwen2-VL, Qwen2.5-VL"},
      {MropeNextText::grid, "grid", "start of the image or video + max(height, width): newer Hugging Face code"},
  }};
};

enum class MropeSeconds : std::uint8_t { exact, float32, whole };
template <>
struct EnumNames<MropeSeconds> {
  static constexpr std::array<EnumName<MropeSeconds>, 3> values{{
      {MropeSeconds::exact, "exact", "the product of the decimal numbers as written, cut to an integer"},
      {MropeSeconds::float32, "float32", "each product rounded to binary32: Qwen2.5-VL's first code"},
      {MropeSeconds::whole, "whole", "seconds are cut to an integer first: Hugging Face code that gives them the ids' integer dtype"},
  }};
};

struct Mrope {
  static constexpr std::string_view name = "mrope";
  static constexpr std::string_view summary = "multimodal rotary embedding: pairs turn with time, height or width";
  static constexpr std::string_view source = "Qwen2-VL: Wang et al. 2024, arXiv:2409.12191, section 2.1";

  MropePart output = MropePart::rotation;
  MropeLayout layout = MropeLayout::half;
  std::int64_t head_dim = 128;
  std::optional<std::int64_t> rotary_dim{};
  double base = 1000000;
  std::vector<double> inv_freq{};
  std::vector<double> mrope_section{};
  MropeArrangement arrangement = MropeArrangement::chunked;
  std::optional<TokenSpans> spans{};
  MropeNextText next_text = MropeNextText::largest;
  std::int64_t spatial_merge_size = 1;
  std::optional<double> tokens_per_second{};
  MropeSeconds seconds = MropeSeconds::exact;
  Array position_ids{};
  std::int64_t offset = 0;
  double attention_factor = 1;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which tensor"}, s.output);
    v(Field{.name = "layout", .metavar = "NAME", .help = "how pairs lie in cos and sin"}, s.layout);
    v(Field{.name = "head_dim", .metavar = "N", .help = "width of one head", .unit = "lanes", .range = between(1, 1 << 16)}, s.head_dim);
    v(Field{.name = "rotary_dim", .metavar = "N", .help = "lanes that turn, even; absent: head_dim", .unit = "lanes",
            .range = between(2, 1 << 16), .source = "GLM-4.1V: head_dim * partial_rotary_factor"},
      s.rotary_dim);
    v(Field{.name = "base", .metavar = "X", .help = "base of the geometric series of frequencies (rope_theta)", .range = positive,
            .source = "Qwen2-VL, Qwen2.5-VL: 1000000; Qwen3-VL: 5000000; timm: 10000"},
      s.base);
    v(Field{.name = "inv_freq", .metavar = "LIST", .help = "explicit frequencies, one per pair, instead of base",
            .unit = "radians per position", .range = at_least(0), .source = "a checkpoint's inv_freq buffer, rescaled frequencies"},
      s.inv_freq);
    v(Field{.name = "mrope_section", .metavar = "LIST",
            .help = "pairs for time, height, width; absent: 3/8 of them, rounded down, for height and width each, the rest for time",
            .unit = "pairs", .range = between(0, 1 << 16), .source = "config.rope_scaling.mrope_section; Qwen2-VL: 16,24,24"},
      s.mrope_section);
    v(Field{.name = "arrangement", .metavar = "NAME", .help = "which pairs an axis has"}, s.arrangement);
    v(Field{.name = "spans", .metavar = "SPANS", .help = "the tokens: text:N, image:1xHxW, video:TxHxW@SECONDS, joined by commas; absent: text:2048"},
      s.spans);
    v(Field{.name = "next_text", .metavar = "NAME", .help = "the id after an image or a video"}, s.next_text);
    v(Field{.name = "spatial_merge_size", .metavar = "N",
            .help = "heights and widths are divided by it; 1: spans give grids of tokens rather than of patches", .range = between(1, 1 << 16),
            .source = "config.vision_config.spatial_merge_size: 2"},
      s.spatial_merge_size);
    v(Field{.name = "tokens_per_second", .metavar = "X", .help = "ids per second of a video; absent: one id per grid", .range = at_least(0),
            .source = "Qwen2.5-VL: config.vision_config.tokens_per_second, 2 or 4"},
      s.tokens_per_second);
    v(Field{.name = "seconds", .metavar = "NAME", .help = "how grid * seconds * tokens_per_second is computed"}, s.seconds);
    v(Field{.name = "position_ids", .metavar = "FILE", .help = "ids of time, height and width, [3, position], integers, instead of spans",
            .range = between(-0x1p53, 0x1p53)},
      s.position_ids);
    v(Field{.name = "offset", .metavar = "N", .help = "added to every id", .unit = "positions", .range = between(-0x1p52, 0x1p52),
            .source = "cached decode, with rope_deltas", .count = true},
      s.offset);
    v(Field{.name = "attention_factor", .metavar = "X", .help = "amplitude multiplied into cos and sin", .range = positive,
            .source = "rope_scaling.attention_factor"},
      s.attention_factor);
  }

  void check() const;
  /// `cos` and `sin`, `cos_sin` or `sin_cos` (MropeLayout); `angles`; `position_ids`; `axis` (MropePart).
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  static TokenSpans default_spans() { return TokenSpans::text_only(2048); }
  /// Columns of a half-width table.
  [[nodiscard]] std::int64_t pairs() const { return rotary_dim.value_or(head_dim) / 2; }
  /// Pairs for time, height and width, given or by default.
  [[nodiscard]] std::array<std::int64_t, 3> sections() const;
  /// inv_freq of a pair, radians per id.
  template <class T>
  [[nodiscard]] T frequency(std::int64_t pair) const {
    if (!inv_freq.empty()) return T::of(inv_freq[static_cast<std::size_t>(pair)]);
    return rescale::plain_inv_freq(RopeGeometry{head_dim, 2 * pairs(), 2 * pairs(), base, 0}, T::of(base), pair);
  }
  /// 0, 1 or 2: time, height, width.
  [[nodiscard]] std::int64_t axis(std::int64_t pair) const;

  /// What a column of rotation number `tensor` holds.
  struct Column {
    std::int64_t pair;
    bool sine;
  };
  [[nodiscard]] Column column(std::size_t tensor, std::int64_t c) const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes an Mrope's values. Copies share their state.
class Mrope::Table {
 public:
  explicit Table(const Mrope& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;
  [[nodiscard]] std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Mrope& encoding);

}  // namespace posenc
