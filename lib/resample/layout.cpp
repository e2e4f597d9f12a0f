#include "layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "posenc/error.hpp"
#include "posenc/names.hpp"
#include "posenc/text.hpp"

namespace posenc::resampling {
namespace {

// The side of a square number, or 0.
std::int64_t square_side(std::int64_t cells) {
  if (cells <= 0) return 0;
  auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(cells)));
  while (side * side > cells) --side;
  while ((side + 1) * (side + 1) <= cells) ++side;
  return side * side == cells ? side : 0;
}
// The side of the square window whose table has that many rows, or 0.
std::int64_t window_side(std::int64_t rows) {
  const std::int64_t side = square_side(rows);
  return side % 2 == 1 ? (side + 1) / 2 : 0;
}

std::string size_text(const Size& s) { return fmt::format("{}x{}", s.height, s.width); }
std::string rows_text(std::int64_t rows, std::string_view which) { return fmt::format("{} {} row{}", rows, which, rows == 1 ? "" : "s"); }

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// Neither counts of values nor products of a row's number and a size of an axis may overflow.
void check_size(const std::vector<std::int64_t>& shape, std::string_view which) {
  constexpr std::int64_t most = std::int64_t{1} << 58, longest = std::int64_t{1} << 36;
  std::int64_t elements = 1;
  for (const std::int64_t size : shape)
    if (size > longest || __builtin_mul_overflow(elements, size, &elements) || elements > most)
      fail_usage(fmt::format("{} table of shape {} is too large", which, shape_text(shape)));
}

// Axis of the rows; with grid_axes the first of two.
std::size_t row_axis(const std::vector<std::int64_t>& shape, const Resampling& how) {
  const std::size_t axes = how.grid_axes ? 2 : 1;
  std::size_t axis = 0;
  if (how.axis)
    axis = static_cast<std::size_t>(*how.axis);
  else
    while (axis + 2 < shape.size() && shape[axis] == 1) ++axis;
  if (axis + axes > shape.size()) fail_usage(fmt::format("a table of shape {} has no axis {}", shape_text(shape), axis + axes - 1));
  return axis;
}

// Rows that are not copied, when how many are is known or none.
std::int64_t between_ends(const Layout& layout, std::int64_t rows) {
  const std::int64_t left = rows - layout.prefix - layout.extra;
  if (left < 1)
    fail_usage(fmt::format("the table has {} rows, none besides {} and {}", rows, rows_text(layout.prefix, "prefix"), rows_text(layout.extra, "extra")));
  return left;
}

// One way to read the rows of a grid or a window: `copied` rows at the end in question, the others a square.
struct Square {
  std::int64_t copied, side;
};

// Both sides of a grid, or of a window's table, given as height and width or found as the one square. What is copied at one end
// (`copied`: the prefix of a grid, the extra rows of a window) may be left open.
Size find_square(const Resampling& how, std::int64_t rows, std::optional<std::int64_t> given, std::span<const std::int64_t> usual,
                 std::int64_t& copied) {
  const bool window = how.rows == TableRowKind::window;
  const std::string_view what = window ? "window" : "grid", ends = window ? "extra" : "prefix";
  const auto cells = [&](const Size& s) { return window ? (2 * s.height - 1) * (2 * s.width - 1) : s.cells(); };
  if (how.height) {
    const Size size{*how.height, *how.width};
    copied = given.value_or(rows - cells(size));
    if (copied < 0 || copied + cells(size) != rows)
      fail_usage(fmt::format("a {} of {} has {} rows, the table has {}{}", what, size_text(size), cells(size), rows,
                             given ? fmt::format(" with {}", rows_text(*given, ends)) : std::string()));
    return size;
  }
  std::vector<Square> readings;
  const auto add = [&](std::int64_t n) {
    const std::int64_t side = window ? window_side(rows - n) : square_side(rows - n);
    if (side > 0) readings.push_back({n, side});
  };
  if (given)
    add(*given);
  else
    std::ranges::for_each(usual, add);
  if (readings.size() != 1) {
    std::string ways;
    for (const Square& r : readings) ways += fmt::format("{}{}x{} with {}", ways.empty() ? "" : " or ", r.side, r.side, rows_text(r.copied, ends));
    const std::string left = given ? fmt::format("{} rows beside {}", rows - *given, rows_text(*given, ends)) : fmt::format("{} rows", rows);
    fail_usage(readings.empty() ? fmt::format("{} form no square {}; say which with height and width", left, what)
                                : fmt::format("{} may be a {} of {}; say which with {} or height and width", left, what, ways, ends));
  }
  copied = readings[0].copied;
  return {readings[0].side, readings[0].side};
}

Size window_table(const Size& window) { return {2 * window.height - 1, 2 * window.width - 1}; }

