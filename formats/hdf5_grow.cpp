// An HDF5 file made longer in place. The library works on an Overlay: it sets the new extents, replaces metadata and writes new chunks;
// what that changes in bytes that were there comes into the file all at once, at the end. Only the last chunk of a tensor, when
// it is not full, is written again.
#include <fmt/format.h>

#include "format.hpp"
#include "hdf5_attributes.hpp"
#include "hdf5_chunk_writer.hpp"
#include "hdf5_overlay.hpp"
#include "hdf5_types.hpp"
#include "placed_writer.hpp"
#include "posenc/error.hpp"

namespace posenc::formats::hdf5 {
namespace {

// A dataset of the file as it is.
struct Old {
  Handle dataset;
  std::vector<std::int64_t> shape;
  Chunks chunks;  // of the longer one
  int gzip_level = 0;
};

// The boxes of a dataset as Chunks, whose numbers follow the values; nothing when they do not.
std::optional<Chunks> chunks_of(const StoredTensor& tensor, std::vector<std::int64_t> box) {
  Chunks chunks;
  std::size_t cut_axis = 0;
  while (cut_axis < box.size() && box[cut_axis] == 1 && tensor.shape[cut_axis] != 1) ++cut_axis;
  for (std::size_t axis = 0; axis < box.size(); ++axis) {
    if (box[axis] < 1 || (axis > cut_axis && box[axis] != tensor.shape[axis])) return std::nullopt;
    if (axis == cut_axis && axis > 0 && tensor.shape[axis] % box[axis] != 0) return std::nullopt;
  }
  chunks.granule = tensor.is_complex ? 2 : 1;
  chunks.count = 1;
  for (std::size_t axis = 0; axis < box.size(); ++axis) {
    chunks.granule *= box[axis];
    chunks.grid.push_back((tensor.shape[axis] + box[axis] - 1) / box[axis]);
    chunks.count *= chunks.grid[axis];
  }
  chunks.box = std::move(box);
  return chunks;
}

class Hdf5Growth : public Writer {
 public:
  Hdf5Growth(const std::string& path, const FilePlan& plan) : path_(path), plan_(plan), overlay_(path) {}
  ~Hdf5Growth() override {
    const Session session;
    overlay_.discard();
    release();
  }

  /// Why the file cannot grow in place; empty when it can. Changes nothing.
  std::string obstacle() {
    const Session session;
    const Handle access = access_through(overlay_, path_, false);
    checked_status(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST), path_, false);
    checked_status(H5Pset_alignment(access.get(), 65536, 4096), path_, false);
    file_ = Handle(checked(H5Fopen(path_.c_str(), H5F_ACC_RDWR, access.get()), path_, true));
    FilePlan before = plan_;
    for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
      const StoredTensor& tensor = plan_.tensors[t];
      std::string why = look_at(tensor);
      if (!why.empty()) return fmt::format("{} {}", tensor.name, why);
      before.tensors[t].shape = old_.back().shape;
      if (old_.back().gzip_level != old_.front().gzip_level) return "its tensors are packed differently";
    }
    const std::optional<GrowingScales> scales = growing_scales(before, plan_);
    if (!scales || !scales_can_grow(file_.get(), *scales, path_)) return "its dimension scales are missing or cannot grow";
    scales_ = *scales;
    return "";
  }

  /// The first change; returns where each tensor's writing begins.
  std::vector<std::int64_t> start() {
    const Session session;
    overlay_.arm();
    chunks_ = std::make_unique<ChunkWriter>(path_, old_.front().gzip_level);
    std::vector<std::int64_t> from;
    for (std::size_t t = 0; t < old_.size(); ++t) {
      const StoredTensor& tensor = plan_.tensors[t];
      StoredTensor old = tensor;
      old.shape = old_[t].shape;
      const std::int64_t granule = old_[t].chunks.granule;
      from.push_back(old.shape == tensor.shape ? tensor.values() : old.values() / granule * granule);
      if (__builtin_add_overflow(wanted_, static_cast<std::uint64_t>(tensor.values() - from.back()) * size_of(tensor.dtype), &wanted_))
        fail_usage("the tensors together pass 2^64 bytes");
    }
    if (old_.front().gzip_level == 0) overlay_.reserve(wanted_);
    // What the disk refuses is the overlay's to say: where the library fails it is the file.
    for (std::size_t t = 0; t < old_.size(); ++t) {
      const std::vector<hsize_t> extent(plan_.tensors[t].shape.begin(), plan_.tensors[t].shape.end());
      checked_status(H5Dset_extent(old_[t].dataset.get(), extent.data()), path_, true);
      chunks_->add(old_[t].dataset.get(), plan_.tensors[t], old_[t].chunks);
    }
    grow_scales(file_.get(), scales_, path_);
    const Handle root(checked(H5Gopen2(file_.get(), "/", H5P_DEFAULT), path_, true));
    for (const auto& [key, value] : plan_.metadata)
      if (get_text(root.get(), key, path_) != value) put_text(root.get(), key, value, path_);
    chunks_->start(path_);
    overlay_.check();
    return from;
  }

