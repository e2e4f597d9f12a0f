#include "encodings/span_laws.hpp"

#include <fmt/format.h>

#include <cmath>

namespace posenc::detail {

Law row_law(std::string name, std::string text, std::string source, const AttentionSpan& span, std::int64_t heads,
            std::function<Failed(const SpanRow&)> holds) {
  const auto check = [=](const Stored& stored) -> Failed {
    for (const std::int64_t head : spread(heads))
      for (const std::int64_t row : spread(span.rows())) {
        const auto values = stored.row(0, head * span.rows() + row);
        if (!values) return {};
        if (Failed failed = holds({head, span.row_distance(row), *values, stored.unit_roundoff(0)})) return failed;
      }
    return {};
  };
  return {std::move(name), std::move(text), std::move(source), check};
}

Law toeplitz_law(std::string source, const AttentionSpan& span, std::int64_t heads) {
  const auto check = [=](const Stored& stored) -> Failed {
    for (const std::int64_t head : spread(heads))
      for (const std::int64_t i : spread(span.queries() - 1)) {
        const auto a = stored.row(0, head * span.rows() + i), b = stored.row(0, head * span.rows() + i + 1);
        if (!a || !b) return {};
        for (std::size_t j = 0; j + 1 < a->size(); ++j)
          if ((*a)[j] != (*b)[j + 1])
            return fmt::format("head {}: {:.9g} at query {}, key {} but {:.9g} one query and one key on, at the same distance", head,
                               (*a)[j], i, j, (*b)[j + 1]);
      }
    return {};
  };
  return {"toeplitz", "value(i, j) = value(i + 1, j + 1): a function of the distance", std::move(source), check};
}

Law constant_law(std::string source, const AttentionSpan& span, std::int64_t heads, std::int64_t low, std::int64_t high) {
  return row_law("constant", fmt::format("one value for all distances up to {} and one for all from {} on", low, high), std::move(source),
                 span, heads, [=](const SpanRow& row) -> Failed {
                   for (std::int64_t d = row.first; d < row.last(); ++d)
                     if ((d + 1 <= low || d >= high) && row.at(d) != row.at(d + 1))
                       return fmt::format("head {}: {:.9g} at distance {} and {:.9g} at {}", row.head, row.at(d), d, row.at(d + 1), d + 1);
                   return {};
                 });
}

Law symmetric_law(std::string source, const AttentionSpan& span, std::int64_t heads) {
  return row_law("symmetric", "value(d) = value(-d)", std::move(source), span, heads, [](const SpanRow& row) -> Failed {
    for (std::int64_t d = 1; row.holds(d) || row.holds(-d); ++d)
      if (row.holds(d) && row.holds(-d) && row.at(d) != row.at(-d))
        return fmt::format("head {}: {:.9g} at distance {} and {:.9g} at {}", row.head, row.at(d), d, row.at(-d), -d);
    return {};
  });
}

Law decay_law(std::string source, const AttentionSpan& span, std::int64_t heads) {
  return row_law("decay", "no value rises as the distance grows on one side of the query", std::move(source), span, heads,
                 [](const SpanRow& row) -> Failed {
                   for (std::int64_t d = row.first; d < row.last(); ++d)
                     if (d < 0 ? row.at(d) > row.at(d + 1) : row.at(d + 1) > row.at(d))
                       return fmt::format("head {}: {:.9g} at distance {} and {:.9g} at {}", row.head, row.at(d), d, row.at(d + 1), d + 1);
                   return {};
                 });
}

}  // namespace posenc::detail
