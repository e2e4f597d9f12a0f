// t5: relative attention bias in buckets (Raffel et al. 2020, arXiv:1910.10683, section 2.1; mesh _relative_position_bucket).
//
// A number from a table, one row per bucket and one column per head, is added to the score of a query and a key (T5 does not
// divide scores by sqrt(head_dim)). With distance = key - query and n = -distance:
//   bidirectional  B = num_buckets / 2, n = |distance|, keys after the query add B to the bucket
//   causal         B = num_buckets, n = 0 for keys after the query
// and e = B / 2 (rounded down), D = max_distance, the bucket is n for n < e, otherwise the smaller of B - 1 and
//   e + floor( (B - e) log(n / e) / log(D / e) ).
// Buckets are decided without a logarithm (log_buckets.hpp): bucket e + k begins at the least integer n that is not below
// e (D / e)^(k / (B - e)). The binary32 code of mesh and Hugging Face gives the same buckets, a binary64 logarithm does not
// always (num_buckets 32, max_distance 100, causal: n = 40 lies on the edge of bucket 24).
// Cross-attention has no bias; UMT5 has one table per layer, the others one for all layers.
#pragma once
#include <memory>
#include <optional>

#include "attention_span.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

struct T5 {
  static constexpr std::string_view name = "t5";
  static constexpr std::string_view summary = "bias from a table of buckets that grow logarithmically with the distance";
  static constexpr std::string_view source = "Raffel et al. 2020, arXiv:1910.10683";

  bool bidirectional = true;
  std::int64_t num_buckets = 32;
  std::int64_t max_distance = 128;
  Array bias_table{};
  AttentionSpan span{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "bidirectional", .metavar = "BOOL",
            .help = "half of the buckets for keys after the query (encoders); false: those keys all have bucket 0 (decoders)",
            .source = "config.is_decoder"},
      s.bidirectional);
    v(Field{.name = "num_buckets", .metavar = "N", .help = "buckets, rows of the table", .unit = "buckets", .range = between(2, 1 << 14),
            .source = "config.relative_attention_num_buckets"},
      s.num_buckets);
    v(Field{.name = "max_distance", .metavar = "N", .help = "distance from which on the last bucket holds all", .unit = "positions",
            .range = between(2, 1 << 20), .source = "config.relative_attention_max_distance", .count = true},
      s.max_distance);
    v(Field{.name = "bias_table", .metavar = "FILE",
            .help = "bias of each bucket and head, [num_buckets, num_heads]: stores `bias`; absent: stores the buckets", .unit = "bias",
            .source = "relative_attention_bias.weight"},
      s.bias_table);
    AttentionSpan::fields(s.span, v);
  }

  void check() const;
  /// `bias` [head, ..] with a table, `bucket` [..] without; see SpanForm.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] std::int64_t heads() const { return bias_table.shape.size() == 2 ? bias_table.shape[1] : 1; }
  /// B: buckets of one side.
  [[nodiscard]] std::int64_t side_buckets() const { return bidirectional ? num_buckets / 2 : num_buckets; }

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a T5's values. Copies share their state.
class T5::Table {
 public:
  explicit Table(const T5& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;
  std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;
  /// The bucket of a distance, key - query.
  [[nodiscard]] std::int64_t bucket(std::int64_t distance) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const T5& encoding);

}  // namespace posenc
