// Writing HDF5. The library makes the structure; the values go past it:
//   contiguous       allocated early, so that each dataset has its place; pwrite from any thread once the structure is closed
//   chunked, plain   allocated early as well; H5Dwrite_chunk puts each chunk in its place, whatever the order
//   chunked, packed  each thread shuffles and deflates its chunks into a scratch file; finish copies them in chunk order, so
//                    that the bytes do not depend on which thread was first
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "atomic_file.hpp"
#include "format.hpp"
#include "hdf5_api.hpp"
#include "hdf5_attributes.hpp"
#include "hdf5_chunks.hpp"
#include "hdf5_deflate.hpp"
#include "hdf5_types.hpp"
#include "placed_writer.hpp"
#include "posenc/error.hpp"

namespace posenc::formats::hdf5 {
namespace {

struct Packed {
  std::uint64_t offset = 0;
  std::uint32_t size = 0;  // 0: not written yet
};

struct Place {
  std::uint64_t base = 0;  // contiguous: of value 0 in the file
  Chunks chunks;
  std::vector<Packed> packed;
};

class Hdf5Writer : public Writer {
 public:
  Hdf5Writer(const std::string& path, const FilePlan& plan)
      : path_(path), plan_(plan), tally_(plan.tensors), deflater_(plan.chunking.gzip_level), sink_(path) {
    const Session session;
    try {
      build();
    } catch (...) {
      release();
      throw;
    }
  }
  ~Hdf5Writer() override {
    const Session session;
    release();
  }

  [[nodiscard]] std::int64_t granule(std::size_t tensor) const override { return places_.at(tensor).chunks.granule; }

  void write(std::size_t index, std::int64_t first, std::span<const std::byte> bytes) override {
    const StoredTensor& tensor = plan_.tensors.at(index);
    check_extent(tensor, first, bytes.size());
    Place& place = places_[index];
    const std::size_t size = size_of(tensor.dtype);
    if (place.chunks.box.empty()) {
      sink_.write(place.base + static_cast<std::uint64_t>(first) * size, bytes);
    } else {
      const std::int64_t granule = place.chunks.granule;
      const auto values = static_cast<std::int64_t>(bytes.size() / size);
      if (first % granule != 0 || (values % granule != 0 && first + values != tensor.values()))
        fail_usage(fmt::format("tensor '{}': {} values given at value {}, but its chunks have {}", tensor.name, values, first, granule));
      const std::size_t chunk_bytes = static_cast<std::size_t>(granule) * size;
      for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes, first += granule)
        chunk(index, first / granule, bytes.subspan(at, std::min(chunk_bytes, bytes.size() - at)), chunk_bytes);
    }
    tally_.add(bytes.size());
  }

  void finish() override {
    tally_.check(path_);
    {
      const Session session;
      if (spool_) {
        std::vector<std::byte> buffer;
        for (std::size_t t = 0; t < places_.size(); ++t)
          for (std::int64_t k = 0; k < static_cast<std::int64_t>(places_[t].packed.size()); ++k) {
            const Packed& packed = places_[t].packed[static_cast<std::size_t>(k)];
            buffer.resize(packed.size);
            spool_->read(packed.offset, buffer);
            put(t, k, buffer);
          }
      }
      for (Handle& dataset : datasets_)
        if (!dataset.close()) fail(path_, false);
      if (!file_.close()) fail(path_, false);
    }
    sink_.publish();
  }

 private:
  void release() {
    datasets_.clear();
    file_.close();
  }

  // Pads the chunk at the edge with zeros, packs it when asked to, and puts it away.
  void chunk(std::size_t index, std::int64_t number, std::span<const std::byte> bytes, std::size_t full) {
    std::vector<std::byte> padded;
    if (bytes.size() < full) {
      padded.assign(full, std::byte{0});
      std::copy(bytes.begin(), bytes.end(), padded.begin());
      bytes = padded;
    }
    if (!spool_) {
      const Session session;
      put(index, number, bytes);
      return;
    }
    const StoredTensor& tensor = plan_.tensors[index];
    std::vector<std::byte> shuffled(full);
    shuffle(bytes, size_of(tensor.dtype) * (tensor.is_complex ? 2 : 1), shuffled);
    const std::vector<std::byte> packed = deflater_.pack(shuffled);
    const std::uint64_t offset = spool_end_.fetch_add(packed.size());
    spool_->write(offset, packed);
    places_[index].packed[static_cast<std::size_t>(number)] = {offset, static_cast<std::uint32_t>(packed.size())};
  }

  void put(std::size_t index, std::int64_t number, std::span<const std::byte> bytes) {
    const std::vector<std::int64_t> corner = places_[index].chunks.corner(number);
    const std::vector<hsize_t> offset(corner.begin(), corner.end());
    checked_status(H5Dwrite_chunk(datasets_[index].get(), H5P_DEFAULT, 0, offset.data(), bytes.size(), bytes.data()), path_, false);
  }

