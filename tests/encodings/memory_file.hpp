// A file in memory: what generate writes, and what compare and the laws read.
#pragma once
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "posenc/io.hpp"
#include "posenc/pipeline.hpp"

namespace testing_support {

class MemoryFile final : public posenc::Reader {
 public:
  explicit MemoryFile(const std::vector<posenc::PlannedTensor>& planned) {
    for (const posenc::PlannedTensor& p : planned) {
      tensors_.push_back(p.stored);
      bytes.emplace_back(static_cast<std::size_t>(p.stored.bytes()));
    }
  }
  const std::vector<posenc::StoredTensor>& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  void read(std::size_t tensor, std::int64_t first, std::span<std::byte> out) const override {
    const std::size_t size = posenc::size_of(tensors_[tensor].dtype);
    std::memcpy(out.data(), bytes[tensor].data() + static_cast<std::size_t>(first) * size, out.size());
  }
  std::string_view format() const override { return "memory"; }

  std::vector<std::vector<std::byte>> bytes;

 private:
  std::vector<posenc::StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

class MemoryWriter final : public posenc::Writer {
 public:
  explicit MemoryWriter(MemoryFile& file) : file_(file) {}
  std::int64_t granule(std::size_t) const override { return 1; }
  void write(std::size_t tensor, std::int64_t first, std::span<const std::byte> data) override {
    const std::size_t size = posenc::size_of(file_.tensors()[tensor].dtype);
    std::memcpy(file_.bytes[tensor].data() + static_cast<std::size_t>(first) * size, data.data(), data.size());
  }
  void finish() override {}

 private:
  MemoryFile& file_;
};

inline MemoryFile generated(const posenc::Spec& spec, const std::vector<posenc::PlannedTensor>& planned, const posenc::PipelineOptions& options) {
  MemoryFile file(planned);
  MemoryWriter writer(file);
  const posenc::Target target{&writer, planned};
  posenc::generate(spec, std::span<const posenc::Target>(&target, 1), options);
  return file;
}

}  // namespace testing_support
