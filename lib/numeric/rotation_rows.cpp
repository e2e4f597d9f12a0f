#include "numeric/rotation_rows.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/per_thread.hpp"
#include "simd/kernels.hpp"

namespace posenc::num {
namespace {

std::vector<Real> scaled(const std::vector<Real>& frequencies, std::int64_t step) {
  const Precision precision(256);
  std::vector<Real> out;
  out.reserve(frequencies.size());
  for (const Real& f : frequencies) out.push_back(f * Real::of(step));
  return out;
}

TwoDouble two(const Real& x) {
  TwoDouble t;
  x.two_double(t.hi, t.lo);
  return t;
}

// The largest magnitude among the positions; a table of a range's rows needs as many digits as a group has rows.
double largest(const Positions& positions, std::int64_t group_rows) {
  double most = static_cast<double>(std::min(group_rows, positions.size()));
  if (positions.size() == 0) return most;
  if (positions.is_range()) return std::max({most, std::abs(positions[0]), std::abs(positions[positions.size() - 1])});
  for (std::int64_t i = 0; i < positions.size(); ++i)
    if (const double x = std::abs(positions[i]); x < 0x1p54) most = std::max(most, x);
  return most;
}

}  // namespace

// Where the bounds come from, with m the amplitude. Doubles: the anchor m cos a is rounded once, off by m 2^-53 (relative
// half ulp, m may be any number), the fine entry by 2^-54; through the two products that is m (sqrt(2) 2^-53 + sqrt(2)
// 2^-54); two products and one sum below m(1 + tiny) round by m 2^-53 each: 5.2 m 2^-53 < m 2^-50. Two doubles:
// PhasorTable::error for the anchor, once more for the fine entry, and the products' 2^-101: below m 2^-89.
RotationRows::RotationRows(Positions positions, const std::vector<Real>& frequencies, const Real& amplitude)
    : number_(new_owner()), positions_(std::move(positions)), n_(frequencies.size()), amplitude_(two(amplitude)),
      unit_(frequencies, 64, largest(positions_, group_rows)) {
  amplitude_bound_ = std::abs(amplitude_.hi) * (1 + 0x1p-50);
  carried_ = std::all_of(frequencies.begin(), frequencies.end(), [](const Real& f) { return std::abs(f.to_double()) <= 0x1p32; });
  if (!positions_.is_range() || !carried_) return;
  if (positions_.step() != 1) step_ = std::make_unique<PhasorTable>(scaled(frequencies, positions_.step()), 0, static_cast<double>(group_rows));
  const std::int64_t rows = std::min(group_rows, positions_.size());
  if (rows == 0) return;
  const Phasor* fine = per_row().level(0);
  const std::size_t count = static_cast<std::size_t>(rows) * n_;
  fine_cos_.resize(count);
  fine_sin_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    fine_cos_[i] = fine[i].cos.hi;
    fine_sin_[i] = fine[i].sin.hi;
  }
}

RotationRows::~RotationRows() = default;

RotationRows::Cursor& RotationRows::cursor() const {
  return kept_for<Cursor>(number_, [this] { return std::make_unique<Cursor>(*this); });
}

RotationRows::Cursor::Cursor(const RotationRows& rows)
    : rows_(rows), anchor_(rows.n_), anchor_cos_(rows.n_), anchor_sin_(rows.n_) {}

// The anchor of a range is its group's first row; of a list, the row itself.
bool RotationRows::Cursor::anchor_for(std::int64_t r) {
  const bool range = rows_.positions_.is_range();
  const std::int64_t group = range ? r / group_rows : r;
  if (group == group_) return true;
  group_ = -1;
  if (!rows_.carried_) return false;
  if (!rows_.unit_.at(rows_.positions_[range ? group * group_rows : r], anchor_.data())) return false;
  for (std::size_t i = 0; i < anchor_.size(); ++i) {
    anchor_[i].cos = anchor_[i].cos * rows_.amplitude_;
    anchor_[i].sin = anchor_[i].sin * rows_.amplitude_;
    anchor_cos_[i] = anchor_[i].cos.hi;
    anchor_sin_[i] = anchor_[i].sin.hi;
  }
  group_ = group;
  return true;
}

bool RotationRows::Cursor::row(std::int64_t r, double* cos, double* sin) {
  if (!anchor_for(r)) return false;
  if (!rows_.positions_.is_range()) {
    if (cos) std::copy(anchor_cos_.begin(), anchor_cos_.end(), cos);
    if (sin) std::copy(anchor_sin_.begin(), anchor_sin_.end(), sin);
    return true;
  }
  const std::size_t at = static_cast<std::size_t>(r % group_rows) * rows_.n_;
  const simd::Kernels& kernels = simd::kernels();
  const double* fc = rows_.fine_cos_.data() + at;
  const double* fs = rows_.fine_sin_.data() + at;
  if (cos) kernels.rotate_cos(anchor_cos_.data(), anchor_sin_.data(), fc, fs, rows_.n_, cos);
  if (sin) kernels.rotate_sin(anchor_cos_.data(), anchor_sin_.data(), fc, fs, rows_.n_, sin);
  return true;
}

bool RotationRows::Cursor::rows_f32(std::int64_t r, std::int64_t rows, bool sine, float* out, std::size_t stride,
                                    std::vector<std::uint32_t>& undecided) {
  if (!rows_.positions_.is_range()) return false;
  const simd::Kernels& kernels = simd::kernels();
  const auto kernel = sine ? kernels.rotate_sin_f32 : kernels.rotate_cos_f32;
  for (std::int64_t done = 0; done < rows;) {
    if (!anchor_for(r + done)) return false;
    const std::int64_t within = (r + done) % group_rows;
    const std::int64_t run = std::min(rows - done, group_rows - within);
    const std::size_t at = static_cast<std::size_t>(within) * rows_.n_, before = undecided.size();
    const std::size_t base = static_cast<std::size_t>(done) * stride;
    undecided.resize(before + static_cast<std::size_t>(run) * rows_.n_);
    const std::size_t left = kernel(anchor_cos_.data(), anchor_sin_.data(), rows_.fine_cos_.data() + at, rows_.fine_sin_.data() + at,
                                    rows_.n_, static_cast<std::size_t>(run), rows_.bound().absolute, out + base, stride, undecided.data() + before);
    undecided.resize(before + left);
    for (std::size_t u = before; u < undecided.size(); ++u) undecided[u] += static_cast<std::uint32_t>(base);
    done += run;
  }
  return true;
}

bool RotationRows::Cursor::row2(std::int64_t r, Phasor* out) {
  if (!anchor_for(r)) return false;
  if (!rows_.positions_.is_range()) {
    std::copy(anchor_.begin(), anchor_.end(), out);
    return true;
  }
  const Phasor* fine = rows_.per_row().level(0) + static_cast<std::size_t>(r % group_rows) * rows_.n_;
  for (std::size_t i = 0; i < rows_.n_; ++i) out[i] = anchor_[i] * fine[i];
  return true;
}

}  // namespace posenc::num
