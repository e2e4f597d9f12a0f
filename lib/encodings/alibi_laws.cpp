// The laws of ALiBi tables. u is half an ulp of 1 in the stored dtype and e = 2^-53 that of the arithmetic here.
//
// Two kinds of numbers lie outside "within u |x| of the truth": those below the smallest normal are kept to within half the
// smallest step (`floor_of`: u times that normal, 2^-14 in f16, 2^-126 in f32 and bf16), and f16 stores magnitudes from
// 65520 up as infinities (`in_range`).
#include <fmt/format.h>

#include <cmath>

#include "encodings/alibi.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {
namespace {

constexpr double e = 0x1p-53;

using detail::floor_of;
using detail::in_range;
using detail::spread;

using Failed = std::optional<std::string>;
using Row = std::vector<double>;

bool of_distance(const Alibi& s) { return s.kind != AlibiKind::key_only && s.kind != AlibiKind::last_key; }
std::int64_t row_of(const Alibi& s, std::int64_t head, std::int64_t query) {
  return s.form == AlibiForm::matrix ? head * s.queries() + query : head;
}
// Query numbers and positions of a head's rows.
std::int64_t rows_per_head(const Alibi& s) { return s.form == AlibiForm::matrix ? s.queries() : 1; }
std::int64_t position_of(const Alibi& s, std::int64_t query) {
  return s.form == AlibiForm::matrix ? s.first_query() + query : s.last_query();
}
double slope_of(const Alibi& s, std::int64_t head) {
  const num::Precision precision(128);
  return s.slope(s.head_start + head).to_double();
}

// Every head's values are slope times weight, so two heads' values in one place are as their slopes. Both are off by u
// relative, the quotient of the slopes by 3e.
Failed ratio(const Alibi& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0);
  const std::int64_t query = rows_per_head(s) - 1;
  const bool vector = s.form == AlibiForm::slopes;
  for (const std::int64_t h : spread(s.heads() - 1)) {
    const auto a = stored.row(0, vector ? 0 : row_of(s, h, query)), b = stored.row(0, vector ? 0 : row_of(s, h + 1, query));
    if (!a || !b) return {};
    const double quotient = slope_of(s, h + 1) / slope_of(s, h);
    if (!std::isfinite(quotient)) continue;  // a learned slope of 0
    for (const std::int64_t c : vector ? std::vector<std::int64_t>{0} : spread(static_cast<std::int64_t>(a->size()))) {
      const double x = (*a)[static_cast<std::size_t>(vector ? h : c)], y = (*b)[static_cast<std::size_t>(vector ? h + 1 : c)];
      if (!std::isfinite(x) || !std::isfinite(y)) continue;  // masked, or beyond f16
      const double tolerance = (2 * u * (1 + u) + 4 * e) * std::fabs(y) + floor_of(u) * (1 + std::fabs(quotient));
      if (!(std::fabs(x * quotient - y) <= tolerance))
        return fmt::format("heads {} and {}, {} {}: {:.9g} and {:.9g} are not as their slopes, 1 to {:.9g}", s.head_start + h,
                           s.head_start + h + 1, vector ? "slope" : "column", vector ? h : c, x, y, quotient);
    }
  }
  return {};
}

// Equal distances give equal values, rounded alike: no tolerance.
Failed toeplitz(const Alibi& s, const Stored& stored) {
  for (const std::int64_t h : spread(s.heads()))
    for (const std::int64_t i : spread(s.queries() - 1)) {
      const auto a = stored.row(0, row_of(s, h, i)), b = stored.row(0, row_of(s, h, i + 1));
      if (!a || !b) return {};
      for (std::size_t j = 0; j + 1 < a->size(); ++j)
        if ((*a)[j] != (*b)[j + 1])
          return fmt::format("head {}: {:.9g} at query {}, key {} but {:.9g} one query and one key on, at the same distance",
                             s.head_start + h, (*a)[j], i, j, (*b)[j + 1]);
    }
  return {};
}

// value - slope * (key - query) is one number for the whole row. The value is off by u relative, slope * distance by 2e, the
// differences by e of their larger operand.
Failed row_constant(const Alibi& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0);
  for (const std::int64_t h : spread(s.heads())) {
    const double slope = slope_of(s, h);
    for (const std::int64_t i : spread(rows_per_head(s))) {
      const auto row = stored.row(0, row_of(s, h, i));
      if (!row) return {};
      const std::int64_t query = position_of(s, i);
      const std::int64_t zero = s.kind == AlibiKind::key_only ? 0 : s.key_position(s.key_length - 1);
      const double constant = slope * static_cast<double>(query - zero);
      for (std::size_t j = 0; j < row->size(); ++j) {
        const double x = (*row)[j], relative = slope * static_cast<double>(s.key_position(static_cast<std::int64_t>(j)) - query);
        if (!std::isfinite(x) && !in_range(relative + constant, u)) continue;
        const double tolerance = u * std::fabs(x) + floor_of(u) + 4 * e * (std::fabs(relative) + std::fabs(constant) + std::fabs(x));
        if (!(std::fabs(x - relative - constant) <= tolerance))
          return fmt::format("head {}, query {}, key {}: {:.9g} is slope * distance + {:.9g}, the rest of the row has {:.9g}",
                             s.head_start + h, i, j, x, x - relative, constant);
      }
    }
  }
  return {};
}

