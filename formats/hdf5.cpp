// HDF5, through its C library (1.10), in the file format of 1.8. The library writes; for reading it only finds the datasets, in a child
// process (hdf5_apart.cpp).
//   1. superblock: "\x89HDF\r\n\x1a\n" at 0, or at 512, 1024, 2048, ... behind a user block; version 2, with a checksum
//   2. root group: one attribute per metadata key, a scalar fixed-length UTF-8 string (dense storage: of any length)
//   3. tensor NAME: the dataset NAME; each '/' in it makes a group. f64 f32 i32 i64 are the library's little-endian types;
//      f16 is a 2-byte float (sign bit 15, exponent 5 bits at 10 with bias 15, mantissa 10 bits at 0); bf16 is a 2-byte float
//      (sign bit 15, exponent 8 bits at 7 with bias 127, mantissa 7 bits at 0); complex is the compound {r, i}.
//      Attributes: description (what the values are), DIMENSION_LABELS and DIMENSION_LIST (names of the axes)
//   4. values: contiguous, or chunked in boxes of whole rows, then optionally shuffled by bytes and deflated (zlib format)
//   5. axis NAME: a one-dimensional dataset without values, a dimension scale in netCDF's way; a second size of the same
//      name is NAME_2
// Nothing is dated. Read: also big-endian, compact and never-written datasets, user blocks, h5py's truth values, Keras' bfloat16.
#include <fmt/format.h>

#include <set>
#include <string_view>

#include "format.hpp"
#include "hdf5_attributes.hpp"
#include "hdf5_chunks.hpp"
#include "hdf5_deflate.hpp"
#include "posenc/error.hpp"

namespace posenc::formats::hdf5 {

const FormatTraits& traits() {
  static const FormatTraits t{.name = "hdf5",
                              .suffixes = {".h5", ".hdf5", ".hdf"},
                              .help = "HDF5; many tensors with named axes, optionally chunked and compressed",
                              .many_tensors = true,
                              .metadata = true,
                              .complex = true,
                              .bf16 = true,
                              .chunking = true,
                              .stdout_ok = false,
                              .grows = true};
  return t;
}

bool matches(std::span<const std::byte> head) {
  static constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  for (std::size_t at = 0; at + signature.size() <= text.size(); at = at == 0 ? 512 : 2 * at)
    if (text.substr(at, signature.size()) == signature) return true;
  return false;
}

void check(const FilePlan& plan) {
  std::set<std::string> groups;
  constexpr std::size_t longest_help = 60000;  // an attribute of a dataset lies in its object header, of 64 KiB
  for (const StoredTensor& tensor : plan.tensors) {
    const std::string padded = "/" + tensor.name + "/";
    if (padded.find("//") != std::string::npos || padded.find("/./") != std::string::npos)
      fail_usage(fmt::format("hdf5: the tensor name '{}' has an empty part or '.' between slashes", tensor.name));
    if (tensor.help.size() > longest_help) fail_usage(fmt::format("hdf5: the help of tensor '{}' has more than {} bytes", tensor.name, longest_help));
    for (std::size_t slash = tensor.name.find('/'); slash != std::string::npos; slash = tensor.name.find('/', slash + 1))
      groups.insert(tensor.name.substr(0, slash));
  }
  for (const StoredTensor& tensor : plan.tensors)
    if (groups.contains(tensor.name)) fail_usage(fmt::format("hdf5: '{}' cannot be a tensor and a group of tensors at once", tensor.name));
  const FilePlan::Chunking& chunking = plan.chunking;
  if (chunking.gzip_level < 0 || chunking.gzip_level > 9) fail_usage(fmt::format("the gzip level is 1 to 9 (0: none), got {}", chunking.gzip_level));
  if (chunking.gzip_level > 0 && !chunking.chunked) fail_usage("only chunked datasets can be compressed");
  if (chunking.chunked && chunking.chunk_bytes < 1) fail_usage(fmt::format("chunks want 1 byte or more, got {}", chunking.chunk_bytes));
}

std::uint64_t file_size(const FilePlan& plan) {
  // Generous: structure of the file, of a dataset, of an axis, of a chunk in the index.
  constexpr std::uint64_t file = 65536, object = 4096, index = 128;
  std::uint64_t size = file + object * (2 * plan.tensors.size() + count_scales(plan));
  for (const auto& [key, value] : plan.metadata) size += 1024 + 2 * (key.size() + value.size());
  for (const StoredTensor& tensor : plan.tensors) {
    const Chunks chunks = cut(tensor, plan.chunking);
    std::uint64_t bytes = static_cast<std::uint64_t>(tensor.bytes());
    if (!chunks.box.empty()) {
      std::uint64_t chunk = static_cast<std::uint64_t>(chunks.granule) * size_of(tensor.dtype);
      if (plan.chunking.gzip_level > 0) chunk = Deflater::bound(chunk);
      bytes = static_cast<std::uint64_t>(chunks.count) * (chunk + index + (chunk >= 65536 ? 4096 : 0));
    }
    size += bytes + 4096 + tensor.help.size() + 4 * tensor.name.size();
  }
  return size;
}

}  // namespace posenc::formats::hdf5
