// transformer_xl_scores: the four terms of attention with relative sinusoids (Dai et al. 2019, arXiv:1901.02860, section 3.3),
// of given queries and keys. XLNet (Yang et al. 2019, arXiv:1906.08237) has the same terms, without its segment term here.
//
// Query i of Q and key j of K are at distance = i + K - Q - j, query minus key; R is the table of transformer_xl:
//   a = q_i . k_j,   b = q_i . W_R R[distance],   c = u . k_j,   d = v . W_R R[distance],   score = a + b + c + d
// all over sqrt(lanes) where `scaled`. The released code makes b and d for all rows of R and shifts them (rel_shift); here each
// stands at its distance. Keys after the query have no row in Transformer-XL; XLNet's table goes on below distance 0.
// In the real number's arithmetic q and v meet W_R first, so that what is left are rational multiples of sines and cosines of
// different angles: their sum is rational only where each factor is 0 (Lindemann, Weierstrass), which is recognised. Arithmetic
// float32 makes W_R R first, as model code does.
#pragma once
#include <memory>

#include "relative_sinusoids.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class TransformerXlFuture : std::uint8_t { zero, mask, both };
template <>
struct EnumNames<TransformerXlFuture> {
  static constexpr std::array<EnumName<TransformerXlFuture>, 3> values{{
      {TransformerXlFuture::zero, "zero", "every term and the score are 0; tensor mask is 0 there too"},
      {TransformerXlFuture::mask, "mask", "every term is 0 and the score -inf: Transformer-XL's attention mask"},
      {TransformerXlFuture::both, "both", "distances go on below 0, nothing is masked: XLNet, attn_type bi"},
  }};
};

struct TransformerXlScores {
  static constexpr std::string_view name = "transformer_xl_scores";
  static constexpr std::string_view summary = "the four terms of Transformer-XL's and XLNet's attention and their sum";
  static constexpr std::string_view source = "Dai et al. 2019, arXiv:1901.02860, section 3.3; Yang et al. 2019, arXiv:1906.08237";

  Array query{}, key{};
  Array position_weight{}, content_bias{}, position_bias{};
  double base = 10000;
  std::int64_t clamp_len = -1;
  TransformerXlFuture future = TransformerXlFuture::zero;
  bool scaled = true;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "query", .metavar = "FILE", .help = "queries [head, query, lane], the last positions"}, s.query);
    v(Field{.name = "key", .metavar = "FILE", .help = "keys [head, key, lane], those of the memory first"}, s.key);
    v(Field{.name = "position_weight", .metavar = "FILE", .help = "W_R [head * lane, channel], or XLNet's [channel, head, lane]",
            .source = "r_net.weight; XLNet: rel_attn.r"},
      s.position_weight);
    v(Field{.name = "content_bias", .metavar = "FILE", .help = "u [head, lane]; absent: 0", .source = "r_w_bias"}, s.content_bias);
    v(Field{.name = "position_bias", .metavar = "FILE", .help = "v [head, lane]; absent: 0", .source = "r_r_bias"}, s.position_bias);
    v(Field{.name = "base", .metavar = "X", .help = "ratio of the frequencies, not 1", .range = positive, .source = "arXiv:1706.03762, section 3.5: 10000"},
      s.base);
    v(Field{.name = "clamp_len", .metavar = "N", .help = "largest distance, farther keys share it; 0 or less: none", .unit = "positions",
            .range = between(-1, 1 << 26), .source = "config.clamp_len"},
      s.clamp_len);
    v(Field{.name = "future", .metavar = "NAME", .help = "what keys after the query have"}, s.future);
    v(Field{.name = "scaled", .metavar = "BOOL", .help = "terms and score are divided by sqrt(lanes)"}, s.scaled);
  }

  void check() const;
  /// `a`, `b`, `c`, `d` and `score` [head, query, key], and `mask` [query, key]: 1 where a key is not after the query.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// The table R, of transformer_xl or, for keys on both sides, of xlnet.
  [[nodiscard]] detail::RelativeSinusoids sinusoids() const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const TransformerXlScores& encoding);

}  // namespace posenc
