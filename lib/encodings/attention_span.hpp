// Which queries meet which keys: what the relative encodings share. The key at column j has position j, query i has position
// query_offset + i, and distance = key position - query position.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "posenc/error.hpp"
#include "posenc/field.hpp"
#include "posenc/tensor.hpp"

namespace posenc {

enum class SpanForm : std::uint8_t { row, toeplitz, matrix };
template <>
struct EnumNames<SpanForm> {
  static constexpr std::array<EnumName<SpanForm>, 3> values{{
      {SpanForm::row, "row", "[.., key] of the last query: one step of cached decode"},
      {SpanForm::toeplitz, "toeplitz",
       "[.., distance]: column t is distance t - (query_offset + query_length - 1), where query i meets key "
       "j = t + i - (query_length - 1)"},
      {SpanForm::matrix, "matrix", "[.., query, key]"},
  }};
};

/// What biases that fall with the distance give keys after the query.
enum class FutureKeys : std::uint8_t { symmetric, zero, mask };
template <>
struct EnumNames<FutureKeys> {
  static constexpr std::array<EnumName<FutureKeys>, 3> values{{
      {FutureKeys::symmetric, "symmetric", "the bias of |distance|: the papers' formulas"},
      {FutureKeys::zero, "zero", "the bias of distance 0: KERPLE's and NeMo's code (tril), which masks those scores later"},
      {FutureKeys::mask, "mask", "-inf"},
  }};
};

struct AttentionSpan {
  SpanForm form = SpanForm::matrix;
  std::int64_t key_length = 1024;
  std::optional<std::int64_t> query_length{};
  std::optional<std::int64_t> query_offset{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "form", .metavar = "NAME", .help = "which part of the matrix is stored"}, s.form);
    sizes(s, v);
  }
  /// The fields of an encoding that is no function of the distance, so that only the matrix makes sense.
  template <class Self, class V>
  static void sizes(Self& s, V&& v) {
    v(Field{.name = "key_length", .metavar = "N", .help = "keys, cached ones included", .unit = "positions",
            .range = between(1, 0x1p40), .count = true},
      s.key_length);
    v(Field{.name = "query_length", .metavar = "N", .help = "queries; absent: as many as keys", .unit = "positions",
            .range = between(1, 0x1p40), .count = true},
      s.query_length);
    v(Field{.name = "query_offset", .metavar = "N",
            .help = "position of the first query; absent: key_length - query_length, the queries are the last positions",
            .unit = "positions", .range = between(-0x1p50, 0x1p50), .source = "cached decode", .count = true},
      s.query_offset);
  }

  void check() const {
    if (queries() > key_length && !query_offset)
      fail_usage("query_length " + std::to_string(queries()) + " is larger than key_length " + std::to_string(key_length) +
                 "; say with query_offset where the queries are");
  }

  [[nodiscard]] std::int64_t queries() const { return query_length.value_or(key_length); }
  [[nodiscard]] std::int64_t first_query() const { return query_offset.value_or(key_length - queries()); }
  [[nodiscard]] std::int64_t last_query() const { return first_query() + queries() - 1; }
  /// Rows of one head.
  [[nodiscard]] std::int64_t rows() const { return form == SpanForm::matrix ? queries() : 1; }
  /// The number of different distances, and the least of them.
  [[nodiscard]] std::int64_t distances() const { return queries() + key_length - 1; }
  [[nodiscard]] std::int64_t first_distance() const { return -last_query(); }
  /// The distance at column 0 of a row of one head.
  [[nodiscard]] std::int64_t row_distance(std::int64_t row) const {
    return form == SpanForm::matrix ? -(first_query() + row) : -last_query();
  }

  /// [query, key], [key] or [distance], behind the axes in `leading`.
  [[nodiscard]] std::vector<Axis> axes(std::vector<Axis> leading = {}) const {
    if (form == SpanForm::matrix) leading.push_back({"query", queries()});
    if (form == SpanForm::toeplitz)
      leading.push_back({"distance", distances()});
    else
      leading.push_back({"key", key_length});
    return leading;
  }
  /// The distance at an element; `index` holds the coordinates of the axes above without the leading ones.
  [[nodiscard]] std::int64_t distance(std::span<const std::int64_t> index) const {
    return form == SpanForm::matrix ? index[1] - (first_query() + index[0]) : index[0] - last_query();
  }
};

}  // namespace posenc
