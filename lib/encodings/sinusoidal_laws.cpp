// The laws of a sinusoidal table. u is half an ulp of 1 in the stored dtype and e = 2^-53 that of the arithmetic here.
//
// f16 stores numbers below 2^-14 to within 2^-25 instead of u relative; squared or multiplied by a number up to 1 that adds
// at most 2^-25 = u 2^-14 to a term, far inside the margin that the tolerances below leave by taking factors 1 + 2^-7.
#include <fmt/format.h>

#include <cmath>

#include "encodings/sinusoidal.hpp"
#include "encodings/law_tools.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

constexpr double e = 0x1p-53;
constexpr double margin = 1 + 0x1p-7;
constexpr std::int64_t samples = 48;

using Failed = std::optional<std::string>;
using Row = std::vector<double>;

// Up to `count` row numbers over [0, rows), ends included, none of them the padding row.
std::vector<std::int64_t> spread(const Sinusoidal& s, std::int64_t rows, std::int64_t count) {
  std::vector<std::int64_t> out = detail::spread(rows, count);
  if (s.padding_row) std::erase(out, *s.padding_row);
  return out;
}

struct Turn {
  double cos, sin;
};
// Rotations by `distance` positions, each component within e / 2.
std::vector<Turn> turns(const Sinusoidal& s, double distance) {
  const num::Precision precision(256);
  std::vector<Turn> out;
  for (std::int64_t i = 0; i < s.pairs(); ++i) {
    const num::Real angle = num::Real::of(distance) * s.inv_freq(i);
    out.push_back({cos(angle).to_double(), sin(angle).to_double()});
  }
  return out;
}

double at(const Row& row, const Sinusoidal& s, std::int64_t pair, bool sine) {
  return row[static_cast<std::size_t>(s.channel_of(pair, sine))];
}

// sin^2 + cos^2: each square is off by 2u + u^2 relative, together by as much of 1; two products and a sum add 3e.
Failed norm(const Sinusoidal& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0);
  const double tolerance = (2 * u + u * u) * margin + 4 * e;
  for (const std::int64_t r : spread(s, s.positions.size(), samples)) {
    const auto row = stored.row(0, r);
    if (!row) return {};
    for (std::int64_t i = 0; i < s.pairs(); ++i) {
      const double a = at(*row, s, i, true), b = at(*row, s, i, false);
      const double off = a * a + b * b - 1;
      if (!(std::fabs(off) <= tolerance))
        return fmt::format("row {}, pair {}: sin^2 + cos^2 - 1 = {:.3g}, allowed {:.3g}", r, i, off, tolerance);
    }
  }
  return {};
}

// Row b from row a turned by the distance: |c| u|x| + |s| u|y| <= sqrt(2) u for the turned pair (|c|, |s| and |x|, |y| are
// unit vectors), u for the stored one; the arithmetic adds 4e.
Failed shift(const Sinusoidal& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0);
  const double tolerance = (1 + std::sqrt(2.0)) * u * margin + 4 * e;
  const Positions positions = s.positions.shifted(s.offset);
  double distance = std::nan("");
  std::vector<Turn> turn;
  for (const std::int64_t r : spread(s, positions.size() - 1, 8)) {
    if (s.padding_row == r + 1) continue;
    const auto from = stored.row(0, r), to = stored.row(0, r + 1);
    if (!from || !to) return {};
    const double d = positions[r + 1] - positions[r];
    if (positions[r] + d != positions[r + 1]) continue;  // reals whose difference is not a double
    if (d != distance) turn = turns(s, distance = d);
    for (std::int64_t i = 0; i < s.pairs(); ++i) {
      const Turn& t = turn[static_cast<std::size_t>(i)];
      const double x = at(*from, s, i, true), y = at(*from, s, i, false);
      const double off =
          std::max(std::fabs(x * t.cos + y * t.sin - at(*to, s, i, true)), std::fabs(y * t.cos - x * t.sin - at(*to, s, i, false)));
      if (!(off <= tolerance))
        return fmt::format("rows {} and {}, pair {}: the rotation by {} positions is off by {:.3g}, allowed {:.3g}", r, r + 1, i,
                           print(d), off, tolerance);
    }
  }
  return {};
}

