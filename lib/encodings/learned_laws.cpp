// The laws of a learned table at its initial values.
#include <fmt/format.h>

#include <cmath>

#include "encodings/learned.hpp"
#include "encodings/law_tools.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

using Failed = std::optional<std::string>;

using detail::spread;

struct Numbers {
  double low, high, mean, variance, scale;
};
Numbers numbers(const Learned& s) {
  const num::Precision precision(128);
  const Learned::Distribution d = s.distribution();
  const auto end = [](const num::Real& x, double infinite) { return x.is_infinite() ? infinite : x.to_double(); };
  return {end(d.low, -HUGE_VAL), end(d.high, HUGE_VAL), d.mean.to_double(), d.variance.to_double(), d.scale.to_double()};
}

// A stored value is the bound itself at most, rounded: u relative, or half the smallest step of f16.
Failed range(const Learned& s, const Stored& stored) {
  const Numbers n = numbers(s);
  const double u = stored.unit_roundoff(0);
  const auto slack = [&](double x) { return std::isinf(x) ? 0 : std::fabs(x) * u * (1 + 0x1p-7) + u * 0x1p-14; };
  for (const std::int64_t r : spread(s.rows(), 64)) {
    if (s.padding_row == r) continue;
    const auto row = stored.row(0, r);
    if (!row) return {};
    for (std::size_t c = 0; c < row->size(); ++c)
      if (!((*row)[c] >= n.low - slack(n.low) && (*row)[c] <= n.high + slack(n.high)))
        return fmt::format("row {}, channel {}: {} is outside [{}, {}]", r, c, print((*row)[c]), print(n.low), print(n.high));
  }
  return {};
}

// The mean of n independent values is normal to good approximation with standard deviation sqrt(variance / n); nine of them
// are passed by chance once in 10^18. Rounding moves a value by u times its size, the mean by u times the mean size.
Failed sample_mean(const Learned& s, const Stored& stored) {
  const Numbers n = numbers(s);
  double sum = 0, size = 0;
  std::int64_t count = 0;
  for (const std::int64_t r : spread(s.rows(), 64)) {
    if (s.padding_row == r) continue;
    const auto row = stored.row(0, r);
    if (!row) return {};
    for (const double x : *row) sum += x, size += std::fabs(x), ++count;
  }
  if (count < 64) return {};
  const auto of = static_cast<double>(count);
  const double off = sum / of - n.mean, u = stored.unit_roundoff(0);
  const double tolerance = 9 * std::sqrt(n.variance / of) + size / of * (u + of * 0x1p-53) * (1 + 0x1p-7) + u * 0x1p-14;
  if (!(std::fabs(off) <= tolerance)) return fmt::format("the mean of {} values is off by {:.3g}, allowed {:.3g}", count, off, tolerance);
  return {};
}

Failed padding(const Learned& s, const Stored& stored) {
  const auto row = stored.row(0, *s.padding_row);
  if (!row) return {};
  for (std::size_t c = 0; c < row->size(); ++c)
    if ((*row)[c] != 0) return fmt::format("row {}, channel {}: {} in the padding row", *s.padding_row, c, print((*row)[c]));
  return {};
}

}  // namespace

std::vector<Law> Learned::laws() const {
  std::vector<Law> out;
  if (form == LearnedForm::distribution) return out;
  const auto add = [&](const char* law, const char* text, const char* from, Failed (*holds)(const Learned&, const Stored&)) {
    out.push_back({law, text, from, [spec = *this, holds](const Stored& stored) { return holds(spec, stored); }});
  };
  add("range", "values lie between the bounds of the distribution", "the initialiser's definition", range);
  if (initialiser != LearnedInitialiser::zeros && !uniforms.given())
    add("mean", "the mean of the values is that of the distribution, within nine standard errors", "the initialiser's definition", sample_mean);
  if (padding_row) add("padding", "the padding row is zero", "fairseq, RoBERTa: padding_idx", padding);
  return out;
}

}  // namespace posenc
