// rope_3d: parameters. The formula is in axial_rope.cpp.
#include "encodings/rope_3d.hpp"

#include "encodings/model.hpp"

namespace posenc {

detail::AxialRope Rope3d::axial() const {
  detail::AxialRope out;
  const std::int64_t bands = axis_dim() / 2;
  out.row = {part, layout, rest == Rope3dRest::zero ? head_dim / 2 : 3 * bands, bands};
  out.grid = {.frames = frames, .height = height, .width = width};
  out.axes = {{0, {}}, {1, {}}, {2, {}}};
  out.base = base;
  out.axis_first = true;
  return out;
}

void Rope3d::check() const {
  if (head_dim % 2 != 0) fail_usage(fmt::format("head_dim {} is odd; lanes turn in pairs", head_dim));
  axial().row.check();
}

std::vector<Law> Rope3d::laws() const { return axial().laws("Assran et al. 2025, arXiv:2506.09985, section 2.1"); }

}  // namespace posenc

POSENC_DEFINE_ENCODING(rope_3d, Rope3d)