  void build() {
    const Handle access(checked(H5Pcreate(H5P_FILE_ACCESS), path_, false));
    // The format of 1.8: readable everywhere, metadata with checksums, attributes above 64 KiB. Fixed, so bytes are too.
    checked_status(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18), path_, false);
    checked_status(H5Pset_file_locking(access.get(), true, true), path_, false);
    checked_status(H5Pset_alignment(access.get(), 65536, 4096), path_, false);
    const Handle creation(checked(H5Pcreate(H5P_FILE_CREATE), path_, false));
    checked_status(H5Pset_obj_track_times(creation.get(), false), path_, false);
    checked_status(H5Pset_attr_phase_change(creation.get(), 0, 0), path_, false);  // dense: no limit on their size
    file_ = Handle(checked(H5Fcreate(sink_.temporary().c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), "cannot write " + path_, false));
    const Handle root(checked(H5Gopen2(file_.get(), "/", H5P_DEFAULT), path_, false));
    for (const auto& [key, value] : plan_.metadata) put_text(root.get(), key, value, path_);

    std::set<std::string> groups;
    bool any_chunked = false, packed = false;
    for (const StoredTensor& tensor : plan_.tensors) {
      make_groups(tensor.name, groups);
      Place place;
      place.chunks = cut(tensor, plan_.chunking);
      datasets_.push_back(make_dataset(tensor, place));
      any_chunked = any_chunked || !place.chunks.box.empty();
      if (!place.chunks.box.empty() && plan_.chunking.gzip_level > 0) {
        packed = true;
        place.packed.resize(static_cast<std::size_t>(place.chunks.count));
      }
      places_.push_back(std::move(place));
    }
    put_axes(file_.get(), plan_, datasets_, path_);
    hsize_t size = 0;
    checked_status(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), path_, false);
    checked_status(H5Fget_filesize(file_.get(), &size), path_, false);
    if (packed) spool_ = std::make_unique<SpoolFile>(sink_);
    if (!any_chunked) {
      for (Handle& dataset : datasets_)
        if (!dataset.close()) fail(path_, false);
      if (!file_.close()) fail(path_, false);
    }
    sink_.reserve(size);
  }

  // One by one: groups that the library makes on the way would carry the time.
  void make_groups(const std::string& name, std::set<std::string>& made) {
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      const std::string group = name.substr(0, slash);
      if (!made.insert(group).second) continue;
      const Handle creation(checked(H5Pcreate(H5P_GROUP_CREATE), path_, false));
      checked_status(H5Pset_obj_track_times(creation.get(), false), path_, false);
      const Handle links = link_creation();
      const Handle id(checked(H5Gcreate2(file_.get(), group.c_str(), links.get(), creation.get(), H5P_DEFAULT), path_, false));
    }
  }

  [[nodiscard]] Handle link_creation() const {
    Handle links(checked(H5Pcreate(H5P_LINK_CREATE), path_, false));
    checked_status(H5Pset_char_encoding(links.get(), H5T_CSET_UTF8), path_, false);
    return links;
  }

  Handle make_dataset(const StoredTensor& tensor, Place& place) {
    const std::vector<hsize_t> shape(tensor.shape.begin(), tensor.shape.end());
    const Handle space(checked(shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                               path_, false));
    const Handle creation(checked(H5Pcreate(H5P_DATASET_CREATE), path_, false));
    checked_status(H5Pset_obj_track_times(creation.get(), false), path_, false);
    checked_status(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), path_, false);
    const bool chunked = !place.chunks.box.empty();
    const bool packed = chunked && plan_.chunking.gzip_level > 0;
    if (chunked) {
      const std::vector<hsize_t> box(place.chunks.box.begin(), place.chunks.box.end());
      checked_status(H5Pset_chunk(creation.get(), static_cast<int>(box.size()), box.data()), path_, false);
    }
    if (packed) {
      checked_status(H5Pset_shuffle(creation.get()), path_, false);
      checked_status(H5Pset_deflate(creation.get(), static_cast<unsigned>(plan_.chunking.gzip_level)), path_, false);
    }
    checked_status(H5Pset_alloc_time(creation.get(), packed ? H5D_ALLOC_TIME_INCR : H5D_ALLOC_TIME_EARLY), path_, false);
    const Handle type = type_of(tensor, path_);
    const Handle links = link_creation();
    Handle dataset(checked(H5Dcreate2(file_.get(), tensor.name.c_str(), type.get(), space.get(), links.get(), creation.get(), H5P_DEFAULT), path_, false));
    if (!tensor.help.empty()) put_text(dataset.get(), "description", tensor.help, path_);
    if (!chunked && tensor.values() > 0) {
      const haddr_t base = H5Dget_offset(dataset.get());
      if (base == HADDR_UNDEF) fail(path_, false);
      place.base = base;
    }
    return dataset;
  }

  std::string path_;
  FilePlan plan_;
  Tally tally_;
  Deflater deflater_;
  AtomicFile sink_;
  std::unique_ptr<SpoolFile> spool_;
  std::atomic<std::uint64_t> spool_end_ = 0;
  std::vector<Place> places_;
  Handle file_;
  std::vector<Handle> datasets_;
};

}  // namespace

std::unique_ptr<Writer> open_writer(const std::string& path, const FilePlan& plan) { return std::make_unique<Hdf5Writer>(path, plan); }

}  // namespace posenc::formats::hdf5
