// Laws of tensors over an AttentionSpan, [.., query, key], [.., key] or [.., distance], checked on sampled rows.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "law_tools.hpp"
#include "encodings/attention_span.hpp"
#include "posenc/law.hpp"

namespace posenc::detail {

using Failed = std::optional<std::string>;

/// One row of one head: values at distances first, first + 1, ..
struct SpanRow {
  std::int64_t head, first;
  const std::vector<double>& values;
  double unit_roundoff;
  [[nodiscard]] std::int64_t last() const { return first + static_cast<std::int64_t>(values.size()) - 1; }
  /// Whether the row holds a distance, and the value there.
  [[nodiscard]] bool holds(std::int64_t distance) const { return distance >= first && distance <= last(); }
  [[nodiscard]] double at(std::int64_t distance) const { return values[static_cast<std::size_t>(distance - first)]; }
};

/// A law that every row keeps by itself; `heads` is 1 for tensors without a head axis.
Law row_law(std::string name, std::string text, std::string source, const AttentionSpan& span, std::int64_t heads,
            std::function<Failed(const SpanRow&)> holds);
/// value(i, j) = value(i + 1, j + 1). Equal numbers round alike: no tolerance. Only for form matrix.
Law toeplitz_law(std::string source, const AttentionSpan& span, std::int64_t heads);
/// One value for all distances up to `low` and one for all from `high` on. Equal numbers: no tolerance.
Law constant_law(std::string source, const AttentionSpan& span, std::int64_t heads, std::int64_t low, std::int64_t high);
/// value(d) = value(-d). Equal numbers: no tolerance.
Law symmetric_law(std::string source, const AttentionSpan& span, std::int64_t heads);
/// No value rises as the distance from the query grows, on either side; a rounding keeps order: no tolerance.
Law decay_law(std::string source, const AttentionSpan& span, std::int64_t heads);

}  // namespace posenc::detail
