// learned: parameters, tensors, formula, fast fill. The laws are in learned_laws.cpp.
#include "encodings/learned.hpp"

#include <algorithm>

#include "encodings/model.hpp"
#include "numeric/erfinv.hpp"
#include "numeric/philox.hpp"
#include "numeric/two_double.hpp"

namespace posenc {
namespace {

using num::Real;
using num::TwoDouble;
using Initialiser = LearnedInitialiser;

Real whole(std::int64_t x) { return Real::of(x); }

bool takes_bounds(Initialiser i) {
  return i == Initialiser::uniform || i == Initialiser::truncated_absolute || i == Initialiser::truncated_sigma;
}
bool takes_std(Initialiser i) {
  return i == Initialiser::normal || i == Initialiser::truncated_absolute || i == Initialiser::truncated_sigma;
}

// Standard deviation of a standard normal cut at 2 sigma: sqrt(1 - 4 phi(2) / (Phi(2) - Phi(-2))) = 0.8796...
Real cut_std() {
  const Real two = whole(2);
  return sqrt(whole(1) - two * two * num::normal_density(two) / (whole(1) - two * num::normal_cdf(-two)));
}

// A Real as two doubles.
struct Constant {
  TwoDouble value{};
  double error = 0;
};
Constant constant(const Real& x) {
  Constant c;
  c.error = x.two_double(c.value.hi, c.value.lo);
  return c;
}
// |x| of every sum and product below, times what two-double operations err by.
constexpr double slip = 0x1p-99;

}  // namespace

bool Learned::is_cut() const {
  return initialiser == Initialiser::truncated_absolute || initialiser == Initialiser::truncated_sigma || initialiser == Initialiser::lecun_normal;
}
bool Learned::is_normal() const { return is_cut() || initialiser == Initialiser::normal || initialiser == Initialiser::xavier_normal; }

Learned::Distribution Learned::distribution() const {
  const Real zero, one = whole(1), two = whole(2);
  Distribution d;
  const Real fan = whole(dim) + whole(rows());
  switch (initialiser) {
    case Initialiser::zeros: break;
    case Initialiser::uniform: {
      const Real a = Real::of(low.value_or(0)), b = Real::of(high.value_or(1));
      d.centre = (a + b) / two;
      d.scale = (b - a) / two;
      break;
    }
    case Initialiser::xavier_uniform: d.scale = sqrt(whole(6) / fan); break;
    case Initialiser::kaiming_uniform: d.scale = sqrt(whole(6) / whole(dim)); break;
    case Initialiser::xavier_normal: d.scale = sqrt(two / fan); break;
    case Initialiser::lecun_normal: d.scale = sqrt(one / whole(dim)) / cut_std(); break;
    case Initialiser::normal:
    case Initialiser::truncated_absolute:
    case Initialiser::truncated_sigma:
      d.centre = Real::of(mean);
      d.scale = Real::of(std.value_or(0.02));
      if (variance_correction) d.scale = d.scale / cut_std();
  }
  d.low = d.centre - d.scale;
  d.high = d.centre + d.scale;
  d.mean = d.centre;
  d.variance = d.scale * d.scale / whole(3);
  d.inside = one;
  if (!is_normal()) return d;

  d.variance = d.scale * d.scale;
  if (!is_cut()) {
    d.low = Real::infinity(-1);
    d.high = Real::infinity(1);
    return d;
  }
  Real a = Real::of(low.value_or(-2)), b = Real::of(high.value_or(2));  // in sigmas
  if (initialiser == Initialiser::truncated_absolute) {
    d.low = a;
    d.high = b;
    a = (a - d.centre) / d.scale;
    b = (b - d.centre) / d.scale;
  } else {
    d.low = d.centre + a * d.scale;
    d.high = d.centre + b * d.scale;
  }
  d.symmetric = a.is_exact() && b.is_exact() ? a == -b : d.low.is_exact() && d.high.is_exact() && d.low + d.high == d.centre + d.centre;
  d.below = num::normal_cdf(a);
  d.inside = one - d.below - num::normal_cdf(-b);
  // Moments of a normal cut at a and b: Johnson, Kotz, Balakrishnan, "Continuous Univariate Distributions 1", 13.10.1.
  const Real at_a = num::normal_density(a), at_b = num::normal_density(b);
  const Real shift = (at_a - at_b) / d.inside;
  d.mean = d.centre + d.scale * shift;
  d.variance = d.scale * d.scale * (one + (a * at_a - b * at_b) / d.inside - shift * shift);
  return d;
}

void Learned::check() const {
  const std::string_view which = enum_name(initialiser);
  if (!takes_std(initialiser)) {
    if (std) fail_usage(fmt::format("std does not go with initialiser {}", which));
    if (mean != 0) fail_usage(fmt::format("mean does not go with initialiser {}", which));
  }
  if (!takes_bounds(initialiser) && (low || high)) fail_usage(fmt::format("low and high do not go with initialiser {}", which));
  if (takes_bounds(initialiser)) {
    const double default_low = initialiser == Initialiser::uniform ? 0 : -2, default_high = initialiser == Initialiser::uniform ? 1 : 2;
    const double a = low.value_or(default_low), b = high.value_or(default_high);
    if (!(a < b)) fail_usage(fmt::format("low {} must be below high {}", print(a), print(b)));
    if (initialiser != Initialiser::uniform) {
      // Where less than 2^-200 of the distribution lies between the bounds there is nothing to draw from.
      const double sigma = std.value_or(0.02), middle = initialiser == Initialiser::truncated_absolute ? mean : 0;
      const double unit = initialiser == Initialiser::truncated_absolute ? sigma : 1;
      if ((a - middle) / unit > 8 || (b - middle) / unit < -8)
        fail_usage(fmt::format("low {} and high {} leave nothing of the distribution: both are more than 8 standard deviations to one side", print(a), print(b)));
      if ((b - a) / unit < 1e-6) fail_usage(fmt::format("low {} and high {} are nearer than a millionth of std", print(a), print(b)));
    }
  }
  if (variance_correction && initialiser != Initialiser::truncated_sigma)
    fail_usage("variance_correction goes with initialiser truncated-sigma");
  if (variance_correction && (low.value_or(-2) != -2 || high.value_or(2) != 2))
    fail_usage("variance_correction is for values cut at 2 sigma; leave low and high out");
  if (padding_row && *padding_row >= rows())
    fail_usage(fmt::format("padding_row {} is not a row of a table of {} rows (0 is the first)", *padding_row, rows()));
  const bool flat = uniforms.shape.size() == 1 && static_cast<double>(uniforms.shape[0]) == static_cast<double>(rows()) * static_cast<double>(dim);
  if (uniforms.given() && !flat) check_shape(uniforms, {rows(), dim}, "uniforms");
}

std::vector<Tensor> Learned::tensors() const {
  if (form == LearnedForm::table) return {{"table", {{"row", rows()}, {"channel", dim}}, Kind::real, "initial values of a learned table"}};
  std::vector<Tensor> out;
  for (const char* what : {"low", "high", "mean", "variance", "std", "scale"})
    out.push_back({what, {{"number", 1}}, Kind::real, "of the distribution that initial values are drawn from"});
  out.back().help = "standard deviation before any cut";
  return out;
}

struct Learned::Table::State {
  explicit State(const Learned& s) : spec(s), tensors(s.tensors()) {
    const num::Precision precision(256);
    const Distribution d = s.distribution();
    centre = constant(d.centre);
    scale = constant(d.scale);
    below = constant(d.below);
    inside = constant(d.inside);
  }
  [[nodiscard]] bool is_zero(std::int64_t row) const {
    return spec.initialiser == Initialiser::zeros || (spec.padding_row && *spec.padding_row == row);
  }
  // 2u - 1, exact; u = (k + 1/2) / 2^53. |2k + 1 - 2^53| < 2^53.
  [[nodiscard]] double twice_less_one(std::int64_t row, std::int64_t column) const {
    const std::uint64_t k = num::philox_k(static_cast<std::uint64_t>(spec.seed), 0, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column));
    return static_cast<double>(static_cast<std::int64_t>(2 * k + 1) - (std::int64_t{1} << 53)) * 0x1p-53;
  }
  [[nodiscard]] double given(std::int64_t row, std::int64_t column) const { return spec.uniforms.values[static_cast<std::size_t>(row * spec.dim + column)]; }

