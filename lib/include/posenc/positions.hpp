// The positions that are encoded: a range, or a list of integers or reals.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace posenc {

/// Text forms (the same on the command line, in specs and in metadata):
///   N        0, 1, .., N-1          (N >= 0; 128k and 1M mean multiples of 1024)
///   A:B      A, A+1, .., B-1
///   A:B:S    A, A+S, .. below B (above B for S < 0)
///   a,b,c    items, each an integer, a real or a range; a trailing comma makes a list of one
/// Integers to +-2^53, reals finite. A range is kept as three numbers; nothing is expanded.
class Positions {
 public:
  Positions() = default;
  static Positions range(std::int64_t start, std::int64_t stop, std::int64_t step = 1);
  static Positions list(std::vector<double> values);  ///< all finite, integers within +-2^53
  /// Throws usage for anything that is not exactly one of the forms above.
  static Positions parse(std::string_view text);

  [[nodiscard]] std::int64_t size() const { return is_range_ ? count_ : static_cast<std::int64_t>(values_.size()); }
  [[nodiscard]] double operator[](std::int64_t i) const {
    return is_range_ ? static_cast<double>(start_ + i * step_) : values_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] bool is_range() const { return is_range_; }
  [[nodiscard]] std::int64_t start() const { return start_; }
  [[nodiscard]] std::int64_t step() const { return step_; }
  /// Every position moved by `offset`; throws usage when one leaves +-2^53.
  [[nodiscard]] Positions shifted(std::int64_t offset) const;
  /// Largest position + 1 (0 when empty): the length that a position-dependent rule sees.
  [[nodiscard]] double length() const;
  /// The shortest text that parses back to the same positions; runs of integers become ranges.
  [[nodiscard]] std::string text() const;
  bool operator==(const Positions&) const = default;

 private:
  bool is_range_ = true;
  std::int64_t start_ = 0, step_ = 1, count_ = 0;
  std::vector<double> values_;
};

/// Largest magnitude of an integer position.
inline constexpr std::int64_t max_position = std::int64_t{1} << 53;

}  // namespace posenc
