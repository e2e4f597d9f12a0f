// token_positions: the position ids, rows of a learned or sinusoidal table, that model code gives tokens and masks.
//
//   rule plain     id = past_length + i + offset, padding or not: LED (offset 0), BART and mBART (2), and RoBERTa's family from
//                  embeddings instead of tokens (padding_idx + 1)
//   rule tokens    tokens other than padding_idx count from padding_idx + 1 (past_length later), padding has padding_idx:
//                  fairseq make_positions, RoBERTa, XLM-R, ESM, Longformer, M2M100
//   rule mask      tokens with mask 1 count from offset, the others have masked_id: OPT (offset 2, masked_id 1), decoding of
//                  left-padded batches in Hugging Face (offset 0, masked_id 1). The first past_length columns are left out
// Without tokens or a mask, `length` tokens in each of `batch` rows are there, none of them padding.
#pragma once
#include <memory>
#include <optional>

#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class TokenPositionsRule : std::uint8_t { plain, tokens, mask };
template <>
struct EnumNames<TokenPositionsRule> {
  static constexpr std::array<EnumName<TokenPositionsRule>, 3> values{{
      {TokenPositionsRule::plain, "plain", "every token counts: LED, BART (offset 2), RoBERTa from embeddings (offset padding_idx + 1)"},
      {TokenPositionsRule::tokens, "tokens", "tokens other than padding_idx count from padding_idx + 1: fairseq, RoBERTa, XLM-R, ESM, Longformer, M2M100"},
      {TokenPositionsRule::mask, "mask", "tokens with mask 1 count: OPT (offset 2), left-padded decoding"},
  }};
};

struct TokenPositions {
  static constexpr std::string_view name = "token_positions";
  static constexpr std::string_view summary = "position ids of tokens, with each family's treatment of padding";
  static constexpr std::string_view source = "fairseq make_positions; Hugging Face create_position_ids_from_input_ids";

  TokenPositionsRule rule = TokenPositionsRule::plain;
  std::optional<std::int64_t> batch{};
  std::int64_t length = 2048;
  Array tokens{};
  std::int64_t padding_idx = 1;
  Array attention_mask{};
  std::int64_t offset = 0;
  std::optional<std::int64_t> masked_id{};
  std::int64_t past_length = 0;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "rule", .metavar = "NAME", .help = "which tokens count"}, s.rule);
    v(Field{.name = "batch", .metavar = "N", .help = "rows; absent: one, without an axis for it; unused with tokens or attention_mask", .range = between(1, 0x1p40), .count = true}, s.batch);
    v(Field{.name = "length", .metavar = "N", .help = "tokens of a row; unused with tokens or attention_mask", .unit = "positions",
            .range = between(1, 0x1p40), .count = true},
      s.length);
    v(Field{.name = "tokens", .metavar = "FILE", .help = "rule tokens: token ids, [batch, position] or [position]"}, s.tokens);
    v(Field{.name = "padding_idx", .metavar = "N", .help = "rule tokens: id of the padding token", .range = between(0, 0x1p40),
            .source = "config.pad_token_id: 1"},
      s.padding_idx);
    v(Field{.name = "attention_mask", .metavar = "FILE", .help = "rule mask: 1 for tokens, 0 for padding, [batch, past_length + position] or one row",
            .range = between(0, 1)},
      s.attention_mask);
    v(Field{.name = "offset", .metavar = "N", .help = "rules plain and mask: id of the first token", .range = between(-0x1p40, 0x1p40),
            .source = "BART, OPT: 2"},
      s.offset);
    v(Field{.name = "masked_id", .metavar = "N", .help = "rule mask: id of what is masked; absent: offset - 1", .range = between(-0x1p40, 0x1p40),
            .source = "OPT: 1, from -1 + 2"},
      s.masked_id);
    v(Field{.name = "past_length", .metavar = "N", .help = "tokens decoded before", .unit = "positions", .range = between(0, 0x1p40),
            .source = "past_key_values_length", .count = true},
      s.past_length);
  }

  void check() const;
  /// `position_ids` [batch, position], or [position] of one row.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// What says which tokens count, if given: the tokens or the mask.
  [[nodiscard]] const Array* given() const;
  /// Whether a value of given() counts.
  [[nodiscard]] bool counts(double value) const { return rule == TokenPositionsRule::tokens ? value != static_cast<double>(padding_idx) : value != 0; }
  /// Columns of given() that are left out.
  [[nodiscard]] std::int64_t left_out() const { return rule == TokenPositionsRule::mask ? past_length : 0; }
  /// Id of the first token that counts, and of what does not count.
  [[nodiscard]] std::int64_t first_id() const;
  [[nodiscard]] std::int64_t other_id() const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a TokenPositions' ids. Copies share their state.
class TokenPositions::Table {
 public:
  explicit Table(const TokenPositions& spec);
  [[nodiscard]] std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const TokenPositions& encoding);

}  // namespace posenc
