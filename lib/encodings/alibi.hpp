// alibi: attention with linear biases (Press et al. 2021, arXiv:2108.12409, section 3).
//
// A number slope * weight is added to the attention score of a query and a key, one slope per head. The key at column j has
// position j (or key_positions[j]), query i has position query_offset + i, and distance = key position - query position.
//   kind causal     weight = distance, -inf for keys after the query       the paper
//        relative   weight = distance, keys after the query included
//        symmetric  weight = -|distance|                                   encoders
//        deepmind   weight = -|distance| + 1/2 for keys before the query   randomized positional encodings
//        key-only   weight = key position                                  BLOOM, Falcon
//        last-key   weight = key position - position of the last key       MPT
// key-only and last-key differ from relative by a constant in each row: softmax under a causal mask does not see it.
//
// Slopes of n heads, h = 1..n, c the largest power of two that is at most n, max = alibi_bias_max:
//   rule reference  2^(-max h / c) for h <= c, then 2^(-max (2k - 1) / 2c) for k = h - c: the paper's code, BLOOM, MPT
//        geometric  2^(-max h / n)
//        sorted     those of reference from the largest down
// Arithmetic float32 takes the steps of BLOOM's code (a rounded base to integer powers), or of MPT's where kind is last-key
// (1 / 2^x of rounded x); bfloat16 is Falcon's: BLOOM's slopes cut to bfloat16, times positions cut to bfloat16.
#pragma once
#include <memory>
#include <optional>

#include "../numeric/real.hpp"
#include "posenc/encoding.hpp"
#include "posenc/positions.hpp"

namespace posenc {

enum class AlibiRule : std::uint8_t { reference, geometric, sorted };
template <>
struct EnumNames<AlibiRule> {
  static constexpr std::array<EnumName<AlibiRule>, 3> values{{
      {AlibiRule::reference, "reference",
       "the paper's code: a series for the largest power of two, then every second of the next (BLOOM, MPT, Falcon)"},
      {AlibiRule::geometric, "geometric", "one series 2^(-alibi_bias_max h / num_heads), whatever the number of heads"},
      {AlibiRule::sorted, "sorted", "the reference slopes from the largest to the smallest"},
  }};
};

enum class AlibiForm : std::uint8_t { slopes, row, toeplitz, matrix };
template <>
struct EnumNames<AlibiForm> {
  static constexpr std::array<EnumName<AlibiForm>, 4> values{{
      {AlibiForm::slopes, "slopes", "slopes [head]"},
      {AlibiForm::row, "row", "bias [head, key] of the last query: one step of cached decode; BLOOM, MPT"},
      {AlibiForm::toeplitz, "toeplitz",
       "bias [head, distance]: column t is distance t - (query_offset + query_length - 1), where query i meets key "
       "j = t + i - (query_length - 1)"},
      {AlibiForm::matrix, "matrix", "bias [head, query, key]"},
  }};
};

enum class AlibiKind : std::uint8_t { causal, symmetric, relative, key_only, last_key, deepmind };
template <>
struct EnumNames<AlibiKind> {
  static constexpr std::array<EnumName<AlibiKind>, 6> values{{
      {AlibiKind::causal, "causal", "slope * distance up to the query, -inf after it: the paper"},
      {AlibiKind::symmetric, "symmetric", "-slope * |distance|: encoders"},
      {AlibiKind::relative, "relative", "slope * distance everywhere, positive after the query"},
      {AlibiKind::key_only, "key-only", "slope * key position: BLOOM, Falcon"},
      {AlibiKind::last_key, "last-key", "slope * (key position - last key position): MPT"},
      {AlibiKind::deepmind, "deepmind", "slope * (-|distance| + 1/2 for keys before the query): randomized positional encodings"},
  }};
};

struct Alibi {
  static constexpr std::string_view name = "alibi";
  static constexpr std::string_view summary = "attention with linear biases: one slope per head times the distance";
  static constexpr std::string_view source = "Press et al. 2021, arXiv:2108.12409";

