// rope: rotary position embedding (Su et al. 2021, arXiv:2104.09864).
//
// Pair i of a head turns by angle position * inv_freq[i]. Four widths are separate numbers:
//   head_dim               lanes of one head
//   rotary_dim             lanes that turn; pairs = rotary_dim / 2
//   frequency_denominator  d in base^(-2i/d); rotary_dim in most models, head_dim in p-RoPE
//   pair_stride            lanes between the two members of a pair: rotary_dim/2 (half), 1 (interleaved), head_dim/2 (p-RoPE)
// A table has pair_stride pairs where the stride is above 1 and rotary_dim/2 where it is 1; pairs that do not turn have
// frequency 0 (cos 1, sin 0).
#pragma once
#include <memory>

#include "posenc/encoding.hpp"
#include "posenc/positions.hpp"
#include "../rescale/rule.hpp"

namespace posenc {

enum class RopeLayout : std::uint8_t { half_width, half, interleaved, cache, complex, angles, inv_freq, divisors, matrix };
template <>
struct EnumNames<RopeLayout> {
  static constexpr std::array<EnumName<RopeLayout>, 9> values{{
      {RopeLayout::half_width, "half-width", "cos, sin [position, pair]: ONNX RotaryEmbedding, GPT-OSS"},
      {RopeLayout::half, "half", "cos, sin [position, lane], tiled: lanes i and i + pairs alike (Llama, GPT-NeoX)"},
      {RopeLayout::interleaved, "interleaved", "cos, sin [position, lane], repeated: lanes 2i and 2i + 1 alike (GPT-J, Cohere)"},
      {RopeLayout::cache, "cache", "cos_sin [position, lane] = [cos | sin] (vLLM, FlashInfer)"},
      {RopeLayout::complex, "complex", "freqs_cis [position, pair], cos + i sin (Meta's Llama)"},
      {RopeLayout::angles, "angles", "angles [position, pair], radians, not reduced"},
      {RopeLayout::inv_freq, "inv-freq", "inv_freq [pair], radians per position"},
      {RopeLayout::divisors, "divisors", "rope_freqs [pair] = plain / rescaled inv_freq (llama.cpp's rope_freqs.weight)"},
      {RopeLayout::matrix, "matrix", "R [position, row, column], head_dim x head_dim, acting on column vectors"},
  }};
};

struct Rope {
  static constexpr std::string_view name = "rope";
  static constexpr std::string_view summary = "rotary position embedding: cos and sin of position * inv_freq";
  static constexpr std::string_view source = "Su et al. 2021, arXiv:2104.09864";

  std::int64_t head_dim = 128;
  std::optional<std::int64_t> rotary_dim{};
  std::optional<double> partial_rotary_factor{};
  std::optional<std::int64_t> frequency_denominator{};
  std::optional<std::int64_t> pair_stride{};
  double base = 10000;
  std::vector<double> inv_freq{};
  Positions positions = Positions::range(0, 2048);
  std::int64_t offset = 0;
  RopeLayout layout = RopeLayout::half_width;
  std::optional<double> attention_factor{};
  std::optional<double> softmax_multiplier{};
  Rule rule{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "head_dim", .metavar = "N", .help = "width of one head", .unit = "lanes", .range = between(1, 1 << 16),
            .source = "config.head_dim, or hidden_size / num_attention_heads"},
      s.head_dim);
    v(Field{.name = "rotary_dim", .metavar = "N", .help = "lanes that turn, even; absent: head_dim times partial_rotary_factor",
            .unit = "lanes", .range = between(2, 1 << 16), .source = "GPT-J, MiniMax: rotary_dim"},
      s.rotary_dim);
    v(Field{.name = "partial_rotary_factor", .metavar = "X", .help = "share of head_dim that turns; absent: all of it", .unit = "ratio",
            .range = {0, 1, true, false}, .source = "config.partial_rotary_factor; GPT-NeoX: rotary_pct"},
      s.partial_rotary_factor);
    v(Field{.name = "frequency_denominator", .metavar = "N", .help = "d in base^(-2i/d); absent: rotary_dim, head_dim with method proportional", .unit = "lanes",
            .range = between(1, 1 << 16), .source = "arXiv:2104.09864, section 3.2.2; head_dim in p-RoPE"},
      s.frequency_denominator);
    v(Field{.name = "pair_stride", .metavar = "N",
            .help = "lanes between the members of a pair; absent: 1 for layouts interleaved and complex, else rotary_dim/2, or head_dim/2 with method proportional",
            .unit = "lanes", .range = between(1, 1 << 16), .source = "1: GPT-J, Cohere; rotary_dim/2: Llama, GPT-NeoX; head_dim/2: p-RoPE"},
      s.pair_stride);
    v(Field{.name = "base", .metavar = "X", .help = "base of the geometric series of frequencies (rope_theta)", .range = positive,
            .source = "arXiv:2104.09864, section 3.2.2: 10000; config.rope_theta"},
      s.base);
    v(Field{.name = "inv_freq", .metavar = "LIST", .help = "explicit frequencies, one per turning pair, instead of base and method",
            .unit = "radians per position", .range = at_least(0), .source = "a checkpoint's inv_freq buffer"},
      s.inv_freq);
    v(Field{.name = "positions", .metavar = "P", .help = "N, A:B, A:B:S, a list, or a file of integers or reals"},
      s.positions);
    v(Field{.name = "offset", .metavar = "N", .help = "added to every position", .unit = "positions",
            .range = between(-0x1p53, 0x1p53), .source = "cached decode", .count = true},
      s.offset);
    v(Field{.name = "layout", .metavar = "NAME", .help = "which tensors, and how pairs lie in them"}, s.layout);
    v(Field{.name = "attention_factor", .metavar = "X", .help = "amplitude multiplied into cos and sin; absent: what the method says",
            .range = positive, .source = "rope_scaling.attention_factor"},
      s.attention_factor);
    v(Field{.name = "softmax_multiplier", .metavar = "X",
            .help = "factor on the attention scale that goes with this table; recorded, never multiplied in", .range = positive,
            .source = "DeepSeek-V2, V3"},
      s.softmax_multiplier);
  }

  // Parameters of the rescaling rule: "method" and whatever the chosen rule has (lib/rescale).
  [[nodiscard]] std::vector<FieldView> extra_views() const;
  bool extra_assign(std::string_view field, std::string_view text);
  [[nodiscard]] static std::vector<FieldView> all_views();

  void check() const;
  /// One group of tensors per frequency set of the rule ("short.cos", "long.cos"); see RopeLayout for names and axes.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// Lanes that turn.
  [[nodiscard]] std::int64_t rotary() const;
  [[nodiscard]] std::int64_t stride() const;
  /// Columns of a half-width table; the first rotary()/2 turn.
  [[nodiscard]] std::int64_t pairs() const { return stride() > 1 ? stride() : rotary() / 2; }
  [[nodiscard]] RopeGeometry geometry() const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// What computes a Rope's values. Copies share their state.
class Rope::Table {
 public:
  explicit Table(const Rope& rope);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;
  bool rounded(std::size_t tensor, const Extent& extent, DType dtype, void* out, std::vector<std::uint32_t>& undecided) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Facts for reports: the method's name, the amplitude and where frequency sets change.
struct RopeFacts {
  std::string method;
  double attention_factor;      ///< amplitude of cos and sin, rounded to f64
  std::string switch_text;      ///< "" with one frequency set
  std::vector<std::string> sets{};
};
[[nodiscard]] RopeFacts facts(const Rope& rope);

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Rope& encoding);

}  // namespace posenc
