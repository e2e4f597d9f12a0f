// What the dynamic rules share: the length that a table is for, over the trained one.
#pragma once
#include "geometry.hpp"

namespace posenc::rescale {

/// The field `length`, member being an optional count.
template <class V, class Member>
void length_field(V&& v, Member& length) {
  v(Field{.name = "length", .metavar = "N", .help = "length L that the table is for; absent: the largest position + 1",
          .unit = "positions", .range = between(1, 0x1p53), .source = "seq_len in transformers", .count = true},
    length);
}

/// max(1, L / trained), exactly.
inline num::Real length_ratio(const RopeGeometry& g, std::optional<std::int64_t> length, std::int64_t trained) {
  using num::Real;
  const Real used = length ? Real::of(*length) : Real::of(g.length), original = Real::of(trained);
  return used <= original ? Real::of(std::int64_t{1}) : used / original;
}

}  // namespace posenc::rescale
