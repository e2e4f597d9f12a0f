#include "analyze/base_search.hpp"

#include <algorithm>
#include <vector>

#include "numeric/cosine_sum.hpp"

namespace posenc::analyze_sections {
namespace {

using num::CosineSum;

// Positions where bases tried before failed, or nearly did: most bases fail at one of them too, and need no scan.
class Witnesses {
 public:
  bool refute(const CosineSum& sum) {
    for (std::size_t i = 0; i < std::min<std::size_t>(recent_.size(), 8); ++i)
      if (sum.negative(recent_[i])) {
        std::rotate(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(i), recent_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        return true;
      }
    for (const std::int64_t m : lowest_)
      if (sum.negative(m)) {
        note(m);
        return true;
      }
    return false;
  }
  /// Whether the sum stays above zero below `count`; keeps what the scan saw.
  bool carries(const CosineSum& sum, std::int64_t count) {
    CosineSum::Low low;
    const auto first = sum.first_negative(count, low, threshold_);
    if (low.size() > 4 * kept) threshold_ *= 0.8F;
    if (low.size() < kept) threshold_ *= 1.2F;
    std::sort(low.begin(), low.end());
    lowest_.clear();
    for (std::size_t i = 0; i < std::min(low.size(), kept); ++i) lowest_.push_back(low[i].second);
    if (first) note(*first);
    return !first;
  }

 private:
  static constexpr std::size_t kept = 1000;
  void note(std::int64_t m) {
    recent_.insert(recent_.begin(), m);
    if (recent_.size() > 64) recent_.pop_back();
  }
  std::vector<std::int64_t> recent_, lowest_;
  float threshold_ = 3;
};

}  // namespace

std::optional<BaseFound> smallest_base(const BaseSearch& s) {
  Witnesses witnesses;
  double bound = 1000 * static_cast<double>(s.length);
  std::optional<BaseFound> smallest;
  std::int64_t parts = 1;
  for (int k = 1; k <= s.depth; ++k) {
    parts *= 10;
    std::optional<double> found;
    for (std::int64_t j = 1; j <= parts && !found; ++j) {
      const double base = static_cast<double>(j) * bound / static_cast<double>(parts);
      const CosineSum sum = CosineSum::geometric(base, s.pairs, s.denominator);
      if (!witnesses.refute(sum) && witnesses.carries(sum, s.length)) found = base;
    }
    // A base can pass between coarse ones that all fail, the bound among them: the next round tries the same stretch more finely.
    if (!found) continue;
    smallest = BaseFound{*found, bound / static_cast<double>(parts)};
    bound = *found;
  }
  return smallest;
}

}  // namespace posenc::analyze_sections
