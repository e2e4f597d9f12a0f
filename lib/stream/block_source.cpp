#include "stream/block_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "numeric/round.hpp"
#include "posenc/error.hpp"
#include "simd/kernels.hpp"

namespace posenc {
namespace {

// Doubles worked on at a time: 16 KiB, so that what fill writes is still in the nearest cache when it is rounded.
constexpr std::int64_t piece = 2048;
// Values of one call that fills and rounds in one pass; its places are 32-bit numbers.
constexpr std::int64_t one_pass = std::int64_t{1} << 30;

using Round = std::size_t (*)(const double*, std::size_t, double, double, void*, std::uint32_t*);

Round round_kernel(const simd::Kernels& kernels, DType dtype) {
  switch (dtype) {
    case DType::f32: return kernels.round_f32;
    case DType::f16: return kernels.round_f16;
    case DType::bf16: return kernels.round_bf16;
    default: return nullptr;
  }
}

bool same(const ErrorBound& a, const ErrorBound& b) { return a.absolute == b.absolute && a.relative == b.relative; }

}  // namespace

void put_value(DType dtype, double value, std::byte* out) {
  switch (dtype) {
    case DType::f64: std::memcpy(out, &value, 8); break;
    case DType::f32: {
      const auto v = static_cast<float>(value);
      std::memcpy(out, &v, 4);
      break;
    }
    case DType::f16: {
      const std::uint16_t v = num::round_to_f16(value);
      std::memcpy(out, &v, 2);
      break;
    }
    case DType::bf16: {
      const std::uint16_t v = num::round_to_bf16(value);
      std::memcpy(out, &v, 2);
      break;
    }
    default: throw std::logic_error("not a float dtype");
  }
}

Evaluators::Evaluators(const Spec& spec) : arithmetic_(spec.arithmetic) {
  for (const Table& table : spec.tables) list_.push_back(table.encoding->evaluator());
}

void BlockSource::produce(const PlannedTensor& tensor, std::int64_t first, std::int64_t count, std::byte* out) {
  const auto size = static_cast<std::int64_t>(size_of(tensor.stored.dtype));
  if (tensor.part >= 0) {
    // One part of a complex tensor: values are rows of (re, im); compute both, keep one.
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t rows = std::min(count - done, piece / 2);
      pairs_.resize(static_cast<std::size_t>(2 * rows * size));
      extent(tensor, {first + done, rows, 0, 2}, pairs_.data());
      for (std::int64_t i = 0; i < rows; ++i)
        std::memcpy(out + (done + i) * size, pairs_.data() + (2 * i + tensor.part) * size, static_cast<std::size_t>(size));
      done += rows;
    }
    return;
  }
  const std::int64_t columns = tensor.source.columns();
  while (count > 0) {
    const std::int64_t row = first / columns, col = first % columns;
    Extent e{row, std::min(count / columns, one_pass / std::max<std::int64_t>(columns, 1)), 0, columns};
    if (col == 0 && e.rows > 0 && one_pass_done(tensor, e, out)) {
      first += e.elements();
      count -= e.elements();
      out += e.elements() * size;
      continue;
    }
    if (col == 0 && columns <= piece && count >= columns)
      e = {row, std::min(count / columns, std::max<std::int64_t>(1, piece / columns)), 0, columns};
    else
      e = {row, 1, col, std::min({count, columns - col, piece})};
    extent(tensor, e, out);
    first += e.elements();
    count -= e.elements();
    out += e.elements() * size;
  }
}

void BlockSource::extent(const PlannedTensor& tensor, const Extent& e, std::byte* out) {
  if (tensor.source.kind == Kind::integer)
    integers(tensor, e, out);
  else if (evaluators_.arithmetic() == Arithmetic::exact)
    exact(tensor, e, out);
  else
    imitated(tensor, e, out);
}

bool BlockSource::one_pass_done(const PlannedTensor& tensor, const Extent& e, std::byte* out) {
  if (tensor.source.kind == Kind::integer || evaluators_.arithmetic() != Arithmetic::exact) return false;
  undecided_.clear();
  if (!evaluators_.of(tensor).rounded(tensor.tensor, e, tensor.stored.dtype, out, undecided_)) return false;
  for (const std::uint32_t flat : undecided_) settle_one(tensor, e, flat, out);
  return true;
}

