#include <algorithm>

#include "posenc/pipeline.hpp"
#include "stream/block_source.hpp"
#include "stream/workers.hpp"

namespace posenc {
namespace {

// The block size in values: a multiple of what the writer asks for, and of whole rows where rows are short.
std::int64_t block_values(const PlannedTensor& tensor, std::int64_t granule, std::int64_t block_bytes) {
  const std::int64_t wanted = std::max<std::int64_t>(1, block_bytes / static_cast<std::int64_t>(size_of(tensor.stored.dtype)));
  std::int64_t unit = std::max<std::int64_t>(1, granule);
  if (unit == 1 && tensor.source.columns() > 0 && tensor.source.columns() <= wanted && tensor.part < 0) unit = tensor.source.columns();
  return std::max<std::int64_t>(1, wanted / unit) * unit;
}

}  // namespace

void generate(const Spec& spec, std::span<const Target> targets, const PipelineOptions& options) {
  const Evaluators evaluators(spec);
  struct Item {
    Writer* writer;
    std::size_t tensor;
    const PlannedTensor* planned;
    Kept kept;
  };
  std::vector<Item> items;
  std::vector<Work> work;
  for (const Target& target : targets)
    for (std::size_t t = 0; t < target.tensors.size(); ++t) {
      const PlannedTensor& planned = target.tensors[t];
      const Kept kept = target.kept.empty() ? Kept{} : target.kept[t];
      items.push_back({target.writer, t, &planned, kept});
      work.push_back({planned.stored.values() - kept.from, block_values(planned, target.writer->granule(t), options.block_bytes),
                      static_cast<std::int64_t>(size_of(planned.stored.dtype))});
    }
  if (items.empty()) return;

  struct Scratch {
    BlockSource source;
    std::vector<std::byte> bytes;
  };
  std::vector<Scratch> scratch;
  for (std::size_t i = 0; i < worker_count(options); ++i) scratch.push_back({BlockSource(evaluators), {}});
  for_each_block(work, options, [&](std::size_t worker, std::size_t i, std::int64_t first, std::int64_t count) {
    Scratch& s = scratch[worker];
    const Item& item = items[i];
    const std::int64_t size = work[i].bytes_per_value;
    const auto bytes = static_cast<std::size_t>(count * size);
    if (s.bytes.size() < bytes) s.bytes.resize(bytes);
    first += item.kept.from;
    const std::int64_t there = std::clamp<std::int64_t>(item.kept.values - first, 0, count);
    if (there > 0) item.kept.reader->read(item.kept.tensor, first, std::span(s.bytes).first(static_cast<std::size_t>(there * size)));
    s.source.produce(*item.planned, first + there, count - there, s.bytes.data() + there * size);
    item.writer->write(item.tensor, first, std::span<const std::byte>(s.bytes.data(), bytes));
  });
}

}  // namespace posenc
