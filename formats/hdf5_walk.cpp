// Finding the datasets of an HDF5 file. Links out of the file are never followed, no plug-in is loaded.
#include "hdf5_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "array_reader.hpp"
#include "checked.hpp"
#include "hdf5_api.hpp"
#include "hdf5_attributes.hpp"
#include "hdf5_guard.hpp"
#include "hdf5_types.hpp"
#include "posenc/error.hpp"
#include "utf8.hpp"

namespace posenc::formats::hdf5 {
namespace {

constexpr std::size_t deepest = 256;
constexpr std::uint64_t small_enough = std::uint64_t{64} << 20;  // values that may be read without bytes in the file to back them
constexpr std::uint64_t most_expansion = 1032;                   // deflate
constexpr std::uint64_t most_chunks = std::uint64_t{1} << 24;
// The structure of a sound file is read about once; the library's cache makes it a little more.
constexpr std::uint64_t budget_floor = std::uint64_t{16} << 20, budget_factor = 8;

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
  Walk(const InputFile& input, Guard& guard, hid_t file, Contents& contents)
      : input_(input), guard_(guard), file_(file), contents_(contents), path_(input.path()) {}

  // Depth first, in name order, each object once: hard links may make cycles.
  void run() {
    const Handle root(checked(H5Gopen2(file_, "/", H5P_DEFAULT), path_, true));
    contents_.metadata = get_texts(root.get(), path_);
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
    if (contents_.metadata.contains(std::string(version_key)))  // others may make of their scales what they like
      for (const Attached& one : attached_) check_axes(one);
  }

 private:
  struct Group {
    std::string prefix;
    haddr_t address;
    std::size_t depth;
  };

  struct Scale {
    std::string name;
    std::int64_t size = 0;
  };

  struct Attached {
    std::string tensor;
    std::vector<std::string> axes;
    std::vector<std::int64_t> shape;
    std::vector<std::uint64_t> scales;  // addresses
  };

  // Labels and references lie in a global heap, which has no checksum.
  void check_axes(const Attached& one) {
    if (one.axes.empty()) contents_.faults.push_back(fmt::format("the names of the axes of tensor {} are damaged", one.tensor));
    for (std::size_t axis = 0; axis < std::min(one.axes.size(), one.scales.size()); ++axis) {
      if (one.scales[axis] == 0) continue;  // copied without its scales
      const auto found = scales_.find(one.scales[axis]);
      const std::string base = scale_name(one.axes[axis]);
      const bool named = found != scales_.end() && (found->second.name == base || found->second.name.starts_with(base + "_"));
      if (!named || found->second.size != one.shape[axis])
        contents_.faults.push_back(fmt::format("axis {} of tensor {} ({}) leads to no dimension scale of that name and size", axis, one.tensor, one.axes[axis]));
    }
  }