// The n pairs' products: |x x'| + |y y'| <= 1 in each, off by 2u + u^2 relative: n (2u + u^2). 2n products and sums of
// partial results up to n round by 2n e (n + 1) at most, the reference's n cosines and their sum by n e (n + 1).
Failed inner_product(const Sinusoidal& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0);
  const auto n = static_cast<double>(s.pairs());
  const double tolerance = n * (2 * u + u * u) * margin + 3 * n * (n + 1) * e;
  const Positions positions = s.positions.shifted(s.offset);
  const std::vector<std::int64_t> rows = spread(s, positions.size(), 8);
  for (std::size_t k = 0; k + 1 < rows.size(); ++k) {
    const std::int64_t a = rows[k], b = rows[rows.size() - 1 - k / 2];
    const double d = positions[b] - positions[a];
    if (positions[a] + d != positions[b]) continue;
    const auto p = stored.row(0, a), q = stored.row(0, b);
    if (!p || !q) return {};
    double product = 0, expected = 0;
    for (const Turn& t : turns(s, d)) expected += t.cos;
    for (std::int64_t i = 0; i < s.pairs(); ++i)
      product += at(*p, s, i, true) * at(*q, s, i, true) + at(*p, s, i, false) * at(*q, s, i, false);
    if (!(std::fabs(product - expected) <= tolerance))
      return fmt::format("rows {} and {}: inner product {:.9g}, the distance {} asks for {:.9g}, allowed {:.3g}", a, b, product,
                         print(d), expected, tolerance);
  }
  return {};
}

Failed padding(const Sinusoidal& s, const Stored& stored) {
  const auto row = stored.row(0, *s.padding_row);
  if (!row) return {};
  for (std::size_t c = 0; c < row->size(); ++c)
    if ((*row)[c] != 0) return fmt::format("row {}, channel {}: {} in the padding row", *s.padding_row, c, print((*row)[c]));
  return {};
}

Failed zero_column(const Sinusoidal& s, const Stored& stored) {
  for (const std::int64_t r : spread(s, s.positions.size(), samples)) {
    const auto row = stored.row(0, r);
    if (row && row->back() != 0) return fmt::format("row {}: the last channel holds {}", r, print(row->back()));
  }
  return {};
}

}  // namespace

std::vector<Law> Sinusoidal::laws() const {
  std::vector<Law> out;
  const auto add = [&](const char* law, const char* text, const char* paper, Failed (*holds)(const Sinusoidal&, const Stored&)) {
    out.push_back({law, text, paper, [spec = *this, holds](const Stored& stored) { return holds(spec, stored); }});
  };
  add("norm", "sin^2 + cos^2 = 1 in every pair", "Vaswani et al. 2017, arXiv:1706.03762, section 3.5", norm);
  add("shift", "p(k + s) is p(k) with every pair turned by s * inv_freq", "Vaswani et al. 2017, arXiv:1706.03762, section 3.5", shift);
  add("inner-product", "p(k) . p(m) = sum_i cos((k - m) inv_freq_i), a function of the distance",
      "Vaswani et al. 2017, arXiv:1706.03762, section 3.5, by the cosine of a difference", inner_product);
  if (padding_row) add("padding", "the padding row is zero", "fairseq SinusoidalPositionalEmbedding: padding_idx", padding);
  if (dim % 2 != 0 && odd == SinusoidalOdd::zero)
    add("zero-column", "the last channel of an odd width is zero", "tensor2tensor get_timing_signal_1d", zero_column);
  return out;
}

}  // namespace posenc
