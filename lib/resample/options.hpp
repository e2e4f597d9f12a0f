// Which options belong to which method, and the kernel that they describe.
#pragma once
#include "axis_map.hpp"

namespace posenc::resampling {

/// linear and cubic: what preset, alignment, antialias, cubic_a and edges come to.
Kernel kernel_of(const Resampling& how);
/// "cubic, half-pixel, a = -0.75, edges clamp".
std::string method_text(const Resampling& how);

}  // namespace posenc::resampling
