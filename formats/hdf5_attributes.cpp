#include "hdf5_attributes.hpp"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <set>

#include "hdf5_chunks.hpp"
#include "posenc/error.hpp"
#include "utf8.hpp"

namespace posenc::formats::hdf5 {
namespace {

constexpr std::string_view bare_scale = "This is a netCDF dimension but not a netCDF variable";
constexpr std::size_t longest_text = std::size_t{64} << 20;

herr_t collect_name(hid_t, const char* name, const H5A_info_t*, void* data) {
  try {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
  } catch (...) {
    return -1;
  }
  return 0;
}

struct Scale {
  std::string axis;
  std::int64_t size;
  friend auto operator<=>(const Scale&, const Scale&) = default;
};

std::map<Scale, std::string> name_scales(const FilePlan& plan) {
  std::set<std::string> taken;
  for (const StoredTensor& tensor : plan.tensors) taken.insert(tensor.name.substr(0, tensor.name.find('/')));
  std::map<Scale, std::string> names;
  for (const StoredTensor& tensor : plan.tensors)
    for (std::size_t i = 0; i < tensor.axis_names.size(); ++i) {
      const Scale scale{tensor.axis_names[i], tensor.shape[i]};
      if (scale.axis.empty() || names.contains(scale)) continue;
      const std::string base = scale_name(scale.axis);
      std::string name = base;
      for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}_{}", base, n);
      names.emplace(scale, name);
    }
  return names;
}

// What netCDF writes into the NAME of a scale without values.
std::string note_of(std::int64_t size) { return fmt::format("{}{:10d}", bare_scale, size); }

// Scales of axes that may grow: the first ones of chunked datasets.
std::set<Scale> open_ended(const FilePlan& plan) {
  std::set<Scale> scales;
  for (const StoredTensor& tensor : plan.tensors)
    if (!tensor.axis_names.empty() && !cut(tensor, plan.chunking).box.empty()) scales.insert({tensor.axis_names[0], tensor.shape[0]});
  return scales;
}

}  // namespace

void put_text(hid_t object, const std::string& key, const std::string& value, const std::string& path) {
  const Handle type(checked(H5Tcopy(H5T_C_S1), path, false));
  checked_status(H5Tset_size(type.get(), std::max<std::size_t>(1, value.size())), path, false);  // HDF5 has no empty fixed string
  checked_status(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), path, false);
  checked_status(H5Tset_cset(type.get(), H5T_CSET_UTF8), path, false);
  const Handle space(checked(H5Screate(H5S_SCALAR), path, false));
  const Handle creation(checked(H5Pcreate(H5P_ATTRIBUTE_CREATE), path, false));
  checked_status(H5Pset_char_encoding(creation.get(), H5T_CSET_UTF8), path, false);
  const htri_t there = H5Aexists(object, key.c_str());
  if (there < 0 || (there > 0 && H5Adelete(object, key.c_str()) < 0)) fail(path, true);
  const Handle attribute(checked(H5Acreate2(object, key.c_str(), type.get(), space.get(), creation.get(), H5P_DEFAULT), path, true));
  checked_status(H5Awrite(attribute.get(), type.get(), value.c_str()), path, true);
}

std::optional<std::string> get_text(hid_t object, const std::string& key, const std::string& what) {
  const htri_t there = H5Aexists(object, key.c_str());
  if (there < 0) fail(what, true);
  if (there == 0) return std::nullopt;
  const Handle attribute(checked(H5Aopen(object, key.c_str(), H5P_DEFAULT), what, true));
  const Handle type(checked(H5Aget_type(attribute.get()), what, true));
  const Handle space(checked(H5Aget_space(attribute.get()), what, true));
  if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1) return std::nullopt;
  std::string text;
  if (H5Tis_variable_str(type.get()) > 0) {
    char* value = nullptr;
    checked_status(H5Aread(attribute.get(), type.get(), static_cast<void*>(&value)), what, true);
    if (value != nullptr) text = value;
    H5free_memory(value);
  } else {
    const std::size_t size = H5Tget_size(type.get());
    if (size > longest_text || H5Aget_storage_size(attribute.get()) < size) return std::nullopt;
    text.resize(size);
    checked_status(H5Aread(attribute.get(), type.get(), text.data()), what, true);
    // A text that a NUL ends is what is before it; one that is padded keeps all but the padding.
    const H5T_str_t pad = H5Tget_strpad(type.get());
    if (pad == H5T_STR_NULLTERM) text.resize(std::min(text.find('\0'), text.size()));
    if (pad == H5T_STR_NULLPAD) text.resize(text.find_last_not_of('\0') + 1);
    if (pad == H5T_STR_SPACEPAD) text.resize(text.find_last_not_of(' ') + 1);
  }
  if (!is_utf8(text)) return std::nullopt;
  return text;
}

