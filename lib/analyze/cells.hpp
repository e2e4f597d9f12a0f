// Cells and words of reports.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "posenc/analyze.hpp"

namespace posenc::analyze_sections {

/// A number that JSON can hold, else nothing.
[[nodiscard]] Cell number(double value);
[[nodiscard]] Cell number(const std::optional<double>& value);
[[nodiscard]] Cell count(const std::optional<std::int64_t>& value);
/// "1 pair", "3 pairs".
[[nodiscard]] std::string counted(std::int64_t n, const std::string& one);

}  // namespace posenc::analyze_sections
