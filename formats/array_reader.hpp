// The Reader that all formats share: a format finds its arrays, this delivers their values little-endian and row-major.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "element_type.hpp"
#include "input_file.hpp"
#include "posenc/io.hpp"

namespace posenc::formats {

/// One array and where its elements lie.
struct StoredArray {
  StoredTensor tensor;
  ElementType type;
  std::shared_ptr<const ByteSource> source;
  std::uint64_t offset = 0;      ///< of element 0 in source
  bool column_major = false;
};

/// "FILE: tensor 'NAME'", for messages.
[[nodiscard]] std::string describe(const std::string& path, const std::string& tensor);

class ArrayReader : public Reader {
 public:
  ArrayReader(std::string path, std::string_view format) : path_(std::move(path)), format_(format) {}

  /// Sets dtype and is_complex of `array.tensor` from its type, which must have a holding.
  void add(StoredArray array);
  /// "NAME: why".
  void skip(std::string what) { skipped_.push_back(std::move(what)); }
  void remark(std::string what) { remarks_.push_back(std::move(what)); }
  void fault(std::string what) { faults_.push_back(std::move(what)); }
  void set_chunking(const FilePlan::Chunking& chunking) { chunking_ = chunking; }
  void set_metadata(std::map<std::string, std::string> metadata) { metadata_ = std::move(metadata); }
  /// After the last add: a file in which everything had to be skipped is an error.
  void seal() const;

  [[nodiscard]] const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  void read(std::size_t tensor, std::int64_t first, std::span<std::byte> out) const override;
  [[nodiscard]] std::string_view format() const override { return format_; }
  [[nodiscard]] const std::vector<std::string>& skipped() const { return skipped_; }
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  [[nodiscard]] const FilePlan::Chunking& chunking() const { return chunking_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Turned {  // a column-major array, once it has been turned around
    std::once_flag once;
    std::vector<std::byte> bytes;
  };
  void read_elements(const StoredArray& array, std::uint64_t first, std::span<std::byte> out) const;
  void turn(const StoredArray& array, Turned& turned) const;

  std::string path_;
  std::string_view format_;
  std::vector<StoredTensor> tensors_;
  std::vector<StoredArray> arrays_;
  std::vector<std::unique_ptr<Turned>> turned_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::string> skipped_, remarks_, faults_;
  FilePlan::Chunking chunking_;
};

}  // namespace posenc::formats
