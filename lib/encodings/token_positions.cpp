// token_positions: parameters, ids, laws.
#include "encodings/token_positions.hpp"

#include "encodings/model.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {

using Rule = TokenPositionsRule;

const Array* TokenPositions::given() const {
  const Array* array = rule == Rule::tokens ? &tokens : rule == Rule::mask ? &attention_mask : nullptr;
  return array && array->given() ? array : nullptr;
}

std::int64_t TokenPositions::first_id() const {
  switch (rule) {
    case Rule::plain: return offset + past_length;
    case Rule::tokens: return padding_idx + 1 + past_length;
    case Rule::mask: break;
  }
  return offset;
}

std::int64_t TokenPositions::other_id() const { return rule == Rule::tokens ? padding_idx : masked_id.value_or(offset - 1); }

void TokenPositions::check() const {
  if (tokens.given() && rule != Rule::tokens) fail_usage("tokens goes with rule tokens");
  if (attention_mask.given() && rule != Rule::mask) fail_usage("attention_mask goes with rule mask");
  if (masked_id && rule != Rule::mask) fail_usage("masked_id goes with rule mask");
  if (offset != 0 && rule == Rule::tokens) fail_usage("rule tokens counts from padding_idx + 1; offset goes with rules plain and mask");
  const Array* array = given();
  if (!array) return;
  const char* what = rule == Rule::tokens ? "tokens" : "attention_mask";
  if (array->shape.size() != 1) check_shape(*array, {-1, -1}, what);
  const std::int64_t columns = array->shape.back();
  if (array->values.empty()) fail_usage(fmt::format("{} holds no token", what));
  if (columns <= left_out()) fail_usage(fmt::format("attention_mask has {} columns, of which past_length {} are past", columns, past_length));
  for (const double v : array->values)
    if (v != std::floor(v)) fail_usage(fmt::format("{} wants integers, got {}", what, print(v)));
}

std::vector<Tensor> TokenPositions::tensors() const {
  const Array* array = given();
  std::vector<Axis> axes;
  if (array ? array->shape.size() == 2 : batch.has_value()) axes.push_back({"batch", array ? array->shape[0] : *batch});
  axes.push_back({"position", array ? array->shape.back() - left_out() : length});
  return {{"position_ids", std::move(axes), Kind::integer, "row of the table for each token"}};
}

struct TokenPositions::Table::State {
  explicit State(const TokenPositions& s) : spec(s) {
    const Array* array = s.given();
    if (!array) return;
    columns = array->shape.back();
    for (std::size_t at = 0; at < array->values.size();) {
      std::int64_t next = s.first_id();
      for (std::int64_t c = 0; c < columns; ++c, ++at) ids.push_back(s.counts(array->values[at]) ? next++ : s.other_id());
    }
  }
  TokenPositions spec;
  std::int64_t columns = 0;
  std::vector<std::int64_t> ids;  ///< of every token or mask given
};

TokenPositions::Table::Table(const TokenPositions& spec) : state_(std::make_shared<const State>(spec)) {}
TokenPositions::Table TokenPositions::table() const { return Table(*this); }

std::int64_t TokenPositions::Table::integer(std::size_t, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  const std::int64_t past = s.spec.left_out();
  if (s.columns == 0) return s.spec.first_id() + past + index.back();
  return s.ids[static_cast<std::size_t>((index.size() == 2 ? index[0] : 0) * s.columns + past + index.back())];
}

// Integers: equal or wrong.
std::vector<Law> TokenPositions::laws() const {
  if (tensors()[0].columns() > 1 << 24) return {};  // a law reads whole rows
  return {{"counting", "tokens that count rise by 1 from the first id, the others have one id", "fairseq make_positions", [s = *this](const Stored& stored) -> detail::Failed {
             const Array* array = s.given();
             const Tensor tensor = s.tensors()[0];
             for (const std::int64_t r : detail::spread(tensor.rows())) {
               const auto row = stored.row(0, r);
               if (!row) return {};
               std::optional<double> last;
               for (std::int64_t c = 0; c < tensor.columns(); ++c) {
                 const double id = (*row)[static_cast<std::size_t>(c)];
                 const bool counts = !array || s.counts(array->values[static_cast<std::size_t>(r * array->shape.back() + s.left_out() + c)]);
                 // The first id too, where it is not left out.
                 if (counts && !last && s.left_out() == 0 && id != static_cast<double>(s.first_id())) return fmt::format("row {}: the first id is {:.17g}", r, id);
                 if (counts ? last && id != *last + 1 : id != static_cast<double>(s.other_id())) return fmt::format("row {}: id {:.17g} at {}", r, id, c);
                 if (counts) last = id;
               }
             }
             return {};
           }}};
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(token_positions, TokenPositions)
