// beit: relative position bias of a grid of patches behind a class token (Bao et al. 2022, arXiv:2106.08254; data2vec-vision).
//
// As swin, with token 0 before the patches: the table's last three rows are the class token's to patches, patches' to the class
// token, and the class token's to itself. Only the rows before them belong to offsets and may be resized for another grid.
#pragma once
#include <memory>

#include "window_table.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

struct Beit {
  static constexpr std::string_view name = "beit";
  static constexpr std::string_view summary = "bias of a grid of patches and a class token from a table of 2-D offsets";
  static constexpr std::string_view source = "Bao et al. 2022, arXiv:2106.08254, section 2.1";

  Window window{};
  Array bias_table{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    Window::fields(s.window, v);
    v(Field{.name = "bias_table", .metavar = "FILE",
            .help = "bias of each offset and head, [(2 height - 1)(2 width - 1) + 3, num_heads]: stores `bias`; absent: stores the index", .unit = "bias",
            .source = "relative_position_bias_table"},
      s.bias_table);
  }

  void check() const { matrix().check(); }
  /// `bias` [head, query, key] with a table, `index` [query, key] without.
  [[nodiscard]] std::vector<Tensor> tensors() const { return matrix().tensors(); }
  [[nodiscard]] std::vector<Law> laws() const { return matrix().laws(source.data()); }

  [[nodiscard]] detail::WindowMatrix matrix() const { return {window, true, bias_table}; }

  using Table = detail::WindowTable;
  [[nodiscard]] Table table() const { return Table(matrix()); }
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Beit& encoding);

}  // namespace posenc
