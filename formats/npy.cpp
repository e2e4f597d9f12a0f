// NPY, one array. Numbers are little-endian.
//   1. 0..5    "\x93NUMPY"
//   2. 6, 7    version, major and minor: 1.0, 2.0 or 3.0
//   3. 8..     length H of what follows: 2 bytes in version 1, 4 bytes in 2 and 3
//   4. H bytes a Python dictionary in text (Latin-1; UTF-8 in version 3), padded with blanks and a line feed so that the
//              values start at a multiple of 64: {'descr': '<f4', 'fortran_order': False, 'shape': (16, 8), }
//   5. rest    the values, exactly as many as the shape says; row-major, or column-major when fortran_order is True
// Written: version 1.0 (2.0 for a header above 65535 bytes), '<', row-major. Read: all of the above, '<' '>' '=' '|'.
// NPY has no place for metadata: it lies beside the array, in NAME.npy.json, one JSON object (metadata_json.hpp). While an array is being
// replaced by a longer one, its sidecar speaks of both: the new metadata, and under posenc_before those of an array of posenc_shape.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "array_reader.hpp"
#include "checked.hpp"
#include "format.hpp"
#include "metadata_json.hpp"
#include "npy_header.hpp"
#include "placed_writer.hpp"
#include "posenc/error.hpp"

namespace posenc::formats::npy {
namespace {

constexpr std::uint64_t largest_sidecar = std::uint64_t{64} << 20;

constexpr const char* before_key = "posenc_before";
constexpr const char* shape_key = "posenc_shape";

std::string sidecar_of(const std::string& path) { return path + ".json"; }

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// NPY names no tensor; several of them are written as NAME.TENSOR.npy, so the last part of the name stands in.
std::string name_from(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(".npy")) name.resize(name.size() - 4);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot + 1 == name.size() ? name : name.substr(dot + 1);
}

std::string read_text(const std::string& path) {
  const InputFile file(path);
  if (file.size() > largest_sidecar)
    fail_input(fmt::format("{}: has {} bytes, allowed for a sidecar {}", path, file.size(), largest_sidecar));
  std::string text(file.size(), '\0');
  file.read(0, as_writable_bytes(text));
  return text;
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("{}", fmt::join(shape, ",")); }

// What a sidecar says of the array of this shape.
std::map<std::string, std::string> read_sidecar(const std::string& path, const std::vector<std::int64_t>& shape) {
  std::map<std::string, std::string> metadata = metadata_from_json(read_text(path), path);
  const auto before = metadata.find(before_key);
  if (before == metadata.end()) return metadata;
  std::map<std::string, std::string> old = metadata_from_json(before->second, fmt::format("{}: {}", path, before_key));
  if (old[shape_key] == shape_text(shape)) {
    old.erase(shape_key);
    return old;
  }
  metadata.erase(before);
  return metadata;
}

class NpyWriter : public PlacedWriter {
 public:
  NpyWriter(const std::string& path, std::unique_ptr<Sink> sink, const FilePlan& plan, std::uint64_t base)
      : PlacedWriter(path, std::move(sink), plan.tensors, {base}) {}

  void keep_beside(const AtomicFile& array, const std::map<std::string, std::string>& metadata) {
    const std::string path = sidecar_of(array.target());
    if (exists(path)) {
      if (!is_posenc_metadata(read_text(path)))
        fail_usage(fmt::format("{} is the sidecar's name, but posenc did not write the file there; move it away", path));
      stale_ = path;
    }
    if (metadata.empty()) return;
    sidecar_ = std::make_unique<AtomicFile>(path);
    sidecar_->write(0, as_bytes(metadata_to_json(metadata, true)));
  }

  /// The file is a longer form of the array that is there: at no time is there one without its metadata.
  void succeed(const std::string& path, const AtomicFile& array, std::map<std::string, std::string> metadata) {
    std::map<std::string, std::string> old;
    const auto reader = open_reader(std::make_shared<const InputFile>(path));
    old = reader->metadata();
    if (old.empty()) return;
    old[shape_key] = shape_text(reader->tensors().at(0).shape);
    metadata[before_key] = metadata_to_json(old, false);
    both_ = std::make_unique<AtomicFile>(sidecar_of(array.target()));
    both_->write(0, as_bytes(metadata_to_json(metadata, true)));
    stale_.clear();
  }

