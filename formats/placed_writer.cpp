#include "placed_writer.hpp"

#include <fmt/format.h>

#include "posenc/error.hpp"

namespace posenc::formats {

void check_extent(const StoredTensor& tensor, std::int64_t first, std::size_t bytes) {
  const std::size_t size = size_of(tensor.dtype);
  const std::int64_t values = tensor.values();
  if (bytes % size != 0 || first < 0 || first > values || static_cast<std::int64_t>(bytes / size) > values - first)
    fail_usage(fmt::format("tensor '{}': {} bytes given at value {}, but it has {} values of {} bytes", tensor.name, bytes, first,
                           values, size));
}

Tally::Tally(const std::vector<StoredTensor>& tensors) {
  for (const StoredTensor& tensor : tensors) wanted_ += static_cast<std::uint64_t>(tensor.bytes());
}

void Tally::check(const std::string& path) const {
  if (got_ != wanted_) fail_usage(fmt::format("{}: {} bytes of values were given, its tensors have {}", path, got_.load(), wanted_));
}

PlacedWriter::PlacedWriter(std::string path, std::unique_ptr<Sink> sink, std::vector<StoredTensor> tensors,
                           std::vector<std::uint64_t> bases)
    : path_(std::move(path)), sink_(std::move(sink)), tensors_(std::move(tensors)), bases_(std::move(bases)), tally_(tensors_) {}

void PlacedWriter::write(std::size_t index, std::int64_t first, std::span<const std::byte> bytes) {
  const StoredTensor& tensor = tensors_.at(index);
  check_extent(tensor, first, bytes.size());
  const std::uint64_t offset = static_cast<std::uint64_t>(first) * size_of(tensor.dtype);
  seen(index, offset, bytes);
  sink_->write(bases_[index] + offset, bytes);
  tally_.add(bytes.size());
}

void PlacedWriter::finish() {
  if (finished_) fail_usage(path_ + ": finished twice");
  tally_.check(path_);
  complete(*sink_);
  publish(*sink_);
  finished_ = true;
}

}  // namespace posenc::formats
