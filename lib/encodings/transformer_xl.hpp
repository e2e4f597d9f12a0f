// transformer_xl: the table R of sinusoids of the distance (Dai et al. 2019, arXiv:1901.02860, section 3.3).
//
// Row r belongs to distance key_length - 1 - r of the paper's i - j, query minus key: the farthest key first, the query itself
// last. Scores use it as q . W_R R + v . W_R R after a shift of each row by its query (rel_shift), which is an operation on
// scores and not part of a table. With clamp_len > 0 farther keys share its distance.
#pragma once
#include "relative_sinusoids.hpp"

namespace posenc {

struct TransformerXl {
  static constexpr std::string_view name = "transformer_xl";
  static constexpr std::string_view summary = "sinusoids of the distance, farthest key first";
  static constexpr std::string_view source = "Dai et al. 2019, arXiv:1901.02860, section 3.3";

  std::int64_t dim = 512;
  double base = 10000;
  std::int64_t key_length = 1024;
  std::int64_t clamp_len = -1;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "dim", .metavar = "N", .help = "width of the table, even", .unit = "channels", .range = between(2, 1 << 20),
            .source = "config.d_model"},
      s.dim);
    v(Field{.name = "base", .metavar = "X", .help = "ratio of the frequencies", .range = positive, .source = "arXiv:1706.03762, section 3.5: 10000"},
      s.base);
    v(Field{.name = "key_length", .metavar = "N", .help = "keys, those of the memory included", .unit = "positions",
            .range = between(1, 1 << 26), .source = "klen = qlen + mlen", .count = true},
      s.key_length);
    v(Field{.name = "clamp_len", .metavar = "N", .help = "largest distance, farther keys share it; 0 or less: none", .unit = "positions",
            .range = between(-1, 1 << 26), .source = "config.clamp_len"},
      s.clamp_len);
  }

  void check() const;
  /// `table` [position, channel].
  [[nodiscard]] std::vector<Tensor> tensors() const { return rows().tensors(); }
  [[nodiscard]] std::vector<Law> laws() const { return rows().laws(source.data()); }

  [[nodiscard]] detail::RelativeSinusoids rows() const {
    return {.dim = dim, .base = base, .first = key_length - 1, .rows = key_length, .clamp = std::max<std::int64_t>(clamp_len, 0)};
  }
  using Table = detail::RelativeSinusoids::Table;
  [[nodiscard]] Table table() const { return Table(rows()); }
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const TransformerXl& encoding);

}  // namespace posenc
