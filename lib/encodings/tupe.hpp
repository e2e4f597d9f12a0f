// tupe: untied positional encoding (Ke, He, Liu 2021, arXiv:2006.15595, section 3; guolinke/TUPE).
//
// Positions meet positions in a term of their own, added to the scores of every layer; tokens keep theirs, divided by
// sqrt(2 head_dim) too:
//   abs_bias[h, i, j] = (P_i Uq)_h . (P_j Uk)_h / sqrt(attn_scale_factor head_dim)
//   bias[h, i, j]     = abs_bias[h, i, j] + bias_table[bucket(j - i), h]
// P are the position vectors after their layer norm, x U the layer x -> W x + b of weights [out, in]; head h has lanes
// h head_dim .. of the result. The first token, [CLS], is untied from positions:
//   P has a row more: token t takes row t + 1, and rows 0 and 1 are reserved
//   row 0 of abs_bias (from [CLS]) is row 0 with row 0 everywhere, column 0 (to [CLS]) row 1 with row 1; row 0 wins at (0, 0)
//   buckets are T5's bidirectional ones (t5.hpp); column 0 has a bucket of its own, num_buckets, and row 0 has
//   num_buckets / 2, which no distance has
#pragma once
#include <memory>

#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class TupeOutput : std::uint8_t { bucket, abs_bias, bias };
template <>
struct EnumNames<TupeOutput> {
  static constexpr std::array<EnumName<TupeOutput>, 3> values{{
      {TupeOutput::bucket, "bucket", "row of bias_table for each query and key, [query, key]"},
      {TupeOutput::abs_bias, "abs_bias", "positions with positions, [head, query, key]: TUPE-A"},
      {TupeOutput::bias, "bias", "the same plus the bucket's bias, [head, query, key]: TUPE-R"},
  }};
};

struct Tupe {
  static constexpr std::string_view name = "tupe";
  static constexpr std::string_view summary = "bias of position vectors with one another, untied from tokens and from [CLS]";
  static constexpr std::string_view source = "Ke et al. 2021, arXiv:2006.15595";

  TupeOutput output = TupeOutput::bucket;
  std::int64_t length = 512;
  std::int64_t num_heads = 12;
  bool untied_cls = true;
  std::int64_t num_buckets = 32;
  std::int64_t max_distance = 128;
  std::int64_t attn_scale_factor = 2;
  Array position_vectors{}, query_weight{}, key_weight{}, query_bias{}, key_bias{}, bias_table{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which tensor"}, s.output);
    v(Field{.name = "length", .metavar = "N", .help = "tokens, [CLS] included", .unit = "positions", .range = between(1, 0x1p30), .count = true},
      s.length);
    v(Field{.name = "num_heads", .metavar = "N", .help = "heads (abs_bias, bias)", .unit = "heads", .range = between(1, 1 << 16)}, s.num_heads);
    v(Field{.name = "untied_cls", .metavar = "BOOL", .help = "reserved rows, columns and buckets for [CLS]; false: token t takes row t",
            .source = "arXiv:2006.15595, section 3.2"},
      s.untied_cls);
    v(Field{.name = "num_buckets", .metavar = "N", .help = "buckets of distances, without [CLS]'s", .unit = "buckets", .range = between(4, 1 << 14),
            .source = "rel_pos_bins"},
      s.num_buckets);
    v(Field{.name = "max_distance", .metavar = "N", .help = "distance from which on the last bucket holds all", .unit = "positions",
            .range = between(2, 1 << 20), .source = "max_rel_pos", .count = true},
      s.max_distance);
    v(Field{.name = "attn_scale_factor", .metavar = "N", .help = "terms that a score is made of; divides by sqrt(N head_dim)", .range = between(1, 16),
            .source = "attn_scale_factor"},
      s.attn_scale_factor);
    v(Field{.name = "position_vectors", .metavar = "FILE", .help = "P after its layer norm, [at least length + 1, dim] (length with untied_cls false)",
            .source = "pos_ln(pos.weight)"},
      s.position_vectors);
    v(Field{.name = "query_weight", .metavar = "FILE", .help = "Uq as a layer's weight, [dim, dim], out by in", .source = "pos_q_linear.weight"}, s.query_weight);
    v(Field{.name = "key_weight", .metavar = "FILE", .help = "Uk as a layer's weight, [dim, dim], out by in", .source = "pos_k_linear.weight"}, s.key_weight);
    v(Field{.name = "query_bias", .metavar = "FILE", .help = "added by the layer, [dim]; absent: 0, the paper", .source = "pos_q_linear.bias"}, s.query_bias);
    v(Field{.name = "key_bias", .metavar = "FILE", .help = "added by the layer, [dim]; absent: 0, the paper", .source = "pos_k_linear.bias"}, s.key_bias);
    v(Field{.name = "bias_table", .metavar = "FILE", .help = "bias of each bucket and head, [num_buckets + 1, num_heads] (num_buckets with untied_cls false)",
            .unit = "bias", .source = "relative_attention_bias.weight"},
      s.bias_table);
  }

  void check() const;
  /// `bucket` [query, key], `abs_bias` or `bias` [head, query, key].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] std::int64_t dim() const { return position_vectors.shape.size() == 2 ? position_vectors.shape[1] : 0; }
  [[nodiscard]] std::int64_t head_dim() const { return dim() / num_heads; }
  /// Rows of P that a query and a key take.
  struct Rows {
    std::int64_t query, key;
  };
  [[nodiscard]] Rows rows(std::int64_t i, std::int64_t j) const {
    if (!untied_cls) return {i, j};
    if (i == 0) return {0, 0};
    if (j == 0) return {1, 1};
    return {i + 1, j + 1};
  }

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a Tupe's values. Copies share their state.
class Tupe::Table {
 public:
  explicit Table(const Tupe& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;
  std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Tupe& encoding);

}  // namespace posenc
