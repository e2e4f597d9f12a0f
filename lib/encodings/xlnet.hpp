// xlnet: the table of sinusoids of the distance (Yang et al. 2019, arXiv:1906.08237; relative_positional_encoding).
//
// Row r belongs to distance key_length - r of query minus key, down to 1 - query_length (attn_type bi) or 0 (uni): one row more
// than Transformer-XL at the far end, which the shift of scores drops. bi_data reads half of the batch backwards: its copies
// have the opposite distances.
#pragma once
#include <optional>

#include "relative_sinusoids.hpp"

namespace posenc {

enum class XlnetAttention : std::uint8_t { bi, uni };
template <>
struct EnumNames<XlnetAttention> {
  static constexpr std::array<EnumName<XlnetAttention>, 2> values{{
      {XlnetAttention::bi, "bi", "distances key_length .. 1 - query_length: attention to both sides, pretrained XLNet"},
      {XlnetAttention::uni, "uni", "distances key_length .. 0: attention to the past"},
  }};
};

struct Xlnet {
  static constexpr std::string_view name = "xlnet";
  static constexpr std::string_view summary = "sinusoids of the distance, farthest key first, on both sides of the query";
  static constexpr std::string_view source = "Yang et al. 2019, arXiv:1906.08237";

  std::int64_t dim = 1024;
  double base = 10000;
  std::int64_t key_length = 512;
  std::optional<std::int64_t> query_length{};
  XlnetAttention attn_type = XlnetAttention::bi;
  std::int64_t clamp_len = -1;
  bool bi_data = false;
  std::optional<std::int64_t> batch_size{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "dim", .metavar = "N", .help = "width of the table, even", .unit = "channels", .range = between(2, 1 << 20),
            .source = "config.d_model"},
      s.dim);
    v(Field{.name = "base", .metavar = "X", .help = "ratio of the frequencies", .range = positive, .source = "arXiv:1706.03762, section 3.5: 10000"},
      s.base);
    v(Field{.name = "key_length", .metavar = "N", .help = "keys, those of the memory included", .unit = "positions",
            .range = between(1, 1 << 26), .source = "klen = mlen + qlen", .count = true},
      s.key_length);
    v(Field{.name = "query_length", .metavar = "N", .help = "queries; absent: as many as keys", .unit = "positions",
            .range = between(1, 1 << 26), .count = true},
      s.query_length);
    v(Field{.name = "attn_type", .metavar = "NAME", .help = "how far the distances go", .source = "config.attn_type"}, s.attn_type);
    v(Field{.name = "clamp_len", .metavar = "N", .help = "largest distance on either side; 0 or less: none", .unit = "positions",
            .range = between(-1, 1 << 26), .source = "config.clamp_len"},
      s.clamp_len);
    v(Field{.name = "bi_data", .metavar = "BOOL", .help = "the second half of the batch has the opposite distances", .source = "config.bi_data"},
      s.bi_data);
    v(Field{.name = "batch_size", .metavar = "N", .help = "copies along a batch axis; absent: no such axis, with bi_data 2", .unit = "sequences",
            .range = between(1, 1 << 20)},
      s.batch_size);
  }

  void check() const;
  /// `table` [position, channel], or [position, batch, channel].
  [[nodiscard]] std::vector<Tensor> tensors() const { return rows().tensors(); }
  [[nodiscard]] std::vector<Law> laws() const { return rows().laws(source.data()); }

  [[nodiscard]] detail::RelativeSinusoids rows() const {
    const std::int64_t after = attn_type == XlnetAttention::bi ? query_length.value_or(key_length) : 1;
    return {.dim = dim,
            .base = base,
            .first = key_length,
            .rows = key_length + after,
            .clamp = std::max<std::int64_t>(clamp_len, 0),
            .batch = batch_size.value_or(bi_data ? 2 : 0),
            .mirrored = bi_data};
  }
  using Table = detail::RelativeSinusoids::Table;
  [[nodiscard]] Table table() const { return Table(rows()); }
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Xlnet& encoding);

}  // namespace posenc
