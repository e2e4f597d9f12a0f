// A resized table as it goes into a file: rows made by the workers, rounded and written block by block.
#include <algorithm>
#include <vector>

#include "posenc/pipeline.hpp"
#include "posenc/resample.hpp"
#include "stream/block_source.hpp"
#include "stream/workers.hpp"

namespace posenc {

void resample(const Resampler& resampler, std::span<const double> table, DType dtype, Writer& writer, const PipelineOptions& options) {
  const std::int64_t lanes = resampler.row_size(), size = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t granule = std::max<std::int64_t>(1, writer.granule(0));
  // Whole rows where the file lets any cut be made.
  const std::int64_t unit = granule == 1 ? lanes : granule;
  const Work work{resampler.rows() * lanes, std::max<std::int64_t>(1, options.block_bytes / size / unit) * unit, size};
  struct Scratch {
    std::vector<double> rows;
    std::vector<std::byte> bytes;
  };
  std::vector<Scratch> scratch(worker_count(options));
  for_each_block(std::span<const Work>(&work, 1), options, [&](std::size_t worker, std::size_t, std::int64_t first, std::int64_t count) {
    Scratch& s = scratch[worker];
    // A block of a chunked file may begin and end within a row: rows are made whole.
    const std::int64_t row = first / lanes, rows = (first + count + lanes - 1) / lanes - row;
    s.rows.resize(static_cast<std::size_t>(rows * lanes));
    s.bytes.resize(static_cast<std::size_t>(count * size));
    resampler.make(table, dtype, row, rows, s.rows);
    const double* values = s.rows.data() + (first - row * lanes);
    for (std::int64_t i = 0; i < count; ++i) put_value(dtype, values[i], s.bytes.data() + i * size);
    writer.write(0, first, s.bytes);
  });
}

}  // namespace posenc
