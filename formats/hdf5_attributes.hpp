// Text attributes and the names of axes.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hdf5_api.hpp"
#include "posenc/io.hpp"

namespace posenc::formats::hdf5 {

/// A scalar fixed-length UTF-8 string, in place of an attribute of that name.
void put_text(hid_t object, const std::string& key, const std::string& value, const std::string& path);
/// The text of a scalar string attribute, of fixed or varying length; nothing when it is absent or something else.
[[nodiscard]] std::optional<std::string> get_text(hid_t object, const std::string& key, const std::string& what);
/// All such attributes of an object.
[[nodiscard]] std::map<std::string, std::string> get_texts(hid_t object, const std::string& what);

/// Labels every axis and attaches it to a scale: one dataset per distinct (name, size), in the root group, without
/// values, marked the way netCDF marks a dimension that is no variable. datasets[i] is plan.tensors[i].
void put_axes(hid_t file, const FilePlan& plan, const std::vector<Handle>& datasets, const std::string& path);
/// How many values along the axis a scale stands for, where that changes: its name and the new size.
using GrowingScales = std::map<std::string, std::int64_t>;
/// The scales that become longer when the tensors of `before` become those of `after`; nothing when some axis would have a
/// scale of another name then.
[[nodiscard]] std::optional<GrowingScales> growing_scales(const FilePlan& before, const FilePlan& after);
/// Whether these scales are there and can become longer.
[[nodiscard]] bool scales_can_grow(hid_t file, const GrowingScales& scales, const std::string& path);
void grow_scales(hid_t file, const GrowingScales& scales, const std::string& path);
/// The names of all scales put_axes would make, for the check of clashes and the estimate of sizes.
[[nodiscard]] std::size_t count_scales(const FilePlan& plan);
/// The name of the scale of an axis, of the first size that it has; a second one is NAME_2.
[[nodiscard]] std::string scale_name(const std::string& axis);
/// True for a scale without values of its own.
[[nodiscard]] bool is_bare_scale(hid_t dataset, const std::string& what);
/// The labels of a dataset's axes; empty when there are none.
[[nodiscard]] std::vector<std::string> get_axes(hid_t dataset, std::size_t rank, const std::string& what);
/// The addresses of the scales that a dataset's axes are attached to, 0 for an axis with none or several; empty when there are none.
[[nodiscard]] std::vector<std::uint64_t> get_scales(hid_t dataset, std::size_t rank, const std::string& what);

}  // namespace posenc::formats::hdf5
