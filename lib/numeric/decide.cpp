#include "numeric/decide.hpp"

#include <cmath>
#include <stdexcept>

#include "posenc/error.hpp"

namespace posenc::num {

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return {53, -1022, 1023};
    case DType::f32: return {24, -126, 127};
    case DType::f16: return {11, -14, 15};
    case DType::bf16: return {8, -126, 127};
    default: throw std::logic_error("an integer dtype has no rounding");
  }
}

double decide(DType dtype, const std::function<Real()>& formula) {
  const Format format = format_of(dtype);
  // 128 bits settle all but about one value in 2^70; the limit is only reached by a number that is a boundary of the
  // format without being recognised as rational, which is a defect of the formula.
  for (int bits = 128; bits <= 1 << 16; bits *= 2) {
    const Precision precision(bits);
    try {
      double low = 0, high = 0;
      formula().rounded(format.digits, format.emin, format.emax, low, high);
      // A number that 1024 bits do not tell from 0 is 0; one that only rounds to it keeps its sign.
      if (low == high && (std::signbit(low) == std::signbit(high) || bits >= 1024)) return std::signbit(low) == std::signbit(high) ? low : 0.0;
    } catch (const Undecided&) {
    }
  }
  throw std::logic_error("a value could not be decided with 65536 bits");
}

}  // namespace posenc::num