std::map<std::string, std::string> get_texts(hid_t object, const std::string& what) {
  std::vector<std::string> names;
  hsize_t index = 0;
  checked_status(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &index, collect_name, &names), what, true);
  std::map<std::string, std::string> texts;
  for (const std::string& name : names)
    if (auto text = get_text(object, name, what); text && is_utf8(name)) texts.emplace(name, std::move(*text));
  return texts;
}

std::string scale_name(const std::string& axis) {
  std::string name = axis;
  std::replace(name.begin(), name.end(), '/', '_');
  return name == "." ? "_" : name;
}

std::size_t count_scales(const FilePlan& plan) { return name_scales(plan).size(); }

void put_axes(hid_t file, const FilePlan& plan, const std::vector<Handle>& datasets, const std::string& path) {
  const std::map<Scale, std::string> names = name_scales(plan);
  std::map<Scale, Handle> scales;
  const Handle creation(checked(H5Pcreate(H5P_DATASET_CREATE), path, false));
  checked_status(H5Pset_obj_track_times(creation.get(), false), path, false);
  // Every attached axis is listed in an attribute of its scale, which may outgrow the 64 KiB of an object header.
  constexpr std::size_t many = 500;
  if (plan.tensors.size() > many) checked_status(H5Pset_attr_phase_change(creation.get(), 0, 0), path, false);
  const Handle chunked(checked(H5Pcopy(creation.get()), path, false));
  constexpr hsize_t chunk = 1024, unlimited = H5S_UNLIMITED;  // none is ever written
  checked_status(H5Pset_chunk(chunked.get(), 1, &chunk), path, false);
  const std::set<Scale> growing = open_ended(plan);
  for (const auto& [scale, name] : names) {
    const hsize_t size = static_cast<hsize_t>(scale.size);
    const bool grows = growing.contains(scale);
    const Handle space(checked(H5Screate_simple(1, &size, grows ? &unlimited : nullptr), path, false));
    Handle dataset(checked(H5Dcreate2(file, name.c_str(), H5T_IEEE_F32BE, space.get(), H5P_DEFAULT, grows ? chunked.get() : creation.get(), H5P_DEFAULT),
                           path, false));
    checked_status(H5DSset_scale(dataset.get(), note_of(scale.size).c_str()), path, false);
    scales.emplace(scale, std::move(dataset));
  }
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const StoredTensor& tensor = plan.tensors[t];
    for (std::size_t i = 0; i < tensor.axis_names.size(); ++i) {
      if (tensor.axis_names[i].empty()) continue;
      const auto axis = static_cast<unsigned>(i);
      checked_status(H5DSattach_scale(datasets[t].get(), scales.at({tensor.axis_names[i], tensor.shape[i]}).get(), axis), path, false);
      checked_status(H5DSset_label(datasets[t].get(), axis, tensor.axis_names[i].c_str()), path, false);
    }
  }
}

std::optional<GrowingScales> growing_scales(const FilePlan& before, const FilePlan& after) {
  const std::map<Scale, std::string> old_names = name_scales(before), new_names = name_scales(after);
  GrowingScales growing;
  for (std::size_t t = 0; t < after.tensors.size(); ++t) {
    const StoredTensor &a = before.tensors[t], &b = after.tensors[t];
    for (std::size_t i = 0; i < b.axis_names.size(); ++i) {
      if (b.axis_names[i].empty()) continue;
      const std::string& name = new_names.at({b.axis_names[i], b.shape[i]});
      if (name != old_names.at({a.axis_names[i], a.shape[i]})) return std::nullopt;
      if (a.shape[i] != b.shape[i]) growing[name] = b.shape[i];
    }
  }
  return growing;
}

