// Rows of amplitude * cos(x f_i) and amplitude * sin(x f_i) for positions x: the hot part of rope and sinusoidal.
// Rows of a range come from one anchor per 256 rows and a fine table; rows of a list from the digits of each position.
#pragma once
#include <memory>
#include <vector>

#include "phasor.hpp"
#include "real.hpp"
#include "posenc/positions.hpp"
#include "posenc/tensor.hpp"

namespace posenc::num {

class RotationRows {
 public:
  /// `frequencies` (radians per position) and `amplitude` at 256 bits of precision or more.
  RotationRows(Positions positions, const std::vector<Real>& frequencies, const Real& amplitude);
  ~RotationRows();

  /// Bound on each double that Cursor::row gives.
  [[nodiscard]] ErrorBound bound() const { return {amplitude_bound_ * 0x1p-50 + 0x1p-1070, 0}; }
  /// Bound on each hi + lo that Cursor::row2 gives; 2^-1070 is what second parts lose below the smallest normal double.
  [[nodiscard]] ErrorBound bound2() const { return {amplitude_bound_ * 0x1p-88 + 0x1p-1070, 0}; }

  /// Walks rows; belongs to one thread. Nearby rows share an anchor, which costs as much as many rows, so ascending order is
  /// fastest and a cursor is worth keeping; any order gives the same bits.
  class Cursor {
   public:
    explicit Cursor(const RotationRows& rows);
    /// cos and sin of row r, n doubles each; either may be null. False: this position has no fast value (not a multiple of
    /// 2^-64, or some frequency is above 2^32, beyond what the tables' precision carries).
    bool row(std::int64_t r, double* cos, double* sin);
    bool row2(std::int64_t r, Phasor* out);
    /// Rows [r, r + rows) of cos or sin, rounded to f32 as they are made, `stride` floats apart. Values whose rounding
    /// bound() leaves open are appended to `undecided` by their place in out. False: no such path (not a range).
    bool rows_f32(std::int64_t r, std::int64_t rows, bool sine, float* out, std::size_t stride, std::vector<std::uint32_t>& undecided);
    [[nodiscard]] std::size_t pairs() const { return anchor_.size(); }

   private:
    bool anchor_for(std::int64_t r);
    const RotationRows& rows_;
    std::int64_t group_ = -1;
    std::vector<Phasor> anchor_;
    std::vector<double> anchor_cos_, anchor_sin_;
  };

  /// This thread's cursor, kept from call to call.
  [[nodiscard]] Cursor& cursor() const;

 private:
  friend class Cursor;
  [[nodiscard]] const PhasorTable& per_row() const { return step_ ? *step_ : unit_; }
  static constexpr std::int64_t group_rows = PhasorTable::radix;

  const std::uint64_t number_;
  Positions positions_;
  std::size_t n_;
  bool carried_;  ///< every frequency is small enough
  double amplitude_bound_;
  TwoDouble amplitude_;
  PhasorTable unit_;                    ///< per position, with fractions
  std::unique_ptr<PhasorTable> step_;   ///< per row of a range whose step is not 1
  std::vector<double> fine_cos_, fine_sin_;  ///< [row in group][frequency]
};

}  // namespace posenc::num
