// Verification: the generating pipeline against a reader, and two readers against each other.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <utility>

#include "numeric/decide.hpp"
#include "numeric/round.hpp"
#include "posenc/error.hpp"
#include "posenc/pipeline.hpp"
#include "stream/block_source.hpp"
#include "stream/workers.hpp"

namespace posenc {

double stored_value(DType dtype, const std::byte* bytes) {
  switch (dtype) {
    case DType::f64: {
      double v;
      std::memcpy(&v, bytes, 8);
      return v;
    }
    case DType::f32: {
      float v;
      std::memcpy(&v, bytes, 4);
      return v;
    }
    case DType::f16:
    case DType::bf16: {
      std::uint16_t v;
      std::memcpy(&v, bytes, 2);
      return dtype == DType::f16 ? num::value_of_f16(v) : num::value_of_bf16(v);
    }
    case DType::i32: {
      std::int32_t v;
      std::memcpy(&v, bytes, 4);
      return v;
    }
    case DType::i64: {
      std::int64_t v;
      std::memcpy(&v, bytes, 8);
      return static_cast<double>(v);
    }
  }
  return 0;
}

double ulp_distance(DType dtype, double a, double b) {
  if (a == b) return 0;
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (info(dtype).integer) return std::abs(a - b);
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
  const num::Format format = num::format_of(dtype);
  const double magnitude = std::max(std::abs(a), std::abs(b));
  const int exponent = magnitude == 0 ? format.emin : std::max(format.emin, std::ilogb(magnitude));
  return std::abs(a - b) / std::ldexp(1.0, exponent - format.digits + 1);
}

namespace {

constexpr std::size_t shown = 5;  // mismatches kept per tensor

std::vector<std::int64_t> unravel(std::int64_t flat, const StoredTensor& tensor) {
  std::vector<std::int64_t> shape = tensor.shape;
  if (tensor.is_complex) shape.push_back(2);
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return index;
}

// Adds a block's differences to the verdict; `first` is the flat offset of the block. By value, 0 and -0 are equal.
void judge(TensorVerdict& verdict, std::mutex& mutex, const StoredTensor& form, DType want_dtype, std::int64_t first,
           std::int64_t count, const std::byte* got, const std::byte* want, bool by_value) {
  const std::size_t got_size = size_of(form.dtype), want_size = size_of(want_dtype);
  std::int64_t wrong = 0;
  double worst = 0;
  std::vector<std::pair<std::int64_t, Mismatch>> found;
  const bool identical = got_size == want_size && form.dtype == want_dtype &&
                         std::memcmp(got, want, static_cast<std::size_t>(count) * got_size) == 0;
  if (!identical) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::byte* a = got + static_cast<std::size_t>(i) * got_size;
      const std::byte* b = want + static_cast<std::size_t>(i) * want_size;
      const double x = stored_value(form.dtype, a), y = stored_value(want_dtype, b);
      const bool equal = form.dtype == want_dtype ? std::memcmp(a, b, got_size) == 0 || (by_value && x == y) ||
                                                        (std::isnan(x) && std::isnan(y))
                                                  : x == y || (std::isnan(x) && std::isnan(y));
      if (equal) continue;
      ++wrong;
      worst = std::max(worst, ulp_distance(form.dtype, x, y));
      if (found.size() < shown) found.emplace_back(first + i, Mismatch{{}, x, y});
    }
  }
  const std::lock_guard lock(mutex);
  verdict.compared += count;
  verdict.wrong += wrong;
  verdict.worst_ulp = std::max(verdict.worst_ulp, worst);
  // Blocks finish in any order; keep the first few by position.
  for (auto& [flat, mismatch] : found) {
    mismatch.index = unravel(flat, form);
    verdict.first.push_back(std::move(mismatch));
  }
  std::sort(verdict.first.begin(), verdict.first.end(), [](const Mismatch& a, const Mismatch& b) { return a.index < b.index; });
  if (verdict.first.size() > shown) verdict.first.resize(shown);
}

}  // namespace

std::vector<TensorVerdict> compare(const Spec& spec, const Reader& reader, std::span<const PlannedTensor> tensors,
                                   std::span<const std::size_t> sources, const PipelineOptions& options) {
  const Evaluators evaluators(spec);
  std::vector<TensorVerdict> verdicts(tensors.size());
  std::vector<Work> work;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    verdicts[t].name = tensors[t].stored.name;
    const auto size = static_cast<std::int64_t>(size_of(tensors[t].stored.dtype));
    std::int64_t block = std::max<std::int64_t>(1, options.block_bytes / size);
    if (const std::int64_t columns = tensors[t].source.columns(); columns > 0 && columns < block) block -= block % columns;
    work.push_back({tensors[t].stored.values(), block, size});
  }
  if (work.empty()) return verdicts;
  std::mutex mutex;
  struct Scratch {
    BlockSource source;
    std::vector<std::byte> want, got;
  };
  std::vector<Scratch> scratch;
  for (std::size_t i = 0; i < worker_count(options); ++i) scratch.push_back({BlockSource(evaluators), {}, {}});
  for_each_block(work, options, [&](std::size_t worker, std::size_t t, std::int64_t first, std::int64_t count) {
    Scratch& s = scratch[worker];
    const auto bytes = static_cast<std::size_t>(count * work[t].bytes_per_value);
    s.want.resize(bytes);
    s.got.resize(bytes);
    s.source.produce(tensors[t], first, count, s.want.data());
    reader.read(sources[t], first, s.got);
    judge(verdicts[t], mutex, tensors[t].stored, tensors[t].stored.dtype, first, count, s.got.data(), s.want.data(), false);
  });
  return verdicts;
}

