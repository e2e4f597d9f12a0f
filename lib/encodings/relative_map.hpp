// relative_map: which relative position a query and a key take, for methods that lengthen a rotary model's context by changing
// it; i is the query's position, j the key's, w = window:
//   plain         i - j
//   interpolated  (i - j) / factor                     position interpolation (Chen et al. 2023, arXiv:2306.15595)
//   window        i - j clipped to -w .. w
//   rerope        i - j where |i - j| < w, else w      ReRoPE (Su, kexue.fm/archives/9708)
//   leaky-rerope  i - j where |i - j| < w, else w + (i - j - w) / factor
//   self-extend   i - j where i - j < w, else floor(i / g) - floor(j / g) + w - w / g, g = group_size
//                 (Jin et al. 2024, arXiv:2401.01325, section 3; LongLM)
//   dual-chunk    with c = chunk_size, s = c - local_window, m = c or c - 1 (clamp), r = i mod s:
//                 r - j mod s in the query's chunk of s positions, min(r + s, m) - j mod s in the chunk before,
//                 min(2s - 1, m) - j mod s further back (An et al. 2024, arXiv:2402.17463, section 3; ChunkLlama)
// rerope gives keys beyond the window w on both sides, as its code does before its causal mask.
// Self-Extend's prefill divides w / g, its cached decode takes the floor; they differ where g does not divide w. Its code drops
// the shift while all positions are below w; no pair is that far apart then, so that nothing changes.
#pragma once
#include <memory>

#include "attention_span.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class MapKind : std::uint8_t { plain, interpolated, window, rerope, leaky_rerope, self_extend, dual_chunk };
template <>
struct EnumNames<MapKind> {
  static constexpr std::array<EnumName<MapKind>, 7> values{{
      {MapKind::plain, "plain", "i - j: RoPE as trained"},
      {MapKind::interpolated, "interpolated", "(i - j) / factor: position interpolation"},
      {MapKind::window, "window", "i - j clipped to the window"},
      {MapKind::rerope, "rerope", "i - j inside the window, the window beyond: ReRoPE"},
      {MapKind::leaky_rerope, "leaky-rerope", "i - j inside the window, steps of 1 / factor beyond: Leaky ReRoPE"},
      {MapKind::self_extend, "self-extend", "i - j inside the window, positions in groups beyond: Self-Extend, LongLM"},
      {MapKind::dual_chunk, "dual-chunk", "positions within chunks: Dual Chunk Attention, ChunkLlama, Qwen2.5-1M"},
  }};
};

enum class MapFuture : std::uint8_t { mask, formula };
template <>
struct EnumNames<MapFuture> {
  static constexpr std::array<EnumName<MapFuture>, 2> values{{
      {MapFuture::mask, "mask", "-1: causal attention"},
      {MapFuture::formula, "formula", "the kind's formula: what ReRoPE's code computes before its mask"},
  }};
};

enum class MapShift : std::uint8_t { real, floor };
template <>
struct EnumNames<MapShift> {
  static constexpr std::array<EnumName<MapShift>, 2> values{{
      {MapShift::real, "real", "w - w / g: LongLM's prefill"},
      {MapShift::floor, "floor", "w - floor(w / g): LongLM's cached decode"},
  }};
};

enum class MapClamp : std::uint8_t { chunk, last };
template <>
struct EnumNames<MapClamp> {
  static constexpr std::array<EnumName<MapClamp>, 2> values{{
      {MapClamp::chunk, "chunk", "m = chunk_size: ChunkLlama's code"},
      {MapClamp::last, "last", "m = chunk_size - 1, the last position seen in training: the paper"},
  }};
};

struct RelativeMap {
  static constexpr std::string_view name = "relative_map";
  static constexpr std::string_view summary = "relative position of each query and key under ReRoPE, Self-Extend, Dual Chunk Attention and others";
  static constexpr std::string_view source =
      "Su 2023, kexue.fm/archives/9708; Jin et al. 2024, arXiv:2401.01325; An et al. 2024, arXiv:2402.17463";

