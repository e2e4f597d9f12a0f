// cos(pi q) and sin(pi q): exact at quarter turns, right elsewhere.
#include "numeric/half_turns.hpp"

#include <doctest/doctest.h>

#include "encodings/oracle.hpp"
#include "numeric/decide.hpp"

namespace {

using namespace posenc;
using num::Real;
using oracle::Big;

TEST_CASE("half turns: multiples of a quarter turn are exact") {
  for (std::int64_t k = -17; k <= 17; ++k) {
    const Real q = Real::of(k) / Real::of(std::int64_t{2});
    const std::int64_t phase = ((k % 4) + 4) % 4;
    const std::int64_t sine = phase == 1 ? 1 : phase == 3 ? -1 : 0, cosine = phase == 0 ? 1 : phase == 2 ? -1 : 0;
    CAPTURE(k);
    CHECK((sin_half_turns(q).is_exact() && sin_half_turns(q) == Real::of(sine)));
    CHECK((cos_half_turns(q).is_exact() && cos_half_turns(q) == Real::of(cosine)));
  }
}

TEST_CASE("half turns: other fractions and irrational numbers") {
  int wrong = 0;
  for (std::int64_t bottom : {3, 5, 6, 7, 8, 12})
    for (std::int64_t top = -40; top <= 40; ++top) {
      if (2 * top % bottom == 0) continue;  // a quarter turn
      const Big angle = oracle::pi() * top / bottom;
      const auto q = [&] { return Real::of(top) / Real::of(bottom); };
      for (const DType dtype : {DType::f64, DType::bf16}) {
        wrong += oracle::correctly_rounded(dtype, num::decide(dtype, [&] { return sin_half_turns(q()); }), sin(angle)) ? 0 : 1;
        wrong += oracle::correctly_rounded(dtype, num::decide(dtype, [&] { return cos_half_turns(q()); }), cos(angle)) ? 0 : 1;
      }
    }
  CHECK(wrong == 0);
  const Big angle = oracle::pi() * sqrt(Big(2));
  CHECK(oracle::correctly_rounded(DType::f64, num::decide(DType::f64, [] { return sin_half_turns(sqrt(Real::of(2.0))); }), sin(angle)));
  CHECK(oracle::correctly_rounded(DType::f64, num::decide(DType::f64, [] { return cos_half_turns(sqrt(Real::of(2.0))); }), cos(angle)));
}

}  // namespace