TensorVerdict compare_stored(const Reader& a, std::size_t tensor_a, const Reader& b, std::size_t tensor_b,
                             const PipelineOptions& options) {
  const StoredTensor& form = a.tensors()[tensor_a];
  const StoredTensor& other = b.tensors()[tensor_b];
  TensorVerdict verdict;
  verdict.name = form.name;
  const auto size_a = static_cast<std::int64_t>(size_of(form.dtype)), size_b = static_cast<std::int64_t>(size_of(other.dtype));
  const std::int64_t block = std::max<std::int64_t>(1, options.block_bytes / std::max(size_a, size_b));
  const std::vector<Work> work{{form.values(), block, size_a}};
  std::mutex mutex;
  std::vector<std::pair<std::vector<std::byte>, std::vector<std::byte>>> scratch(worker_count(options));
  for_each_block(work, options, [&](std::size_t worker, std::size_t, std::int64_t first, std::int64_t count) {
    auto& [got, want] = scratch[worker];
    got.resize(static_cast<std::size_t>(count * size_a));
    want.resize(static_cast<std::size_t>(count * size_b));
    a.read(tensor_a, first, got);
    b.read(tensor_b, first, want);
    judge(verdict, mutex, form, other.dtype, first, count, got.data(), want.data(), true);
  });
  return verdict;
}

namespace {

// The file's values as one table's laws see them.
class StoredTable final : public Stored {
 public:
  StoredTable(const Reader& reader, std::span<const PlannedTensor> tensors, std::span<const std::size_t> sources, std::size_t table)
      : reader_(reader), tensors_(tensors), sources_(sources), table_(table) {}

  std::optional<std::vector<double>> row(std::size_t tensor, std::int64_t row) const override {
    std::vector<double> out;
    int parts = 0;  // of a complex tensor that is stored as two
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const PlannedTensor& p = tensors_[i];
      if (p.table != table_ || p.tensor != tensor) continue;
      parts += p.part < 0 ? 2 : 1;
      const std::int64_t columns = p.source.columns();
      out.resize(static_cast<std::size_t>(columns));
      const std::int64_t count = p.part < 0 ? columns : 1;
      const std::size_t size = size_of(p.stored.dtype);
      bytes_.resize(static_cast<std::size_t>(count) * size);
      reader_.read(sources_[i], p.part < 0 ? row * columns : row, bytes_);
      for (std::int64_t c = 0; c < count; ++c)
        out[static_cast<std::size_t>(p.part < 0 ? c : p.part)] = stored_value(p.stored.dtype, bytes_.data() + static_cast<std::size_t>(c) * size);
    }
    if (parts < 2) {
      missed_ = true;
      return std::nullopt;
    }
    if (nan_row_ < 0 && std::any_of(out.begin(), out.end(), [](double v) { return std::isnan(v); })) nan_row_ = row;
    return out;
  }

  /// Whether a row was asked for that is not there, since the last time.
  bool take_missed() const { return std::exchange(missed_, false); }

  /// A row with NaN that was looked at, or -1, since the last time. Laws pass over what is not finite; NaN breaks any.
  std::int64_t take_nan_row() const { return std::exchange(nan_row_, -1); }

  double unit_roundoff(std::size_t tensor) const override {
    for (const PlannedTensor& p : tensors_)
      if (p.table == table_ && p.tensor == tensor && !info(p.stored.dtype).integer)
        return std::ldexp(1.0, -num::format_of(p.stored.dtype).digits);
    return 0;
  }

 private:
  const Reader& reader_;
  std::span<const PlannedTensor> tensors_;
  std::span<const std::size_t> sources_;
  std::size_t table_;
  mutable std::vector<std::byte> bytes_;
  mutable bool missed_ = false;
  mutable std::int64_t nan_row_ = -1;
};

}  // namespace

std::vector<LawVerdict> check_laws(const Spec& spec, const Reader& reader, std::span<const PlannedTensor> tensors,
                                   std::span<const std::size_t> sources) {
  std::vector<LawVerdict> verdicts;
  // Laws hold of the exact table; model code's own arithmetic misses them by its own errors.
  if (spec.arithmetic != Arithmetic::exact) return verdicts;
  for (std::size_t t = 0; t < spec.tables.size(); ++t) {
    const StoredTable stored(reader, tensors, sources, t);
    for (const Law& law : spec.tables[t].encoding->laws()) {
      LawVerdict verdict{spec.tables[t].name, law.name, law.text, law.source, law.check(stored)};
      verdict.checked = !stored.take_missed();
      if (const std::int64_t row = stored.take_nan_row(); row >= 0 && !verdict.failure) verdict.failure = "row " + std::to_string(row) + " holds NaN";
      verdicts.push_back(std::move(verdict));
    }
  }
  return verdicts;
}

}  // namespace posenc
