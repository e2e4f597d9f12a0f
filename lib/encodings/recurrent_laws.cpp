// The laws of a recurrent table. u is half an ulp of 1 in the stored dtype; f16 stores numbers below 2^-14 to within u 2^-14.
#include <fmt/format.h>

#include <cmath>

#include "encodings/recurrent.hpp"
#include "encodings/law_tools.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

using Failed = std::optional<std::string>;
constexpr double e = 0x1p-53;

using detail::spread;

// Row k is sin and cos of k theta_i, within u; the reference is right to e.
Failed sinusoid(const Recurrent& s, const Stored& stored) {
  const num::Precision precision(256);
  const double u = stored.unit_roundoff(0);
  for (const std::int64_t k : spread(s.length, 32)) {
    const auto row = stored.row(0, k);
    if (!row) return {};
    for (std::int64_t c = 0; c < s.dim; ++c) {
      const num::Real angle = num::Real::of(k) * pow(num::Real::of(s.base), -2 * (c / 2), s.dim);
      const double wanted = (c % 2 == 0 ? sin(angle) : cos(angle)).to_double(), got = (*row)[static_cast<std::size_t>(c)];
      if (!(std::fabs(got - wanted) <= u * std::fabs(wanted) * (1 + 0x1p-7) + u * 0x1p-14 + e))
        return fmt::format("row {}, channel {}: {}, the sinusoid has {}", k, c, print(got), print(wanted));
    }
  }
  return {};
}

// p[k + 1] = A p[k] + b: each stored p is off by u |p| (+ u 2^-14), so the product by sum |A| of that, and dim + 2 operations
// round by e of the sum of sizes each.
Failed recurrence(const Recurrent& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0) * (1 + 0x1p-7);
  for (const std::int64_t k : spread(s.length - 1, 16)) {
    const auto from = stored.row(0, k), to = stored.row(0, k + 1);
    if (!from || !to) return {};
    for (std::int64_t i = 0; i < s.dim; ++i) {
      double sum = s.bias.given() ? s.bias.values[static_cast<std::size_t>(i)] : 0, size = std::fabs(sum), slack = 0;
      for (std::int64_t j = 0; j < s.dim; ++j) {
        const double a = s.matrix.values[static_cast<std::size_t>(i * s.dim + j)], p = (*from)[static_cast<std::size_t>(j)];
        sum += a * p;
        size += std::fabs(a * p);
        slack += std::fabs(a) * u * (std::fabs(p) + 0x1p-14);
      }
      const double got = (*to)[static_cast<std::size_t>(i)];
      if (!std::isfinite(sum) || !std::isfinite(got)) continue;
      const double allowed = slack + u * (std::fabs(got) + 0x1p-14) + 2 * static_cast<double>(s.dim + 2) * e * size;
      if (!(std::fabs(got - sum) <= allowed))
        return fmt::format("row {}, channel {}: {}, the map of the row before gives {}, allowed {:.3g}", k + 1, i, print(got), print(sum), allowed);
    }
  }
  return {};
}

// h' lies between h and tanh's (-1, 1), so no value leaves [-1, 1] unless it started outside.
Failed bounded(const Recurrent& s, const Stored& stored) {
  double most = 1;
  for (const double x : s.initial.values) most = std::max(most, std::fabs(x));
  for (const std::int64_t r : spread(s.length * s.vectors, 64)) {
    const auto row = stored.row(0, r);
    if (!row) return {};
    for (std::size_t c = 0; c < row->size(); ++c)
      if (!(std::fabs((*row)[c]) <= most * (1 + 2 * stored.unit_roundoff(0)))) return fmt::format("row {}, channel {}: {} passes {}", r, c, print((*row)[c]), print(most));
  }
  return {};
}

}  // namespace

std::vector<Law> Recurrent::laws() const {
  std::vector<Law> out;
  const auto add = [&](const char* law, const char* text, const char* from, Failed (*holds)(const Recurrent&, const Stored&)) {
    out.push_back({law, text, from, [spec = *this, holds](const Stored& stored) { return holds(spec, stored); }});
  };
  if (map == RecurrentMap::gru) add("bounded", "values stay within those of tanh and the start", "Cho et al. 2014, arXiv:1406.1078", bounded);
  if (is_rotation() && !initial.given() && !bias.given())
    add("sinusoid", "the rotation makes the sinusoidal table", "Vaswani et al. 2017, arXiv:1706.03762, by angle addition", sinusoid);
  if (matrix.given()) add("recurrence", "p[k + 1] = A p[k] + b", "arXiv:2003.09229, section 3", recurrence);
  return out;
}

}  // namespace posenc