bool scales_can_grow(hid_t file, const GrowingScales& scales, const std::string& path) {
  for (const auto& [name, size] : scales) {
    if (H5Lexists(file, name.c_str(), H5P_DEFAULT) <= 0) return false;
    const Handle dataset(checked(H5Dopen2(file, name.c_str(), H5P_DEFAULT), path, true));
    const Handle space(checked(H5Dget_space(dataset.get()), path, true));
    hsize_t now = 0, most = 0;
    if (!is_bare_scale(dataset.get(), path) || H5Sget_simple_extent_ndims(space.get()) != 1) return false;
    if (H5Sget_simple_extent_dims(space.get(), &now, &most) != 1 || (most != H5S_UNLIMITED && most < static_cast<hsize_t>(size))) return false;
  }
  return true;
}

void grow_scales(hid_t file, const GrowingScales& scales, const std::string& path) {
  for (const auto& [name, size] : scales) {
    const Handle dataset(checked(H5Dopen2(file, name.c_str(), H5P_DEFAULT), path, true));
    const auto extent = static_cast<hsize_t>(size);
    checked_status(H5Dset_extent(dataset.get(), &extent), path, true);
    checked_status(H5LTset_attribute_string(dataset.get(), ".", "NAME", note_of(size).c_str()), path, true);
  }
}

bool is_bare_scale(hid_t dataset, const std::string& what) {
  if (get_text(dataset, "CLASS", what) != "DIMENSION_SCALE") return false;
  const auto name = get_text(dataset, "NAME", what);
  return name && name->starts_with(bare_scale);
}

std::vector<std::string> get_axes(hid_t dataset, std::size_t rank, const std::string& what) {
  constexpr const char* labels = "DIMENSION_LABELS";
  if (rank == 0 || H5Aexists(dataset, labels) <= 0) return {};
  const Handle attribute(checked(H5Aopen(dataset, labels, H5P_DEFAULT), what, true));
  const Handle type(checked(H5Aget_type(attribute.get()), what, true));
  const Handle space(checked(H5Aget_space(attribute.get()), what, true));
  const bool plain = H5Tget_class(type.get()) == H5T_STRING && H5Tis_variable_str(type.get()) > 0;
  if (!plain || H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(rank)) return {};
  std::vector<char*> texts(rank, nullptr);
  checked_status(H5Aread(attribute.get(), type.get(), static_cast<void*>(texts.data())), what, true);
  std::vector<std::string> axes;
  bool good = true;
  for (const char* text : texts) {
    axes.emplace_back(text == nullptr ? "" : text);
    good = good && is_utf8(axes.back());
  }
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, static_cast<void*>(texts.data()));
  return good ? axes : std::vector<std::string>{};
}

std::vector<std::uint64_t> get_scales(hid_t dataset, std::size_t rank, const std::string& what) {
  constexpr const char* list = "DIMENSION_LIST";
  if (rank == 0 || H5Aexists(dataset, list) <= 0) return {};
  const Handle attribute(checked(H5Aopen(dataset, list, H5P_DEFAULT), what, true));
  const Handle type(checked(H5Aget_type(attribute.get()), what, true)), expected(checked(H5Tvlen_create(H5T_STD_REF_OBJ), what, true));
  const Handle space(checked(H5Aget_space(attribute.get()), what, true));
  if (H5Tequal(type.get(), expected.get()) <= 0 || H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(rank)) return {};
  std::vector<hvl_t> lists(rank);
  checked_status(H5Aread(attribute.get(), type.get(), lists.data()), what, true);
  std::vector<std::uint64_t> scales;
  for (const hvl_t& one : lists) scales.push_back(one.len == 1 ? *static_cast<const hobj_ref_t*>(one.p) : 0);
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, lists.data());
  return scales;
}

}  // namespace posenc::formats::hdf5
