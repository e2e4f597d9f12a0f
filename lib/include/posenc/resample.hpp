// Resizing of tables that have values but no formula: learned position tables, grids of patches, tables of relative positions.
//
// Every new value is a sum of old values times weights that depend on the sizes and options alone, rational numbers but for
// BEiT's spline. It is the correctly rounded value of that sum in real arithmetic, rounded once to the dtype asked for: sums
// run in two doubles with a bound that is kept along, and what the bound leaves open is decided in rising precision. The bits
// are therefore the same on every machine. Model code works in binary32 instead and differs by a few 1e-6 of the largest value.
//
// What is only copied keeps its bits: prefix and extra rows, the same size, tile, nearest, replicate, rebucket, the rows
// below n of hierarchical, the kept rows of stretch, and all that a weight of 1 picks.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/array.hpp"
#include "posenc/dtype.hpp"
#include "posenc/field.hpp"

namespace posenc {

class Writer;            // posenc/io.hpp
struct PipelineOptions;  // posenc/pipeline.hpp

enum class TableRowKind : std::uint8_t { sequence, grid, window, distances, buckets };
template <>
struct EnumNames<TableRowKind> {
  static constexpr std::array<EnumName<TableRowKind>, 5> values{{
      {TableRowKind::sequence, "sequence", "one row per position: BERT, GPT-2, RoBERTa, CLIP's text side; one axis of SAM's rel_pos_h and rel_pos_w"},
      {TableRowKind::grid, "grid", "one row per patch, row by row: ViT, DeiT, MAE, DINOv2, SAM's pos_embed; LeViT's and TinyViT's offsets"},
      {TableRowKind::window, "window", "one row per 2-D offset, (2 height - 1)(2 width - 1) of them: Swin, BEiT, MaxViT"},
      {TableRowKind::distances, "distances", "one row per distance around a centre: 2k + 1 rows (Shaw) or 2k (DeBERTa v1)"},
      {TableRowKind::buckets, "buckets", "one row per bucket of distances: T5"},
  }};
};

enum class ResampleMethod : std::uint8_t { tile, nearest, linear, cubic, hierarchical, stretch, replicate, geometric, geometric_spline, rebucket };
template <>
struct EnumNames<ResampleMethod> {
  static constexpr std::array<EnumName<ResampleMethod>, 10> values{{
      {ResampleMethod::tile, "tile", "repeats the rows: Longformer, LED"},
      {ResampleMethod::nearest, "nearest", "the nearest old row: nearest and nearest-exact of torch"},
      {ResampleMethod::linear, "linear", "between two rows, bilinear on a grid: Hugging Face's BEiT and Data2Vec; position interpolation with alignment stride"},
      {ResampleMethod::cubic, "cubic", "over four rows, bicubic on a grid: ViT, DeiT, MAE, DINOv2, Swin, timm, JAX, TensorFlow"},
      {ResampleMethod::hierarchical, "hierarchical", "row i n + j from rows i and j, up to n^2 rows: Su Jianlin, kexue.fm/archives/7947, bert4keras"},
      {ResampleMethod::stretch, "stretch", "keeps the first rows and stretches the others linearly: Long-CLIP, arXiv:2403.15378, section 3.1"},
      {ResampleMethod::replicate, "replicate", "new distances share the outermost row, as clipping had them: Shaw, DeBERTa"},
      {ResampleMethod::geometric, "geometric", "old offsets at steps that grow geometrically, linear between them: timm's BEiT, Swin, MaxViT"},
      {ResampleMethod::geometric_spline, "geometric-spline", "the same offsets under a bicubic spline (FITPACK): microsoft/unilm's BEiT, timm with scipy"},
      {ResampleMethod::rebucket, "rebucket", "each new bucket takes the row of the old bucket that holds its least distance, divided by factor: T5"},
  }};
};

enum class Alignment : std::uint8_t { half_pixel, corners, stride };
template <>
struct EnumNames<Alignment> {
  static constexpr std::array<EnumName<Alignment>, 3> values{{
      {Alignment::half_pixel, "half-pixel", "x = (k + 1/2) n / N - 1/2: align_corners false of torch, JAX, TensorFlow 2"},
      {Alignment::corners, "corners", "x = k (n - 1) / (N - 1): align_corners true; scipy.ndimage.zoom, linear in google-research's ViT and big_vision"},
      {Alignment::stride, "stride", "x = k n / N, held at the end: position interpolation; torch's nearest"},
  }};
};

enum class EdgeRule : std::uint8_t { clamp, renormalize };
template <>
struct EnumNames<EdgeRule> {
  static constexpr std::array<EnumName<EdgeRule>, 2> values{{
      {EdgeRule::clamp, "clamp", "rows beyond the edge are the edge's row: torch without antialias"},
      {EdgeRule::renormalize, "renormalize", "rows beyond the edge do not count, weights are divided by their sum: torch with antialias, JAX, TensorFlow"},
  }};
};

enum class ResamplePreset : std::uint8_t { torch, torch_aa, jax, tf };
template <>
struct EnumNames<ResamplePreset> {
  static constexpr std::array<EnumName<ResamplePreset>, 4> values{{
      {ResamplePreset::torch, "torch", "half-pixel, cubic_a -0.75, no antialias, edges clamp: interpolate of torch, Hugging Face, MAE"},
      {ResamplePreset::torch_aa, "torch-aa", "half-pixel, cubic_a -0.5, antialias, edges renormalize: interpolate with antialias, timm's default"},
      {ResamplePreset::jax, "jax", "as torch-aa: jax.image.resize with its default antialias"},
      {ResamplePreset::tf, "tf", "half-pixel, cubic_a -0.5, no antialias, edges renormalize: tf.image.resize, which takes its weights from a table of 1024 steps"},
  }};
};

/// Metadata key of what `posenc rescale` did to a table that has values but no formula, as JSON text: the options in force,
/// what was understood, and name, form and CRC-32 of the table that it was made of.
inline constexpr std::string_view resampled_key = "posenc_resampled";

/// How a table is resized. What a method does not use must not be given.
struct Resampling {
  TableRowKind rows = TableRowKind::sequence;
  ResampleMethod method = ResampleMethod::linear;
  std::optional<ResamplePreset> preset{};
  std::optional<Alignment> alignment{};
  std::optional<bool> antialias{};
  std::optional<double> cubic_a{};
  std::optional<EdgeRule> edges{};
  std::optional<double> scale_offset{};
  std::optional<std::int64_t> length{};
  std::optional<std::int64_t> prefix{}, extra{};
  std::optional<std::int64_t> height{}, width{}, new_height{}, new_width{};
  bool grid_axes = false;
  std::optional<std::int64_t> axis{};
  std::optional<double> alpha{};
  std::optional<std::int64_t> keep{};
  std::optional<std::int64_t> new_distance{};
  std::optional<bool> bidirectional{};
  std::optional<std::int64_t> max_distance{}, new_num_buckets{}, new_max_distance{};
  std::optional<double> factor{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    constexpr Range size = between(1, 1 << 24), side = between(1, 1 << 12);
    v(Field{.name = "rows", .metavar = "NAME", .help = "what the rows of the table stand for"}, s.rows);
    v(Field{.name = "method", .metavar = "NAME", .help = "how new rows are made of old ones"}, s.method);
    v(Field{.name = "preset", .metavar = "NAME", .help = "whose resize linear and cubic are; absent: torch"}, s.preset);
    v(Field{.name = "alignment", .metavar = "NAME", .help = "where new row k of N lies among n old rows; absent: the preset's, stride for nearest"}, s.alignment);
    v(Field{.name = "antialias", .metavar = "BOOL", .help = "widens the kernel when shrinking; absent: the preset's"}, s.antialias);
    v(Field{.name = "cubic_a", .metavar = "X", .help = "a of Keys' cubic kernel; absent: the preset's, -0.5 with antialias", .range = between(-1, 0),
            .source = "Keys 1981, doi:10.1109/TASSP.1981.1163711"},
      s.cubic_a);
    v(Field{.name = "edges", .metavar = "NAME", .help = "what the kernel finds beyond the edge; absent: the preset's, renormalize with antialias"}, s.edges);
    v(Field{.name = "scale_offset", .metavar = "X", .help = "grid: linear and cubic take N + X where n / N tells the scale; absent: 0",
            .range = between(-0.5, 0.5), .source = "DINOv2's interpolate_offset: 0.1"},
      s.scale_offset);
    v(Field{.name = "length", .metavar = "N", .help = "sequence: positions of the new table, prefix and extra rows not counted",
            .unit = "positions", .range = size, .count = true},
      s.length);
    v(Field{.name = "prefix", .metavar = "N", .help = "first rows that are copied: class and register tokens, RoBERTa's offset 2; absent: 0, or what a grid leaves",
            .unit = "rows", .range = between(0, 1 << 24)},
      s.prefix);
    v(Field{.name = "extra", .metavar = "N", .help = "last rows that are copied: 3 of BEiT; absent: 0, or what is left of a window", .unit = "rows",
            .range = between(0, 1 << 24)},
      s.extra);
    v(Field{.name = "height", .metavar = "N", .help = "old grid or window; absent: it is square", .unit = "patches", .range = side}, s.height);
    v(Field{.name = "width", .metavar = "N", .help = "old grid or window; absent: it is square", .unit = "patches", .range = side}, s.width);
    v(Field{.name = "new_height", .metavar = "N", .help = "new grid or window", .unit = "patches", .range = side}, s.new_height);
    v(Field{.name = "new_width", .metavar = "N", .help = "new grid or window", .unit = "patches", .range = side}, s.new_width);
    v(Field{.name = "grid_axes", .metavar = "BOOL",
            .help = "the grid's rows and columns are two axes of the array: [1, 64, 64, 1280] of SAM, [heads, 13, 13] of MaxViT"},
      s.grid_axes);
    v(Field{.name = "axis", .metavar = "N",
            .help = "axis of the rows, from 0, or the first of grid_axes; 1 for LeViT's [heads, offsets]; absent: 0, or 1 of [1, rows, lanes]",
            .range = between(0, 7)},
      s.axis);
    v(Field{.name = "alpha", .metavar = "X", .help = "hierarchical: share of row i; absent: 0.4", .range = {0, 1, true, true},
            .source = "kexue.fm/archives/7947: alpha"},
      s.alpha);
    v(Field{.name = "keep", .metavar = "N", .help = "stretch: rows that stay as they are; absent: 20", .unit = "rows", .range = between(0, 1 << 24),
            .source = "arXiv:2403.15378, section 3.1"},
      s.keep);
    v(Field{.name = "new_distance", .metavar = "N", .help = "distances: the new k", .unit = "positions", .range = between(1, 1 << 23), .count = true},
      s.new_distance);
    v(Field{.name = "bidirectional", .metavar = "BOOL", .help = "buckets: half of them for keys after the query; absent: true", .source = "config.is_decoder"},
      s.bidirectional);
    v(Field{.name = "max_distance", .metavar = "N", .help = "buckets: where the old ones end; absent: 128", .unit = "positions", .range = between(2, 1 << 20),
            .source = "config.relative_attention_max_distance", .count = true},
      s.max_distance);
    v(Field{.name = "new_num_buckets", .metavar = "N", .help = "buckets: how many new ones; absent: as many", .unit = "buckets", .range = between(2, 1 << 14)},
      s.new_num_buckets);
    v(Field{.name = "new_max_distance", .metavar = "N", .help = "buckets: where the new ones end; absent: as the old", .unit = "positions", .range = between(2, 1 << 20),
            .count = true},
      s.new_max_distance);
    v(Field{.name = "factor", .metavar = "X", .help = "buckets: a new distance has the bias of the old distance / factor; absent: new_max_distance / max_distance",
            .range = positive},
      s.factor);
  }

