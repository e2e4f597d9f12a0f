// cope: contextual position encoding (Golovneva et al. 2024, arXiv:2405.18719, section 4; facebookresearch/RAM projects/cope).
//
// A position is a count of keys that the query opens a gate for, so that content decides it. For queries q_i, keys k_j, values
// v_j of d = head_dim lanes and vectors e[0 .. npos - 1], one for each whole position (columns of pos_emb):
//   gate          g_ij = 1 / (1 + exp(-q_i . k_j / sqrt(d))), 0 for masked keys
//   positions     p_ij = min(g_ij + g_i,j+1 + .. of all keys from j on, npos - 1)
//   pos_logits    q_i . e[p_ij], between whole positions on the straight line from one to the next
//   attn          softmax over j of (q_i . k_j + pos_logits) / sqrt(d), or q_i . k_j / sqrt(d) + pos_logits (undivided)
//   out           sum of attn v_j
// With causal, query i is position i + keys - queries and sees keys up to itself.
//
// Between which whole positions p lies is decided exactly, though p is not rational as a rule:
//   Every q . k / sqrt(d) of a query is n / (D sqrt(d)) with integers n and one D, so that its gates are 1 / (1 + x^-n) of one
//   number x = exp(1 / (D sqrt(d))), which is transcendental (Lindemann). A sum of gates is then rational only where it does not
//   depend on x at all. Gates of n and -n do not, they make 1, nor does that of n = 0, 1/2. Of gates without such a partner the
//   one of largest |n| has poles, the primitive 2|n|-th roots of 1, that no other gate but its like has: their sum depends on x.
//   So gates are taken out in pairs (cope.cpp: GateSum). What stays exact is the rational position itself; any other is no whole
//   number, and some precision finds its floor and its order to npos - 1.
#pragma once
#include <memory>

#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class CopeOutput : std::uint8_t { table, positions, pos_logits, attn, out };
template <>
struct EnumNames<CopeOutput> {
  static constexpr std::array<EnumName<CopeOutput>, 5> values{{
      {CopeOutput::table, "table", "q . e of every whole position, [query, position]"},
      {CopeOutput::positions, "positions", "contextual positions [query, key]"},
      {CopeOutput::pos_logits, "pos_logits", "what positions add to the scores, [query, key]"},
      {CopeOutput::attn, "attn", "attention weights [query, key]"},
      {CopeOutput::out, "out", "attended values [query, lane]"},
  }};
};

enum class CopeAdded : std::uint8_t { divided, undivided };
template <>
struct EnumNames<CopeAdded> {
  static constexpr std::array<EnumName<CopeAdded>, 2> values{{
      {CopeAdded::divided, "divided", "pos_logits are added before the division by sqrt(head_dim): the code's default"},
      {CopeAdded::undivided, "undivided", "pos_logits are added after it: the paper's listing, cope_nodiv"},
  }};
};

struct Cope {
  static constexpr std::string_view name = "cope";
  static constexpr std::string_view summary = "positions that content counts, interpolated vectors, and the attention that they give";
  static constexpr std::string_view source = "Golovneva et al. 2024, arXiv:2405.18719";

  CopeOutput output = CopeOutput::table;
  CopeAdded added = CopeAdded::divided;
  bool causal = true;
  Array queries{}, keys{}, values{}, pos_emb{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which tensor"}, s.output);
    v(Field{.name = "added", .metavar = "NAME", .help = "where pos_logits join the scores (attn, out)"}, s.added);
    v(Field{.name = "causal", .metavar = "BOOL", .help = "queries see keys up to themselves only; the queries are the last positions"}, s.causal);
    v(Field{.name = "queries", .metavar = "FILE", .help = "q of one head, [query, head_dim]"}, s.queries);
    v(Field{.name = "keys", .metavar = "FILE", .help = "k of one head, [key, head_dim] (all parts but table)"}, s.keys);
    v(Field{.name = "values", .metavar = "FILE", .help = "v of one head, [key, lanes] (out)"}, s.values);
    v(Field{.name = "pos_emb", .metavar = "FILE", .help = "e, [head_dim, npos]", .source = "cope.pos_emb"}, s.pos_emb);
  }

  void check() const;
  /// `table` [query, position], `positions`, `pos_logits`, `attn` [query, key] or `out` [query, lane].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] std::int64_t query_length() const { return size(queries, 0); }
  [[nodiscard]] std::int64_t key_length() const { return size(keys, 0); }
  [[nodiscard]] std::int64_t head_dim() const { return size(queries, 1); }
  [[nodiscard]] std::int64_t npos() const { return size(pos_emb, 1); }
  /// Keys that a query sees, from the first on.
  [[nodiscard]] std::int64_t seen(std::int64_t query) const { return causal ? query + 1 + key_length() - query_length() : key_length(); }

  /// Of a row-major array of two axes.
  static double entry(const Array& array, std::int64_t row, std::int64_t column) {
    return array.values[static_cast<std::size_t>(row * array.shape[1] + column)];
  }

  class Table;
  [[nodiscard]] Table table() const;

 private:
  static std::int64_t size(const Array& array, std::size_t axis) { return array.shape.size() == 2 ? array.shape[axis] : 0; }
};

/// Computes a Cope's values. Copies share their state.
class Cope::Table {
 public:
  explicit Table(const Cope& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Cope& encoding);

}  // namespace posenc
