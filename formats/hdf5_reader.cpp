// Reading HDF5. The library finds the datasets; contiguous values are then read past it, everything else
// through H5Dread, one thread at a time. Links out of the file are never followed, and no plug-in is loaded.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "array_reader.hpp"
#include "checked.hpp"
#include "format.hpp"
#include "hdf5_api.hpp"
#include "hdf5_attributes.hpp"
#include "hdf5_driver.hpp"
#include "hdf5_types.hpp"
#include "posenc/error.hpp"
#include "utf8.hpp"

namespace posenc::formats::hdf5 {
namespace {

constexpr std::size_t deepest = 256;
constexpr std::uint64_t small_enough = std::uint64_t{64} << 20;  // values that may be read without bytes in the file to back them
constexpr std::uint64_t most_expansion = 1032;                   // deflate

// The structure of a sound file is read about once; the library's cache makes it a little more.
constexpr std::uint64_t budget_floor = std::uint64_t{16} << 20, budget_factor = 8;

struct OpenFile {
  std::shared_ptr<const InputFile> file;
  Guard guard;
  Handle id;
  ~OpenFile() {
    const Session session;
    id.close();
  }
};

// A dataset as its file's element bytes, row-major.
class DatasetSource : public ByteSource {
 public:
  DatasetSource(std::shared_ptr<OpenFile> file, haddr_t address, std::string what, std::vector<std::int64_t> shape, std::size_t element,
                std::uint64_t bytes, std::size_t cache)
      : file_(std::move(file)), address_(address), what_(std::move(what)), shape_(std::move(shape)), element_(element), bytes_(bytes),
        cache_(cache) {}
  ~DatasetSource() override {
    const Session session;
    dataset_.close();
    type_.close();
  }
  [[nodiscard]] std::uint64_t size() const override { return bytes_; }

  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    const Session session;
    open();
    // A read that cuts elements (half of a complex one) goes through whole ones.
    while (!out.empty()) {
      const std::size_t lead = offset % element_;
      if (lead == 0 && out.size() >= element_) {
        const std::size_t whole = out.size() / element_ * element_;
        read_elements(offset / element_, out.first(whole));
        offset += whole;
        out = out.subspan(whole);
        continue;
      }
      std::vector<std::byte> one(element_);
      read_elements(offset / element_, one);
      const std::size_t part = std::min(element_ - lead, out.size());
      std::memcpy(out.data(), one.data() + lead, part);
      offset += part;
      out = out.subspan(part);
    }
  }

 private:
  void open() const {
    if (dataset_) return;
    const Handle found(checked(H5Oopen_by_addr(file_->id.get(), address_), what_, true));
    const Handle access(checked(H5Pcreate(H5P_DATASET_ACCESS), what_, true));
    checked_status(H5Pset_chunk_cache(access.get(), H5D_CHUNK_CACHE_NSLOTS_DEFAULT, cache_, 1.0), what_, true);
    dataset_ = Handle(checked(H5Dopen2(found.get(), ".", access.get()), what_, true));
    type_ = Handle(checked(H5Dget_type(dataset_.get()), what_, true));
  }

  // A run of elements in row-major order is a handful of boxes: the largest that starts at each position.
  void read_elements(std::uint64_t first, std::span<std::byte> out) const {
    const std::size_t rank = shape_.size();
    const Handle space(checked(H5Dget_space(dataset_.get()), what_, true));
    std::vector<std::uint64_t> inner(rank, 1);
    for (std::size_t axis = rank; axis-- > 1;) inner[axis - 1] = inner[axis] * static_cast<std::uint64_t>(shape_[axis]);
    for (std::uint64_t left = out.size() / element_; left > 0;) {
      std::uint64_t taken = 1;
      if (rank > 0) {
        std::vector<hsize_t> start(rank), count(rank, 1);
        std::uint64_t rest = first;
        for (std::size_t axis = 0; axis < rank; ++axis) {
          start[axis] = rest / inner[axis];
          rest %= inner[axis];
        }
        std::size_t axis = rank - 1;
        while (axis > 0 && first % inner[axis - 1] == 0 && left >= inner[axis - 1]) --axis;
        count[axis] = std::min<std::uint64_t>(static_cast<std::uint64_t>(shape_[axis]) - start[axis], left / inner[axis]);
        for (std::size_t i = axis + 1; i < rank; ++i) count[i] = static_cast<hsize_t>(shape_[i]);
        taken = count[axis] * inner[axis];
        checked_status(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), what_, true);
      }
      const hsize_t memory_size = taken;
      const Handle memory(checked(H5Screate_simple(1, &memory_size, nullptr), what_, true));
      checked_status(H5Dread(dataset_.get(), type_.get(), memory.get(), space.get(), H5P_DEFAULT, out.data()), what_, true);
      out = out.subspan(taken * element_);
      first += taken;
      left -= taken;
    }
  }

