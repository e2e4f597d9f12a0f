// How far position * frequency is off when it is formed in narrow arithmetic, over all positions 0..N-1 at once.
//
// Nothing is sampled and nothing is bounded: within a binade of the angle the rounding of the product is a residue of
// position * significand modulo a power of two, so its extremes together with the drift of a rounded frequency are extremes
// of a lattice path under a line, found by Euclid's algorithm (angle_error.cpp). N may be 2^53.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "numeric/decide.hpp"
#include "numeric/real.hpp"

namespace posenc::analyze_sections {

/// Integers 0..count-1 cast to a format, rounded to nearest even.
struct CastPositions {
  std::int64_t distinct;                   ///< different results; infinity counts as one
  std::optional<std::int64_t> first_lost;  ///< the first that falls together with the one before it
  double step;                             ///< between neighbouring numbers of the format at count-1
  std::optional<std::int64_t> infinite;    ///< from here on the result is infinite
};
[[nodiscard]] CastPositions cast_positions(const num::Format& format, std::int64_t count);

/// The angle fl(fl(position) * used), where `truth` is meant in place of `used`. Frequencies are not negative.
class AngleError {
 public:
  __extension__ using Wide = __int128;

  AngleError(const num::Real& truth, double used, const num::Format& position, const num::Format& product);

  struct Worst {
    double error;           ///< |computed - true angle|, radians
    std::int64_t position;  ///< the first of that error (to within the rounding of `error`)
  };
  /// Over the positions below `count` that are finite.
  [[nodiscard]] Worst worst(std::int64_t count) const;
  /// The first position below `count` whose cast or angle is infinite.
  [[nodiscard]] std::optional<std::int64_t> infinite_from(std::int64_t count) const;
  /// The first position below `count` whose error is above `limit`.
  [[nodiscard]] std::optional<std::int64_t> first_past(double limit, std::int64_t count) const;

 private:
  struct Run;
  struct Stretch;
  [[nodiscard]] std::vector<Stretch> stretches(std::int64_t last) const;
  void cut(const Run& run, std::vector<Stretch>& out) const;
  [[nodiscard]] double bound(const Stretch& stretch) const;
  [[nodiscard]] double cast(std::int64_t position) const;
  [[nodiscard]] double error_at(const Stretch& stretch, const Wide& residue, std::int64_t index) const;
  [[nodiscard]] std::int64_t first_infinite() const;
  [[nodiscard]] std::int64_t first_of(const Stretch& stretch, double limit, int sign) const;

  num::Format position_, product_;
  double truth_, used_;           ///< the frequency meant; the one used
  std::int64_t significand_ = 0;  ///< used = significand * 2^exponent, significand odd, or 0
  int exponent_ = 0;
  double drift_ = 0;  ///< used - truth, in units of 2^exponent
};

}  // namespace posenc::analyze_sections
