// NPZ: a zip archive (zip.cpp) of arrays.
//   1. when there is metadata: a member posenc.json, one JSON object (metadata_json.hpp); numpy gives it as bytes
//   2. per tensor, a member NAME.npy: an NPY array of version 1.0 (npy.cpp), stored, its values at a multiple of 64
//   3. the zip directory
// Read: also deflated members, and archives of numpy.savez and numpy.savez_compressed. Members that are no NPY arrays
// are passed over; arrays of types posenc cannot hold are skipped and reported.
#include <fmt/format.h>

#include "array_reader.hpp"
#include "checked.hpp"
#include "crc32.hpp"
#include "format.hpp"
#include "metadata_json.hpp"
#include "npy_header.hpp"
#include "placed_writer.hpp"
#include "posenc/error.hpp"
#include "zip.hpp"

namespace posenc::formats::npz {
namespace {

constexpr std::string_view metadata_member = "posenc.json";
constexpr std::uint64_t largest_metadata = std::uint64_t{64} << 20;

struct Archive {
  std::vector<ZipEntry> entries;      // the metadata first, when there is any, then the tensors
  std::vector<std::string> starts;    // what each entry begins with: all of the metadata, or an NPY header
  std::uint64_t directory = 0;
};

Archive lay_out(const FilePlan& plan) {
  Archive archive;
  if (!plan.metadata.empty()) {
    archive.starts.push_back(metadata_to_json(plan.metadata, false));
    archive.entries.push_back({.name = std::string(metadata_member), .size = archive.starts.back().size()});
  }
  for (const StoredTensor& tensor : plan.tensors) {
    archive.starts.push_back(make_npy_header(tensor));
    archive.entries.push_back(
        {.name = tensor.name + ".npy", .size = archive.starts.back().size() + static_cast<std::uint64_t>(tensor.bytes())});
  }
  archive.directory = plan_zip(archive.entries);
  return archive;
}

class NpzWriter : public PlacedWriter {
 public:
  NpzWriter(const std::string& path, std::unique_ptr<Sink> sink, const FilePlan& plan, Archive archive, std::vector<std::uint64_t> bases)
      : PlacedWriter(path, std::move(sink), plan.tensors, std::move(bases)), archive_(std::move(archive)), sums_(archive_.entries.size()),
        first_(archive_.entries.size() - plan.tensors.size()) {
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i].add(0, as_bytes(archive_.starts[i]));
  }

 private:
  void seen(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> bytes) override {
    sums_[first_ + tensor].add(archive_.starts[first_ + tensor].size() + offset, bytes);
  }
  void complete(Sink& sink) override {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      ZipEntry& entry = archive_.entries[i];
      const auto sum = sums_[i].of(entry.size);
      if (!sum) fail_usage(fmt::format("member '{}' was not written once from end to end", entry.name));
      entry.crc = *sum;
      sink.write(entry.header_offset, as_bytes(local_header(entry) + archive_.starts[i]));
    }
    sink.write(archive_.directory, as_bytes(central_directory(archive_.entries, archive_.directory)));
  }

  Archive archive_;
  std::vector<Crc32> sums_;
  std::size_t first_;
};

}  // namespace

const FormatTraits& traits() {
  static const FormatTraits t{.name = "npz",
                              .suffixes = {".npz"},
                              .help = "NumPy archive, uncompressed; tensors as NAME.npy, the spec as posenc.json",
                              .many_tensors = true,
                              .metadata = true,
                              .complex = true,
                              .bf16 = false,
                              .chunking = false,
                              .stdout_ok = false,
                              .grows = false};
  return t;
}

bool matches(std::span<const std::byte> head) {
  if (head.size() < 4) return false;
  const std::string_view start(reinterpret_cast<const char*>(head.data()), 4);
  return start == "PK\3\4" || start == "PK\5\6";
}

void check(const FilePlan& plan) {
  for (const StoredTensor& tensor : plan.tensors) {
    const std::string padded = "/" + tensor.name + "/";
    if (padded.find("//") != std::string::npos || padded.find("/../") != std::string::npos || padded.find("/./") != std::string::npos ||
        tensor.name.find('\\') != std::string::npos)
      fail_usage(fmt::format("npz: the tensor name '{}' is no plain relative path, which a member of an archive must be", tensor.name));
  }
}

std::uint64_t file_size(const FilePlan& plan) {
  const Archive archive = lay_out(plan);
  return archive.directory + central_directory(archive.entries, archive.directory).size();
}

std::unique_ptr<Writer> open_writer(const std::string& path, const FilePlan& plan) {
  Archive archive = lay_out(plan);
  std::vector<std::uint64_t> bases;
  for (std::size_t i = archive.entries.size() - plan.tensors.size(); i < archive.entries.size(); ++i)
    bases.push_back(archive.entries[i].data_offset + archive.starts[i].size());
  auto sink = std::make_unique<AtomicFile>(path);
  sink->reserve(archive.directory + central_directory(archive.entries, archive.directory).size());
  return std::make_unique<NpzWriter>(path, std::move(sink), plan, std::move(archive), std::move(bases));
}

Growth open_growth(const std::string& path, const FilePlan& plan) {
  return rewriting(open_writer(path, plan), plan, "npz has one tensor behind the other");
}

std::unique_ptr<Reader> open_reader(std::shared_ptr<const InputFile> file) {
  auto reader = std::make_unique<ArrayReader>(file->path(), traits().name);
  for (const ZipMember& member : read_zip_directory(*file)) {
    const std::string what = fmt::format("{}: member '{}'", file->path(), member.name);
    if (member.name == metadata_member) {
      if (member.size > largest_metadata) fail_input(fmt::format("{}: has {} bytes, allowed {}", what, member.size, largest_metadata));
      std::string text(member.size, '\0');
      open_zip_member(file, member)->read(0, as_writable_bytes(text));
      reader->set_metadata(metadata_from_json(text, what));
      continue;
    }
    if (!member.name.ends_with(".npy")) continue;
    StoredArray array;
    array.tensor.name = member.name.substr(0, member.name.size() - 4);
    array.source = open_zip_member(file, member);
    std::string unheld;
    NpyHeader header = read_npy_header(*array.source, what, unheld);
    if (!unheld.empty()) {
      reader->skip(array.tensor.name + ": " + unheld);
      continue;
    }
    array.tensor.shape = std::move(header.shape);
    array.type = header.type;
    array.offset = header.size;
    array.column_major = header.column_major && array.tensor.shape.size() > 1;
    reader->add(std::move(array));
  }
  reader->seal();
  return reader;
}

}  // namespace posenc::formats::npz