  std::shared_ptr<OpenFile> file_;
  haddr_t address_;
  std::string what_;
  std::vector<std::int64_t> shape_;
  std::size_t element_;
  std::uint64_t bytes_;
  std::size_t cache_;
  mutable Handle dataset_, type_;
};

struct Link {
  std::string name;
  H5L_type_t type;
};

herr_t collect_link(hid_t, const char* name, const H5L_info_t* info, void* data) {
  try {
    static_cast<std::vector<Link>*>(data)->push_back({name, info->type});
  } catch (...) {
    return -1;
  }
  return 0;
}

class Walk {
 public:
  Walk(std::shared_ptr<OpenFile> file, ArrayReader& reader) : file_(std::move(file)), reader_(reader), path_(reader.path()) {}

  // Depth first, in name order, each object once: hard links may make cycles.
  void run() {
    const Handle root(checked(H5Gopen2(file_->id.get(), "/", H5P_DEFAULT), path_, true));
    reader_.set_metadata(get_texts(root.get(), path_));
    H5O_info_t info{};
    checked_status(H5Oget_info2(root.get(), &info, H5O_INFO_BASIC), path_, true);
    seen_.insert(info.addr);
    std::vector<Group> stack{{"", info.addr, 0}};
    while (!stack.empty()) {
      const Group group = std::move(stack.back());
      stack.pop_back();
      if (group.depth > deepest) fail_input(fmt::format("{}: groups nested deeper than {} levels", path_, deepest));
      std::vector<Group> inside = visit(group);
      stack.insert(stack.end(), std::make_move_iterator(inside.rbegin()), std::make_move_iterator(inside.rend()));
    }
  }

 private:
  struct Group {
    std::string prefix;
    haddr_t address;
    std::size_t depth;
  };

  std::vector<Group> visit(const Group& group) {
    const Handle id(checked(H5Oopen_by_addr(file_->id.get(), group.address), path_, true));
    std::vector<Link> links;
    hsize_t index = 0;
    checked_status(H5Literate(id.get(), H5_INDEX_NAME, H5_ITER_INC, &index, collect_link, &links), path_, true);
    std::vector<Group> groups;
    for (const Link& link : links) {
      if (link.name.empty() || link.name == "." || link.name.find('/') != std::string::npos || !is_utf8(link.name))
        fail_input(fmt::format("{}: a link in group '/{}' has no proper name", path_, group.prefix));
      const std::string name = group.prefix + link.name;
      if (link.type != H5L_TYPE_HARD) {
        reader_.skip(name, link.type == H5L_TYPE_SOFT ? "a soft link, which is not followed" : "a link into another file, which is never followed");
        continue;
      }
      const std::string what = describe(path_, name);
      const Handle object(checked(H5Oopen(id.get(), link.name.c_str(), H5P_DEFAULT), what, true));
      H5O_info_t info{};
      checked_status(H5Oget_info2(object.get(), &info, H5O_INFO_BASIC), what, true);
      if (!seen_.insert(info.addr).second) continue;
      if (info.type == H5O_TYPE_GROUP) groups.push_back({name + "/", info.addr, group.depth + 1});
      if (info.type == H5O_TYPE_DATASET) dataset(name, what, object.get(), info.addr);
    }
    return groups;
  }

