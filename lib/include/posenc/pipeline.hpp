// Values between spec and file, block by block, in bounded memory, with any number of threads and the same bytes always.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "posenc/io.hpp"
#include "posenc/plan.hpp"

namespace posenc {

struct PipelineOptions {
  int threads = 0;                    ///< 0: one per core
  std::int64_t block_bytes = 1 << 18;  ///< stored bytes that a worker handles at a time
  std::function<void(std::int64_t done, std::int64_t total)> progress{};  ///< bytes; called now and then from one thread at a time
};

/// Values of a tensor that exist already, at its beginning.
struct Kept {
  const Reader* reader;
  std::size_t tensor;   ///< of the reader
  std::int64_t values;  ///< how many: they are read, not computed
  std::int64_t from;    ///< values before this one are with the writer already; a multiple of its granule, or all
};

/// A writer and the tensors that it takes, in its plan's order.
struct Target {
  Writer* writer;
  std::span<const PlannedTensor> tensors;
  std::span<const Kept> kept{};  ///< one for each tensor; empty: everything is computed
};
/// Computes and writes every value that is not kept; does not call finish(). Rethrows the first failure of any worker.
void generate(const Spec& spec, std::span<const Target> targets, const PipelineOptions& options);

/// One value that is not what the spec says.
struct Mismatch {
  std::vector<std::int64_t> index;
  double got = 0, want = 0;
};
struct TensorVerdict {
  std::string name;
  std::int64_t compared = 0, wrong = 0;
  double worst_ulp = 0;              ///< largest distance in units of the last place of the stored dtype
  std::vector<Mismatch> first;       ///< the first few, in order
};
/// Compares every stored value with the spec's. `tensors[i]` describes tensor `sources[i]` of the reader.
std::vector<TensorVerdict> compare(const Spec& spec, const Reader& reader, std::span<const PlannedTensor> tensors,
                                   std::span<const std::size_t> sources, const PipelineOptions& options);

/// Two files, tensor by tensor, value by value; only tensors of equal shape can be given.
TensorVerdict compare_stored(const Reader& a, std::size_t tensor_a, const Reader& b, std::size_t tensor_b,
                             const PipelineOptions& options);

struct LawVerdict {
  std::string table, name, text, source;
  std::optional<std::string> failure;
  bool checked = true;  ///< false: it needs a tensor that is not in the file
};
/// Checks the laws of every table on the stored values.
std::vector<LawVerdict> check_laws(const Spec& spec, const Reader& reader, std::span<const PlannedTensor> tensors,
                                   std::span<const std::size_t> sources);

/// A stored value as a double (exact but for i64 beyond 2^53).
double stored_value(DType dtype, const std::byte* bytes);
/// Distance of two values in units of the last place of the dtype; integers: their difference; infinite when only one is NaN.
double ulp_distance(DType dtype, double a, double b);

}  // namespace posenc