  // v = 2u - 1 as two doubles, exact.
  [[nodiscard]] TwoDouble v(std::int64_t row, std::int64_t column) const {
    return spec.uniforms.given() ? num::two_sum(2 * given(row, column), -1) : TwoDouble{twice_less_one(row, column), 0};
  }

  // The standard variable: v, or the quantile of below + inside u.
  [[nodiscard]] num::Quantile standard(std::int64_t row, std::int64_t column, bool two) const {
    const TwoDouble v_here = v(row, column);
    if (!spec.is_normal()) return {v_here.hi, v_here.lo, 0};
    const bool upper = v_here.hi > 0;
    // The smaller of u and 1 - u, exact: (1 -+ v) / 2.
    TwoDouble q = upper ? v_here : -v_here;
    q = TwoDouble{1, 0} + -q;
    q = {q.hi / 2, q.lo / 2};
    bool mirrored = upper;
    double error = 0;
    if (spec.is_cut()) {
      const TwoDouble u = upper ? TwoDouble{1, 0} - q : q;
      TwoDouble p = below.value + inside.value * u;
      error = below.error + inside.error + slip;
      mirrored = p.hi > 0.5;
      if (mirrored) p = TwoDouble{1, 0} - p;
      q = p;
      if (!(q.hi > 0x1p-40)) return {0, 0, HUGE_VAL};  // far in a tail, the error of p would outweigh it
    } else {
      error = spec.uniforms.given() ? slip : 0;
    }
    num::Quantile x = q.hi > 0.5 || (q.hi == 0.5 && q.lo >= 0) ? num::Quantile{} : num::normal_quantile(q.hi, q.lo, two);
    // dx / dq = 1 / density: at most 4.2 for |x| <= 1, and 1 / q beyond, since q < density / |x| (Mills' ratio). The 1.1
    // covers the change of that slope over the error, which is below 2^-50 q.
    x.bound += error * (4.2 + 1 / q.hi) * 1.1;
    if (mirrored) x = {-x.hi, -x.lo, x.bound};
    return x;
  }

