#include "posenc/resample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "axis_map.hpp"
#include "encodings/t5.hpp"
#include "layout.hpp"
#include "numeric/decide.hpp"
#include "options.hpp"
#include "posenc/error.hpp"
#include "posenc/names.hpp"
#include "posenc/text.hpp"
#include "weighted_sum.hpp"

namespace posenc {
namespace {

using namespace resampling;
using num::Real;

// T5's own checks, its two descriptions of buckets side by side.
MakeAxisMap make_rebucket(std::int64_t n, std::int64_t new_n, const Resampling& how) {
  const bool both = how.bidirectional.value_or(true);
  const std::int64_t end = how.max_distance.value_or(128);
  const Buckets old_buckets{both, n, end}, new_buckets{both, new_n, how.new_max_distance.value_or(end)};
  for (const Buckets& b : {old_buckets, new_buckets}) T5{.bidirectional = both, .num_buckets = b.num_buckets, .max_distance = b.max_distance}.check();
  return [=, factor = how.factor] { return rebucket_map(old_buckets, new_buckets, factor); };
}

// The map of one axis from n to new_n rows.
MakeAxisMap make_map(std::int64_t n, std::int64_t new_n, const Resampling& how) {
  switch (how.method) {
    case ResampleMethod::tile: return [=] { return tile_map(n); };
    case ResampleMethod::nearest: return [=, alignment = how.alignment.value_or(Alignment::stride)] { return nearest_map(n, new_n, alignment); };
    case ResampleMethod::linear:
      if (how.rows == TableRowKind::distances) return [=] { return distances_map(n, new_n, true); };
      [[fallthrough]];
    case ResampleMethod::cubic: return [=, kernel = kernel_of(how)] { return kernel_map(n, new_n, kernel); };
    case ResampleMethod::hierarchical:
      if (new_n / n > n || (new_n / n == n && new_n % n != 0))
        fail_usage(fmt::format("hierarchical makes at most n^2 = {} rows of n = {}, not {}", n * n, n, new_n));
      return [=, alpha = how.alpha.value_or(0.4)] { return hierarchical_map(n, alpha); };
    case ResampleMethod::stretch: {
      const std::int64_t keep = how.keep.value_or(20);
      if (n - keep < 2 || new_n <= keep)
        fail_usage(fmt::format("stretch keeps {} rows and needs 2 more in the old table and 1 in the new, got {} and {}; see keep", keep, n, new_n));
      return [=] { return stretch_map(n, new_n, keep); };
    }
    case ResampleMethod::replicate: return [=] { return distances_map(n, new_n, false); };
    case ResampleMethod::geometric: return [=] { return geometric_map(n, new_n); };
    case ResampleMethod::geometric_spline:
      if (n < 5) fail_usage("geometric-spline needs an old window of at least 3x3: a cubic spline has 4 points or more");
      return [=] { return geometric_spline_map(n, new_n); };
    case ResampleMethod::rebucket: return make_rebucket(n, new_n, how);
  }
  return {};
}

AxisMap identity_map() {
  return [](std::int64_t k) { return copy_of(k); };
}

bool exact(const Taps& taps) {
  return std::ranges::all_of(taps, [](const Tap& tap) { return tap.weight.is_exact(); });
}

}  // namespace

struct Resampler::State {
  Layout layout;
  std::string understood;
  MakeAxisMap make_down, make_across;  ///< from row to row of the grid, from column to column
  AxisMap down, across;                ///< at 192 bits
  std::vector<PlainTaps> columns;      ///< `across` of each new column