  [[nodiscard]] std::int64_t granule(std::size_t tensor) const override { return old_.at(tensor).chunks.granule; }

  void write(std::size_t index, std::int64_t first, std::span<const std::byte> bytes) override {
    check_extent(plan_.tensors.at(index), first, bytes.size());
    chunks_->write(index, first, bytes);
    got_.fetch_add(bytes.size(), std::memory_order_relaxed);
    const Session session;
    overlay_.check();
  }

  void finish() override {
    if (got_ != wanted_) fail_usage(fmt::format("{}: {} bytes of values were given, its new rows have {}", path_, got_.load(), wanted_));
    {
      const Session session;
      chunks_->finish();
      overlay_.check();
      for (Old& old : old_)
        if (!old.dataset.close()) fail(path_, true);
      if (!file_.close()) fail(path_, true);
    }
    overlay_.commit();
  }

 private:
  void release() {
    old_.clear();
    file_.close();
  }

  // Adds to old_; returns what keeps the dataset from growing.
  std::string look_at(const StoredTensor& tensor) {
    const std::string name = "/" + tensor.name;
    if (H5Lexists(file_.get(), name.c_str(), H5P_DEFAULT) <= 0) return "is not in the file";
    Old old;
    old.dataset = Handle(checked(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), path_, true));
    const hid_t id = old.dataset.get();
    const Handle creation(checked(H5Dget_create_plist(id), path_, true));
    if (H5Pget_layout(creation.get()) != H5D_CHUNKED) return "is contiguous and cannot grow; --chunk makes tables that do";
    const Handle space(checked(H5Dget_space(id), path_, true)), type(checked(H5Dget_type(id), path_, true)), wanted = type_of(tensor, path_);
    if (H5Tequal(type.get(), wanted.get()) <= 0) return "has elements of another form";
    const std::size_t rank = tensor.shape.size();
    if (rank == 0 || H5Sget_simple_extent_ndims(space.get()) != static_cast<int>(rank)) return "has other axes";
    std::vector<hsize_t> now(rank), most(rank), box(rank);
    checked_status(H5Sget_simple_extent_dims(space.get(), now.data(), most.data()), path_, true);
    checked_status(H5Pget_chunk(creation.get(), static_cast<int>(rank), box.data()), path_, true);
    old.shape.assign(now.begin(), now.end());
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const auto size = static_cast<hsize_t>(tensor.shape[axis]);
      if (axis == 0 ? size < now[0] : size != now[axis]) return "has other axes";
      if (most[axis] != H5S_UNLIMITED && most[axis] < size) return "has a fixed size, as files of earlier versions";
    }
    const std::optional<Chunks> chunks = chunks_of(tensor, {box.begin(), box.end()});
    if (!chunks) return "has chunks that are no whole rows";
    old.chunks = *chunks;
    if (!filters_known(creation.get(), old.gzip_level)) return "has filters other than shuffle with deflate";
    old_.push_back(std::move(old));
    return "";
  }

  // None, or shuffle and then deflate.
  static bool filters_known(hid_t creation, int& gzip_level) {
    const int count = H5Pget_nfilters(creation);
    if (count == 0) return true;
    if (count != 2) return false;
    const H5Z_filter_t expected[] = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE};
    for (unsigned i = 0; i < 2; ++i) {
      unsigned flags = 0, parameter = 0;
      std::size_t parameters = 1;
      if (H5Pget_filter2(creation, i, &flags, &parameters, &parameter, 0, nullptr, nullptr) != expected[i]) return false;
      gzip_level = static_cast<int>(parameter);
    }
    return gzip_level >= 1 && gzip_level <= 9;
  }

  std::string path_;
  FilePlan plan_;
  Overlay overlay_;
  Handle file_;
  std::vector<Old> old_;
  GrowingScales scales_;
  std::unique_ptr<ChunkWriter> chunks_;
  std::uint64_t wanted_ = 0;
  std::atomic<std::uint64_t> got_ = 0;
};

}  // namespace

Growth open_growth(const std::string& path, const FilePlan& plan) {
  auto growth = std::make_unique<Hdf5Growth>(path, plan);
  const std::string why = growth->obstacle();
  if (!why.empty()) {
    growth.reset();
    return rewriting(open_writer(path, plan), plan, why);
  }
  std::vector<std::int64_t> from = growth->start();
  return {std::move(growth), std::move(from), ""};
}

}  // namespace posenc::formats::hdf5
