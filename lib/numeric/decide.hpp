// The last word on a stored value: evaluate the formula in Real with rising precision until its rounding is decided
// (Ziv's strategy). Ends always where the value is rational or not a boundary of the format.
#pragma once
#include <functional>

#include "real.hpp"
#include "posenc/dtype.hpp"

namespace posenc::num {

/// Bits kept, exponent of the smallest normal and of the largest finite value.
struct Format {
  int digits, emin, emax;
};
Format format_of(DType dtype);

/// f() at `bits` of working precision, or more where a comparison inside asks for it.
template <class F>
auto at_precision(int bits, F&& f) {
  for (;; bits *= 2) {
    const Precision precision(bits);
    try {
      return f();
    } catch (const Undecided&) {
      if (bits > 1 << 16) throw;
    }
  }
}

/// The correctly rounded value in `dtype` as a double (exact). `formula` is called once per precision tried.
double decide(DType dtype, const std::function<Real()>& formula);

}  // namespace posenc::num