Failed mask(const Alibi& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0);
  for (const std::int64_t h : spread(s.heads())) {
    const double slope = slope_of(s, h);
    for (const std::int64_t i : spread(rows_per_head(s))) {
      const auto row = stored.row(0, row_of(s, h, i));
      if (!row) return {};
      const std::int64_t query = position_of(s, i);
      for (std::size_t j = 0; j < row->size(); ++j) {
        const std::int64_t distance = s.key_position(static_cast<std::int64_t>(j)) - query;
        const bool masked = (*row)[j] == -HUGE_VAL;
        const bool may_overflow = !in_range(slope * static_cast<double>(distance), u);
        if (distance > 0 ? !masked : !std::isfinite((*row)[j]) && !may_overflow)
          return fmt::format("head {}, query {}, key {}: {:.9g}, where a key {} the query has {}", s.head_start + h, i, j, (*row)[j],
                             distance > 0 ? "after" : "up to", distance > 0 ? "-inf" : "a number");
      }
    }
  }
  return {};
}

// Calls f(head, distance, value at it, value at its opposite) for pairs of cells until it returns a sentence.
template <class F>
Failed opposite(const Alibi& s, const Stored& stored, F&& f) {
  for (const std::int64_t h : spread(s.heads())) {
    if (s.form == AlibiForm::toeplitz) {
      const auto row = stored.row(0, h);
      if (!row) return {};
      const auto zero = s.last_query();
      for (std::int64_t d = 1; zero - d >= 0 && zero + d < static_cast<std::int64_t>(row->size()); ++d)
        if (Failed failed = f(h, d, (*row)[static_cast<std::size_t>(zero + d)], (*row)[static_cast<std::size_t>(zero - d)]))
          return failed;
      continue;
    }
    const std::vector<std::int64_t> some = spread(s.queries());
    std::vector<Row> rows;
    for (const std::int64_t i : some) {
      auto row = stored.row(0, row_of(s, h, i));
      if (!row) return {};
      rows.push_back(std::move(*row));
    }
    for (std::size_t a = 0; a < some.size(); ++a)
      for (std::size_t b = a + 1; b < some.size(); ++b) {
        const std::int64_t low = s.first_query() + some[a], high = s.first_query() + some[b];
        if (low < 0 || high >= s.key_length) continue;
        if (Failed failed = f(h, high - low, rows[a][static_cast<std::size_t>(high)], rows[b][static_cast<std::size_t>(low)]))
          return failed;
      }
  }
  return {};
}

// |d| and |-d| give one value, rounded alike: no tolerance.
Failed symmetric(const Alibi& s, const Stored& stored) {
  return opposite(s, stored, [&](std::int64_t h, std::int64_t d, double right, double left) -> Failed {
    if (right == left) return {};
    return fmt::format("head {}: {:.9g} at distance {} and {:.9g} at {}", s.head_start + h, right, d, left, -d);
  });
}

// Both values are off by u relative, half the slope by 2e and the difference by e.
Failed half(const Alibi& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0);
  std::int64_t head = -1;
  double slope = 0;
  return opposite(s, stored, [&](std::int64_t h, std::int64_t d, double right, double left) -> Failed {
    if (h != head) slope = slope_of(s, head = h);
    if (!std::isfinite(left) || !std::isfinite(right)) return {};  // beyond f16
    const double tolerance = (u + 2 * e) * (std::fabs(left) + std::fabs(right)) + 2 * e * std::fabs(slope) + 2 * floor_of(u);
    if (std::fabs(left - right - slope / 2) <= tolerance) return {};
    return fmt::format("head {}: {:.9g} at distance {} and {:.9g} at {} differ by {:.9g}, not by half the slope", s.head_start + h,
                       right, d, left, -d, left - right);
  });
}

}  // namespace

std::vector<Law> Alibi::laws() const {
  std::vector<Law> out;
  const auto add = [&](const char* law, const char* text, const char* paper, Failed (*holds)(const Alibi&, const Stored&)) {
    out.push_back({law, text, paper, [spec = *this, holds](const Stored& stored) { return holds(spec, stored); }});
  };
  const char* press = "Press et al. 2021, arXiv:2108.12409, section 3";
  if (heads() > 1) add("ratio", "values of two heads are as their slopes, which the rule gives", press, ratio);
  if (form == AlibiForm::slopes) return out;
  if (form == AlibiForm::matrix && of_distance(*this) && !key_positions)
    add("toeplitz", "bias(i, j) = bias(i + 1, j + 1): a function of the distance", press, toeplitz);
  if (!of_distance(*this))
    add("row-constant", "bias(i, j) - slope * (j - i) is the same for every key j, so softmax sees slope * distance", press,
        row_constant);
  if (kind == AlibiKind::causal) add("mask", "keys after the query have -inf, all others a number", press, mask);
  const bool pairs = form == AlibiForm::toeplitz || (form == AlibiForm::matrix && !key_positions);
  if (kind == AlibiKind::symmetric && pairs)
    add("symmetric", "bias(i, j) = bias(j, i)", "ofirpress/attention_with_linear_biases, issue 5", symmetric);
  if (kind == AlibiKind::deepmind && pairs)
    add("half", "bias at -d exceeds bias at d by half the slope, d > 0", "Ruoss et al. 2023, arXiv:2305.16843 (code)", half);
  return out;
}

}  // namespace posenc
