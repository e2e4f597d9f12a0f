// rope_2d_mixed: rotary position embedding with learnt frequencies on both axes at once (RoPE-ViT, Heo et al. 2024,
// arXiv:2403.13298, section 3.2: RoPE-Mixed; naver-ai/rope-vit, timm RotaryEmbeddingMixed).
//
// Pair p of head h turns by angle  u fu[h, p] + v fv[h, p],  (u, v) = (column, row), or (row, column) with axes yx.
// The frequencies [2, head, pair] are given (learnt), or those that training starts from: with n = head_dim / 4,
// m_i = base^(-i / n) and an angle a of the head,
//   (fu, fv) = m_i (cos a, sin a) for pair i < n,   m_i (cos(a + pi/2), sin(a + pi/2)) for pair n + i
// The published angles are drawn at random, from 0 to 2 pi; here they are given, 0 unless so (the init's rotate off).
#pragma once
#include <memory>
#include <vector>

#include "posenc/array.hpp"
#include "posenc/encoding.hpp"
#include "rotary_layout.hpp"
#include "token_grid.hpp"

namespace posenc {

enum class Rope2dMixedAxes : std::uint8_t { xy, yx };
template <>
struct EnumNames<Rope2dMixedAxes> {
  static constexpr std::array<EnumName<Rope2dMixedAxes>, 2> values{{
      {Rope2dMixedAxes::xy, "xy", "to the column: RoPE-ViT, timm's own models (grid_indexing xy)"},
      {Rope2dMixedAxes::yx, "yx", "to the row: timm with grid_indexing ij"},
  }};
};

struct Rope2dMixed {
  static constexpr std::string_view name = "rope_2d_mixed";
  static constexpr std::string_view summary = "rotary position embedding with learnt frequencies over row and column at once";
  static constexpr std::string_view source = "Heo et al. 2024, arXiv:2403.13298 (RoPE-Mixed)";

  RotaryPart part = RotaryPart::cos_sin;
  std::int64_t num_heads = 1;
  std::int64_t head_dim = 64;
  std::int64_t height = 14, width = 14;
  Array inv_freq{};
  double base = 10;
  std::vector<double> angles{};
  Rope2dMixedAxes axes = Rope2dMixedAxes::xy;
  RotaryLayout layout = RotaryLayout::half_width;
  std::int64_t prefix_rows = 0;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which tensors; inv-freq is [2, head, pair]"}, s.part);
    v(Field{.name = "num_heads", .metavar = "N", .help = "attention heads; unused with inv_freq", .unit = "heads", .range = between(1, 1 << 16)},
      s.num_heads);
    v(Field{.name = "head_dim", .metavar = "N", .help = "width of one head, a multiple of 4; unused with inv_freq", .unit = "lanes",
            .range = between(4, 1 << 16)},
      s.head_dim);
    v(Field{.name = "height", .metavar = "N", .help = "rows of the grid", .unit = "patches", .range = between(1, 1 << 20), .count = true},
      s.height);
    v(Field{.name = "width", .metavar = "N", .help = "columns of the grid", .unit = "patches", .range = between(1, 1 << 20), .count = true},
      s.width);
    v(Field{.name = "inv_freq", .metavar = "FILE", .help = "learnt frequencies, [2, num_heads, head_dim / 2]; absent: those that training starts from",
            .unit = "radians per patch", .source = "RoPE-ViT, timm: freqs of one layer"},
      s.inv_freq);
    v(Field{.name = "base", .metavar = "X", .help = "base of the start's geometric series (rope_theta); unused with inv_freq", .range = positive,
            .source = "RoPE-ViT, timm: 10"},
      s.base);
    v(Field{.name = "angles", .metavar = "LIST", .help = "the start's direction of each head; absent: 0; unused with inv_freq", .unit = "radians",
            .source = "naver-ai/rope-vit, init_random_2d_freqs"},
      s.angles);
    v(Field{.name = "axes", .metavar = "NAME", .help = "what the first of the two frequencies belongs to"}, s.axes);
    v(Field{.name = "layout", .metavar = "NAME", .help = "how pairs lie in the lanes of a row"}, s.layout);
    v(Field{.name = "prefix_rows", .metavar = "N", .help = "rows of angle 0 before the grid", .unit = "rows", .range = between(0, 1 << 20),
            .source = "class and register tokens"},
      s.prefix_rows);
  }

  void check() const;
  /// `cos` and `sin`, `sin_cos` or `angles` [head, token, lane or pair], `freqs_cis` [head, token, pair],
  /// `inv_freq` [2, head, pair], `coordinates` [token, axis].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] std::int64_t heads() const { return inv_freq.shape.size() == 3 ? inv_freq.shape[1] : num_heads; }
  [[nodiscard]] std::int64_t pairs() const { return inv_freq.shape.size() == 3 ? inv_freq.shape[2] : head_dim / 2; }
  /// axis-halves tiles each half of the pairs, which belong to one axis where angles are 0.
  [[nodiscard]] detail::RotaryRow row() const { return {part, layout, pairs(), pairs() / 2}; }
  [[nodiscard]] detail::TokenGrid grid() const { return {.height = height, .width = width, .prefix_rows = prefix_rows}; }

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a Rope2dMixed's values. Copies share their state.
class Rope2dMixed::Table {
 public:
  explicit Table(const Rope2dMixed& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;
  std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Rope2dMixed& encoding);

}  // namespace posenc
