#include "numeric/real.hpp"

#include "numeric/caches.hpp"

#include <gmp.h>
#include <mpfi.h>
#include <mpfr.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace posenc::num {
namespace {

thread_local int working_bits = 128;

// A rational whose parts outgrow this is dropped; the interval goes on alone. Far above what any tie needs.
constexpr std::size_t max_rational_bits = 8192;

// A plain mpfr variable at the working precision.
struct Mpfr {
  mpfr_t v;
  explicit Mpfr(int bits = working_bits) { mpfr_init2(v, bits); }
  ~Mpfr() { mpfr_clear(v); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
};

}  // namespace

struct Real::Body {
  mpfi_t interval;
  mpq_t rational;
  bool exact = false;

  Body() {
    mpfi_init2(interval, working_bits);
    mpq_init(rational);
  }
  Body(const Body& other) {
    mpfi_init2(interval, mpfi_get_prec(other.interval));
    mpfi_set(interval, other.interval);
    mpq_init(rational);
    exact = other.exact;
    if (exact) mpq_set(rational, other.rational);
  }
  ~Body() {
    mpfi_clear(interval);
    mpq_clear(rational);
  }
  Body& operator=(const Body&) = delete;

  // The interval follows from the rational.
  void from_rational() {
    if (mpz_sizeinbase(mpq_numref(rational), 2) + mpz_sizeinbase(mpq_denref(rational), 2) > max_rational_bits) exact = false;
    mpfi_set_prec(interval, working_bits);
    mpfi_set_q(interval, rational);
  }
  // A result that is not known to be rational lands in a fresh interval of the working precision.
  void inexact() {
    exact = false;
    mpfi_set_prec(interval, working_bits);
  }
};

void free_thread_caches() { mpfr_free_cache(); }

Precision::Precision(int bits) : before_(working_bits) { working_bits = bits; }
Precision::~Precision() { working_bits = before_; }
int Precision::bits() { return working_bits; }

Real::Real() : body_(std::make_unique<Body>()) {
  body_->exact = true;
  body_->from_rational();
}
Real::Real(const Real& other) : body_(std::make_unique<Body>(*other.body_)) {}
Real::Real(Real&& other) noexcept = default;
Real& Real::operator=(const Real& other) {
  if (this != &other) body_ = std::make_unique<Body>(*other.body_);
  return *this;
}
Real& Real::operator=(Real&&) noexcept = default;
Real::~Real() = default;

Real Real::of(std::int64_t value) {
  Real r;
  mpq_set_si(r.body_->rational, value, 1);
  r.body_->from_rational();
  return r;
}

Real Real::of(double value) {
  Real r;
  if (!std::isfinite(value)) throw std::invalid_argument("Real::of wants a finite double");
  mpq_set_d(r.body_->rational, value);
  r.body_->from_rational();
  return r;
}

Real Real::infinity(int sign) {
  Real r;
  r.body_->inexact();
  mpfr_set_inf(&r.body_->interval->left, sign);
  mpfr_set_inf(&r.body_->interval->right, sign);
  return r;
}

Real Real::pi() {
  Real r;
  r.body_->inexact();
  mpfi_const_pi(r.body_->interval);
  return r;
}

namespace {

using IntervalOp = int (*)(mpfi_ptr, mpfi_srcptr, mpfi_srcptr);
using RationalOp = void (*)(mpq_ptr, mpq_srcptr, mpq_srcptr);

void combine(Real::Body& a, const Real::Body& b, IntervalOp interval, RationalOp rational) {
  if (a.exact && b.exact) {
    rational(a.rational, a.rational, b.rational);
    a.from_rational();
    return;
  }
  mpfi_t result;
  mpfi_init2(result, working_bits);
  interval(result, a.interval, b.interval);
  mpfi_swap(a.interval, result);
  mpfi_clear(result);
  a.exact = false;
}

}  // namespace

Real& Real::operator+=(const Real& b) {
  combine(*body_, *b.body_, mpfi_add, mpq_add);
  return *this;
}
Real& Real::operator-=(const Real& b) {
  combine(*body_, *b.body_, mpfi_sub, mpq_sub);
  return *this;
}
Real& Real::operator*=(const Real& b) {
  // An exact zero stays one: 0 * pi is rational.
  for (const Body* factor : {body_.get(), b.body_.get()})
    if (factor->exact && mpq_sgn(factor->rational) == 0) return *this = Real();
  combine(*body_, *b.body_, mpfi_mul, mpq_mul);
  return *this;
}
Real& Real::operator/=(const Real& b) {
  if (b.sign() == 0) throw std::domain_error("division by an exact zero");
  if (body_->exact && mpq_sgn(body_->rational) == 0) return *this = Real();
  combine(*body_, *b.body_, mpfi_div, mpq_div);
  return *this;
}

Real Real::operator-() const {
  Real r(*this);
  if (r.body_->exact) mpq_neg(r.body_->rational, r.body_->rational);
  mpfi_neg(r.body_->interval, r.body_->interval);
  return r;
}

int Real::compare(const Real& a, const Real& b) {
  if (a.body_->exact && b.body_->exact) return mpq_cmp(a.body_->rational, b.body_->rational);
  if (mpfr_less_p(&a.body_->interval->right, &b.body_->interval->left)) return -1;
  if (mpfr_greater_p(&a.body_->interval->left, &b.body_->interval->right)) return 1;
  throw Undecided{};
}

bool Real::is_exact() const { return body_->exact; }
bool Real::is_infinite() const { return mpfr_inf_p(&body_->interval->left) && mpfr_inf_p(&body_->interval->right); }

int Real::sign() const {
  if (body_->exact) return mpq_sgn(body_->rational);
  if (mpfr_sgn(&body_->interval->left) > 0) return 1;
  if (mpfr_sgn(&body_->interval->right) < 0) return -1;
  throw Undecided{};
}

namespace {

// f(x), with f(`root`) = `value` recognised as rational: cos 0, exp 0, log 1.
Real elementary(const Real& x, int (*f)(mpfi_ptr, mpfi_srcptr), Real& out, Real::Body& body, const Real::Body& in,
                std::int64_t root, std::int64_t value) {
  (void)x;
  if (in.exact && mpq_cmp_si(in.rational, root, 1) == 0) return Real::of(value);
  body.inexact();
  f(body.interval, in.interval);
  return std::move(out);
}

}  // namespace

#define POSENC_ELEMENTARY(name, root, value)                                       \
  Real name(const Real& x) {                                                       \
    Real r;                                                                        \
    Real::Body& body = *r.body_;                                                   \
    return elementary(x, mpfi_##name, r, body, *x.body_, root, value);             \
  }
POSENC_ELEMENTARY(cos, 0, 1)
POSENC_ELEMENTARY(sin, 0, 0)
POSENC_ELEMENTARY(exp, 0, 1)
POSENC_ELEMENTARY(log1p, 0, 0)
#undef POSENC_ELEMENTARY

void cos_sin(const Real& x, Real& cosine, Real& sine) {
  if (x.body_->exact && mpq_sgn(x.body_->rational) == 0) {
    cosine = Real::of(std::int64_t{1});
    sine = Real();
    return;
  }
  Real c, s;
  c.body_->inexact();
  s.body_->inexact();
  Mpfr middle(working_bits + 64), radius(64), value_c, value_s;
  mpfi_mid(middle.v, x.body_->interval);
  mpfi_diam_abs(radius.v, x.body_->interval);  // at least twice the distance of either end from the middle
  mpfr_sin_cos(value_s.v, value_c.v, middle.v, MPFR_RNDN);
  // Both values are below 1 and rounded to nearest: off by 2^-working_bits at most.
  mpfr_nextabove(radius.v);
  Mpfr ulp(64);
  mpfr_set_ui_2exp(ulp.v, 1, -working_bits, MPFR_RNDU);
  mpfr_add(radius.v, radius.v, ulp.v, MPFR_RNDU);
  for (const auto& [out, value] : {std::pair{&c, &value_c}, std::pair{&s, &value_s}}) {
    mpfr_sub(&out->body_->interval->left, value->v, radius.v, MPFR_RNDD);
    mpfr_add(&out->body_->interval->right, value->v, radius.v, MPFR_RNDU);
  }
  cosine = std::move(c);
  sine = std::move(s);
}

Real log(const Real& x) {
  if (x.body_->exact && mpq_cmp_si(x.body_->rational, 1, 1) == 0) return Real();
  if (x.sign() <= 0) throw std::domain_error("log of a number that is not positive");
  Real r;
  r.body_->inexact();
  mpfi_log(r.body_->interval, x.body_->interval);
  return r;
}

Real log2(const Real& x) {
  if (x.body_->exact && mpq_sgn(x.body_->rational) > 0) {
    // A power of two, either way up, has an integer logarithm.
    const mpz_srcptr n = mpq_numref(x.body_->rational);
    const mpz_srcptr d = mpq_denref(x.body_->rational);
    if (mpz_popcount(n) == 1 && mpz_popcount(d) == 1)
      return Real::of(static_cast<std::int64_t>(mpz_sizeinbase(n, 2)) - static_cast<std::int64_t>(mpz_sizeinbase(d, 2)));
  }
  if (x.sign() <= 0) throw std::domain_error("log2 of a number that is not positive");
  Real r;
  r.body_->inexact();
  mpfi_log2(r.body_->interval, x.body_->interval);
  return r;
}

Real sqrt(const Real& x) {
  if (x.sign() < 0) throw std::domain_error("sqrt of a negative number");
  return x.sign() == 0 ? Real() : pow(x, 1, 2);
}

Real abs(const Real& x) {
  Real r(x);
  if (r.body_->exact) mpq_abs(r.body_->rational, r.body_->rational);
  mpfi_abs(r.body_->interval, r.body_->interval);
  return r;
}

Real floor(const Real& x) {
  Real r;
  if (x.body_->exact) {
    mpz_fdiv_q(mpq_numref(r.body_->rational), mpq_numref(x.body_->rational), mpq_denref(x.body_->rational));
    r.body_->from_rational();
    return r;
  }
  Mpfr low, high;
  mpfr_floor(low.v, &x.body_->interval->left);
  mpfr_floor(high.v, &x.body_->interval->right);
  if (!mpfr_equal_p(low.v, high.v)) throw Undecided{};
  mpfr_get_z(mpq_numref(r.body_->rational), low.v, MPFR_RNDD);
  r.body_->from_rational();
  return r;
}

Real ceil(const Real& x) { return -floor(-x); }

namespace {

// log(x) of the base before: a geometric series of frequencies asks for the same one throughout.
const Real& log_of_base(const Real& x) {
  struct Last {
    Real base, log;
    int bits = 0;
  };
  thread_local Last last;
  if (last.bits != working_bits || !x.is_exact() || !last.base.is_exact() || !(last.base == x)) {
    last.bits = 0;
    last.log = log(x);
    last.base = x;
    last.bits = working_bits;
  }
  return last.log;
}

}  // namespace

Real pow(const Real& x, std::int64_t p, std::int64_t q) {
  if (q <= 0) throw std::domain_error("pow wants a positive denominator");
  const std::int64_t divisor = std::gcd(p, q);
  if (divisor > 1) {
    p /= divisor;
    q /= divisor;
  }
  if (p == 0) return Real::of(std::int64_t{1});
  if (q > 1 && x.sign() <= 0) throw std::domain_error("a fractional power of a number that is not positive");
  if (p < 0 && x.sign() == 0) throw std::domain_error("a negative power of zero");
  const auto magnitude = static_cast<unsigned long>(p < 0 ? -p : p);
  if (x.body_->exact) {
    // Rational exactly when both parts of the reduced fraction are perfect q-th powers.
    Real r;
    mpz_ptr n = mpq_numref(r.body_->rational);
    mpz_ptr d = mpq_denref(r.body_->rational);
    const bool perfect = mpz_root(n, mpq_numref(x.body_->rational), static_cast<unsigned long>(q)) != 0 &&
                         mpz_root(d, mpq_denref(x.body_->rational), static_cast<unsigned long>(q)) != 0;
    const std::size_t bits = mpz_sizeinbase(n, 2) + mpz_sizeinbase(d, 2);
    if (perfect && bits < max_rational_bits / magnitude) {
      mpz_pow_ui(n, n, magnitude);
      mpz_pow_ui(d, d, magnitude);
      if (p < 0) mpq_inv(r.body_->rational, r.body_->rational);
      r.body_->from_rational();
      return r;
    }
  }
  if (x.sign() < 0) throw std::domain_error("pow of a negative number outgrew its exact form");
  Real y = Real::of(p) / Real::of(q);
  return exp(y * log_of_base(x));
}

Real pow(const Real& x, const Real& y) {
  if (y.body_->exact && mpz_fits_slong_p(mpq_numref(y.body_->rational)) && mpz_fits_slong_p(mpq_denref(y.body_->rational)))
    return pow(x, mpz_get_si(mpq_numref(y.body_->rational)), mpz_get_si(mpq_denref(y.body_->rational)));
  return exp(y * log(x));
}

double Real::two_double(double& hi, double& lo) const {
  Mpfr middle(working_bits + 64), rest(working_bits + 64);
  mpfi_mid(middle.v, body_->interval);
  hi = mpfr_get_d(middle.v, MPFR_RNDN);
  mpfr_sub_d(rest.v, middle.v, hi, MPFR_RNDN);
  lo = mpfr_get_d(rest.v, MPFR_RNDN);
  mpfr_sub_d(rest.v, rest.v, lo, MPFR_RNDA);
  Mpfr width(64);
  mpfi_diam_abs(width.v, body_->interval);
  mpfr_abs(rest.v, rest.v, MPFR_RNDU);
  mpfr_add(width.v, width.v, rest.v, MPFR_RNDU);
  return mpfr_get_d(width.v, MPFR_RNDU);
}

double Real::to_double() const { return mpfi_get_d(body_->interval); }

std::string Real::text(int digits) const {
  char buffer[256];
  Mpfr middle;
  mpfi_mid(middle.v, body_->interval);
  mpfr_snprintf(buffer, sizeof buffer, "%.*Rg", digits, middle.v);
  return buffer;
}

namespace {

// x rounded to nearest even with `digits` bits, gradual underflow below 2^emin, infinity from 2^(emax+1).
// `ternary` is the direction of a rounding already made to get x (mpfr's convention), so that no double rounding occurs.
double round_format(mpfr_srcptr x, int ternary, int digits, int emin, int emax) {
  if (mpfr_inf_p(x)) return mpfr_sgn(x) > 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  if (mpfr_zero_p(x)) return mpfr_signbit(x) ? -0.0 : 0.0;
  // The exponent range of mpfr does gradual underflow: value in [1/2, 1) * 2^exponent.
  const mpfr_exp_t before_min = mpfr_get_emin();
  const mpfr_exp_t before_max = mpfr_get_emax();
  const int sign = mpfr_sgn(x) < 0 ? -1 : 1;
  Mpfr r(digits);
  int t = mpfr_set(r.v, x, MPFR_RNDN);
  if (t == 0) t = ternary;
  mpfr_set_emin(emin - digits + 2);
  mpfr_set_emax(emax + 1);
  t = mpfr_check_range(r.v, t, MPFR_RNDN);
  mpfr_subnormalize(r.v, t, MPFR_RNDN);
  mpfr_set_emin(before_min);
  mpfr_set_emax(before_max);
  const double value = mpfr_get_d(r.v, MPFR_RNDN);
  return value == 0 ? (sign < 0 ? -0.0 : 0.0) : value;
}

}  // namespace

void Real::rounded(int digits, int emin, int emax, double& low, double& high) const {
  if (body_->exact) {
    // Two more bits than any tie can need, with the direction of what was cut off kept.
    Mpfr x(4096);
    if (mpq_sgn(body_->rational) == 0) {
      low = high = 0.0;
      return;
    }
    // Round to odd at a wide precision: a later rounding to nearest sees "not a tie" wherever bits were cut.
    const int t = mpfr_set_q(x.v, body_->rational, MPFR_RNDZ);
    if (t != 0) {  // inexact: make the last bit odd
      Mpfr odd(4097);
      mpfr_set(odd.v, x.v, MPFR_RNDN);
      if (mpfr_sgn(odd.v) > 0)
        mpfr_nextabove(odd.v);
      else
        mpfr_nextbelow(odd.v);
      low = high = round_format(odd.v, 0, digits, emin, emax);
      return;
    }
    low = high = round_format(x.v, 0, digits, emin, emax);
    return;
  }
  low = round_format(&body_->interval->left, 0, digits, emin, emax);
  high = round_format(&body_->interval->right, 0, digits, emin, emax);
}

}  // namespace posenc::num
