// swin: relative position bias of windowed attention (Liu et al. 2021, arXiv:2103.14030, equation 4).
//
// A number from a table is added to the scaled score of two patches of a window, one row per offset (see window.hpp) and one
// column per head.
#pragma once
#include <memory>

#include "window_table.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

struct Swin {
  static constexpr std::string_view name = "swin";
  static constexpr std::string_view summary = "bias of a window of patches from a table of 2-D offsets";
  static constexpr std::string_view source = "Liu et al. 2021, arXiv:2103.14030, equation 4";

  Window window{};
  Array bias_table{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    Window::fields(s.window, v);
    v(Field{.name = "bias_table", .metavar = "FILE",
            .help = "bias of each offset and head, [(2 height - 1)(2 width - 1), num_heads]: stores `bias`; absent: stores the index", .unit = "bias",
            .source = "relative_position_bias_table"},
      s.bias_table);
  }

  void check() const { matrix().check(); }
  /// `bias` [head, query, key] with a table, `index` [query, key] without.
  [[nodiscard]] std::vector<Tensor> tensors() const { return matrix().tensors(); }
  [[nodiscard]] std::vector<Law> laws() const { return matrix().laws(source.data()); }

  [[nodiscard]] detail::WindowMatrix matrix() const { return {window, false, bias_table}; }

  using Table = detail::WindowTable;
  [[nodiscard]] Table table() const { return Table(matrix()); }
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Swin& encoding);

}  // namespace posenc
