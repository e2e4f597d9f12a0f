// Reading HDF5. The library finds the datasets; contiguous values are then read past it, and
// chunks are unpacked by the threads that read (hdf5_chunk_source.hpp). Links out of the file are never followed, and no plug-in is loaded.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "array_reader.hpp"
#include "checked.hpp"
#include "format.hpp"
#include "hdf5_api.hpp"
#include "hdf5_attributes.hpp"
#include "hdf5_chunk_source.hpp"
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

// Values that are in memory: a compact dataset, which lies in its object header (at most 64 KiB).
class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override { std::memcpy(out.data(), bytes_.data() + offset, out.size()); }

 private:
  std::vector<std::byte> bytes_;
};

// Values that were never written: one element again and again.
class FillSource : public ByteSource {
 public:
  FillSource(std::vector<std::byte> element, std::uint64_t size) : element_(std::move(element)), size_(size) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    for (std::byte& b : out) b = element_[offset++ % element_.size()];
  }

 private:
  std::vector<std::byte> element_;
  std::uint64_t size_;
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
      if (info.type == H5O_TYPE_DATASET) dataset(name, what, object.get());
    }
    return groups;
  }

  // Why the layout keeps posenc from reading it; empty when it can.
  std::string unreadable(hid_t creation, const std::string& what, Filters& found) const {
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
      found.push_back(filter);
      if (filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32) continue;
      name[sizeof name - 1] = '\0';
      return fmt::format("filter {} ({}), allowed are deflate, shuffle and fletcher32", filter, is_utf8(name) ? name : "?");
    }
    return "";
  }

  void dataset(const std::string& name, const std::string& what, hid_t id) {
    if (is_bare_scale(id, what)) return;
    const Handle space(checked(H5Dget_space(id), what, true));
    const Handle type(checked(H5Dget_type(id), what, true));
    const Handle creation(checked(H5Dget_create_plist(id), what, true));
    Filters filters;
    std::string why = unreadable(creation.get(), what, filters);
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
    array.source = source(id, type.get(), creation.get(), what, array, *bytes, std::move(filters));
    reader_.add(std::move(array));
  }

  std::shared_ptr<const ByteSource> source(hid_t id, hid_t type, hid_t creation, const std::string& what, const StoredArray& array,
                                           std::uint64_t bytes, Filters filters) {
    const H5D_layout_t layout = H5Pget_layout(creation);
    if (bytes == 0) return std::make_shared<MemorySource>(std::vector<std::byte>{});
    const haddr_t offset = layout == H5D_CONTIGUOUS ? H5Dget_offset(id) : HADDR_UNDEF;
    const std::uint64_t size = file_->file->size();
    if (offset != HADDR_UNDEF) {
      if (offset > size || bytes > size - offset)
        fail_input(fmt::format("{}: its {} bytes from offset {} pass the end of the file, {}", what, bytes, offset, size));
      return std::make_shared<FileRange>(file_->file, offset, bytes);
    }
    const std::uint64_t stored = std::min<std::uint64_t>(H5Dget_storage_size(id), size);
    if (bytes > small_enough && bytes / most_expansion > stored)
      fail_input(fmt::format("{}: its shape wants {} bytes, but the file stores {}", what, bytes, stored));
    if (layout == H5D_COMPACT) {
      if (stored != bytes) fail_input(fmt::format("{}: its shape wants {} bytes, but its header has {}", what, bytes, stored));
      std::vector<std::byte> values(bytes);
      checked_status(H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), what, true);
      return std::make_shared<MemorySource>(std::move(values));
    }
    std::vector<std::byte> fill(array.type.size);
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    checked_status(H5Pfill_value_defined(creation, &defined), what, true);
    if (defined == H5D_FILL_VALUE_USER_DEFINED) checked_status(H5Pget_fill_value(creation, type, fill.data()), what, true);
    if (layout == H5D_CONTIGUOUS) return std::make_shared<FillSource>(std::move(fill), bytes);
    if (layout != H5D_CHUNKED) fail_input(fmt::format("{}: an unknown layout", what));
    std::vector<hsize_t> box(array.tensor.shape.size());
    if (H5Pget_chunk(creation, static_cast<int>(box.size()), box.data()) != static_cast<int>(box.size())) fail(what, true);
    const auto chunk = checked_bytes(box, array.type.size);
    if (!chunk || *chunk == 0 || (*chunk > small_enough && *chunk / most_expansion > stored))
      fail_input(fmt::format("{}: one of its chunks wants more than the {} bytes the file stores", what, stored));
    H5Iinc_ref(id);
    ChunkSource::Layout chunks{.shape = {array.tensor.shape.begin(), array.tensor.shape.end()},
                               .box = {box.begin(), box.end()},
                               .element = array.type.size,
                               .filters = std::move(filters),
                               .fill = std::move(fill),
                               .file_size = size};
    return std::make_shared<ChunkSource>(std::shared_ptr<Guard>(file_, &file_->guard), Handle(id), std::move(chunks), what);
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
