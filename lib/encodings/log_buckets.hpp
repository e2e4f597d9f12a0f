// Logarithmic buckets of distances, decided exactly. The step k = 0, 1, .. of a ladder from a to b in N steps is the real
// number a (b / a)^(k / N); buckets change at the integers next to steps. num::Real recognises a step that is an integer
// (b / a is then a perfect power) and otherwise encloses it as tightly as its floor or ceiling asks for, so that no rounded
// logarithm decides.
#pragma once
#include <cstdint>

#include "numeric/decide.hpp"
#include "numeric/real.hpp"

namespace posenc::detail {

/// The least integer that is not below step k. a, b > 0.
inline std::int64_t ladder_ceil(std::int64_t a, std::int64_t b, std::int64_t k, std::int64_t n) {
  using num::Real;
  return num::at_precision(128, [&] {
    return static_cast<std::int64_t>(ceil(Real::of(a) * pow(Real::of(b) / Real::of(a), k, n)).to_double());
  });
}
/// The greatest integer that is not above step k.
inline std::int64_t ladder_floor(std::int64_t a, std::int64_t b, std::int64_t k, std::int64_t n) {
  using num::Real;
  return num::at_precision(128, [&] {
    return static_cast<std::int64_t>(floor(Real::of(a) * pow(Real::of(b) / Real::of(a), k, n)).to_double());
  });
}

}  // namespace posenc::detail
