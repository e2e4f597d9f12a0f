#include "numeric/decide.hpp"

#include <algorithm>
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

namespace {

// The step of the format at the smaller of two neighbouring magnitudes.
double step_at(const Format& format, double value) { return std::ldexp(1.0, std::max(std::ilogb(value), format.emin) - format.digits + 1); }

bool neighbours(const Format& format, double low, double high) {
  if (std::isinf(low) != std::isinf(high)) return true;
  const double nearer = std::fabs(low) < std::fabs(high) ? low : high;
  return high - low <= (nearer == 0 ? std::ldexp(1.0, format.emin - format.digits + 1) : step_at(format, nearer));
}

// Whether the last place of a number of the format is 0.
bool even(const Format& format, double value) { return value == 0 || std::isinf(value) || std::fmod(value / step_at(format, value), 2.0) == 0; }

}  // namespace

double decide(DType dtype, const std::function<Real()>& formula) {
  const Format format = format_of(dtype);
  // 128 bits settle all but about one value in 2^70. What `enough` do not tell from a boundary of the format (a tie, or 0)
  // without being recognised as rational - sin(2 pi), x + sin(2 pi) - is that boundary.
  constexpr int enough = 4096;
  for (int bits = 128; bits <= 1 << 16; bits *= 2) {
    const Precision precision(bits);
    try {
      double low = 0, high = 0;
      formula().rounded(format.digits, format.emin, format.emax, low, high);
      if (low == high && std::signbit(low) == std::signbit(high)) return low;
      if (low == 0 && high == 0 && bits >= enough) return 0;
      if (bits >= enough && neighbours(format, low, high)) return even(format, low) ? low : high;
    } catch (const Undecided&) {
    }
  }
  throw std::logic_error("a value could not be decided with 65536 bits");
}

}  // namespace posenc::num