  /// The value of cell (y, x) of the new grid, from one lane of the old one.
  [[nodiscard]] double decide(DType dtype, const double* values, std::int64_t y, std::int64_t x) const;
  /// A row of the new grid over the old columns: [old column, lane].
  void row_sums(const double* old_grid, const PlainTaps& taps, std::vector<Bounded2>& out) const;
};

// `row` of the old table.
double finite(double value, std::int64_t row) {
  if (!std::isfinite(value)) fail_usage(fmt::format("row {} of the table holds {}; only finite values are resized, put some there first", row, print(value)));
  return value;
}

double Resampler::State::decide(DType dtype, const double* values, std::int64_t y, std::int64_t x) const {
  return num::decide(dtype, [&] {
    Taps ys = down(y), xs = across(x);
    if (!exact(ys) || !exact(xs)) ys = make_down()(y), xs = make_across()(x);
    Real sum;
    for (const Tap& v : ys) {
      Real part;
      for (const Tap& h : xs) part += h.weight * Real::of(values[(v.source * layout.old_size.width + h.source) * layout.inner]);
      sum += v.weight * part;
    }
    return sum;
  });
}

void Resampler::State::row_sums(const double* old_grid, const PlainTaps& taps, std::vector<Bounded2>& out) const {
  const std::int64_t width = layout.old_size.width;
  const auto count = static_cast<std::size_t>(width * layout.inner);
  out.assign(count, {});
  for (const PlainTap& tap : taps) {
    const double* values = old_grid + static_cast<std::size_t>(tap.source) * count;
    for (std::size_t i = 0; i < count; ++i) {
      const double value = finite(values[i], layout.prefix + tap.source * width + static_cast<std::int64_t>(i) / layout.inner);
      out[i] = sum(out[i], product({{value, 0}, 0}, tap.weight));
    }
  }
}

Resampler::Resampler(std::vector<std::int64_t> shape, const Resampling& how) {
  how.check();
  auto state = std::make_shared<State>();
  state->layout = read_layout(shape, how);
  const Size& from = state->layout.old_size;
  const Size& to = state->layout.new_size;
  // BEiT's offsets and DINOv2's scale would move rows even to the same place; a table for the same size stays what it is.
  const bool moves = how.method == ResampleMethod::geometric || how.method == ResampleMethod::geometric_spline || how.scale_offset;
  const bool two = how.rows == TableRowKind::grid || how.rows == TableRowKind::window;
  state->make_down = moves && from == to ? identity_map : make_map(from.height, to.height, how);
  state->make_across = !two || (moves && from == to) ? identity_map : make_map(from.width, to.width, how);
  num::at_precision(192, [&] {
    state->down = state->make_down();
    state->across = state->make_across();
    state->columns.clear();
    for (std::int64_t x = 0; x < to.width; ++x) state->columns.push_back(plain(state->across(x)));
    return 0;
  });
  state->understood = state->layout.text + ", " + method_text(how);
  state_ = std::move(state);
}

const std::vector<std::int64_t>& Resampler::shape() const { return state_->layout.new_shape; }
const std::string& Resampler::understood() const { return state_->understood; }
std::int64_t Resampler::rows() const { return state_->layout.outer * state_->layout.new_rows(); }
std::int64_t Resampler::row_size() const { return state_->layout.inner; }

void Resampler::make(std::span<const double> table, DType dtype, std::int64_t first, std::int64_t count, std::span<double> out) const {
  const State& s = *state_;
  const Layout& l = s.layout;
  const std::int64_t inner = l.inner, new_rows = l.new_rows(), old_rows = l.old_rows(), cells = l.new_size.cells();
  if (info(dtype).integer) fail_usage(fmt::format("a resized table has real values, which {} does not hold", name_of(dtype)));
  if (static_cast<std::int64_t>(table.size()) != l.outer * old_rows * inner)
    fail_usage(fmt::format("the table has {} values, its shape {}", table.size(), l.outer * old_rows * inner));
  if (first < 0 || count < 0 || first > rows() - count || static_cast<std::int64_t>(out.size()) != count * inner)
    fail_usage(fmt::format("rows {} to {} of a table of {} do not fit {} values", first, first + count, rows(), out.size()));

  const auto put = [&](std::int64_t row, std::int64_t lane, double value) {
    if (std::isinf(value)) fail_usage(fmt::format("a value of row {} of the new table is too large for {}; use a wider dtype", (first + row) % new_rows, name_of(dtype)));
    out[static_cast<std::size_t>(row * inner + lane)] = value;
  };
  const auto copy = [&](std::int64_t row, std::int64_t block, std::int64_t old_row) {
    const double* values = table.data() + (block * old_rows + old_row) * inner;
    for (std::int64_t lane = 0; lane < inner; ++lane) put(row, lane, rounded(dtype, finite(values[lane], old_row)));
  };

  // Of the new grid's row that the last cell was in.
  std::int64_t have = -1;
  PlainTaps down;
  std::vector<Bounded2> sums;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t block = (first + r) / new_rows, k = (first + r) % new_rows, cell = k - l.prefix;
    if (cell < 0) {
      copy(r, block, k);
      continue;
    }
    if (cell >= cells) {
      copy(r, block, k - new_rows + old_rows);
      continue;
    }
    const std::int64_t y = cell / l.new_size.width, x = cell % l.new_size.width;
    if (const std::int64_t row = block * l.new_size.height + y; have != row) {
      have = row;
      down = plain(num::at_precision(192, [&] { return s.down(y); }));
      sums.clear();
    }
    const PlainTaps& across = s.columns[static_cast<std::size_t>(x)];
    if (copies(down) && copies(across)) {
      copy(r, block, l.prefix + down[0].source * l.old_size.width + across[0].source);
      continue;
    }
    const double* grid = table.data() + (block * old_rows + l.prefix) * inner;
    if (sums.empty()) s.row_sums(grid, down, sums);
    for (std::int64_t lane = 0; lane < inner; ++lane) {
      Bounded2 value;
      if (copies(across))
        value = sums[static_cast<std::size_t>(across[0].source * inner + lane)];
      else
        for (const PlainTap& tap : across) value = sum(value, product(sums[static_cast<std::size_t>(tap.source * inner + lane)], tap.weight));
      double result = 0;
      if (!settle(dtype, value, result)) result = s.decide(dtype, grid + lane, y, x);
      put(r, lane, result);
    }
  }
}

Array Resampler::operator()(const Array& table, DType dtype) const {
  Array out;
  out.shape = shape();
  out.values.resize(static_cast<std::size_t>(rows() * row_size()));
  make(table.values, dtype, 0, rows(), out.values);
  return out;
}

Array resample(const Array& table, const Resampling& how, DType dtype) { return Resampler(table.shape, how)(table, dtype); }

}  // namespace posenc
