#include "encodings/line_turns.hpp"

#include <cmath>

namespace posenc::detail {

bool LineTurns::is_modest(std::int64_t count, std::int64_t pairs) {
  std::int64_t entries = num::PhasorTable::radix;
  for (std::int64_t rest = count - 1; rest >= num::PhasorTable::radix; rest /= num::PhasorTable::radix) entries += num::PhasorTable::radix;
  constexpr std::int64_t most = (std::int64_t{1} << 23) / static_cast<std::int64_t>(sizeof(num::Phasor));
  return count <= std::int64_t{1} << 24 && pairs <= most / entries;
}

LineTurns::LineTurns(const std::vector<num::Real>& start, const std::vector<num::Real>& step, std::int64_t count)
    : table_(step, 0, static_cast<double>(count)) {
  const num::Precision precision(256);
  for (std::size_t i = 0; i < start.size(); ++i) {
    Line line;
    start[i].two_double(line.start.hi, line.start.lo);
    step[i].two_double(line.step.hi, line.step.lo);
    num::Real cosine, sine;
    cos_sin(start[i], cosine, sine);
    cosine.two_double(line.first.cos.hi, line.first.cos.lo);
    sine.two_double(line.first.sin.hi, line.first.sin.lo);
    lines_.push_back(line);
    // What underflows would look like an angle of 0.
    for (const num::TwoDouble& part : {line.start, line.step})
      carried_ = carried_ && std::fabs(part.hi) <= 0x1p32 && (part.hi == 0 || std::fabs(part.hi) >= 0x1p-900);
    carried_ = carried_ && (line.start.hi != 0 || start[i].sign() == 0) && (line.step.hi != 0 || step[i].sign() == 0);
  }
}

const std::vector<num::Phasor>& LineTurns::Cursor::at(std::int64_t k) {
  if (k == k_) return turn_;
  constexpr std::int64_t radix = num::PhasorTable::radix;
  const std::size_t n = anchor_.size();
  if (k / radix != group_) {
    group_ = k / radix;
    turns_.table_.at(group_ * radix, anchor_.data());
    for (std::size_t i = 0; i < n; ++i) anchor_[i] = turns_.lines_[i].first * anchor_[i];
  }
  const num::Phasor* within = turns_.table_.level(0) + static_cast<std::size_t>(k % radix) * n;
  for (std::size_t i = 0; i < n; ++i) turn_[i] = anchor_[i] * within[i];
  k_ = k;
  return turn_;
}

}  // namespace posenc::detail
