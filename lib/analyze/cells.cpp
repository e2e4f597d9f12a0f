#include "analyze/cells.hpp"

#include <fmt/format.h>

#include <cmath>

namespace posenc::analyze_sections {

Cell number(double value) { return std::isfinite(value) ? Cell(value) : Cell(); }
Cell number(const std::optional<double>& value) { return value ? number(*value) : Cell(); }
Cell count(const std::optional<std::int64_t>& value) { return value ? Cell(*value) : Cell(); }
std::string counted(std::int64_t n, const std::string& one) { return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s"); }

}  // namespace posenc::analyze_sections