  std::int64_t num_heads = 8;
  std::int64_t head_start = 0;
  std::optional<std::int64_t> head_count{};
  AlibiRule rule = AlibiRule::reference;
  double alibi_bias_max = 8;
  std::vector<double> slopes{};
  AlibiForm form = AlibiForm::matrix;
  AlibiKind kind = AlibiKind::causal;
  std::int64_t key_length = 1024;
  std::optional<std::int64_t> query_length{};
  std::optional<std::int64_t> query_offset{};
  std::optional<Positions> key_positions{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "num_heads", .metavar = "N", .help = "heads of the whole layer; the slopes depend on it", .unit = "heads",
            .range = between(1, 1 << 16), .source = "config.num_attention_heads; BLOOM, MPT: n_head, n_heads"},
      s.num_heads);
    v(Field{.name = "head_start", .metavar = "N", .help = "first head of this table", .unit = "heads", .range = between(0, 1 << 16),
            .source = "tensor parallel ranks"},
      s.head_start);
    v(Field{.name = "head_count", .metavar = "N", .help = "heads of this table; absent: all from head_start", .unit = "heads",
            .range = between(1, 1 << 16), .source = "tensor parallel ranks"},
      s.head_count);
    v(Field{.name = "rule", .metavar = "NAME", .help = "how slopes follow from the number of heads"}, s.rule);
    v(Field{.name = "alibi_bias_max", .metavar = "X", .help = "the exponents run up to this number", .range = {0, 512, true, false},
            .source = "arXiv:2108.12409, section 3: 8; MPT: alibi_bias_max"},
      s.alibi_bias_max);
    v(Field{.name = "slopes", .metavar = "LIST", .help = "explicit (learned) slopes, one per head of the layer, instead of a rule",
            .unit = "bias per position"},
      s.slopes);
    v(Field{.name = "form", .metavar = "NAME", .help = "which tensor"}, s.form);
    v(Field{.name = "kind", .metavar = "NAME", .help = "what a slope is multiplied by"}, s.kind);
    v(Field{.name = "key_length", .metavar = "N", .help = "keys, cached ones included", .unit = "positions",
            .range = between(1, 0x1p40), .count = true},
      s.key_length);
    v(Field{.name = "query_length", .metavar = "N", .help = "queries; absent: as many as keys", .unit = "positions",
            .range = between(1, 0x1p40), .count = true},
      s.query_length);
    v(Field{.name = "query_offset", .metavar = "N",
            .help = "position of the first query; absent: key_length - query_length, the queries are the last positions",
            .unit = "positions", .range = between(-0x1p50, 0x1p50), .source = "cached decode", .count = true},
      s.query_offset);
    v(Field{.name = "key_positions", .metavar = "P",
            .help = "integer position of each key; absent: 0, 1, .. ; padded batches give their pads position 0", .unit = "positions",
            .source = "BLOOM: (cumsum(attention_mask) - 1) * attention_mask"},
      s.key_positions);
  }

  void check() const;
  /// `slopes` or `bias`, see AlibiForm.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] std::int64_t heads() const { return head_count.value_or(num_heads - head_start); }
  [[nodiscard]] std::int64_t queries() const { return query_length.value_or(key_length); }
  [[nodiscard]] std::int64_t first_query() const { return query_offset.value_or(key_length - queries()); }
  [[nodiscard]] std::int64_t last_query() const { return first_query() + queries() - 1; }
  /// Position of the key at a column; in form toeplitz the column's distance plus last_query().
  [[nodiscard]] std::int64_t key_position(std::int64_t column) const {
    return key_positions ? static_cast<std::int64_t>((*key_positions)[column]) : column;
  }
  /// What the slope is multiplied by; -inf where masked. Exact: distances stay below 2^52.
  [[nodiscard]] double weight(std::int64_t query, std::int64_t key) const;

  /// The exponent of 2 in a head's slope (counted over the layer) is -alibi_bias_max * step / steps.
  struct Exponent {
    std::int64_t step, steps;
  };
  [[nodiscard]] Exponent exponent(std::int64_t head) const;
  /// Slope of a head of the layer, at the precision in force.
  [[nodiscard]] num::Real slope(std::int64_t head) const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// What computes an Alibi's values. Copies share their state.
class Alibi::Table {
 public:
  explicit Table(const Alibi& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Alibi& encoding);

}  // namespace posenc
