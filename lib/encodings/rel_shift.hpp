// rel_shift: the shift of scores by their query that Transformer-XL (Dai et al. 2019, arXiv:1901.02860, appendix B) and XLNet
// (Yang et al. 2019, arXiv:1906.08237) do by reshaping, of a given array.
//
// Of X with Q queries and C columns, one for each row of the sinusoids, farthest key first:
//   transformer-xl: a column of zeros in front, [Q, C + 1] seen as [C + 1, Q], first row dropped, seen as [Q, C]
//     Y[i, j] = X[i, Q - 1 - i + j]  for j <= i + C - Q
//   xlnet: [Q, C] seen as [C, Q], first row dropped, seen as [Q, C - 1], the first key_length columns
//     Y[i, j] = X[i, Q - i + j]      for Q - i + j < C
// Beyond these columns the reshaping leaves zeros and scores of the next query, which an attention mask must hide.
#pragma once
#include <memory>
#include <optional>

#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class RelShiftVariant : std::uint8_t { transformer_xl, xlnet };
template <>
struct EnumNames<RelShiftVariant> {
  static constexpr std::array<EnumName<RelShiftVariant>, 2> values{{
      {RelShiftVariant::transformer_xl, "transformer-xl", "as many columns as keys: _rel_shift"},
      {RelShiftVariant::xlnet, "xlnet", "more columns than keys: rel_shift, rel_shift_bnij"},
  }};
};

enum class RelShiftAxes : std::uint8_t { trailing, leading };
template <>
struct EnumNames<RelShiftAxes> {
  static constexpr std::array<EnumName<RelShiftAxes>, 2> values{{
      {RelShiftAxes::trailing, "trailing", "[.., query, column]: rel_shift_bnij"},
      {RelShiftAxes::leading, "leading", "[query, column, ..]: _rel_shift of Transformer-XL, rel_shift of XLNet's first code"},
  }};
};

enum class RelShiftBeyond : std::uint8_t { reshaped, zero, mask };
template <>
struct EnumNames<RelShiftBeyond> {
  static constexpr std::array<EnumName<RelShiftBeyond>, 3> values{{
      {RelShiftBeyond::reshaped, "reshaped", "what the reshaping leaves there: the published code"},
      {RelShiftBeyond::zero, "zero", "0"},
      {RelShiftBeyond::mask, "mask", "-inf"},
  }};
};

struct RelShift {
  static constexpr std::string_view name = "rel_shift";
  static constexpr std::string_view summary = "scores shifted by their query, as Transformer-XL and XLNet reshape them";
  static constexpr std::string_view source = "Dai et al. 2019, arXiv:1901.02860, appendix B; Yang et al. 2019, arXiv:1906.08237";

  RelShiftVariant variant = RelShiftVariant::transformer_xl;
  Array scores{};
  RelShiftAxes axes = RelShiftAxes::trailing;
  std::optional<std::int64_t> key_length{};
  RelShiftBeyond beyond = RelShiftBeyond::reshaped;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "variant", .metavar = "NAME", .help = "whose shift"}, s.variant);
    v(Field{.name = "scores", .metavar = "FILE", .help = "the array to shift, two axes or more"}, s.scores);
    v(Field{.name = "axes", .metavar = "NAME", .help = "which axes are queries and columns"}, s.axes);
    v(Field{.name = "key_length", .metavar = "N", .help = "columns that xlnet keeps; absent: columns - queries (attn_type bi)", .unit = "positions",
            .range = between(1, 0x1p40), .source = "klen", .count = true},
      s.key_length);
    v(Field{.name = "beyond", .metavar = "NAME", .help = "what stands where a query has no column left"}, s.beyond);
  }

  void check() const;
  /// `shifted`, with the axes of the scores.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// Where the axes of queries and of columns are, and their sizes.
  [[nodiscard]] std::size_t query_axis() const { return axes == RelShiftAxes::leading ? 0 : scores.shape.size() - 2; }
  [[nodiscard]] std::int64_t queries() const { return scores.shape[query_axis()]; }
  [[nodiscard]] std::int64_t columns() const { return scores.shape[query_axis() + 1]; }
  [[nodiscard]] std::int64_t keys() const {
    return variant == RelShiftVariant::xlnet ? key_length.value_or(columns() - queries()) : columns();
  }
  /// The column of the same query that (query, key) shows; from columns() on it has none left.
  [[nodiscard]] std::int64_t column(std::int64_t query, std::int64_t at) const {
    return queries() - query + at - (variant == RelShiftVariant::transformer_xl ? 1 : 0);
  }
  /// The score at a place, its coordinates those of the result with the column for the key.
  [[nodiscard]] double score(std::span<const std::int64_t> index, std::int64_t query, std::int64_t at) const;

  /// Computes the values.
  class Table {
   public:
    explicit Table(const RelShift& spec) : spec_(std::make_shared<const RelShift>(spec)) {}
    template <class T>
    T element(std::size_t tensor, std::span<const std::int64_t> index) const;

   private:
    std::shared_ptr<const RelShift> spec_;
  };
  [[nodiscard]] Table table() const { return Table(*this); }
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const RelShift& encoding);

}  // namespace posenc
