#include "encodings/fields.hpp"

namespace posenc::detail {

std::string range_text(const Range& r) {
  const bool low = r.min != -std::numeric_limits<double>::infinity();
  const bool high = r.max != std::numeric_limits<double>::infinity();
  if (low && high) return fmt::format("{}{}, {}{}", r.open_min ? '(' : '[', print(r.min), print(r.max), r.open_max ? ')' : ']');
  if (low) return fmt::format("{} {}", r.open_min ? ">" : ">=", print(r.min));
  if (high) return fmt::format("{} {}", r.open_max ? "<" : "<=", print(r.max));
  return "";
}

void check_range(std::string_view name, const Range& r, double value) {
  const bool inside = (r.open_min ? value > r.min : value >= r.min) && (r.open_max ? value < r.max : value <= r.max);
  if (std::isfinite(value) && inside) return;
  const std::string text = range_text(r);
  const bool interval = text.starts_with('[') || text.starts_with('(');
  fail_usage(fmt::format("{} must be {}{}, got {}", name, interval ? "in " : "", text.empty() ? "finite" : text, print(value)));
}

}  // namespace posenc::detail
