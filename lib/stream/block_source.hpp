// Bytes of any contiguous piece of a planned tensor: fill, round once, decide what is left. Pure in (tensor, range).
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "posenc/plan.hpp"

namespace posenc {

/// Evaluators of a spec's tables, made once and shared by all threads.
class Evaluators {
 public:
  explicit Evaluators(const Spec& spec);
  [[nodiscard]] const Evaluator& of(const PlannedTensor& tensor) const { return *list_[tensor.table]; }
  [[nodiscard]] Arithmetic arithmetic() const { return arithmetic_; }

 private:
  std::vector<std::unique_ptr<Evaluator>> list_;
  Arithmetic arithmetic_;
};

/// Scratch of one thread.
class BlockSource {
 public:
  explicit BlockSource(const Evaluators& evaluators) : evaluators_(evaluators) {}
  /// Writes values [first, first + count) of the stored tensor, little-endian, to `out` (count * size bytes).
  void produce(const PlannedTensor& tensor, std::int64_t first, std::int64_t count, std::byte* out);

 private:
  void extent(const PlannedTensor& tensor, const Extent& extent, std::byte* out);
  bool one_pass_done(const PlannedTensor& tensor, const Extent& extent, std::byte* out);
  void settle_one(const PlannedTensor& tensor, const Extent& extent, std::int64_t flat, std::byte* out);
  void exact(const PlannedTensor& tensor, const Extent& extent, std::byte* out);
  void imitated(const PlannedTensor& tensor, const Extent& extent, std::byte* out);
  void integers(const PlannedTensor& tensor, const Extent& extent, std::byte* out);

  const Evaluators& evaluators_;
  std::vector<double> hi_, lo_;
  std::vector<ErrorBound> bounds_;
  std::vector<std::uint32_t> undecided_;
  std::vector<std::int64_t> index_, integers_;
  std::vector<std::byte> pairs_;
};

/// Puts one double, exactly representable or to be rounded to nearest even, into `dtype`.
void put_value(DType dtype, double value, std::byte* out);

}  // namespace posenc
