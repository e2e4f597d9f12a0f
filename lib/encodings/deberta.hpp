// deberta: indices of disentangled attention (He et al. 2021, arXiv:2006.03654, equations 3 and 4).
//
// With r = query - key (the paper's i - j; minus our distance) the score of a query and a key is
//   (q . key + q . Kr[delta(i, j)] + key . Qr[p2c index]) / sqrt(head_dim * (1 + kinds in pos_att_type)),
//   delta(i, j) = 0 for r <= -k, 2k - 1 for r >= k, otherwise r + k                    table of 2k rows
// v1: k = max_relative_positions. v2 and v3 first put r into logarithmic buckets: with mid = position_buckets / 2 and
// M = max_relative_positions, r stays for |r| <= mid, otherwise it becomes
//   sign(r) ( mid + ceil( (mid - 1) log(|r| / mid) / log((M - 1) / mid) ) )            and k = position_buckets
// Buckets are decided without a logarithm (log_buckets.hpp): bucket mid + m ends at the greatest integer that is not above
// mid ((M - 1) / mid)^(m / (mid - 1)). The binary32 code of Hugging Face gives the same buckets; a binary64 logarithm does
// not always (position_buckets 32, M = 129: r = 32 lies on the edge of bucket 21).
#pragma once
#include <memory>
#include <optional>

#include "attention_span.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class DebertaOutput : std::uint8_t { relative, c2p, p2c };
template <>
struct EnumNames<DebertaOutput> {
  static constexpr std::array<EnumName<DebertaOutput>, 3> values{{
      {DebertaOutput::relative, "relative", "query - key, in buckets where position_buckets is given: build_relative_position"},
      {DebertaOutput::c2p, "c2p", "row of the key table for content to position, delta(i, j)"},
      {DebertaOutput::p2c, "p2c", "row of the query table for position to content, see p2c_rule"},
  }};
};

enum class DebertaP2c : std::uint8_t { paper, code };
template <>
struct EnumNames<DebertaP2c> {
  static constexpr std::array<EnumName<DebertaP2c>, 2> values{{
      {DebertaP2c::paper, "paper", "delta(j, i), equation 4; also what Hugging Face stores as [key, query] before it transposes"},
      {DebertaP2c::code, "code", "delta(i, j) for query i and key j: what microsoft/DeBERTa and Hugging Face end up with"},
  }};
};

enum class DebertaBeyond : std::uint8_t { grow, clip };
template <>
struct EnumNames<DebertaBeyond> {
  static constexpr std::array<EnumName<DebertaBeyond>, 2> values{{
      {DebertaBeyond::grow, "grow", "|r| above max_relative_positions - 1 goes on in further buckets: Hugging Face, microsoft/DeBERTa"},
      {DebertaBeyond::clip, "clip", "r is clipped to max_relative_positions - 1 first: no bucket reaches position_buckets"},
  }};
};

struct Deberta {
  static constexpr std::string_view name = "deberta";
  static constexpr std::string_view summary = "rows of disentangled attention's position tables, plain or in logarithmic buckets";
  static constexpr std::string_view source = "He et al. 2021, arXiv:2006.03654";

  DebertaOutput output = DebertaOutput::c2p;
  std::int64_t max_relative_positions = 512;
  std::optional<std::int64_t> position_buckets{};
  DebertaBeyond beyond = DebertaBeyond::grow;
  DebertaP2c p2c_rule = DebertaP2c::code;
  AttentionSpan span{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which index"}, s.output);
    v(Field{.name = "max_relative_positions", .metavar = "N", .help = "k of v1; with position_buckets where the buckets end",
            .unit = "positions", .range = between(1, 1 << 20),
            .source = "config.max_relative_positions; config.max_position_embeddings where that is -1", .count = true},
      s.max_relative_positions);
    v(Field{.name = "position_buckets", .metavar = "N", .help = "buckets of v2 and v3; absent: v1, without buckets", .unit = "buckets",
            .range = between(4, 1 << 14), .source = "config.position_buckets; v3: 256"},
      s.position_buckets);
    v(Field{.name = "beyond", .metavar = "NAME", .help = "what happens beyond the last bucket; with clip c2p and p2c do not reach the outermost row"}, s.beyond);
    v(Field{.name = "p2c_rule", .metavar = "NAME", .help = "whose index position to content has"}, s.p2c_rule);
    AttentionSpan::fields(s.span, v);
  }

  void check() const;
  /// `relative`, `c2p` or `p2c` [..], see SpanForm.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// Half the rows of the tables.
  [[nodiscard]] std::int64_t half_rows() const { return position_buckets.value_or(max_relative_positions); }

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a Deberta's values. Copies share their state.
class Deberta::Table {
 public:
  explicit Table(const Deberta& spec);
  std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;
  /// Never called: every tensor is an index.
  /// query - key, or its signed bucket.
  [[nodiscard]] std::int64_t relative(std::int64_t query_minus_key) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Deberta& encoding);

}  // namespace posenc
