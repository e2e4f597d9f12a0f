// rope_3d: rotary position embedding over frame, row and column of a video patch (V-JEPA 2, Assran et al. 2025,
// arXiv:2506.09985, section 2.1; facebookresearch/vjepa2 RoPEAttention).
//
// Each axis has a = 2 ((head_dim // 3) // 2) lanes, in the order frame, row, column; pair i of an axis turns by angle
// c base^(-2i / a), c the token's coordinate. The head_dim - 3a lanes that are left do not turn.
//   layout interleaved   lanes 2i and 2i + 1 of an axis alike, which its rotation of adjacent lanes asks for
//   layout axis-halves   as released: lanes i and i + a / 2 of an axis alike, under the same rotation of adjacent lanes. The
//                        result is no rotation: scores do not depend on distances alone. Checkpoints are trained with it.
#pragma once
#include <memory>

#include "axial_rope.hpp"

namespace posenc {

enum class Rope3dRest : std::uint8_t { left_out, zero };
template <>
struct EnumNames<Rope3dRest> {
  static constexpr std::array<EnumName<Rope3dRest>, 2> values{{
      {Rope3dRest::left_out, "left-out", "rows end with the lanes that turn: V-JEPA 2, which copies the others"},
      {Rope3dRest::zero, "zero", "rows have head_dim lanes; those that do not turn have angle 0"},
  }};
};

struct Rope3d {
  static constexpr std::string_view name = "rope_3d";
  static constexpr std::string_view summary = "rotary position embedding over frame, row and column of a video patch";
  static constexpr std::string_view source = "Assran et al. 2025, arXiv:2506.09985 (V-JEPA 2)";

  RotaryPart part = RotaryPart::cos_sin;
  std::int64_t head_dim = 64;
  std::int64_t frames = 4, height = 8, width = 8;
  double base = 10000;
  RotaryLayout layout = RotaryLayout::half_width;
  Rope3dRest rest = Rope3dRest::left_out;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which tensors"}, s.part);
    v(Field{.name = "head_dim", .metavar = "N", .help = "width of one head, even, at least 6", .unit = "lanes", .range = between(6, 1 << 16)},
      s.head_dim);
    v(Field{.name = "frames", .metavar = "N", .help = "frames of the grid, in patches (tubelets)", .unit = "patches",
            .range = between(1, 1 << 20), .count = true},
      s.frames);
    v(Field{.name = "height", .metavar = "N", .help = "rows of the grid", .unit = "patches", .range = between(1, 1 << 20), .count = true},
      s.height);
    v(Field{.name = "width", .metavar = "N", .help = "columns of the grid", .unit = "patches", .range = between(1, 1 << 20), .count = true},
      s.width);
    v(Field{.name = "base", .metavar = "X", .help = "pair i of an axis' a lanes turns by base^(-2i / a) radians per coordinate", .range = positive,
            .source = "V-JEPA 2: 10000"},
      s.base);
    v(Field{.name = "layout", .metavar = "NAME", .help = "how pairs lie in the lanes of a row; V-JEPA 2 as released: axis-halves"}, s.layout);
    v(Field{.name = "rest", .metavar = "NAME", .help = "what becomes of the lanes that do not turn"}, s.rest);
  }

  void check() const;
  /// `cos` and `sin`, `sin_cos` or `angles` [token, lane or pair], `freqs_cis` [token, pair], `inv_freq` [pair],
  /// `coordinates` [axis, token].
  [[nodiscard]] std::vector<Tensor> tensors() const { return axial().tensors(); }
  [[nodiscard]] std::vector<Law> laws() const;
  /// Lanes of one axis.
  [[nodiscard]] std::int64_t axis_dim() const { return 2 * (head_dim / 3 / 2); }
  [[nodiscard]] detail::AxialRope axial() const;
  [[nodiscard]] detail::AxialRopeTable table() const { return detail::AxialRopeTable(axial()); }
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Rope3d& encoding);

}  // namespace posenc
