// Windows of patches and the tables of relative positions that Swin and BEiT share. Cells of a window are numbered row by row;
// the row of the table for a query and a key is
//   (dy + height - 1) (2 width - 1) + dx + width - 1,   dy, dx = row and column of the query minus those of the key,
// so a table has (2 height - 1)(2 width - 1) rows. Both are fixed by the window: they are made anew for another, never resized.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "posenc/array.hpp"
#include "posenc/field.hpp"
#include "posenc/law.hpp"
#include "posenc/tensor.hpp"

namespace posenc {

struct Window {
  std::int64_t height = 7, width = 7;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "window_height", .metavar = "N", .help = "rows of the window", .unit = "patches", .range = between(1, 1 << 12)}, s.height);
    v(Field{.name = "window_width", .metavar = "N", .help = "columns of the window", .unit = "patches", .range = between(1, 1 << 12)}, s.width);
  }

  [[nodiscard]] std::int64_t cells() const { return height * width; }
  [[nodiscard]] std::int64_t table_rows() const { return (2 * height - 1) * (2 * width - 1); }
  [[nodiscard]] std::int64_t row(std::int64_t query, std::int64_t key) const {
    return (query / width - key / width + height - 1) * (2 * width - 1) + query % width - key % width + width - 1;
  }
};

namespace detail {

/// What a window's matrix holds: rows of the table, or the table's numbers. `class_token`: token 0 stands before the cells and
/// uses the last three rows of the table: its row of the matrix, its column, and the corner.
struct WindowMatrix {
  Window window;
  bool class_token = false;
  Array bias_table;  ///< [rows, heads], or not given

  [[nodiscard]] std::int64_t tokens() const { return window.cells() + (class_token ? 1 : 0); }
  [[nodiscard]] std::int64_t table_rows() const { return window.table_rows() + (class_token ? 3 : 0); }
  [[nodiscard]] std::int64_t heads() const { return bias_table.shape.size() == 2 ? bias_table.shape[1] : 1; }
  [[nodiscard]] std::int64_t row(std::int64_t query, std::int64_t key) const {
    if (!class_token) return window.row(query, key);
    if (query == 0) return key == 0 ? table_rows() - 1 : table_rows() - 3;
    return key == 0 ? table_rows() - 2 : window.row(query - 1, key - 1);
  }

  void check() const;
  /// `bias` [head, query, key] with a table, `index` [query, key] without.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws(const char* source) const;
};

/// Puts value(row of the table, head) for an extent of rows of `bias`; the row of the table for cell pairs without divisions.
class WindowRows {
 public:
  explicit WindowRows(const WindowMatrix& m) : matrix_(m) {
    for (std::int64_t c = 0; c < m.window.cells(); ++c) start_.push_back(c / m.window.width * (2 * m.window.width - 1) + c % m.window.width);
  }
  [[nodiscard]] const WindowMatrix& matrix() const { return matrix_; }
  [[nodiscard]] std::int64_t row(std::int64_t query, std::int64_t key) const {
    const std::int64_t skip = matrix_.class_token ? 1 : 0;
    if (skip != 0 && (query == 0 || key == 0)) return matrix_.row(query, key);
    return start_[static_cast<std::size_t>(query - skip)] - start_[static_cast<std::size_t>(key - skip)] + (start_.back() - start_.front());
  }
  /// Calls f(table row, head, hi offset) for every element of the extent of a [head, query, key] tensor.
  template <class F>
  void each(const Extent& e, F&& f) const {
    for (std::int64_t r = 0; r < e.rows; ++r) {
      const std::int64_t head = (e.row + r) / matrix_.tokens(), query = (e.row + r) % matrix_.tokens();
      for (std::int64_t c = 0; c < e.cols; ++c) f(row(query, e.col + c), head, r * e.cols + c);
    }
  }

 private:
  WindowMatrix matrix_;
  std::vector<std::int64_t> start_;  ///< row(c, last cell) minus row(first cell, last cell)
};

}  // namespace detail
}  // namespace posenc