  Learned spec;
  std::vector<Tensor> tensors;
  Constant centre, scale, below, inside;
};

Learned::Table::Table(const Learned& spec) : state_(std::make_shared<const State>(spec)) {}
Learned::Table Learned::table() const { return Table(*this); }

template <class T>
T Learned::Table::element(std::size_t tensor, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  constexpr bool is_real = std::is_same_v<T, Real>;
  // The numbers of the distribution, in every arithmetic the exact ones.
  const auto rounded = [](auto&& f) {
    if constexpr (is_real)
      return f();
    else
      return T::of(num::decide(DType::f64, f));
  };
  if (s.spec.form == LearnedForm::distribution) {
    if ((tensor < 2) && s.spec.is_normal() && !s.spec.is_cut()) return T::infinity(tensor == 0 ? -1 : 1);
    return rounded([&] {
      const Distribution d = s.spec.distribution();
      switch (tensor) {
        case 0: return d.low;
        case 1: return d.high;
        case 2: return d.mean;
        case 3: return d.variance;
        case 4: return sqrt(d.variance);
        default: return d.scale;
      }
    });
  }
  if (s.is_zero(index[0])) return T::of(std::int64_t{0});
  if constexpr (is_real) {
    const TwoDouble v = s.v(index[0], index[1]);
    const Real twice = Real::of(v.hi) + Real::of(v.lo);
    const Distribution d = s.spec.distribution();
    if (!s.spec.is_normal()) return d.centre + d.scale * twice;
    // The middle of symmetric bounds is the centre itself, which no precision could tell from its neighbours.
    if (s.spec.is_cut() && twice.sign() == 0 && d.symmetric) return d.centre;
    const Real u = (twice + whole(1)) / whole(2);
    return d.centre + d.scale * num::normal_quantile(s.spec.is_cut() ? d.below + d.inside * u : u);
  } else {
    // The standard variable rounded once, then a product and a sum, as a framework scales what its generator gave.
    std::optional<T> standard;
    for (const bool two : {false, true}) {
      const num::Quantile z = s.standard(index[0], index[1], two);
      const T below = T::of(z.hi + (z.lo - z.bound)), above = T::of(z.hi + (z.lo + z.bound));
      if (below == above) {
        standard = below;
        break;
      }
    }
    if (!standard) {
      constexpr DType dtype = std::is_same_v<T, num::Float32> ? DType::f32 : std::is_same_v<T, num::BFloat16> ? DType::bf16 : DType::f64;
      standard = T::of(num::decide(dtype, [&] {
        const TwoDouble v = s.v(index[0], index[1]);
        const Real u = (Real::of(v.hi) + Real::of(v.lo) + whole(1)) / whole(2);
        if (!s.spec.is_normal()) return Real::of(v.hi) + Real::of(v.lo);
        if (!s.spec.is_cut()) return num::normal_quantile(u);
        const Distribution d = s.spec.distribution();
        if (d.symmetric && u == Real::of(0.5)) return Real();
        return num::normal_quantile(d.below + d.inside * u);
      }));
    }
    return T::of(s.centre.value.hi) + T::of(s.scale.value.hi) * *standard;
  }
}

