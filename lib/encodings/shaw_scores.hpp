// shaw_scores: attention with relative position representations (Shaw et al. 2018, arXiv:1803.02155, equations 3 to 5), of
// given queries, keys and values.
//
// With a row of aK and of aV for each clipped distance as in shaw, d lanes and query i, key j:
//   content = q_i . k_j,   position = q_i . aK[i, j],   logits = (content + position) / sqrt(d)
//   weights = softmax of the logits over the keys,   out_i = sum over j of weights (v_j + aV[i, j])
// BERT and ESM mirror the distance, have no aV, and for relative_key_query add k_j . aK[i, j] to position; they refuse distances
// beyond their table. Queries are the last positions where they are fewer than the keys.
#pragma once
#include <memory>
#include <optional>

#include "shaw.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class ShawTerms : std::uint8_t { shaw, relative_key, relative_key_query };
template <>
struct EnumNames<ShawTerms> {
  static constexpr std::array<EnumName<ShawTerms>, 3> values{{
      {ShawTerms::shaw, "shaw", "query . aK, distances key minus query and clipped: the paper, NEZHA"},
      {ShawTerms::relative_key, "relative-key", "query . aK, query minus key: position_embedding_type relative_key of BERT and ESM"},
      {ShawTerms::relative_key_query, "relative-key-query", "(query + key) . aK, query minus key: relative_key_query of BERT and ESM"},
  }};
};

struct ShawScores {
  static constexpr std::string_view name = "shaw_scores";
  static constexpr std::string_view summary = "scores, weights and outputs of attention with one vector per clipped distance";
  static constexpr std::string_view source = "Shaw et al. 2018, arXiv:1803.02155";

  ShawTerms terms = ShawTerms::shaw;
  Array query{}, key{}, value{};
  std::int64_t max_relative_position = 64;
  Array key_vectors{}, value_vectors{};
  std::optional<std::int64_t> query_offset{};
  bool scaled = true;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "terms", .metavar = "NAME", .help = "what meets the vectors of distances", .source = "config.position_embedding_type"}, s.terms);
    v(Field{.name = "query", .metavar = "FILE", .help = "queries [head, query, lane]"}, s.query);
    v(Field{.name = "key", .metavar = "FILE", .help = "keys [head, key, lane]"}, s.key);
    v(Field{.name = "value", .metavar = "FILE", .help = "values [head, key, lane]; absent: no outputs"}, s.value);
    v(Field{.name = "max_relative_position", .metavar = "N", .help = "k: distances are clipped to -k .. k", .unit = "positions",
            .range = between(1, 1 << 20), .source = "arXiv:1803.02155, section 3.2: k; BERT: max_position_embeddings - 1", .count = true},
      s.max_relative_position);
    v(Field{.name = "key_vectors", .metavar = "FILE", .help = "aK [2 max_relative_position + 1, lane]", .source = "distance_embedding.weight"},
      s.key_vectors);
    v(Field{.name = "value_vectors", .metavar = "FILE", .help = "aV [2 max_relative_position + 1, lane of the values]; absent: outputs without it"},
      s.value_vectors);
    v(Field{.name = "query_offset", .metavar = "N", .help = "position of the first query; absent: the queries are the last positions",
            .unit = "positions", .range = between(-0x1p50, 0x1p50), .source = "cached decode", .count = true},
      s.query_offset);
    v(Field{.name = "scaled", .metavar = "BOOL", .help = "content, position and logits are divided by sqrt(lanes); weights and outputs always use it"},
      s.scaled);
  }

  void check() const;
  /// `content`, `position`, `logits` and `weights` [head, query, key]; with values `out` [head, query, lane].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// The rows of the vectors.
  [[nodiscard]] Shaw index() const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const ShawScores& encoding);

}  // namespace posenc
