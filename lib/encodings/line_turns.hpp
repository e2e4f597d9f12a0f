// Turns by evenly spaced angles, cos and sin of start_i + k step_i for k = 0 .. count - 1: what an axis of a grid needs that is
// too long to keep all of its values. A number of small tables, whatever the count; one complex product a turn.
#pragma once
#include <cstdint>
#include <vector>

#include "encodings/dot_products.hpp"
#include "numeric/phasor.hpp"

namespace posenc::detail {

class LineTurns {
 public:
  /// Whether the tables for `pairs` turns are modest, 8 MiB.
  static bool is_modest(std::int64_t count, std::int64_t pairs);
  /// Angles in radians, at 256 bits of precision or more; count at most 2^24.
  LineTurns(const std::vector<num::Real>& start, const std::vector<num::Real>& step, std::int64_t count);

  /// Whether the tables' precision carries angles so large; else nothing may be asked for.
  [[nodiscard]] bool is_carried() const { return carried_; }
  /// Whether angle k of a pair is exactly 0; its turn is exactly 1 then.
  [[nodiscard]] bool is_still(std::int64_t k, std::size_t pair) const {
    const Line& line = lines_[pair];
    return line.start.hi == 0 && (k == 0 || line.step.hi == 0);
  }
  /// start + k step itself: each part is off by 2^-106 of itself, the product by 2^-104, and so is the sum.
  [[nodiscard]] Near angle(std::int64_t k, std::size_t pair) const {
    const Line& line = lines_[pair];
    const num::TwoDouble product = line.step * static_cast<double>(k);
    return {product + line.start, 0x1p-102 * (std::fabs(product.hi) + std::fabs(line.start.hi)) + (is_still(k, pair) ? 0 : 0x1p-1000)};
  }
  /// Bound on each component of a turn: PhasorTable::error for the anchor, 2^-105 for the start that is multiplied into it, once
  /// more PhasorTable::error for the turn within a group, and 2^-101 for each of two products.
  static constexpr double error = 0x1p-89;

  /// Walks the turns; belongs to one thread. Ascending k are fastest, any order gives the same bits.
  class Cursor {
   public:
    explicit Cursor(const LineTurns& turns) : turns_(turns), anchor_(turns.lines_.size()), turn_(turns.lines_.size()) {}
    /// One turn for each pair, until the next call.
    const std::vector<num::Phasor>& at(std::int64_t k);

   private:
    const LineTurns& turns_;
    std::int64_t group_ = -1, k_ = -1;
    std::vector<num::Phasor> anchor_, turn_;
  };

 private:
  struct Line {
    num::TwoDouble start, step;
    num::Phasor first;  ///< the turn by start
  };
  std::vector<Line> lines_;
  num::PhasorTable table_;
  bool carried_ = true;
};

}  // namespace posenc::detail
