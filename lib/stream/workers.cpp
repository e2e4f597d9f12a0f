#include "stream/workers.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "numeric/caches.hpp"

namespace posenc {

std::size_t worker_count(const PipelineOptions& options) {
  constexpr int most = 256;
  const int wanted = options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
  return static_cast<std::size_t>(std::clamp(wanted, 1, most));
}

void for_each_block(std::span<const Work> work, const PipelineOptions& options,
                    const std::function<void(std::size_t, std::size_t, std::int64_t, std::int64_t)>& run) {
  const std::size_t items = work.size();
  std::int64_t blocks = 0, total = 0;
  for (const Work& w : work) {
    blocks += (w.values + w.block - 1) / w.block;
    total += w.values * w.bytes_per_value;
  }
  std::vector<std::atomic<std::int64_t>> next(items);
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex mutex;
  std::int64_t done = 0;

  const auto worker = [&](std::size_t number) {
    try {
      for (std::size_t k = 0; k < items; ++k) {
        const std::size_t item = (number + k) % items;
        const Work& w = work[item];
        while (!stop.load(std::memory_order_relaxed)) {
          const std::int64_t block = next[item].fetch_add(1);
          // Compare blocks, not values: block * w.block may overflow for a late comer.
          if (block >= (w.values + w.block - 1) / w.block) break;
          const std::int64_t first = block * w.block;
          const std::int64_t count = std::min(w.block, w.values - first);
          run(number, item, first, count);
          if (options.progress) {
            const std::lock_guard lock(mutex);
            done += count * w.bytes_per_value;
            options.progress(done, total);
          }
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
  };

  const auto threads = static_cast<std::size_t>(
      std::clamp<std::int64_t>(blocks, 1, static_cast<std::int64_t>(worker_count(options))));
  std::vector<std::thread> pool;
  pool.reserve(threads);  // nothing may throw once threads run
  for (std::size_t i = 1; i < threads; ++i) try {
      pool.emplace_back([&worker, i] {
        worker(i);
        num::free_thread_caches();
      });
    } catch (const std::system_error&) {
      break;  // no more threads to be had: those that run do all the work
    }
  worker(0);
  for (std::thread& t : pool) t.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace posenc
