// shaw: relative position representations (Shaw et al. 2018, arXiv:1803.02155, section 3.2), and NEZHA's fixed ones
// (Wei et al. 2019, arXiv:1909.00204, section 2.1).
//
// A query and a key at distance = key - query share row clip(distance, -k, k) + k of a table of 2k + 1 vectors a of head_dim
// lanes, k = max_relative_position, one table for keys and one for values:
//   score = q . (key + aK) / sqrt(head_dim),   output = sum of weight * (value + aV)
// The table is given (learned), or NEZHA's sinusoids of the row number r = 0 .. 2k (not of the signed distance):
//   a[r, 2i] = sin(r base^(-2i / head_dim)),   a[r, 2i + 1] = cos(r base^(-2i / head_dim))
// sign query-key mirrors the distance first, as BERT's and ESM's relative_key do; they refuse what lies beyond their table.
// Arithmetic float32 takes NEZHA's steps: exp(2i * c) with c = -log(base) / head_dim made in binary64, then the product.
#pragma once
#include <memory>
#include <optional>

#include "attention_span.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class ShawOutput : std::uint8_t { index, table, vectors };
template <>
struct EnumNames<ShawOutput> {
  static constexpr std::array<EnumName<ShawOutput>, 3> values{{
      {ShawOutput::index, "index", "row of the table for each query and key"},
      {ShawOutput::table, "table", "the table [row, lane]"},
      {ShawOutput::vectors, "vectors", "the table's rows gathered by the index, [.., lane]"},
  }};
};

enum class ShawSign : std::uint8_t { key_query, query_key };
template <>
struct EnumNames<ShawSign> {
  static constexpr std::array<EnumName<ShawSign>, 2> values{{
      {ShawSign::key_query, "key-query", "key minus query: the paper's code, NEZHA"},
      {ShawSign::query_key, "query-key", "query minus key: relative_key of BERT and ESM in Hugging Face"},
  }};
};

enum class ShawBeyond : std::uint8_t { clip, refuse };
template <>
struct EnumNames<ShawBeyond> {
  static constexpr std::array<EnumName<ShawBeyond>, 2> values{{
      {ShawBeyond::clip, "clip", "distances beyond k share the outermost row: the paper, NEZHA"},
      {ShawBeyond::refuse, "refuse", "distances beyond k are an error: relative_key of BERT and ESM, k = max_position_embeddings - 1"},
  }};
};

struct Shaw {
  static constexpr std::string_view name = "shaw";
  static constexpr std::string_view summary = "one vector per clipped distance, learned or NEZHA's sinusoids";
  static constexpr std::string_view source = "Shaw et al. 2018, arXiv:1803.02155; NEZHA: Wei et al. 2019, arXiv:1909.00204";

  ShawOutput output = ShawOutput::index;
  std::int64_t max_relative_position = 64;
  ShawSign sign = ShawSign::key_query;
  ShawBeyond beyond = ShawBeyond::clip;
  std::int64_t head_dim = 64;
  double base = 10000;
  Array vectors{};
  AttentionSpan span{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which tensor"}, s.output);
    v(Field{.name = "max_relative_position", .metavar = "N", .help = "k: distances are clipped to -k .. k", .unit = "positions",
            .range = between(1, 1 << 20), .source = "arXiv:1803.02155, section 3.2: k; NEZHA: 64", .count = true},
      s.max_relative_position);
    v(Field{.name = "sign", .metavar = "NAME", .help = "what is clipped"}, s.sign);
    v(Field{.name = "beyond", .metavar = "NAME", .help = "what happens to distances beyond k"}, s.beyond);
    v(Field{.name = "head_dim", .metavar = "N", .help = "width of NEZHA's sinusoids, even; unused with vectors", .unit = "lanes",
            .range = between(2, 1 << 16)},
      s.head_dim);
    v(Field{.name = "base", .metavar = "X", .help = "ratio of NEZHA's frequencies; unused with vectors", .range = positive,
            .source = "arXiv:1909.00204, section 2.1: 10000"},
      s.base);
    v(Field{.name = "vectors", .metavar = "FILE", .help = "learned table aK or aV, [2 max_relative_position + 1, head_dim]; absent: NEZHA's sinusoids",
            .source = "distance_embedding.weight"},
      s.vectors);
    AttentionSpan::fields(s.span, v);
  }

  void check() const;
  /// `index` [..], `table` [row, lane] or `vectors` [.., lane].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] std::int64_t rows() const { return 2 * max_relative_position + 1; }
  [[nodiscard]] std::int64_t lanes() const { return vectors.shape.size() == 2 ? vectors.shape[1] : head_dim; }
  /// Row of the table for a distance, key - query.
  [[nodiscard]] std::int64_t row(std::int64_t distance) const {
    const std::int64_t signed_distance = sign == ShawSign::key_query ? distance : -distance;
    return std::clamp(signed_distance, -max_relative_position, max_relative_position) + max_relative_position;
  }

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a Shaw's values. Copies share their state.
class Shaw::Table {
 public:
  explicit Table(const Shaw& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;
  std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Shaw& encoding);

}  // namespace posenc
