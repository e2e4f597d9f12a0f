// sincos_2d: fixed sines and cosines of the two coordinates of a token on a grid (MAE, timm, DETR).
//
// Half of the channels belong to each coordinate. With n = dim / 4 frequencies f_i = base^(-i / n), a coordinate c has the
// values sin(c f_i) and cos(c f_i). What the implementations are, as parameters:
//   MAE (facebookresearch/mae, also in transformers)   axes xy, layout axis-blocks, prefix_rows = 1 with a class token;
//                     they compute in binary64: arithmetic exact. The helper calls its first half emb_h, but it holds x.
//   timm build_sincos2d_pos_embed                      axes yx, layout function-blocks; interleave_sin_cos: axis-blocks;
//                     reverse_coord: axes xy and tokens column-major
//   DETR PositionEmbeddingSine(F, T, normalize)        dim = 2F, base = T, axes yx, layout interleaved, form image,
//                     coordinates count, or normalized where normalize is on (as DETR is built)
// Coordinate of pixel k of n along an axis:
//   index        k
//   count        the number of unmasked pixels up to and with it: k + 1 without a mask
//   normalized   count / (count of the last pixel of its column or row + eps) * scale, scale 2 pi unless given
#pragma once
#include <memory>
#include <optional>

#include "numeric/real.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class Sincos2dAxes : std::uint8_t { xy, yx };
template <>
struct EnumNames<Sincos2dAxes> {
  static constexpr std::array<EnumName<Sincos2dAxes>, 2> values{{
      {Sincos2dAxes::xy, "xy", "the column comes first: MAE, timm with reverse_coord"},
      {Sincos2dAxes::yx, "yx", "the row comes first: timm, DETR"},
  }};
};

enum class Sincos2dLayout : std::uint8_t { axis_blocks, function_blocks, interleaved };
template <>
struct EnumNames<Sincos2dLayout> {
  static constexpr std::array<EnumName<Sincos2dLayout>, 3> values{{
      {Sincos2dLayout::axis_blocks, "axis-blocks", "[sin a | cos a | sin b | cos b]: MAE, timm with interleave_sin_cos"},
      {Sincos2dLayout::function_blocks, "function-blocks", "[sin a | sin b | cos a | cos b]: timm"},
      {Sincos2dLayout::interleaved, "interleaved", "channels 2i and 2i + 1 of a block hold sin and cos of pair i; block a, then b: DETR"},
  }};
};

enum class Sincos2dTokens : std::uint8_t { row_major, column_major };
template <>
struct EnumNames<Sincos2dTokens> {
  static constexpr std::array<EnumName<Sincos2dTokens>, 2> values{{
      {Sincos2dTokens::row_major, "row-major", "x varies fastest: MAE, timm"},
      {Sincos2dTokens::column_major, "column-major", "y varies fastest: timm with reverse_coord"},
  }};
};

enum class Sincos2dCoordinates : std::uint8_t { index, count, normalized };
template <>
struct EnumNames<Sincos2dCoordinates> {
  static constexpr std::array<EnumName<Sincos2dCoordinates>, 3> values{{
      {Sincos2dCoordinates::index, "index", "0, 1, 2, ...: MAE, timm"},
      {Sincos2dCoordinates::count, "count", "1, 2, 3, ..., masked pixels not counted: DETR without normalize"},
      {Sincos2dCoordinates::normalized, "normalized", "count / (last count + eps) * scale: DETR with normalize"},
  }};
};

enum class Sincos2dForm : std::uint8_t { tokens, image };
template <>
struct EnumNames<Sincos2dForm> {
  static constexpr std::array<EnumName<Sincos2dForm>, 2> values{{
      {Sincos2dForm::tokens, "tokens", "table [token, channel]: MAE, timm"},
      {Sincos2dForm::image, "image", "table [channel, y, x]: DETR"},
  }};
};

