// Writing HDF5. The library makes the structure; the values go past it:
//   contiguous       allocated early, so that each dataset has its place; pwrite from any thread once the structure is closed
//   chunked, plain   allocated early as well; H5Dwrite_chunk puts each chunk in its place (hdf5_chunk_writer.hpp)
//   chunked, packed  allocated when they come
// A chunked dataset may grow along its first axis (hdf5_grow.cpp).
#include <fmt/format.h>

#include <set>

#include "atomic_file.hpp"
#include "format.hpp"
#include "hdf5_api.hpp"
#include "hdf5_attributes.hpp"
#include "hdf5_chunk_writer.hpp"
#include "hdf5_types.hpp"
#include "placed_writer.hpp"
#include "posenc/error.hpp"

namespace posenc::formats::hdf5 {
namespace {

class Hdf5Writer : public Writer {
 public:
  Hdf5Writer(const std::string& path, const FilePlan& plan)
      : path_(path), plan_(plan), tally_(plan.tensors), sink_(path), chunks_(path, plan.chunking.gzip_level) {
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

  [[nodiscard]] std::int64_t granule(std::size_t tensor) const override { return chunks_.chunks(tensor).granule; }

  void write(std::size_t index, std::int64_t first, std::span<const std::byte> bytes) override {
    const StoredTensor& tensor = plan_.tensors.at(index);
    check_extent(tensor, first, bytes.size());
    if (chunks_.chunks(index).box.empty())
      sink_.write(bases_[index] + static_cast<std::uint64_t>(first) * size_of(tensor.dtype), bytes);
    else
      chunks_.write(index, first, bytes);
    tally_.add(bytes.size());
  }

  void finish() override {
    tally_.check(path_);
    {
      const Session session;
      chunks_.finish();
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
    for (const StoredTensor& tensor : plan_.tensors) {
      make_groups(tensor.name, groups);
      Chunks chunks = cut(tensor, plan_.chunking);
      datasets_.push_back(make_dataset(tensor, chunks));
      chunks_.add(datasets_.back().get(), tensor, std::move(chunks));
    }
    put_axes(file_.get(), plan_, datasets_, path_);
    hsize_t size = 0;
    checked_status(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), path_, false);
    checked_status(H5Fget_filesize(file_.get(), &size), path_, false);
    chunks_.start(sink_.target());
    if (!chunks_.any()) {
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

  Handle make_dataset(const StoredTensor& tensor, const Chunks& chunks) {
    const std::vector<hsize_t> shape(tensor.shape.begin(), tensor.shape.end());
    const bool chunked = !chunks.box.empty();
    std::vector<hsize_t> most = shape;
    if (chunked) most[0] = H5S_UNLIMITED;
    const Handle space(checked(shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), most.data()),
                               path_, false));
    const Handle creation(checked(H5Pcreate(H5P_DATASET_CREATE), path_, false));
    checked_status(H5Pset_obj_track_times(creation.get(), false), path_, false);
    checked_status(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), path_, false);
    const bool packed = chunked && plan_.chunking.gzip_level > 0;
    if (chunked) {
      const std::vector<hsize_t> box(chunks.box.begin(), chunks.box.end());
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
    bases_.push_back(0);
    if (!chunked && tensor.values() > 0) {
      const haddr_t base = H5Dget_offset(dataset.get());
      if (base == HADDR_UNDEF) fail(path_, false);
      bases_.back() = base;
    }
    return dataset;
  }

  std::string path_;
  FilePlan plan_;
  Tally tally_;
  AtomicFile sink_;
  ChunkWriter chunks_;
  std::vector<std::uint64_t> bases_;  // of value 0 in the file; contiguous datasets
  Handle file_;
  std::vector<Handle> datasets_;
};

}  // namespace

std::unique_ptr<Writer> open_writer(const std::string& path, const FilePlan& plan) { return std::make_unique<Hdf5Writer>(path, plan); }

}  // namespace posenc::formats::hdf5
