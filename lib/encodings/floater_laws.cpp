// The laws of a floater table. u is half an ulp of 1 in the stored dtype; f16 stores numbers below 2^-14 to within u 2^-14.
#include <fmt/format.h>

#include <cmath>
#include <complex>

#include "encodings/floater.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

using Failed = std::optional<std::string>;
using Complex = std::complex<double>;
constexpr double e = 0x1p-53;

// How far the solver's path may be from the sinusoid's after n steps of size h, for a pair that starts on the unit circle.
double solver_error(const Floater& s, double theta, double h, double n) {
  const double x = theta * h;
  if (s.field == FloaterField::sinusoid_forced) {
    // n times the error of one quadrature of a function whose derivatives are at most theta^(order + 1): rectangle x^2 / 2,
    // middle x^3 / 24, Simpson x^5 / 2880, Newton's 3/8 x^5 / 6480; in both parts of the pair.
    switch (s.solver) {
      case FloaterSolver::euler: return n * x * x / 2;
      case FloaterSolver::midpoint: return n * x * x * x / 24;
      case FloaterSolver::rk4: return n * std::pow(x, 5) / 2880;
      case FloaterSolver::rk4_38: break;
    }
    return n * std::pow(x, 5) / 6480;
  }
  // A step multiplies p_2i+1 + i p_2i by R, the exponential's series cut after the solver's order; the path by exp(i x).
  const int order = s.solver == FloaterSolver::euler ? 1 : s.solver == FloaterSolver::midpoint ? 2 : 4;
  Complex r = 1, term = 1;
  for (int k = 1; k <= order; ++k) r += term *= Complex(0, x) / static_cast<double>(k);
  // |R^n - exp(i n x)| <= n |R - exp(i x)| max(1, |R|)^(n - 1); the remainder of the series is at most x^(order + 1) / (order + 1)!,
  // which unlike the difference does not cancel in doubles.
  double off = 1;
  for (int k = 1; k <= order + 1; ++k) off *= x / k;
  return n * off * std::pow(std::max(1.0, std::abs(r)), n - 1);
}

Failed sinusoid(const Floater& s, const Stored& stored) {
  const num::Precision precision(256);
  const double u = stored.unit_roundoff(0) * (1 + 0x1p-7), h = s.dt / static_cast<double>(s.substeps);
  for (std::int64_t i = 0; i < std::min<std::int64_t>(s.length, 32); ++i) {
    const std::int64_t k = s.length <= 32 ? i : i * (s.length - 1) / 31;
    const auto row = stored.row(0, k * s.vectors);
    if (!row) return {};
    for (std::int64_t c = 0; c < s.dim; ++c) {
      const num::Real theta = pow(num::Real::of(s.base), -2 * (c / 2), s.dim);
      const num::Real angle = num::Real::of(k) * num::Real::of(s.dt) * theta;
      const double wanted = (c % 2 == 0 ? sin(angle) : cos(angle)).to_double(), got = (*row)[static_cast<std::size_t>(c)];
      const double path = solver_error(s, theta.to_double(), h, static_cast<double>(k * s.substeps)) * (1 + 0x1p-20);
      if (std::isinf(got)) continue;
      const double allowed = path + u * (std::fabs(got) + 0x1p-14) + e;
      if (!(std::fabs(got - wanted) <= allowed))
        return fmt::format("row {}, channel {}: {}, the sinusoid has {}, allowed {:.3g}", k, c, print(got), print(wanted), allowed);
    }
  }
  return {};
}

Failed start(const Floater& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0);
  for (std::int64_t v = 0; v < s.vectors; ++v) {
    const auto row = stored.row(0, v);
    if (!row) return {};
    for (std::int64_t c = 0; c < s.dim; ++c) {
      const double wanted = s.initial.values[static_cast<std::size_t>(v * s.dim + c)], got = (*row)[static_cast<std::size_t>(c)];
      if (!std::isinf(got) && !(std::fabs(got - wanted) <= u * (std::fabs(wanted) + 0x1p-14)))
        return fmt::format("vector {}, channel {}: the path starts at {}, initial says {}", v, c, print(got), print(wanted));
    }
  }
  return {};
}

}  // namespace

std::vector<Law> Floater::laws() const {
  std::vector<Law> out;
  const auto add = [&](const char* law, const char* text, const char* from, Failed (*holds)(const Floater&, const Stored&)) {
    out.push_back({law, text, from, [spec = *this, holds](const Stored& stored) { return holds(spec, stored); }});
  };
  if (is_sinusoid() && !initial.given())
    add("sinusoid", "the sinusoid's field gives the sinusoidal table, within the solver's error", "arXiv:2003.09229, section 3.1", sinusoid);
  if (initial.given()) add("start", "row 0 is the initial vector", "arXiv:2003.09229, equation 5", start);
  return out;
}

}  // namespace posenc