void BlockSource::settle_one(const PlannedTensor& tensor, const Extent& e, std::int64_t flat, std::byte* out) {
  index_.resize(tensor.source.axes.size());
  if (!index_.empty()) {
    tensor.source.row_index(e.row + flat / e.cols, index_);
    index_.back() = e.col + flat % e.cols;
  }
  const DType dtype = tensor.stored.dtype;
  put_value(dtype, evaluators_.of(tensor).truth(tensor.tensor, index_, dtype), out + flat * static_cast<std::int64_t>(size_of(dtype)));
}

void BlockSource::exact(const PlannedTensor& tensor, const Extent& e, std::byte* out) {
  const Evaluator& evaluator = evaluators_.of(tensor);
  const DType dtype = tensor.stored.dtype;
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const auto count = static_cast<std::size_t>(e.elements());
  hi_.resize(count);
  bounds_.resize(static_cast<std::size_t>(e.rows));
  undecided_.resize(count);
  Block block{e, hi_.data(), nullptr, bounds_.data()};
  if (dtype == DType::f64) {
    lo_.resize(count);
    block.lo = lo_.data();
  }
  evaluator.fill(tensor.tensor, block);

  const simd::Kernels& kernels = simd::kernels();
  const Round round = round_kernel(kernels, dtype);
  // Rounds `n` values from flat offset `at` under one bound, then settles the undecided ones.
  const auto settle = [&](std::int64_t at, std::int64_t n, ErrorBound bound) {
    void* target = out + at * size;
    const auto length = static_cast<std::size_t>(n);
    const std::size_t left =
        block.lo ? kernels.round_f64(block.hi + at, block.lo + at, length, bound.absolute, bound.relative, target, undecided_.data())
                 : round(block.hi + at, length, bound.absolute, bound.relative, target, undecided_.data());
    for (std::size_t u = 0; u < left; ++u) settle_one(tensor, e, at + undecided_[u], out);
  };
  if (block.column_weight == nullptr) {
    for (std::int64_t r = 0; r < e.rows;) {  // rows that share a bound go together
      std::int64_t end = r + 1;
      while (end < e.rows && same(bounds_[static_cast<std::size_t>(end)], bounds_[static_cast<std::size_t>(r)])) ++end;
      settle(r * e.cols, (end - r) * e.cols, bounds_[static_cast<std::size_t>(r)]);
      r = end;
    }
    return;
  }
  const double* weight = block.column_weight;
  for (std::int64_t r = 0; r < e.rows; ++r)
    for (std::int64_t c = 0; c < e.cols;) {  // columns that share a weight go together
      std::int64_t end = c + 1;
      while (end < e.cols && weight[end] == weight[c]) ++end;
      const ErrorBound& bound = bounds_[static_cast<std::size_t>(r)];
      settle(r * e.cols + c, end - c, {weight[c] == 0 ? 0 : bound.absolute * weight[c], bound.relative});
      c = end;
    }
}

void BlockSource::imitated(const PlannedTensor& tensor, const Extent& e, std::byte* out) {
  const Evaluator& evaluator = evaluators_.of(tensor);
  const auto size = static_cast<std::int64_t>(size_of(tensor.stored.dtype));
  index_.resize(tensor.source.axes.size());
  for (std::int64_t r = 0; r < e.rows; ++r) {
    if (!index_.empty()) tensor.source.row_index(e.row + r, index_);
    for (std::int64_t c = 0; c < e.cols; ++c) {
      if (!index_.empty()) index_.back() = e.col + c;
      put_value(tensor.stored.dtype, evaluator.imitate(evaluators_.arithmetic(), tensor.tensor, index_),
                out + (r * e.cols + c) * size);
    }
  }
}

void BlockSource::integers(const PlannedTensor& tensor, const Extent& e, std::byte* out) {
  const auto count = static_cast<std::size_t>(e.elements());
  integers_.resize(count);
  evaluators_.of(tensor).integers(tensor.tensor, e, integers_.data());
  if (tensor.stored.dtype == DType::i64) {
    std::memcpy(out, integers_.data(), count * 8);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (integers_[i] < std::numeric_limits<std::int32_t>::min() || integers_[i] > std::numeric_limits<std::int32_t>::max())
      fail_usage(fmt::format("tensor {} holds {}, which i32 cannot; use index dtype i64", tensor.stored.name, integers_[i]));
    const auto v = static_cast<std::int32_t>(integers_[i]);
    std::memcpy(out + 4 * i, &v, 4);
  }
}

}  // namespace posenc
