// rope_2d: parameters. The formula is in axial_rope.cpp.
#include "encodings/rope_2d.hpp"

#include "encodings/model.hpp"

namespace posenc {

detail::AxialRope Rope2d::axial() const {
  detail::AxialRope out;
  out.row = {part, layout, head_dim / 2, head_dim / 4};
  out.grid = {frames, height, width, spatial_merge_size, prefix_rows, suffix_rows};
  out.axes = {{1, reference_height}, {2, reference_width}};
  if (axes == Rope2dAxes::xy) std::swap(out.axes[0], out.axes[1]);
  out.coordinates = coordinates;
  out.grid_offset = grid_offset;
  out.frequencies = frequencies;
  out.base = base;
  out.max_freq = max_freq;
  if (part == RotaryPart::coordinates) out.max_patches_per_side = max_patches_per_side;
  return out;
}

void Rope2d::check() const {
  if (head_dim % 4 != 0) fail_usage(fmt::format("head_dim must be a multiple of 4 (pairs of lanes for two coordinates), got {}", head_dim));
  axial().row.check();
  if (height % spatial_merge_size != 0 || width % spatial_merge_size != 0)
    fail_usage(fmt::format("spatial_merge_size {} does not divide a grid of {} x {} patches", spatial_merge_size, height, width));
  if (coordinates == AxialCoordinates::linspace && grid_offset != 0)
    fail_usage(fmt::format("grid_offset {} would leave the range -1 to 1; coordinates linspace goes with grid_offset 0", print(grid_offset)));
  if ((reference_height || reference_width) && axial().centred())
    fail_usage("coordinates centres are relative to the grid's size already; leave out reference_height and reference_width");
  if (part == RotaryPart::coordinates && (prefix_rows > 0 || suffix_rows > 0))
    fail_usage("prefix_rows and suffix_rows have no coordinates; part coordinates goes without them");
  if (part == RotaryPart::coordinates && max_patches_per_side && *max_patches_per_side < width)
    fail_usage(fmt::format("max_patches_per_side {} is smaller than width {}; numbers of patches would collide", *max_patches_per_side, width));
}

std::vector<Law> Rope2d::laws() const { return axial().laws("Heo et al. 2024, arXiv:2403.13298, section 3.2"); }

}  // namespace posenc

POSENC_DEFINE_ENCODING(rope_2d, Rope2d)
