// rotate: pairs of lanes turned by cos and sin (Su et al. 2021, arXiv:2104.09864, equations 15 and 34):
//   y_a = x_a cos - x_b sin,   y_b = x_b cos + x_a sin
// With tables as wide as what turns, each lane takes the column of its own number, as x * cos + rot(x) * sin does in model
// code: tables of another layout than the pairing then give what such code gives, which is no rotation.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "apply/evaluators.hpp"
#include "numeric/decide.hpp"
#include "numeric/scalar.hpp"
#include "numeric/two_double.hpp"
#include "posenc/error.hpp"

namespace posenc::detail {
namespace {

using num::TwoDouble;

// y = x[own] cos[column] + sign x[other] sin[column]; own = other: the lane is not turned.
struct Lane {
  std::int64_t own, other, column;
  int sign;
};

template <class T>
T turned(const Lane& lane, const T& own, const T& other, const T& cosine, const T& sine) {
  return lane.sign < 0 ? own * cosine - other * sine : own * cosine + other * sine;
}

// Whether a table has a column for each pair, or one for each lane: its axis says, else its width.
bool half_width(const Tensor& table, std::int64_t lanes) {
  const Axis& axis = table.axes.back();
  if (axis.name == "pair") return true;
  if (axis.name == "lane") return false;
  if (axis.size == lanes) return false;
  if (2 * axis.size == lanes) return true;
  fail_usage(fmt::format("{} has {} columns, which are neither the {} lanes of the input's last axis nor half of them", table.name, axis.size, lanes));
}

// How many pairs turn in vectors of `lanes` lanes.
std::int64_t pairs_of(const Tensor& table, std::int64_t lanes, bool half) {
  const std::int64_t columns = table.columns();
  if (!half && columns % 2 != 0) fail_usage(fmt::format("{} has {} columns; pairs of lanes want an even number", table.name, columns));
  const std::int64_t pairs = half ? columns : columns / 2;
  if (2 * pairs > lanes) fail_usage(fmt::format("{} turns {} lanes, the input's last axis has {}", table.name, 2 * pairs, lanes));
  return pairs;
}

// Where lane l of the result comes from. Pairs are numbered as the columns of a table of half the width.
Lane lane_of(std::int64_t l, std::int64_t pairs, Pairing pairing, bool back, bool half) {
  // interleaved-to-half goes the other way round when it turns back.
  const bool switches = pairing == Pairing::interleaved_to_half;
  const bool adjacent_out = pairing == Pairing::interleaved || (switches && back);
  const bool adjacent_in = pairing == Pairing::interleaved || (switches && !back);
  std::int64_t pair = adjacent_out ? l / 2 : l % pairs, a = adjacent_in ? 2 * pair : pair, b = adjacent_in ? 2 * pair + 1 : pair + pairs;
  bool first = adjacent_out ? l % 2 == 0 : l < pairs;
  if (pairing == Pairing::axis_halves) {
    const std::int64_t axis = l / pairs, each = pairs / 2, within = l % pairs;
    first = within < each;
    pair = axis * each + within % each;
    a = axis * pairs + within % each;
    b = a + each;
  }
  const std::int64_t column = half ? pair : switches ? pair + (first ? 0 : pairs) : l;
  return {first ? a : b, first ? b : a, column, first != back ? -1 : 1};
}

class Rotate final : public Evaluator {
 public:
  Rotate(Operands operands, std::size_t cos, std::size_t sin, Pairing pairing, bool back, const std::vector<std::string>& axes)
      : o_(std::move(operands)), cos_(cos), sin_(sin), map_(o_.tensors[cos], o_.input->shape(), axes), columns_(o_.tensors[cos].columns()) {
    const std::int64_t width = o_.input->shape().back();
    const bool half = half_width(o_.tensors[cos], width);
    const std::int64_t pairs = pairs_of(o_.tensors[cos], width, half);
    if (pairing == Pairing::axis_halves && pairs % 2 != 0)
      fail_usage(fmt::format("pairing axis-halves wants as many pairs for the row as for the column, got {} in all", pairs));
    for (std::int64_t l = 0; l < width; ++l) lanes_.push_back(l < 2 * pairs ? lane_of(l, pairs, pairing, back, half) : Lane{l, l, 0, 0});
  }

