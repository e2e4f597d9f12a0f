// What a spec yields: named arrays with named axes. Shapes are row-major; the last axis varies fastest.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace posenc {

struct Axis {
  std::string name;   ///< "position", "pair", "head", "query", "key", ...
  std::int64_t size;  ///< >= 0
};

enum class Kind : std::uint8_t {
  real,     ///< rounded once to a float dtype
  integer,  ///< exact; stored as i32 or i64
  complex,  ///< (re, im) pairs of reals; the last axis, named "complex", has size 2
};

/// One named array. `axes` of a complex tensor end in {"complex", 2}; formats with a complex dtype fold that axis away.
struct Tensor {
  std::string name;
  std::vector<Axis> axes;
  Kind kind = Kind::real;
  std::string help;  ///< one line: what the values are, with unit

  /// Product of all axes but the last; 1 for a vector. Throws usage when the element count overflows 63 bits.
  [[nodiscard]] std::int64_t rows() const;
  /// Size of the last axis.
  [[nodiscard]] std::int64_t columns() const;
  [[nodiscard]] std::int64_t elements() const;
  /// Splits a row number into the coordinates of the leading axes (all but the last).
  void row_index(std::int64_t row, std::span<std::int64_t> out) const;
};

/// A rectangle of a tensor that is contiguous in memory: whole rows, or part of one row.
struct Extent {
  std::int64_t row = 0, rows = 0;  ///< first row, number of rows
  std::int64_t col = 0, cols = 0;  ///< first column, number of columns; rows > 1 only with whole rows
  [[nodiscard]] std::int64_t elements() const { return rows * cols; }
};

/// |true value - stored double| <= absolute + relative * |stored double|. {0, 0}: the doubles are exact.
struct ErrorBound {
  double absolute = 0;
  double relative = 0;
};

/// Where `fill` puts one extent: extent.elements() doubles, row-major, and a bound for each row.
/// `lo` is null for a plain f64 fill; otherwise the value is hi + lo with |lo| <= ulp(hi)/2 and the bound is on the sum.
struct Block {
  Extent extent;
  double* hi = nullptr;
  double* lo = nullptr;
  ErrorBound* bounds = nullptr;  ///< extent.rows entries
  /// Optional, set by fill: extent.cols factors on the absolute bound of each column (0: that column is exact in it).
  const double* column_weight = nullptr;
};

}  // namespace posenc
