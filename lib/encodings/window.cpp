#include "encodings/window.hpp"

#include <fmt/format.h>

#include "encodings/span_laws.hpp"
#include "posenc/error.hpp"

namespace posenc::detail {

void WindowMatrix::check() const {
  if (!bias_table.given()) return;
  check_shape(bias_table, {table_rows(), -1}, "bias_table");
  if (bias_table.shape[1] < 1) fail_usage("bias_table has no heads; give it the shape [rows, num_heads]");
}

std::vector<Tensor> WindowMatrix::tensors() const {
  const Axis query{"query", tokens()}, key{"key", tokens()};
  if (!bias_table.given()) return {{"index", {query, key}, Kind::integer, "row of the bias table"}};
  return {{"bias", {{"head", heads()}, query, key}, Kind::real, "added to the scores, after their division by sqrt(head_dim)"}};
}

std::vector<Law> WindowMatrix::laws(const char* source) const {
  std::vector<Law> out;
  const auto each_row = [m = *this](const Stored& stored, auto&& holds) -> Failed {
    for (const std::int64_t head : spread(m.heads()))
      for (const std::int64_t query : spread(m.tokens())) {
        const auto row = stored.row(0, head * m.tokens() + query);
        if (!row) return {};
        if (Failed failed = holds(head, query, *row)) return failed;
      }
    return {};
  };
  // Equal offsets give equal values, rounded alike: no tolerance.
  out.push_back({"translation", "query and key moved by one column keep their value", source,
                 [m = *this, each_row](const Stored& stored) {
                   return each_row(stored, [&](std::int64_t head, std::int64_t query, const std::vector<double>& row) -> Failed {
                     const std::int64_t skip = m.class_token ? 1 : 0, width = m.window.width;
                     if (query < skip || (query - skip) % width == width - 1) return {};
                     const auto next = stored.row(0, head * m.tokens() + query + 1);
                     if (!next) return {};
                     for (std::int64_t key = skip; key < m.tokens(); ++key)
                       if ((key - skip) % width != width - 1 && row[static_cast<std::size_t>(key)] != (*next)[static_cast<std::size_t>(key + 1)])
                         return fmt::format("head {}: {:.9g} at query {}, key {} but {:.9g} one column on", head, row[static_cast<std::size_t>(key)],
                                            query, key, (*next)[static_cast<std::size_t>(key + 1)]);
                     return {};
                   });
                 }});
  if (class_token)
    out.push_back({"class-token", "the class token meets every cell with one value, and every cell it with another", source,
                   [m = *this, each_row](const Stored& stored) {
                     std::optional<std::vector<double>> second;
                     return each_row(stored, [&](std::int64_t head, std::int64_t query, const std::vector<double>& row) -> Failed {
                       if (m.tokens() < 2) return {};
                       second = stored.row(0, head * m.tokens() + 1);
                       if (!second) return {};
                       if (query > 0 && row[0] != (*second)[0])
                         return fmt::format("head {}: {:.9g} at query {}, key 0 but {:.9g} at query 1", head, row[0], query, (*second)[0]);
                       for (std::size_t key = 1; query == 0 && key < row.size(); ++key)
                         if (row[key] != row[1]) return fmt::format("head {}: {:.9g} at query 0, key {} but {:.9g} at key 1", head, row[key], key, row[1]);
                       return {};
                     });
                   }});
  if (bias_table.given()) return out;
  out.push_back({"mirror", "index(i, j) + index(j, i) is twice the centre of the table", source, [m = *this, each_row](const Stored& stored) {
                   return each_row(stored, [&](std::int64_t, std::int64_t query, const std::vector<double>& row) -> Failed {
                     const std::int64_t skip = m.class_token ? 1 : 0;
                     if (query < skip) return {};
                     for (const std::int64_t key : spread(m.tokens())) {
                       if (key < skip) continue;
                       const auto other = stored.row(0, key);
                       if (!other) return {};
                       const double sum = row[static_cast<std::size_t>(key)] + (*other)[static_cast<std::size_t>(query)];
                       if (sum != static_cast<double>(m.window.table_rows() - 1))
                         return fmt::format("query {}, key {}: the two indices add up to {:.9g}, not {}", query, key, sum, m.window.table_rows() - 1);
                     }
                     return {};
                   });
                 }});
  return out;
}

}  // namespace posenc::detail
