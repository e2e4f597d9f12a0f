// rope_2d: rotary position embedding over the row and the column of a patch (axial 2-D RoPE).
//
// Half of the head_dim / 2 pairs turn with each coordinate; axial_rope.hpp has the formulas. The implementations, as
// parameters (head_dim is the width of a head; EVA-02's and Qwen2-VL's own `dim` is half of it):
//   timm RotaryEmbeddingCat(dim = head_dim)    in_pixels false: layout interleaved; grid_indexing xy: axes xy; ref_feat_shape: reference_*
//                                              in_pixels: coordinates linspace, frequencies pixel, max_freq = max_res
//   RoPE-ViT axial                             base 100, axes xy, part complex
//   EVA-02 VisionRotaryEmbeddingFast           layout interleaved, reference_* = pt_seq_len where the grid is another
//   Pixtral                                    frequencies alternating, layout half; part coordinates, max_patches_per_side = image_size / patch_size
//   Llama 4 vision                             axes xy, grid_offset 1, suffix_rows 1 (class token), part complex
//   Qwen2-VL vision, rot_pos_emb               layout half, spatial_merge_size 2, frames = grid_t
//   DINOv3                                     base 100, coordinates centres, layout half
//   Gemma 4 vision                             base 100, axes xy, layout axis-halves
#pragma once
#include <memory>
#include <optional>

#include "axial_rope.hpp"

namespace posenc {

enum class Rope2dAxes : std::uint8_t { yx, xy };
template <>
struct EnumNames<Rope2dAxes> {
  static constexpr std::array<EnumName<Rope2dAxes>, 2> values{{
      {Rope2dAxes::yx, "yx", "the row comes first: timm, EVA-02, Qwen2-VL, Pixtral, DINOv3"},
      {Rope2dAxes::xy, "xy", "the column comes first: RoPE-ViT, Llama 4, Gemma 4, timm with grid_indexing xy"},
  }};
};

struct Rope2d {
  static constexpr std::string_view name = "rope_2d";
  static constexpr std::string_view summary = "rotary position embedding over the row and the column of a patch";
  static constexpr std::string_view source = "Heo et al. 2024, arXiv:2403.13298 (RoPE-ViT); Fang et al. 2023, arXiv:2303.11331 (EVA-02)";

  RotaryPart part = RotaryPart::cos_sin;
  std::int64_t head_dim = 64;
  std::int64_t height = 14, width = 14;
  double base = 10000;
  AxialFrequencies frequencies = AxialFrequencies::language;
  double max_freq = 224;
  AxialCoordinates coordinates = AxialCoordinates::index;
  double grid_offset = 0;
  std::optional<std::int64_t> reference_height{}, reference_width{};
  Rope2dAxes axes = Rope2dAxes::yx;
  RotaryLayout layout = RotaryLayout::half_width;
  std::int64_t spatial_merge_size = 1;
  std::int64_t frames = 1;
  std::int64_t prefix_rows = 0, suffix_rows = 0;
  std::optional<std::int64_t> max_patches_per_side{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which tensors"}, s.part);
    v(Field{.name = "head_dim", .metavar = "N", .help = "width of one head, a multiple of 4", .unit = "lanes", .range = between(4, 1 << 16),
            .source = "timm: dim; EVA-02: twice its dim"},
      s.head_dim);
    v(Field{.name = "height", .metavar = "N", .help = "rows of the grid", .unit = "patches", .range = between(1, 1 << 20), .count = true},
      s.height);
    v(Field{.name = "width", .metavar = "N", .help = "columns of the grid", .unit = "patches", .range = between(1, 1 << 20), .count = true},
      s.width);
    v(Field{.name = "base", .metavar = "X", .help = "base of the geometric series of frequencies (rope_theta, temperature); unused with pixel frequencies",
            .range = positive, .source = "timm, EVA-02, Pixtral, Qwen2-VL, Llama 4: 10000; RoPE-ViT, DINOv3, Gemma 4: 100"},
      s.base);
    v(Field{.name = "frequencies", .metavar = "NAME", .help = "angle per coordinate of each pair"}, s.frequencies);
    v(Field{.name = "max_freq", .metavar = "X", .help = "pixel frequencies end at pi max_freq / 2; unused with others", .range = positive,
            .source = "timm: max_res, 224; EVA-02: 10"},
      s.max_freq);
    v(Field{.name = "coordinates", .metavar = "NAME", .help = "what number stands for a row or a column of the grid"}, s.coordinates);
    v(Field{.name = "grid_offset", .metavar = "X", .help = "added to every row and column", .unit = "patches", .range = between(-0x1p40, 0x1p40),
            .source = "timm: grid_offset; Llama 4: 1"},
      s.grid_offset);
    v(Field{.name = "reference_height", .metavar = "N", .help = "rows times this / height, the height of pretraining; absent: not rescaled",
            .unit = "patches", .range = between(1, 1 << 20), .source = "timm: ref_feat_shape; EVA-02: pt_seq_len", .count = true},
      s.reference_height);
    v(Field{.name = "reference_width", .metavar = "N", .help = "columns times this / width, the width of pretraining; absent: not rescaled",
            .unit = "patches", .range = between(1, 1 << 20), .source = "timm: ref_feat_shape; EVA-02: pt_seq_len", .count = true},
      s.reference_width);
    v(Field{.name = "axes", .metavar = "NAME", .help = "which coordinate the first half of the pairs turns with"}, s.axes);
    v(Field{.name = "layout", .metavar = "NAME", .help = "how pairs lie in the lanes of a row"}, s.layout);
    v(Field{.name = "spatial_merge_size", .metavar = "N", .help = "tokens go in blocks of N x N patches, as they are merged later; 1: row by row",
            .unit = "patches", .range = between(1, 1 << 10), .source = "Qwen2-VL: 2"},
      s.spatial_merge_size);
    v(Field{.name = "frames", .metavar = "N", .help = "the grid's rows are repeated for each", .unit = "frames", .range = between(1, 1 << 20),
            .source = "Qwen2-VL: grid_t", .count = true},
      s.frames);
    v(Field{.name = "prefix_rows", .metavar = "N", .help = "rows of angle 0 before the grid", .unit = "rows", .range = between(0, 1 << 20),
            .source = "class and register tokens"},
      s.prefix_rows);
    v(Field{.name = "suffix_rows", .metavar = "N", .help = "rows of angle 0 after the grid", .unit = "rows", .range = between(0, 1 << 20),
            .source = "Llama 4: 1, the class token"},
      s.suffix_rows);
    v(Field{.name = "max_patches_per_side", .metavar = "N",
            .help = "given: part coordinates is one number a token, row * N + column; unused in other parts", .unit = "patches",
            .range = between(1, 1 << 20), .source = "Pixtral: image_size / patch_size"},
      s.max_patches_per_side);
  }

  void check() const;
  /// `cos` and `sin`, `sin_cos` or `angles` [token, lane or pair], `freqs_cis` [token, pair], `inv_freq` [pair],
  /// `coordinates` [token, axis], `position_ids` [token].
  [[nodiscard]] std::vector<Tensor> tensors() const { return axial().tensors(); }
  [[nodiscard]] std::vector<Law> laws() const;
  [[nodiscard]] detail::AxialRope axial() const;
  [[nodiscard]] detail::AxialRopeTable table() const { return detail::AxialRopeTable(axial()); }
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Rope2d& encoding);

}  // namespace posenc