void Learned::Table::fill(std::size_t tensor, Block& block) const {
  const State& s = *state_;
  if (s.spec.form == LearnedForm::distribution) {
    for (std::int64_t i = 0; i < block.extent.elements(); ++i) {
      const std::int64_t index[] = {block.extent.col + i};
      block.hi[i] = element<num::Float32>(tensor, index).to_double();  // only the infinities are used
      if (block.lo) block.lo[i] = 0;
    }
    for (std::int64_t r = 0; r < block.extent.rows; ++r)
      block.bounds[r] = {std::isinf(block.hi[r * block.extent.cols]) ? 0 : HUGE_VAL, 0};
    return;
  }
  const bool two = block.lo != nullptr;
  const double scale_size = std::fabs(s.scale.value.hi) + s.scale.error;
  for (std::int64_t r = 0; r < block.extent.rows; ++r) {
    const std::int64_t row = block.extent.row + r;
    double* hi = block.hi + r * block.extent.cols;
    double* lo = two ? block.lo + r * block.extent.cols : nullptr;
    block.bounds[r] = {};
    if (s.is_zero(row)) {
      std::fill_n(hi, block.extent.cols, 0.0);
      if (lo) std::fill_n(lo, block.extent.cols, 0.0);
      continue;
    }
    double worst = 0, largest = 0;
    for (std::int64_t c = 0; c < block.extent.cols; ++c) {
      const num::Quantile z = s.standard(row, block.extent.col + c, two);
      if (two) {
        const TwoDouble x = s.centre.value + s.scale.value * TwoDouble{z.hi, z.lo};
        hi[c] = x.hi;
        lo[c] = x.lo;
      } else {
        hi[c] = s.centre.value.hi + s.scale.value.hi * z.hi;
      }
      worst = std::max(worst, z.bound);
      largest = std::max(largest, std::fabs(z.hi));
    }
    // The standard variable's error scaled; the constants' errors; the product and the sum (one double: three roundings
    // and the low parts left out, each 2^-53 relative).
    const double size = std::fabs(s.centre.value.hi) + scale_size * largest;
    const double slips = two ? slip : 0x1p-50;
    block.bounds[r].absolute = (worst * scale_size + s.centre.error + s.scale.error * largest + size * slips) * (1 + 0x1p-40) + 0x1p-1022;
  }
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(learned, Learned)
