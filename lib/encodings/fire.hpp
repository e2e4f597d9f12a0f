// fire: functional interpolation of relative positions (Li et al. 2024, arXiv:2310.04418, equation 4 and appendix listing).
//
// A query at position i and a key at position j have the normalised distance
//   x = psi(|i - j|) / ( psi(max(i, |multiplier threshold|)) + 1e-6 ),   psi(y) = log(|c y| + 1)
// and a small network makes each head's bias of it: W2 relu(W1 x + b1) + b2. Up to the threshold the bias is a function of the
// distance; beyond it distances are interpolated progressively and the query's position counts too.
#pragma once
#include <memory>

#include "attention_span.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

struct Fire {
  static constexpr std::string_view name = "fire";
  static constexpr std::string_view summary = "bias that a small network makes of the distance over the query's position";
  static constexpr std::string_view source = "Li et al. 2024, arXiv:2310.04418";

  double c = 0.1;
  double threshold = 512;
  double multiplier = 1;
  Array weight_1{}, bias_1{}, weight_2{}, bias_2{};
  AttentionSpan span{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "c", .metavar = "X", .help = "how strongly the logarithm bends, learned", .range = positive, .source = "listing: init_c 0.1"}, s.c);
    v(Field{.name = "threshold", .metavar = "X", .help = "length from which on distances are interpolated", .unit = "positions",
            .range = {0, 0x1p40, true, false}, .source = "listing: init_L 512"},
      s.threshold);
    v(Field{.name = "multiplier", .metavar = "X", .help = "factor on the threshold, learned; its sign does not count", .range = between(-0x1p10, 0x1p10),
            .source = "listing: L_multiplier 1"},
      s.multiplier);
    v(Field{.name = "weight_1", .metavar = "FILE", .help = "W1 [hidden, 1]; without weights the normalised distances are stored",
            .source = "mlp.0.weight; 32 hidden units"},
      s.weight_1);
    v(Field{.name = "bias_1", .metavar = "FILE", .help = "b1 [hidden]", .source = "mlp.0.bias"}, s.bias_1);
    v(Field{.name = "weight_2", .metavar = "FILE", .help = "W2 [num_heads, hidden]", .source = "mlp.2.weight"}, s.weight_2);
    v(Field{.name = "bias_2", .metavar = "FILE", .help = "b2 [num_heads]", .source = "mlp.2.bias"}, s.bias_2);
    AttentionSpan::fields(s.span, v);
  }

  void check() const;
  /// `bias` [head, ..] with weights, `normalised` [..] without.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] bool has_weights() const { return weight_1.given() || bias_1.given() || weight_2.given() || bias_2.given(); }
  [[nodiscard]] std::int64_t heads() const { return weight_2.shape.size() == 2 ? weight_2.shape[0] : 1; }

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a Fire's values. Copies share their state.
class Fire::Table {
 public:
  explicit Table(const Fire& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Fire& encoding);

}  // namespace posenc
