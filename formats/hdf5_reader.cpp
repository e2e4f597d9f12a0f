// Reading HDF5: a child process finds the datasets (hdf5_apart.cpp); their values are read here, without the library and from any
// thread. What the child says about places is checked against the file again.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "array_reader.hpp"
#include "checked.hpp"
#include "format.hpp"
#include "hdf5_chunk_source.hpp"
#include "hdf5_walk.hpp"
#include "posenc/error.hpp"

namespace posenc::formats::hdf5 {
namespace {

// Values that are in memory: a compact dataset, which lies in its object header (at most 64 KiB).
class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override { std::memcpy(out.data(), bytes_.data() + offset, out.size()); }

 private:
  std::string bytes_;
};

// Values that were never written: one element again and again.
class FillSource : public ByteSource {
 public:
  FillSource(std::string element, std::uint64_t size) : element_(std::move(element)), size_(size) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    for (std::byte& b : out) b = static_cast<std::byte>(element_[offset++ % element_.size()]);
  }

 private:
  std::string element_;
  std::uint64_t size_;
};

std::shared_ptr<const ByteSource> source_of(const std::shared_ptr<const InputFile>& file, Found& found) {
  const std::string what = describe(file->path(), found.name);
  const auto wanted = checked_bytes(found.shape, found.type.size);
  const bool chunked = found.where == Found::Where::chunks;
  const bool sound = wanted && holding(found.type) && (found.where != Found::Where::memory || found.bytes.size() == *wanted) &&
                     ((found.where != Found::Where::fill && !chunked) || found.bytes.size() == found.type.size) &&
                     (!chunked || (found.box.size() == found.shape.size() && !found.box.empty() && checked_bytes(found.box, found.type.size).value_or(0) > 0));
  if (!sound) fail_input(what + ": its description makes no sense");
  const std::uint64_t bytes = *wanted;
  const auto inside = [&](std::uint64_t offset, std::uint64_t size, const char* part) {
    if (offset > file->size() || size > file->size() - offset)
      fail_input(fmt::format("{}: {} {} bytes from offset {} pass the end of the file, {}", what, part, size, offset, file->size()));
  };
  switch (found.where) {
    case Found::Where::contiguous:
      inside(found.offset, bytes, "its");
      return std::make_shared<FileRange>(file, found.offset, bytes);
    case Found::Where::memory: return std::make_shared<MemorySource>(std::move(found.bytes));
    case Found::Where::fill: return std::make_shared<FillSource>(std::move(found.bytes), bytes);
    case Found::Where::chunks:
      for (const ChunkPlace& place : found.places) inside(place.offset, place.size, "the chunk of");
      return std::make_shared<ChunkSource>(file, found, what);
  }
  fail_input(what + ": an unknown layout");
}

// As FilePlan says it: the size of a chunk, and how it is packed.
FilePlan::Chunking chunking_of(const std::vector<Found>& arrays) {
  for (const Found& found : arrays)
    if (found.where == Found::Where::chunks)
      return {.chunked = true,
              .chunk_bytes = static_cast<std::int64_t>(checked_bytes(found.box, found.type.size).value_or(1)),
              .gzip_level = static_cast<int>(std::min<std::uint64_t>(found.gzip_level, 9))};
  return {};
}

}  // namespace

std::unique_ptr<Reader> open_reader(std::shared_ptr<const InputFile> file) {
  auto reader = std::make_unique<ArrayReader>(file->path(), traits().name);
  Contents contents = walk_apart(*file);
  const bool by_posenc = contents.metadata.contains(std::string(version_key));
  reader->set_metadata(std::move(contents.metadata));
  for (std::string& skip : contents.skipped) reader->skip(std::move(skip));
  for (std::string& fault : contents.faults) reader->fault(std::move(fault));
  if (contents.unused > 0)
    reader->remark(fmt::format("the last {} bytes of {} belong to nothing{}", contents.unused, file->path(),
                               by_posenc ? ": what an interrupted posenc extend leaves, and the next one removes" : ""));
  reader->set_chunking(chunking_of(contents.arrays));
  for (Found& found : contents.arrays) {
    StoredArray array;
    array.type = found.type;
    array.tensor.name = found.name;
    array.tensor.help = found.help;
    array.tensor.shape = found.shape;
    array.tensor.axis_names = found.axes;
    array.source = source_of(file, found);
    reader->add(std::move(array));
  }
  reader->seal();
  return reader;
}

}  // namespace posenc::formats::hdf5