  MapKind kind = MapKind::rerope;
  double factor = 16;
  std::int64_t window = 512;
  std::int64_t group_size = 8;
  MapShift shift = MapShift::real;
  std::int64_t chunk_size = 3072;
  std::int64_t local_window = 512;
  MapClamp clamp = MapClamp::chunk;
  MapFuture future = MapFuture::mask;
  AttentionSpan span{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "kind", .metavar = "NAME", .help = "how relative positions are changed"}, s.kind);
    v(Field{.name = "factor", .metavar = "X", .help = "divides all positions (interpolated) or those beyond the window (leaky-rerope)", .unit = "ratio",
            .range = between(0x1p-40, 0x1p40), .source = "kexue.fm/archives/9708: k"},
      s.factor);
    v(Field{.name = "window", .metavar = "N", .help = "w: distances below it are left alone (window, rerope, leaky-rerope, self-extend)",
            .unit = "positions", .range = between(1, 0x1p30), .source = "rerope: window 512; LongLM: group_size_2", .count = true},
      s.window);
    v(Field{.name = "group_size", .metavar = "N", .help = "g: positions that share one number beyond the window (self-extend)", .unit = "positions",
            .range = between(1, 1 << 20), .source = "LongLM: group_size_1", .count = true},
      s.group_size);
    v(Field{.name = "shift", .metavar = "NAME", .help = "how w / g is divided (self-extend)"}, s.shift);
    v(Field{.name = "chunk_size", .metavar = "N", .help = "c (dual-chunk)", .unit = "positions", .range = between(2, 0x1p40),
            .source = "ChunkLlama: 3/4 of the pretraining length", .count = true},
      s.chunk_size);
    v(Field{.name = "local_window", .metavar = "N", .help = "c - s: what neighbouring chunks share (dual-chunk)", .unit = "positions",
            .range = between(1, 0x1p40), .source = "ChunkLlama: 1/8 of the pretraining length", .count = true},
      s.local_window);
    v(Field{.name = "clamp", .metavar = "NAME", .help = "largest relative position (dual-chunk)"}, s.clamp);
    v(Field{.name = "future", .metavar = "NAME", .help = "what keys after the query get"}, s.future);
    AttentionSpan::fields(s.span, v);
  }

  void check() const;
  /// `map` [query, key], [key] or [distance]; integers where a kind gives nothing else.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// A function of i - j alone.
  [[nodiscard]] bool is_toeplitz() const { return kind != MapKind::self_extend && kind != MapKind::dual_chunk; }
  [[nodiscard]] bool is_integer() const {
    return kind == MapKind::self_extend ? shift == MapShift::floor || window % group_size == 0
                                            : kind != MapKind::interpolated && kind != MapKind::leaky_rerope;
  }
  /// s and m of dual-chunk.
  [[nodiscard]] std::int64_t chunk_length() const { return chunk_size - local_window; }
  [[nodiscard]] std::int64_t largest_in_chunks() const { return clamp == MapClamp::chunk ? chunk_size : chunk_size - 1; }

  /// whole + top / divisor.
  struct Value {
    std::int64_t whole = 0, top = 0;
    double divisor = 1;
  };
  [[nodiscard]] Value value(std::int64_t query, std::int64_t key) const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a RelativeMap's values.
class RelativeMap::Table {
 public:
  explicit Table(const RelativeMap& spec) : spec_(std::make_shared<const RelativeMap>(spec)) {}
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;
  std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  [[nodiscard]] Value at(std::span<const std::int64_t> index) const;

  std::shared_ptr<const RelativeMap> spec_;
};
inline RelativeMap::Table RelativeMap::table() const { return Table(*this); }

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const RelativeMap& encoding);

}  // namespace posenc