  /// The fields as text, and one of them set from text: throws usage for a word that is no value.
  [[nodiscard]] std::vector<FieldView> views() const;
  void set(std::string_view field, std::string_view text);
  /// Throws usage: what contradicts itself whatever the table.
  void check() const;
};

/// A table's shape and how to resize it, understood: sizes, rows, weights. Immutable; threads may share one.
class Resampler {
 public:
  /// Throws usage, one sentence, where the shape does not fit or a grid has more than one reading.
  Resampler(std::vector<std::int64_t> shape, const Resampling& how);

  [[nodiscard]] const std::vector<std::int64_t>& shape() const;  ///< of the new table
  /// What was understood: "1 prefix row, grid 14x14 -> 24x24, cubic, half-pixel, a = -0.75, edges clamp".
  [[nodiscard]] const std::string& understood() const;

  /// Rows of the new table, one after the other over all axes before the row axis, and values of each.
  [[nodiscard]] std::int64_t rows() const;
  [[nodiscard]] std::int64_t row_size() const;
  /// Rows [first, first + count) of `table`, old and row-major, correctly rounded in `dtype`; row by row the same bits however
  /// they are cut. Throws usage for values that are not finite and for results that the dtype cannot hold.
  void make(std::span<const double> table, DType dtype, std::int64_t first, std::int64_t count, std::span<double> out) const;
  [[nodiscard]] Array operator()(const Array& table, DType dtype = DType::f64) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// `table` resized into tensor 0 of a file that holds it in `dtype`, block by block; does not call finish().
void resample(const Resampler& resampler, std::span<const double> table, DType dtype, Writer& writer, const PipelineOptions& options);

/// `table` resized; values correctly rounded in `dtype`.
[[nodiscard]] Array resample(const Array& table, const Resampling& how, DType dtype = DType::f64);

}  // namespace posenc
