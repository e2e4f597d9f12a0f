// What the pipeline asks of a file. lib defines these; formats/ implements them; neither knows the other's inside.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/dtype.hpp"

namespace posenc {

/// One array as it lies in a file: little-endian, row-major.
struct StoredTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;      ///< for is_complex: without the (re, im) axis
  std::vector<std::string> axis_names;  ///< same length as shape, or empty when unknown
  bool is_complex = false;              ///< each element is two values of dtype (re, im)
  std::string help;

  /// Number of dtype values (twice the elements when complex). Throws usage on overflow.
  [[nodiscard]] std::int64_t values() const;
  [[nodiscard]] std::int64_t bytes() const;
};

/// Everything about an output file that is known before the first value is computed.
struct FilePlan {
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> metadata;  ///< provenance; keys [a-z_]+, values UTF-8 text
  struct Chunking {
    bool chunked = false;
    std::int64_t chunk_bytes = 1 << 20;  ///< aim for the size of one chunk
    int gzip_level = 0;                  ///< 0 none, 1..9; with the shuffle filter
  } chunking;
};

/// Receives the values of one file. `write` may be called from several threads at once.
class Writer {
 public:
  virtual ~Writer() = default;  ///< without finish(): removes everything that was written
  /// The block size, in values of tensor t, whose multiples `write` wants `first` and `size` to be (the last block may be
  /// shorter). 1 when any cut is fine. Chunked formats return whole chunk rows.
  [[nodiscard]] virtual std::int64_t granule(std::size_t tensor) const = 0;
  /// Puts `bytes` (little-endian values of the tensor's dtype) at value offset `first` of tensor `tensor`.
  virtual void write(std::size_t tensor, std::int64_t first, std::span<const std::byte> bytes) = 0;
  /// Flushes, syncs and publishes under the final name. Nothing is visible before.
  virtual void finish() = 0;
};

/// Gives the values of one file. `read` may be called from several threads at once.
class Reader {
 public:
  virtual ~Reader() = default;
  [[nodiscard]] virtual const std::vector<StoredTensor>& tensors() const = 0;
  [[nodiscard]] virtual const std::map<std::string, std::string>& metadata() const = 0;
  /// Fills `out` with the values from offset `first` of tensor `tensor`: little-endian, row-major, whatever the file has.
  virtual void read(std::size_t tensor, std::int64_t first, std::span<std::byte> out) const = 0;
  [[nodiscard]] virtual std::string_view format() const = 0;
};

/// Metadata key under which the spec of a file is kept, as JSON text.
inline constexpr std::string_view spec_key = "posenc_spec";
/// Metadata key of what `posenc apply` did, as JSON text: operation, pairing, .. and the spec that was applied. The array that
/// it was applied to is not in it, so that such a file does not verify by itself.
inline constexpr std::string_view applied_key = "posenc_applied";
inline constexpr std::string_view version_key = "posenc_version";

}  // namespace posenc
