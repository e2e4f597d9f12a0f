// sandwich: what sinusoidal absolute positions leave of themselves in a score (Chi et al. 2023, arXiv:2212.10356, section 5).
//
// The inner product of two sinusoids of dim channels, less its value at distance 0, divided by one number per head:
//   bias = ( sum over i = 1 .. dim / 2 of cos(distance base^(-2i / dim)) - dim / 2 ) / (8 h / num_heads),   h = 1 .. num_heads
// i starts at 1, not at 0. (A fork of Megatron leaves the cosine out; that is a defect and no option here.)
#pragma once
#include <memory>
#include <optional>

#include "attention_span.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

struct Sandwich {
  static constexpr std::string_view name = "sandwich";
  static constexpr std::string_view summary = "bias from the inner product of two sinusoidal positions";
  static constexpr std::string_view source = "Chi et al. 2023, arXiv:2212.10356";

  std::int64_t num_heads = 8;
  std::int64_t dim = 128;
  double base = 10000;
  FutureKeys future = FutureKeys::symmetric;
  AttentionSpan span{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "num_heads", .metavar = "N", .help = "heads of the layer", .unit = "heads", .range = between(1, 1 << 16),
            .source = "config.num_attention_heads"},
      s.num_heads);
    v(Field{.name = "dim", .metavar = "N", .help = "width of the sinusoids, even", .unit = "channels", .range = between(2, 1 << 16),
            .source = "arXiv:2212.10356: 128; NeMo: hidden_size"},
      s.dim);
    v(Field{.name = "base", .metavar = "X", .help = "ratio of the frequencies", .range = at_least(1), .source = "arXiv:2212.10356: 10000"}, s.base);
    v(Field{.name = "future", .metavar = "NAME", .help = "what keys after the query get"}, s.future);
    AttentionSpan::fields(s.span, v);
  }

  void check() const;
  /// `bias` [head, ..], see SpanForm.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a Sandwich's values. Copies share their state.
class Sandwich::Table {
 public:
  explicit Table(const Sandwich& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Sandwich& encoding);

}  // namespace posenc