struct Sincos2d {
  static constexpr std::string_view name = "sincos_2d";
  static constexpr std::string_view summary = "fixed sines and cosines of the row and the column of a token on a grid";
  static constexpr std::string_view source = "He et al. 2021, arXiv:2111.06377 (MAE); Carion et al. 2020, arXiv:2005.12872 (DETR)";

  std::int64_t dim = 768;
  std::int64_t height = 14, width = 14;
  double base = 10000;
  Sincos2dAxes axes = Sincos2dAxes::xy;
  Sincos2dLayout layout = Sincos2dLayout::axis_blocks;
  Sincos2dTokens tokens = Sincos2dTokens::row_major;
  Sincos2dCoordinates coordinates = Sincos2dCoordinates::index;
  std::optional<double> scale{};
  double eps = 1e-6;
  Array mask{};
  Sincos2dForm form = Sincos2dForm::tokens;
  std::int64_t prefix_rows = 0;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "dim", .metavar = "N", .help = "width of a row, a multiple of 4; DETR's num_pos_feats is half of it", .unit = "channels",
            .range = between(4, 1 << 16)},
      s.dim);
    v(Field{.name = "height", .metavar = "N", .help = "rows of the grid", .unit = "tokens", .range = between(1, 1 << 20), .count = true},
      s.height);
    v(Field{.name = "width", .metavar = "N", .help = "columns of the grid", .unit = "tokens", .range = between(1, 1 << 20), .count = true},
      s.width);
    v(Field{.name = "base", .metavar = "X", .help = "frequency i of n = dim / 4 is base^(-i / n) radians per coordinate",
            .range = positive, .source = "MAE: 10000; timm, DETR: temperature"},
      s.base);
    v(Field{.name = "axes", .metavar = "NAME", .help = "which coordinate comes first in a row"}, s.axes);
    v(Field{.name = "layout", .metavar = "NAME", .help = "how sines and cosines of the first coordinate a and the second b lie in a row"},
      s.layout);
    v(Field{.name = "tokens", .metavar = "NAME", .help = "in which order the rows of the table walk the grid"}, s.tokens);
    v(Field{.name = "coordinates", .metavar = "NAME", .help = "what number stands for a row or a column of the grid"}, s.coordinates);
    v(Field{.name = "scale", .metavar = "X", .help = "factor on normalized coordinates; absent: 2 pi", .unit = "radians",
            .range = positive, .source = "DETR: scale"},
      s.scale);
    v(Field{.name = "eps", .metavar = "X", .help = "added to the last count before dividing by it", .range = at_least(0),
            .source = "DETR: 1e-6"},
      s.eps);
    v(Field{.name = "mask", .metavar = "FILE", .help = "[height, width], 1 where a pixel is padding and is not counted; absent: none",
            .range = between(0, 1), .source = "DETR: tensor_list.mask"},
      s.mask);
    v(Field{.name = "form", .metavar = "NAME", .help = "shape of the table"}, s.form);
    v(Field{.name = "prefix_rows", .metavar = "N", .help = "rows of zeros before the grid", .unit = "rows", .range = between(0, 1 << 20),
            .source = "MAE: 1 for the class token"},
      s.prefix_rows);
  }

  void check() const;
  /// `table` [token, channel] or [channel, y, x].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] std::int64_t frequencies() const { return dim / 4; }
  /// What a channel holds.
  struct Channel {
    std::int64_t pair;  ///< of frequencies()
    bool of_x, sine;
  };
  [[nodiscard]] Channel channel(std::int64_t c) const;
  [[nodiscard]] std::int64_t channel_of(Channel channel) const;
  /// Row and column of a token that is not a prefix row.
  struct Pixel {
    std::int64_t y, x;
  };
  [[nodiscard]] Pixel pixel(std::int64_t token) const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// What computes a Sincos2d's values. Copies share their state.
class Sincos2d::Table {
 public:
  explicit Table(const Sincos2d& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Sincos2d& encoding);

}  // namespace posenc
