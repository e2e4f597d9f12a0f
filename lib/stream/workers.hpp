// Blocks of several tensors handed out to threads.
#pragma once
#include <cstdint>
#include <functional>
#include <span>

#include "posenc/pipeline.hpp"

namespace posenc {

/// One tensor's worth of work, cut into blocks of `block` values.
struct Work {
  std::int64_t values;
  std::int64_t block;
  std::int64_t bytes_per_value;
};

/// Calls `run(worker, work item, first, count)` once for every block, from options.threads threads. Each thread starts on
/// a different item, so that several files grow at once; within one item blocks are handed out in ascending order. The
/// first exception stops everything and is rethrown.
void for_each_block(std::span<const Work> work, const PipelineOptions& options,
                    const std::function<void(std::size_t worker, std::size_t item, std::int64_t first, std::int64_t count)>& run);

/// Threads that for_each_block will use.
[[nodiscard]] std::size_t worker_count(const PipelineOptions& options);

}  // namespace posenc