// Class, distillation and register tokens there are: none; class; class and distillation; four registers; class and four.
constexpr std::int64_t usual_prefixes[] = {0, 1, 2, 4, 5};
// BEiT's class token to patches, from patches, to itself.
constexpr std::int64_t usual_extras[] = {0, 3};

// Sizes of a table whose rows are one axis.
void read_rows(Layout& layout, const Resampling& how, std::int64_t rows) {
  layout.prefix = how.prefix.value_or(0);
  layout.extra = how.extra.value_or(0);
  switch (how.rows) {
    case TableRowKind::sequence:
      layout.old_size = {between_ends(layout, rows), 1};
      layout.new_size = {*how.length, 1};
      layout.text = fmt::format("sequence of {} -> {}", layout.old_size.height, *how.length);
      break;
    case TableRowKind::grid:
      layout.old_size = find_square(how, rows - layout.extra, how.prefix, usual_prefixes, layout.prefix);
      layout.new_size = {*how.new_height, *how.new_width};
      layout.text = fmt::format("grid {} -> {}", size_text(layout.old_size), size_text(layout.new_size));
      break;
    case TableRowKind::window: {
      const Size window = find_square(how, rows - layout.prefix, how.extra, usual_extras, layout.extra), wanted{*how.new_height, *how.new_width};
      layout.old_size = window_table(window);
      layout.new_size = window_table(wanted);
      layout.text = fmt::format("window {} -> {}", size_text(window), size_text(wanted));
      break;
    }
    case TableRowKind::distances: {
      const std::int64_t n = between_ends(layout, rows), odd = n % 2;
      if (n < 2) fail_usage(fmt::format("a table of distances has 2k or 2k + 1 rows, k >= 1, got {}", n));
      layout.old_size = {n, 1};
      layout.new_size = {2 * *how.new_distance + odd, 1};
      layout.text = fmt::format("distances to {} -> {}, 2k{} rows", n / 2, *how.new_distance, odd == 1 ? " + 1" : "");
      break;
    }
    case TableRowKind::buckets:
      layout.old_size = {between_ends(layout, rows), 1};
      layout.new_size = {how.new_num_buckets.value_or(layout.old_size.height), 1};
      layout.text = fmt::format("buckets {} -> {}, max_distance {} -> {}", layout.old_size.height, layout.new_size.height, how.max_distance.value_or(128),
                                how.new_max_distance.value_or(how.max_distance.value_or(128)));
      if (how.factor) layout.text += fmt::format(", factor {}", print(*how.factor));
      break;
  }
}

// Sizes of a table whose rows are a grid of two axes: nothing is copied, nothing has to be found.
void read_axes(Layout& layout, const Resampling& how, const Size& size) {
  const bool window = how.rows == TableRowKind::window;
  const Size wanted{*how.new_height, *how.new_width};
  layout.old_size = size;
  layout.new_size = window ? window_table(wanted) : wanted;
  if (window && (size.height % 2 == 0 || size.width % 2 == 0))
    fail_usage(fmt::format("a window's table has odd sides, 2 height - 1 and 2 width - 1, got {}", size_text(size)));
  const Size side = window ? Size{(size.height + 1) / 2, (size.width + 1) / 2} : size;
  const std::string_view what = window ? "window" : "grid";
  if (how.height && Size{*how.height, *how.width} != side)
    fail_usage(fmt::format("the table has a {} of {}, not {}x{}", what, size_text(side), *how.height, *how.width));
  layout.text = fmt::format("{} {} -> {}", what, size_text(side), size_text(wanted));
}

}  // namespace

Layout read_layout(const std::vector<std::int64_t>& shape, const Resampling& how) {
  if (shape.empty() || std::ranges::any_of(shape, [](std::int64_t size) { return size < 1; }))
    fail_usage(fmt::format("a table to resize has rows and values, got shape {}", shape_text(shape)));
  check_size(shape, "a");
  const std::size_t axis = row_axis(shape, how), after = axis + (how.grid_axes ? 2 : 1);
  Layout layout;
  for (std::size_t i = 0; i < axis; ++i) layout.outer *= shape[i];
  for (std::size_t i = after; i < shape.size(); ++i) layout.inner *= shape[i];
  if (how.grid_axes)
    read_axes(layout, how, {shape[axis], shape[axis + 1]});
  else
    read_rows(layout, how, shape[axis]);
  layout.new_shape = shape;
  layout.new_shape[axis] = how.grid_axes ? layout.new_size.height : layout.new_rows();
  if (how.grid_axes) layout.new_shape[axis + 1] = layout.new_size.width;
  if (layout.extra > 0) layout.text = rows_text(layout.extra, "extra") + ", " + layout.text;
  if (layout.prefix > 0) layout.text = rows_text(layout.prefix, "prefix") + ", " + layout.text;
  check_size(layout.new_shape, "a new");
  return layout;
}

}  // namespace posenc::resampling