  std::vector<Group> visit(const Group& group) {
    const Handle id(checked(H5Oopen_by_addr(file_, group.address), path_, true));
    std::vector<Link> links;
    hsize_t index = 0;
    checked_status(H5Literate(id.get(), H5_INDEX_NAME, H5_ITER_INC, &index, collect_link, &links), path_, true);
    std::vector<Group> groups;
    for (const Link& link : links) {
      if (link.name.empty() || link.name == "." || link.name.find('/') != std::string::npos || !is_utf8(link.name))
        fail_input(fmt::format("{}: a link in group '/{}' has no proper name", path_, group.prefix));
      const std::string name = group.prefix + link.name;
      if (link.type != H5L_TYPE_HARD) {
        skip(name, link.type == H5L_TYPE_SOFT ? "a soft link, which is not followed" : "a link into another file, which is never followed");
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
  std::string unreadable(hid_t creation, const std::string& what, std::vector<H5Z_filter_t>& found, std::uint64_t& gzip_level) const {
    if (H5Pget_layout(creation) == H5D_VIRTUAL) return "a virtual dataset, whose values lie in other files";
    if (H5Pget_external_count(creation) > 0) return "its values lie in other files, which are never opened";
    const int filters = H5Pget_nfilters(creation);
    if (filters < 0) fail(what, true);
    for (int i = 0; i < filters; ++i) {
      unsigned flags = 0, parameter = 0;
      std::size_t parameters = 1;
      char name[64] = {};
      const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &parameters, &parameter, sizeof name, name, nullptr);
      if (filter < 0) fail(what, true);
      found.push_back(filter);
      if (filter == H5Z_FILTER_DEFLATE && parameters > 0) gzip_level = parameter;
      if (filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32) continue;
      name[sizeof name - 1] = '\0';
      return fmt::format("filter {} ({}), allowed are deflate, shuffle and fletcher32", filter, is_utf8(name) ? name : "?");
    }
    return "";
  }

  void dataset(const std::string& name, const std::string& what, hid_t id, haddr_t address) {
    const Handle space(checked(H5Dget_space(id), what, true));
    if (is_bare_scale(id, what)) {
      scales_[address] = {name, H5Sget_simple_extent_npoints(space.get())};
      return;
    }
    const Handle type(checked(H5Dget_type(id), what, true));
    const Handle creation(checked(H5Dget_create_plist(id), what, true));
    std::vector<H5Z_filter_t> filters;
    std::uint64_t gzip_level = 0;
    std::string why = unreadable(creation.get(), what, filters, gzip_level);
    const H5S_class_t kind = H5Sget_simple_extent_type(space.get());
    if (why.empty() && kind != H5S_SCALAR && kind != H5S_SIMPLE) why = "it has no values (null dataspace)";
    const auto element = why.empty() ? element_type(id, type.get(), what, why) : std::nullopt;
    if (!why.empty()) {
      skip(name, why);
      return;
    }
    Found found;
    found.name = name;
    found.type = *element;
    std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space.get()))));
    if (!extents.empty()) checked_status(H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr), what, true);
    for (const hsize_t extent : extents) {
      if (extent > static_cast<hsize_t>(INT64_MAX)) fail_input(fmt::format("{}: an axis of size {}, allowed 2^63 - 1", what, extent));
      found.shape.push_back(static_cast<std::int64_t>(extent));
    }
    const auto bytes = checked_bytes(found.shape, element->size);
    if (!bytes) fail_input(fmt::format("{}: its shape passes 2^63 bytes", what));
    found.axes = get_axes(id, found.shape.size(), what);
    if (H5Aexists(id, "DIMENSION_LABELS") > 0) attached_.push_back({name, found.axes, found.shape, get_scales(id, found.shape.size(), what)});
    found.help = get_text(id, "description", what).value_or("");
    found.filters.assign(filters.begin(), filters.end());
    found.gzip_level = gzip_level;
    place(id, type.get(), creation.get(), what, *bytes, found);
    contents_.arrays.push_back(std::move(found));
  }

  void skip(const std::string& name, const std::string& why) { contents_.skipped.push_back(name + ": " + why); }

  void place(hid_t id, hid_t type, hid_t creation, const std::string& what, std::uint64_t bytes, Found& found) {
    const H5D_layout_t layout = H5Pget_layout(creation);
    found.where = Found::Where::memory;
    if (bytes == 0) return;
    const haddr_t offset = layout == H5D_CONTIGUOUS ? H5Dget_offset(id) : HADDR_UNDEF;
    if (offset != HADDR_UNDEF) {
      found.where = Found::Where::contiguous;
      found.offset = offset;
      return;
    }
    const std::uint64_t stored = std::min<std::uint64_t>(H5Dget_storage_size(id), input_.size());
    if (bytes > small_enough && bytes / most_expansion > stored)
      fail_input(fmt::format("{}: its shape wants {} bytes, but the file stores {}", what, bytes, stored));
    if (layout == H5D_COMPACT) {
      if (stored != bytes) fail_input(fmt::format("{}: its shape wants {} bytes, but its header has {}", what, bytes, stored));
      found.bytes.resize(bytes);
      checked_status(H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.bytes.data()), what, true);
      return;
    }
    found.bytes.resize(found.type.size);
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    checked_status(H5Pfill_value_defined(creation, &defined), what, true);
    if (defined == H5D_FILL_VALUE_USER_DEFINED) checked_status(H5Pget_fill_value(creation, type, found.bytes.data()), what, true);
    found.where = Found::Where::fill;
    if (layout == H5D_CONTIGUOUS) return;
    if (layout != H5D_CHUNKED) fail_input(fmt::format("{}: an unknown layout", what));
    found.where = Found::Where::chunks;
    std::vector<hsize_t> box(found.shape.size());
    if (H5Pget_chunk(creation, static_cast<int>(box.size()), box.data()) != static_cast<int>(box.size())) fail(what, true);
    found.box.assign(box.begin(), box.end());
    const auto chunk = checked_bytes(box, found.type.size);
    if (!chunk || *chunk == 0 || (*chunk > small_enough && *chunk / most_expansion > stored))
      fail_input(fmt::format("{}: one of its chunks wants more than the {} bytes the file stores", what, stored));
    find_chunks(id, what, found);
  }

  // H5Dget_chunk_info would look at every chunk for each chunk; H5Dread_chunk looks up one, and the driver notes what it
  // is asked for instead of reading it.
  void find_chunks(hid_t id, const std::string& what, Found& found) {
    std::uint64_t count = 1;
    std::vector<std::uint64_t> grid;
    for (std::size_t axis = 0; axis < found.box.size(); ++axis) {
      const auto size = static_cast<std::uint64_t>(found.shape[axis]);
      grid.push_back(size / found.box[axis] + (size % found.box[axis] != 0 ? 1 : 0));
      count *= grid.back();
      if (count > most_chunks) fail_input(fmt::format("{}: has more than {} chunks", what, most_chunks));
    }
    std::vector<hsize_t> corner(grid.size());
    std::byte probe{};
    for (std::uint64_t number = 0; number < count; ++number) {
      std::uint64_t rest = number;
      for (std::size_t axis = grid.size(); axis-- > 0;) {
        corner[axis] = rest % grid[axis] * found.box[axis];
        rest /= grid[axis];
      }
      hsize_t size = 0;
      checked_status(H5Dget_chunk_storage_size(id, corner.data(), &size), what, true);
      if (size == 0) continue;
      ChunkPlace place{.number = number};
      guard_.probe(&probe);
      const herr_t status = H5Dread_chunk(id, H5P_DEFAULT, corner.data(), &place.skipped, &probe);
      guard_.probe(nullptr);
      checked_status(status, what, true);
      place.offset = guard_.probed().offset;
      place.size = guard_.probed().size;
      found.places.push_back(place);
    }
  }

  const InputFile& input_;
  Guard& guard_;
  hid_t file_;
  Contents& contents_;
  const std::string& path_;
  std::set<haddr_t> seen_;
  std::map<haddr_t, Scale> scales_;
  std::vector<Attached> attached_;
};

}  // namespace

Contents walk(const InputFile& input) {
  Guard guard(input, budget_floor + budget_factor * input.size());
  const Handle access = access_through(guard, input.path(), true);
  Contents contents;
  const Handle file(checked(H5Fopen(input.path().c_str(), H5F_ACC_RDONLY, access.get()), input.path(), true));
  Walk(input, guard, file.get(), contents).run();
  if (input.size() > guard.end()) contents.unused = input.size() - guard.end();
  return contents;
}

}  // namespace posenc::formats::hdf5