 private:
  // An array is never seen with another's provenance: the old sidecar goes, then the array comes, then its own.
  void publish(Sink& sink) override {
    auto* file = dynamic_cast<AtomicFile*>(&sink);
    if (file == nullptr) return sink.publish();
    file->sync();
    if (both_) both_->publish();
    if (!stale_.empty() && ::unlink(stale_.c_str()) != 0 && errno != ENOENT) fail_system("cannot remove " + stale_, errno);
    file->rename();
    if (sidecar_) sidecar_->publish();
  }

  std::unique_ptr<AtomicFile> sidecar_, both_;
  std::string stale_;
};

std::unique_ptr<Writer> make_writer(const std::string& path, const FilePlan& plan, bool longer) {
  const std::string header = make_npy_header(plan.tensors[0]);
  std::unique_ptr<Sink> sink;
  const AtomicFile* file = nullptr;
  if (is_stream_target(path)) {
    sink = std::make_unique<SequentialFile>(path);
  } else {
    auto atomic = std::make_unique<AtomicFile>(path);
    file = atomic.get();
    sink = std::move(atomic);
    sink->reserve(file_size(plan));
  }
  sink->write(0, as_bytes(header));
  auto writer = std::make_unique<NpyWriter>(path, std::move(sink), plan, header.size());
  if (file != nullptr) writer->keep_beside(*file, plan.metadata);
  if (file != nullptr && longer) writer->succeed(path, *file, plan.metadata);
  return writer;
}

}  // namespace

const FormatTraits& traits() {
  static const FormatTraits t{.name = "npy",
                              .suffixes = {".npy"},
                              .help = "NumPy array; one tensor, its spec in a JSON file beside it",
                              .many_tensors = false,
                              .metadata = true,
                              .complex = true,
                              .bf16 = false,
                              .chunking = false,
                              .stdout_ok = true,
                              .grows = false};
  return t;
}

bool matches(std::span<const std::byte> head) {
  static constexpr std::string_view magic = "\x93NUMPY";
  return head.size() >= magic.size() && std::string_view(reinterpret_cast<const char*>(head.data()), magic.size()) == magic;
}

void check(const FilePlan&) {}

std::uint64_t file_size(const FilePlan& plan) {
  return make_npy_header(plan.tensors[0]).size() + static_cast<std::uint64_t>(plan.tensors[0].bytes());
}

std::unique_ptr<Writer> open_writer(const std::string& path, const FilePlan& plan) { return make_writer(path, plan, false); }

Growth open_growth(const std::string& path, const FilePlan& plan) {
  return rewriting(make_writer(path, plan, true), plan, "the header of npy says how long it is");
}

std::unique_ptr<Reader> open_reader(std::shared_ptr<const InputFile> file) {
  auto reader = std::make_unique<ArrayReader>(file->path(), traits().name);
  auto source = std::make_shared<FileRange>(file, 0, file->size());
  std::string unheld;
  NpyHeader header = read_npy_header(*source, file->path(), unheld);
  if (!unheld.empty()) fail_input(fmt::format("{}: posenc cannot hold the {}", file->path(), unheld));
  StoredArray array;
  array.tensor.name = name_from(file->path());
  array.tensor.shape = std::move(header.shape);
  array.type = header.type;
  array.source = std::move(source);
  array.offset = header.size;
  // One row or one axis: both orders are the same bytes.
  int long_axes = 0;
  for (const std::int64_t extent : array.tensor.shape) long_axes += extent > 1 ? 1 : 0;
  array.column_major = header.column_major && long_axes > 1;
  reader->add(std::move(array));
  if (const std::string path = sidecar_of(file->path()); exists(path)) reader->set_metadata(read_sidecar(path, reader->tensors()[0].shape));
  return reader;
}

}  // namespace posenc::formats::npy