  // Why the layout keeps posenc from reading it; empty when it can.
  std::string unreadable(hid_t creation, const std::string& what) const {
    if (H5Pget_layout(creation) == H5D_VIRTUAL) return "a virtual dataset, whose values lie in other files";
    if (H5Pget_external_count(creation) > 0) return "its values lie in other files, which are never opened";
    const int filters = H5Pget_nfilters(creation);
    if (filters < 0) fail(what, true);
    for (int i = 0; i < filters; ++i) {
      unsigned flags = 0;
      std::size_t parameters = 0;
      char name[64] = {};
      const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &parameters, nullptr, sizeof name, name, nullptr);
      if (filter < 0) fail(what, true);
      if (filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32) continue;
      name[sizeof name - 1] = '\0';
      return fmt::format("filter {} ({}), allowed are deflate, shuffle and fletcher32", filter, is_utf8(name) ? name : "?");
    }
    return "";
  }

  void dataset(const std::string& name, const std::string& what, hid_t id, haddr_t address) {
    if (is_bare_scale(id, what)) return;
    const Handle space(checked(H5Dget_space(id), what, true));
    const Handle type(checked(H5Dget_type(id), what, true));
    const Handle creation(checked(H5Dget_create_plist(id), what, true));
    std::string why = unreadable(creation.get(), what);
    const H5S_class_t kind = H5Sget_simple_extent_type(space.get());
    if (why.empty() && kind != H5S_SCALAR && kind != H5S_SIMPLE) why = "it has no values (null dataspace)";
    const auto element = why.empty() ? element_type(id, type.get(), what, why) : std::nullopt;
    if (!why.empty()) {
      reader_.skip(name, why);
      return;
    }
    StoredArray array;
    array.tensor.name = name;
    array.type = *element;
    std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space.get()))));
    if (!extents.empty()) checked_status(H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr), what, true);
    for (const hsize_t extent : extents) {
      if (extent > static_cast<hsize_t>(INT64_MAX)) fail_input(fmt::format("{}: an axis of size {}, allowed 2^63 - 1", what, extent));
      array.tensor.shape.push_back(static_cast<std::int64_t>(extent));
    }
    const auto bytes = checked_bytes(array.tensor.shape, element->size);
    if (!bytes) fail_input(fmt::format("{}: its shape passes 2^63 bytes", what));
    array.tensor.axis_names = get_axes(id, array.tensor.shape.size(), what);
    array.tensor.help = get_text(id, "description", what).value_or("");
    array.source = source(id, creation.get(), what, array, *bytes, address);
    reader_.add(std::move(array));
  }

  std::shared_ptr<const ByteSource> source(hid_t id, hid_t creation, const std::string& what, const StoredArray& array, std::uint64_t bytes,
                                           haddr_t address) {
    const H5D_layout_t layout = H5Pget_layout(creation);
    if (layout == H5D_CONTIGUOUS && bytes > 0) {
      const haddr_t offset = H5Dget_offset(id);
      if (offset != HADDR_UNDEF) {
        const std::uint64_t size = file_->file->size();
        if (offset > size || bytes > size - offset)
          fail_input(fmt::format("{}: its {} bytes from offset {} pass the end of the file, {}", what, bytes, offset, size));
        return std::make_shared<FileRange>(file_->file, offset, bytes);
      }
    }
    const std::uint64_t stored = std::min<std::uint64_t>(H5Dget_storage_size(id), file_->file->size());
    if (bytes > small_enough && bytes / most_expansion > stored)
      fail_input(fmt::format("{}: its shape wants {} bytes, but the file stores {}", what, bytes, stored));
    std::size_t cache = std::size_t{1} << 20;
    if (layout == H5D_CHUNKED) {
      std::vector<hsize_t> box(array.tensor.shape.size());
      if (H5Pget_chunk(creation, static_cast<int>(box.size()), box.data()) != static_cast<int>(box.size())) fail(what, true);
      const auto chunk = checked_bytes(box, array.type.size);
      if (!chunk || *chunk == 0 || (*chunk > small_enough && *chunk / most_expansion > stored))
        fail_input(fmt::format("{}: one of its chunks wants more than the {} bytes the file stores", what, stored));
      cache = std::max<std::size_t>(cache, 2 * *chunk);
    }
    return std::make_shared<DatasetSource>(file_, address, what, array.tensor.shape, array.type.size, bytes, cache);
  }

  std::shared_ptr<OpenFile> file_;
  ArrayReader& reader_;
  const std::string& path_;
  std::set<haddr_t> seen_;
};

}  // namespace

std::unique_ptr<Reader> open_reader(std::shared_ptr<const InputFile> input) {
  const Session session;
  auto reader = std::make_unique<ArrayReader>(input->path(), traits().name);
  auto file = std::make_shared<OpenFile>();
  file->file = input;
  file->guard = {.file = input.get(), .walking = true, .budget = budget_floor + budget_factor * input->size()};
  const Handle access = access_through(file->guard);
  file->id = Handle(checked(H5Fopen(input->path().c_str(), H5F_ACC_RDONLY, access.get()), input->path(), true));
  Walk(file, *reader).run();
  file->guard.walking = false;
  reader->seal();
  return reader;
}

}  // namespace posenc::formats::hdf5
