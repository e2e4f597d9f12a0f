// deberta_scores: disentangled attention (He et al. 2021, arXiv:2006.03654, equations 2 to 4), of given queries and keys.
//
// With the indices of deberta, position tables Kr and Qr of 2k rows for each head, and terms the number of tables that are given:
//   content = q_i . k_j,   c2p = q_i . Kr[delta(i, j)],   p2c = k_j . Qr[p2c index],   bias = c2p + p2c,   score = content + bias
// all over sqrt(lanes * (1 + terms)). A table is given as it is, [head, row, lane], or as the relative embeddings [row, channel]
// that all heads share and a weight [head * lane, channel]: Kr = relative embeddings . weight^T.
#pragma once
#include <memory>
#include <optional>

#include "deberta.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

struct DebertaScores {
  static constexpr std::string_view name = "deberta_scores";
  static constexpr std::string_view summary = "the terms of DeBERTa's disentangled attention and their sum";
  static constexpr std::string_view source = "He et al. 2021, arXiv:2006.03654";

  Array query{}, key{};
  Array key_table{}, query_table{};
  Array rel_embeddings{}, key_weight{}, query_weight{};
  std::optional<std::int64_t> max_relative_positions{};
  std::optional<std::int64_t> position_buckets{};
  DebertaP2c p2c_rule = DebertaP2c::code;
  std::optional<std::int64_t> query_offset{};
  bool scaled = true;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "query", .metavar = "FILE", .help = "queries [head, query, lane]"}, s.query);
    v(Field{.name = "key", .metavar = "FILE", .help = "keys [head, key, lane]"}, s.key);
    v(Field{.name = "key_table", .metavar = "FILE", .help = "Kr [head, 2k, lane] of content to position", .source = "pos_key_layer"}, s.key_table);
    v(Field{.name = "query_table", .metavar = "FILE", .help = "Qr [head, 2k, lane] of position to content", .source = "pos_query_layer"},
      s.query_table);
    v(Field{.name = "rel_embeddings", .metavar = "FILE", .help = "[2k, channel], for the weights below", .source = "rel_embeddings.weight"},
      s.rel_embeddings);
    v(Field{.name = "key_weight", .metavar = "FILE", .help = "[head * lane, channel], makes Kr of rel_embeddings", .source = "pos_proj.weight, key_proj.weight"},
      s.key_weight);
    v(Field{.name = "query_weight", .metavar = "FILE", .help = "[head * lane, channel], makes Qr of rel_embeddings",
            .source = "pos_q_proj.weight, query_proj.weight"},
      s.query_weight);
    v(Field{.name = "max_relative_positions", .metavar = "N", .help = "k of v1, absent: half the rows of a table; with position_buckets where the buckets end",
            .unit = "positions", .range = between(1, 1 << 20),
            .source = "config.max_relative_positions; config.max_position_embeddings where that is -1", .count = true},
      s.max_relative_positions);
    v(Field{.name = "position_buckets", .metavar = "N", .help = "buckets of v2 and v3; absent: v1, without buckets", .unit = "buckets",
            .range = between(4, 1 << 14), .source = "config.position_buckets; v3: 256"},
      s.position_buckets);
    v(Field{.name = "p2c_rule", .metavar = "NAME", .help = "whose index position to content has"}, s.p2c_rule);
    v(Field{.name = "query_offset", .metavar = "N", .help = "position of the first query; absent: the queries are the last positions",
            .unit = "positions", .range = between(-0x1p50, 0x1p50), .source = "Hugging Face: 0", .count = true},
      s.query_offset);
    v(Field{.name = "scaled", .metavar = "BOOL", .help = "all are divided by sqrt(lanes * (1 + terms))", .source = "scale_factor"}, s.scaled);
  }

  void check() const;
  /// `content`, `c2p`, `p2c`, `bias` and `score` [head, query, key]; a term without a table is not there.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] bool has_c2p() const { return key_table.given() || key_weight.given(); }
  [[nodiscard]] bool has_p2c() const { return query_table.given() || query_weight.given(); }
  [[nodiscard]] std::int64_t terms() const { return (has_c2p() ? 1 : 0) + (has_p2c() ? 1 : 0); }
  /// Rows of a table, 2k.
  [[nodiscard]] std::int64_t table_rows() const;
  /// The rows of a table for each query and key.
  [[nodiscard]] Deberta index(DebertaOutput output) const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const DebertaScores& encoding);

}  // namespace posenc
