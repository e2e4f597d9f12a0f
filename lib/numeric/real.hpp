// Real: a number known to within an interval that is guaranteed to hold it, and exactly where it is rational.
//
// This is the scalar type of the truth: element<Real> evaluates a formula in it, at the precision of the enclosing
// Precision scope. Intervals (MPFI) carry the rounding error, so no error analysis by hand is needed; the rational
// (GMP) is kept as long as every operand is rational, so exact results and exact ties are recognised as such.
// A comparison that the interval cannot decide throws Undecided; the caller retries with more precision.
#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

namespace posenc::num {

struct Undecided : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "a comparison needs more precision"; }
};

/// Sets the working precision of Real on this thread, in bits, for the life of the object.
class Precision {
 public:
  explicit Precision(int bits);
  ~Precision();
  Precision(const Precision&) = delete;
  Precision& operator=(const Precision&) = delete;
  static int bits();

 private:
  int before_;
};

class Real {
 public:
  Real();  ///< exact 0
  Real(const Real&);
  Real(Real&&) noexcept;
  Real& operator=(const Real&);
  Real& operator=(Real&&) noexcept;
  ~Real();

  static Real of(std::int64_t value);
  static Real of(double value);  ///< exact; value finite
  static Real infinity(int sign);
  static Real pi();

  Real& operator+=(const Real&);
  Real& operator-=(const Real&);
  Real& operator*=(const Real&);
  Real& operator/=(const Real&);
  friend Real operator+(Real a, const Real& b) { return a += b; }
  friend Real operator-(Real a, const Real& b) { return a -= b; }
  friend Real operator*(Real a, const Real& b) { return a *= b; }
  friend Real operator/(Real a, const Real& b) { return a /= b; }
  Real operator-() const;

  friend bool operator<(const Real& a, const Real& b) { return compare(a, b) < 0; }
  friend bool operator>(const Real& a, const Real& b) { return compare(a, b) > 0; }
  friend bool operator<=(const Real& a, const Real& b) { return compare(a, b) <= 0; }
  friend bool operator>=(const Real& a, const Real& b) { return compare(a, b) >= 0; }
  friend bool operator==(const Real& a, const Real& b) { return compare(a, b) == 0; }

  friend Real cos(const Real&);
  friend Real sin(const Real&);
  friend Real exp(const Real&);
  friend Real log(const Real&);
  friend Real log1p(const Real&);
  friend Real log2(const Real&);
  friend Real sqrt(const Real&);
  friend Real abs(const Real&);
  friend Real floor(const Real&);
  friend Real ceil(const Real&);
  friend Real pow(const Real& x, const Real& y);  ///< x > 0, or rational x with integer y
  /// x^(p/q), x > 0, q > 0; recognised as rational when x is a perfect q'-th power (q' = q reduced by gcd).
  friend Real pow(const Real& x, std::int64_t p, std::int64_t q);

  /// cos and sin of x at once, at half the price: x's middle, widened by x's radius (both are 1-Lipschitz).
  friend void cos_sin(const Real& x, Real& cosine, Real& sine);

  [[nodiscard]] bool is_exact() const;  ///< rational and known
  [[nodiscard]] bool is_infinite() const;
  [[nodiscard]] int sign() const;       ///< -1, 0, 1; throws Undecided
  /// Nearest double; and the rest as a second double: |value - hi - lo| <= returned bound.
  double two_double(double& hi, double& lo) const;
  [[nodiscard]] double to_double() const;  ///< middle of the interval, rounded; not guarded
  [[nodiscard]] std::string text(int digits) const;

  /// The ends of the interval at the format with `digits` significant bits, smallest normal exponent 2^emin, rounded to
  /// nearest even, as doubles (digits <= 53). Both equal: the rounding is decided. Exact rationals round exactly.
  void rounded(int digits, int emin, int emax, double& low, double& high) const;

  struct Body;

 private:
  static int compare(const Real& a, const Real& b);  ///< throws Undecided
  std::unique_ptr<Body> body_;
};

}  // namespace posenc::num
