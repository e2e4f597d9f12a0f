#include "hdf5_chunks.hpp"

#include <algorithm>

namespace posenc::formats::hdf5 {
namespace {

// The largest divisor of n that is at most `limit`.
std::int64_t divisor(std::int64_t n, std::int64_t limit) {
  std::int64_t best = 1;
  for (std::int64_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    if (d <= limit) best = std::max(best, d);
    if (n / d <= limit) best = std::max(best, n / d);
  }
  return best;
}

}  // namespace

std::vector<std::int64_t> Chunks::corner(std::int64_t index) const {
  std::vector<std::int64_t> at(box.size());
  for (std::size_t axis = box.size(); axis-- > 0;) {
    at[axis] = index % grid[axis] * box[axis];
    index /= grid[axis];
  }
  return at;
}

Chunks cut(const StoredTensor& tensor, const FilePlan::Chunking& chunking) {
  Chunks chunks;
  const std::size_t rank = tensor.shape.size();
  if (!chunking.chunked || rank == 0 || tensor.values() == 0) return chunks;
  const std::int64_t per_element = tensor.is_complex ? 2 : 1;
  const std::int64_t element = static_cast<std::int64_t>(size_of(tensor.dtype)) * per_element;
  // HDF5 stores the size of a chunk in 32 bits.
  const std::int64_t aim = std::clamp(chunking.chunk_bytes, element, std::int64_t{1} << 30) / element;
  // Whole trailing axes as long as they fit; the axis before them is cut.
  std::int64_t inner = 1;
  std::size_t axis = rank;
  while (axis > 0 && inner * tensor.shape[axis - 1] <= aim) inner *= tensor.shape[--axis];
  chunks.box.assign(tensor.shape.begin(), tensor.shape.end());
  if (axis > 0) {
    --axis;
    const bool outermost = std::all_of(tensor.shape.begin(), tensor.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                                       [](std::int64_t size) { return size == 1; });
    // Only the outermost axis may end in a short chunk; elsewhere the next chunk would not start at a multiple.
    std::int64_t rows = aim / inner;
    if (!outermost) {
      rows = divisor(tensor.shape[axis], rows);
      const bool small = rows < aim / inner / 8;
      if (small && tensor.shape[axis] <= 4 * (aim / inner)) rows = tensor.shape[axis];
    }
    chunks.box[axis] = rows;
    for (std::size_t i = 0; i < axis; ++i) chunks.box[i] = 1;
  }
  chunks.granule = per_element;
  chunks.count = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    chunks.granule *= chunks.box[i];
    chunks.grid.push_back((tensor.shape[i] + chunks.box[i] - 1) / chunks.box[i]);
    chunks.count *= chunks.grid[i];
  }
  return chunks;
}

}  // namespace posenc::formats::hdf5