  // With m = max|x|, A = max|cos|, |sin| of a row and tables off by B: the products are off by m B each and round by u m A
  // each, the sum by u of the result at most 2 m A: 2 m (B + 2 u A), u = 2^-53 (2^-100 for two doubles, see combine.cpp).
  void fill(std::size_t, Block& block) const override {
    const Extent& e = block.extent;
    const auto width = static_cast<std::int64_t>(lanes_.size());
    thread_local TableRows cosines, sines;
    thread_local std::vector<double> x;
    const bool two = block.lo != nullptr;
    cosines.fetch(*o_.evaluator, cos_, map_, e.row, e.rows, 0, columns_, two, columns_);
    sines.fetch(*o_.evaluator, sin_, map_, e.row, e.rows, 0, columns_, two, columns_);
    x.resize(static_cast<std::size_t>(e.rows * width));
    o_.input->read(e.row * width, x);
    for (std::int64_t r = 0; r < e.rows; ++r) {
      const double *row = x.data() + r * width, *c = cosines.hi(r), *s = sines.hi(r);
      const double* cl = two ? cosines.lo(r) : nullptr;
      const double* sl = two ? sines.lo(r) : nullptr;
      double* hi = block.hi + r * e.cols;
      double* lo = two ? block.lo + r * e.cols : nullptr;
      bool overflow = false;  // as in combine.cpp
      for (std::int64_t i = 0; i < e.cols; ++i) {
        const Lane& lane = lanes_[static_cast<std::size_t>(e.col + i)];
        if (lo) lo[i] = 0;
        if (lane.sign == 0) {
          hi[i] = row[lane.own];
          continue;
        }
        const std::int64_t k = lane.column;
        hi[i] = turned(lane, row[lane.own], row[lane.other], c[k], s[k]);
        if (!std::isfinite(hi[i]) && std::isfinite(row[lane.own]) && std::isfinite(row[lane.other])) {
          hi[i] = 0;
          overflow = true;
        }
        if (!lo) continue;
        const TwoDouble y = turned(lane, TwoDouble{row[lane.own], 0}, TwoDouble{row[lane.other], 0}, TwoDouble{c[k], cl[k]}, TwoDouble{s[k], sl[k]});
        if (!std::isfinite(y.hi)) {
          overflow |= std::isfinite(row[lane.own]) && std::isfinite(row[lane.other]);
          continue;  // with the plain value under an infinite bound
        }
        hi[i] = y.hi;
        lo[i] = y.lo;
      }
      const double largest = largest_finite(row, width), amplitude = std::max(largest_finite(c, columns_), largest_finite(s, columns_));
      const ErrorBound &bc = cosines.bound(r), &bs = sines.bound(r);
      const double off = std::max(bc.absolute, bs.absolute) + std::max(bc.relative, bs.relative) * amplitude;
      // 2^-1070: what products below the smallest normal double lose.
      block.bounds[r] = {largest == 0 ? 0 : 2 * largest * (off + 2 * (two ? 0x1p-100 : 0x1p-53) * amplitude) * (1 + 0x1p-50) + 0x1p-1070, 0};
      if (overflow) block.bounds[r].absolute = HUGE_VAL;
    }
  }

  bool rounded(std::size_t, const Extent&, DType, void*, std::vector<std::uint32_t>&) const override { return false; }

  num::Real element(std::size_t, std::span<const std::int64_t> index) const override {
    const At at = find(index);
    if (at.lane.sign == 0) return num::Real::of(at.own);
    return turned(at.lane, num::Real::of(at.own), num::Real::of(at.other), o_.evaluator->element(cos_, at.cos), o_.evaluator->element(sin_, at.sin));
  }

  double truth(std::size_t tensor, std::span<const std::int64_t> index, DType dtype) const override {
    const At at = find(index);
    if (!std::isfinite(at.own) || !std::isfinite(at.other)) {
      if (at.lane.sign == 0) return at.own;
      return turned(at.lane, at.own, at.other, o_.evaluator->truth(cos_, at.cos, DType::f64), o_.evaluator->truth(sin_, at.sin, DType::f64));
    }
    return num::decide(dtype, [&] { return element(tensor, index); });
  }

  double imitate(Arithmetic arithmetic, std::size_t, std::span<const std::int64_t> index) const override {
    const At at = find(index);
    if (at.lane.sign == 0) return at.own;
    const double c = o_.evaluator->imitate(arithmetic, cos_, at.cos), s = o_.evaluator->imitate(arithmetic, sin_, at.sin);
    const auto in = [&]<class T>(T) { return turned(at.lane, T::of(at.own), T::of(at.other), T::of(c), T::of(s)).to_double(); };
    return arithmetic == Arithmetic::float32 ? in(num::Float32{}) : in(num::BFloat16{});
  }

  void integers(std::size_t, const Extent&, std::int64_t*) const override { throw std::logic_error("an applied tensor is real"); }

 private:
  struct At {
    Lane lane;
    double own, other;
    std::vector<std::int64_t> cos, sin;
  };
  [[nodiscard]] At find(std::span<const std::int64_t> index) const {
    const std::int64_t row = o_.row_of(index), table_row = map_(row);
    const Lane& lane = lanes_[static_cast<std::size_t>(index.back())];
    return {lane, o_.input_at(row, lane.own), o_.input_at(row, lane.other), o_.table_index(cos_, table_row, lane.column), o_.table_index(sin_, table_row, lane.column)};
  }

  Operands o_;
  std::size_t cos_, sin_;
  RowMap map_;
  std::int64_t columns_;
  std::vector<Lane> lanes_;
};

}  // namespace

std::unique_ptr<Evaluator> rotating(Operands operands, std::size_t cos, std::size_t sin, Pairing pairing, bool back, const std::vector<std::string>& axes) {
  return std::make_unique<Rotate>(std::move(operands), cos, sin, pairing, back, axes);
}

}  // namespace posenc::detail
