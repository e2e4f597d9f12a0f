// The Writer of every format whose values have a known place: tensor t's value v lies at base[t] + v * size.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "atomic_file.hpp"
#include "posenc/io.hpp"

namespace posenc::formats {

/// Checks a call of Writer::write against the tensor: whole values, inside it. Throws usage: the caller is wrong.
void check_extent(const StoredTensor& tensor, std::int64_t first, std::size_t bytes);

/// Counts what arrives, so that finish can refuse a file with values missing.
class Tally {
 public:
  explicit Tally(const std::vector<StoredTensor>& tensors);
  void add(std::size_t bytes) { got_.fetch_add(bytes, std::memory_order_relaxed); }
  void check(const std::string& path) const;

 private:
  std::uint64_t wanted_ = 0;
  std::atomic<std::uint64_t> got_ = 0;
};

class PlacedWriter : public Writer {
 public:
  PlacedWriter(std::string path, std::unique_ptr<Sink> sink, std::vector<StoredTensor> tensors, std::vector<std::uint64_t> bases);
  [[nodiscard]] std::int64_t granule(std::size_t) const override { return 1; }
  void write(std::size_t tensor, std::int64_t first, std::span<const std::byte> bytes) override;
  void finish() override;

 protected:
  /// Before the bytes are written, from any thread: `offset` counts from the tensor's first byte.
  virtual void seen(std::size_t /*tensor*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) {}
  /// After the last value: what is only known now.
  virtual void complete(Sink&) {}
  virtual void publish(Sink& sink) { sink.publish(); }

 private:
  std::string path_;
  std::unique_ptr<Sink> sink_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::uint64_t> bases_;
  Tally tally_;
  bool finished_ = false;
};

}  // namespace posenc::formats
