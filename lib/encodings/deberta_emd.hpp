// deberta_emd: the query of DeBERTa's enhanced mask decoder (He et al. 2021, arXiv:2006.03654, section 3.2;
// microsoft/DeBERTa emd_context_layer).
//
// The decoder meets absolute positions only here: the first of its two passes over the last layer has the queries
//   query_i = hidden_i + position embedding of position offset + i
// with the states before the last layer as hidden; keys and values are the hidden states in both passes, and the second pass
// takes the output of the first as queries. Only for models with position_biased_input false.
#pragma once
#include <memory>

#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

struct DebertaEmd {
  static constexpr std::string_view name = "deberta_emd";
  static constexpr std::string_view summary = "queries of DeBERTa's enhanced mask decoder, states plus absolute positions";
  static constexpr std::string_view source = "He et al. 2021, arXiv:2006.03654, section 3.2";

  Array hidden{}, position_embeddings{};
  std::int64_t offset = 0;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "hidden", .metavar = "FILE", .help = "states [position, channel] before the last layer", .source = "hidden_states[-2]"}, s.hidden);
    v(Field{.name = "position_embeddings", .metavar = "FILE", .help = "table [position, channel], a row for each position at least",
            .source = "embeddings.position_embeddings.weight"},
      s.position_embeddings);
    v(Field{.name = "offset", .metavar = "N", .help = "position of the first state", .unit = "positions", .range = between(0, 0x1p40), .count = true},
      s.offset);
  }

  void check() const;
  /// `query` [position, channel].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// Computes the values.
  class Table {
   public:
    explicit Table(const DebertaEmd& spec) : spec_(std::make_shared<const DebertaEmd>(spec)) {}
    template <class T>
    T element(std::size_t tensor, std::span<const std::int64_t> index) const;

   private:
    std::shared_ptr<const DebertaEmd> spec_;
  };
  [[nodiscard]] Table table() const { return Table(*this); }
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const DebertaEmd& encoding);

}  // namespace posenc
