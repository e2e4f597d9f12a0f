#include "encodings/relative_sinusoids.hpp"

#include <fmt/format.h>

#include <cmath>

#include "encodings/sinusoidal.hpp"
#include "encodings/span_laws.hpp"

namespace posenc::detail {

std::vector<Tensor> RelativeSinusoids::tensors() const {
  std::vector<Axis> axes{{"position", rows}};
  if (batch > 0) axes.push_back({"batch", batch});
  axes.push_back({"channel", dim});
  return {{"table", std::move(axes), Kind::real, fmt::format("[sin | cos] of query - key = {}, {}, ..", first, first - 1)}};
}

RelativeSinusoids::Table::Table(const RelativeSinusoids& spec) {
  auto state = std::make_shared<State>();
  state->spec = spec;
  Sinusoidal absolute{.dim = spec.dim, .base = spec.base, .layout = SinusoidalLayout::concatenated};
  if (spec.clamp > 0) {
    std::vector<double> positions;
    for (std::int64_t r = 0; r < spec.rows; ++r) positions.push_back(static_cast<double>(spec.distance(r)));
    absolute.positions = Positions::list(std::move(positions));
  } else {
    absolute.positions = Positions::range(spec.first, spec.first - spec.rows, -1);
  }
  state->plain = erase(absolute)->evaluator();
  state_ = std::move(state);
}

// Rows of the plain table, each repeated along the batch axis; opposite distances turn the sign of the sines.
void RelativeSinusoids::Table::fill(std::size_t, Block& block) const {
  const RelativeSinusoids& s = state_->spec;
  if (s.batch == 0) return state_->plain->fill(0, block);
  const Extent& e = block.extent;
  for (std::int64_t r = 0; r < e.rows; ++r) {
    double* hi = block.hi + r * e.cols;
    double* lo = block.lo ? block.lo + r * e.cols : nullptr;
    Block one{{(e.row + r) / s.batch, 1, e.col, e.cols}, hi, lo, block.bounds + r};
    state_->plain->fill(0, one);
    if (!s.opposite((e.row + r) % s.batch)) continue;
    for (std::int64_t c = 0; c < e.cols && e.col + c < s.dim / 2; ++c) {
      hi[c] = 0.0 - hi[c];
      if (lo) lo[c] = 0.0 - lo[c];
    }
  }
}

std::vector<Law> RelativeSinusoids::laws(const char* source) const {
  std::vector<Law> out;
  const std::int64_t copies = std::max<std::int64_t>(batch, 1);
  // Each of sin^2, cos^2 is off by 2u + u^2 of itself and rounds by 2^-53, as does their sum.
  out.push_back({"norm", "sin^2 + cos^2 = 1 for every frequency", source, [s = *this, copies](const Stored& stored) -> Failed {
                   const double u = stored.unit_roundoff(0), tolerance = 2 * u + u * u + 4 * 0x1p-53;
                   const auto half = static_cast<std::size_t>(s.dim / 2);
                   for (const std::int64_t r : spread(s.rows * copies)) {
                     const auto row = stored.row(0, r);
                     if (!row) return {};
                     for (std::size_t i = 0; i < half; ++i) {
                       const double norm = (*row)[i] * (*row)[i] + (*row)[half + i] * (*row)[half + i];
                       if (!(std::fabs(norm - 1) <= tolerance)) return fmt::format("row {}, frequency {}: sin^2 + cos^2 = {:.9g}", r, i, norm);
                     }
                   }
                   return {};
                 }});
  // sin is odd and cos even, rounded alike: no tolerance.
  out.push_back({"odd", "rows of opposite distances have opposite sines and equal cosines", source, [s = *this, copies](const Stored& stored) -> Failed {
                   const auto half = static_cast<std::size_t>(s.dim / 2);
                   const auto differ = [&](std::int64_t a, std::int64_t b) -> Failed {
                     const auto x = stored.row(0, a), y = stored.row(0, b);
                     if (!x || !y) return {};
                     for (std::size_t i = 0; i < half; ++i)
                       if ((*x)[i] != -(*y)[i] || (*x)[half + i] != (*y)[half + i])
                         return fmt::format("rows {} and {}, frequency {}: ({:.9g}, {:.9g}) and ({:.9g}, {:.9g})", a, b, i, (*x)[i], (*x)[half + i],
                                            (*y)[i], (*y)[half + i]);
                     return {};
                   };
                   for (const std::int64_t r : spread(s.rows)) {
                     const std::int64_t other = 2 * s.first - r;  // the row of the opposite distance
                     if (other > r && other < s.rows)
                       if (Failed failed = differ(r * copies, other * copies)) return failed;
                     if (s.mirrored)
                       if (Failed failed = differ(r * copies, r * copies + copies - 1)) return failed;
                   }
                   return {};
                 }});
  return out;
}

}  // namespace posenc::detail
