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
  };
  std::vector<Item> items;
  std::vector<Work> work;
  for (const Target& target : targets)
    for (std::size_t t = 0; t < target.tensors.size(); ++t) {
      const PlannedTensor& planned = target.tensors[t];
      items.push_back({target.writer, t, &planned});
      work.push_back({planned.stored.values(), block_values(planned, target.writer->granule(t), options.block_bytes),
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
    const auto bytes = static_cast<std::size_t>(count * work[i].bytes_per_value);
    if (s.bytes.size() < bytes) s.bytes.resize(bytes);
    s.source.produce(*items[i].planned, first, count, s.bytes.data());
    items[i].writer->write(items[i].tensor, first, std::span<const std::byte>(s.bytes.data(), bytes));
  });
}

}  // namespace posenc
