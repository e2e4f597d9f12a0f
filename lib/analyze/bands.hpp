// Which pairs training showed in full, and what a rule does to the others.
#pragma once
#include <cstdint>
#include <numbers>

namespace posenc::analyze_sections {

/// Frequencies are rounded, products of them once more: two numbers that differ by less than this are equal.
inline constexpr double rounding = 0x1p-50;

[[nodiscard]] inline double wavelength(double inv_freq) { return 2 * std::numbers::pi / inv_freq; }
[[nodiscard]] inline double turns(double inv_freq, std::int64_t positions) { return static_cast<double>(positions) * inv_freq / (2 * std::numbers::pi); }

/// Training showed every angle of a pair that turns at least once. Of another it showed angles up to trained * plain: beyond
/// them the pair is out of distribution.
[[nodiscard]] inline bool turns_once(double plain, std::int64_t trained) { return turns(plain, trained) >= 1; }
[[nodiscard]] inline bool out_of_distribution(double plain, double used, std::int64_t trained, std::int64_t context) {
  return !turns_once(plain, trained) && static_cast<double>(context) * used > static_cast<double>(trained) * plain * (1 + rounding);
}

}  // namespace posenc::analyze_sections
