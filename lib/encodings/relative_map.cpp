// relative_map: parameters, maps, laws.
#include "encodings/relative_map.hpp"

#include <cmath>
#include <limits>

#include "encodings/model.hpp"
#include "encodings/span_laws.hpp"
#include "numeric/two_double.hpp"

namespace posenc {

void RelativeMap::check() const {
  span.check();
  if (!is_toeplitz()) {
    const std::string_view kind_name = enum_name(kind);
    if (span.first_query() < 0)
      fail_usage(fmt::format("query_offset {} is before position 0, from which {} counts", span.first_query(), kind_name));
    if (span.form == SpanForm::toeplitz)
      fail_usage(fmt::format("kind {} gives no function of the distance; use form row or matrix", kind_name));
  }
  if (kind == MapKind::dual_chunk) {
    if (local_window >= chunk_size)
      fail_usage(fmt::format("local_window {} leaves nothing of chunk_size {}; use less", local_window, chunk_size));
    if (future == MapFuture::formula) fail_usage("kind dual-chunk has no formula for keys after the query; use future mask");
  }
}

std::vector<Tensor> RelativeMap::tensors() const {
  return {{"map", span.axes(), is_integer() ? Kind::integer : Kind::real,
           future == MapFuture::mask ? "relative position, query minus key; -1 for keys after the query" : "relative position, query minus key"}};
}

RelativeMap::Value RelativeMap::value(std::int64_t query, std::int64_t key) const {
  const std::int64_t i_j = query - key;
  if (i_j < 0 && future == MapFuture::mask) return {.whole = -1};
  switch (kind) {
    case MapKind::plain: break;
    case MapKind::interpolated: return {.top = i_j, .divisor = factor};
    case MapKind::window: return {.whole = std::clamp(i_j, -window, window)};
    case MapKind::rerope: return {.whole = std::abs(i_j) < window ? i_j : window};
    case MapKind::leaky_rerope:
      if (std::abs(i_j) < window) break;
      return {.whole = window, .top = i_j - window, .divisor = factor};
    case MapKind::self_extend: {
      if (i_j < window) break;
      const std::int64_t grouped = query / group_size - key / group_size + window;
      if (is_integer()) return {.whole = grouped - window / group_size};
      return {.whole = grouped, .top = -window, .divisor = static_cast<double>(group_size)};
    }
    case MapKind::dual_chunk: {
      const std::int64_t s = chunk_length(), chunks_back = query / s - key / s;
      const std::int64_t above = chunks_back == 0   ? query % s
                                 : chunks_back == 1 ? std::min(query % s + s, largest_in_chunks())
                                                    : std::min(2 * s - 1, largest_in_chunks());
      return {.whole = above - key % s};
    }
  }
  return {.whole = i_j};
}

RelativeMap::Value RelativeMap::Table::at(std::span<const std::int64_t> index) const {
  // Of a Toeplitz map only the distance counts; the other maps have no such form.
  const AttentionSpan& span = spec_->span;
  const std::int64_t query = span.form == SpanForm::matrix ? span.first_query() + index[0] : span.last_query();
  return spec_->value(query, query + span.distance(index));
}

std::int64_t RelativeMap::Table::integer(std::size_t, std::span<const std::int64_t> index) const { return at(index).whole; }

template <class T>
T RelativeMap::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const Value v = at(index);
  if (v.top == 0) return T::of(v.whole);
  const T quotient = T::of(v.top) / T::of(v.divisor);
  return v.whole == 0 ? quotient : T::of(v.whole) + quotient;
}

// The quotient q as two doubles: its rounding leaves a remainder that is a double, whose own quotient rounds by 2^-53 of it,
// 2^-106 |q|. The sum adds 3 * 2^-106 (|whole| + |q|) (two_double.hpp). Without a remainder everything is exact.
void RelativeMap::Table::fill(std::size_t, Block& block) const {
  const Extent& e = block.extent;
  std::vector<std::int64_t> index(spec_->span.form == SpanForm::matrix ? 2 : 1);
  for (std::int64_t r = 0; r < e.rows; ++r) {
    ErrorBound bound;
    for (std::int64_t c = 0; c < e.cols; ++c) {
      index.front() = e.row + r;
      index.back() = e.col + c;
      const Value v = at(index);
      const auto top = static_cast<double>(v.top), whole = static_cast<double>(v.whole);
      const double quotient = top / v.divisor;
      const num::TwoDouble product = num::two_product(quotient, v.divisor);
      const double remainder = (top - product.hi) - product.lo;
      const num::TwoDouble sum = num::TwoDouble{whole, 0} + num::TwoDouble{quotient, remainder / v.divisor};
      const std::int64_t at = r * e.cols + c;
      block.hi[at] = sum.hi + 0.0;
      if (block.lo)
        block.lo[at] = sum.lo;
      else if (sum.lo != 0)
        bound.relative = 0x1.0000000000001p-53;
      if (remainder != 0) bound.absolute = std::max(bound.absolute, 0x1p-103 * (std::fabs(whole) + std::fabs(quotient)));
    }
    block.bounds[r] = bound;
  }
}

namespace {

// The paper or post of each kind.
const char* origin(MapKind kind) {
  switch (kind) {
    case MapKind::plain: return "Su et al. 2021, arXiv:2104.09864";
    case MapKind::interpolated: return "Chen et al. 2023, arXiv:2306.15595, equation 4";
    case MapKind::window: return "Shaw et al. 2018, arXiv:1803.02155, section 3.2: clip";
    case MapKind::rerope:
    case MapKind::leaky_rerope: return "Su 2023, kexue.fm/archives/9708";
    case MapKind::self_extend: return "Jin et al. 2024, arXiv:2401.01325, section 3";
    case MapKind::dual_chunk: break;
  }
  return "An et al. 2024, arXiv:2402.17463, section 3";
}

// Distances up to this one are left as they are; -1 where none is.
std::int64_t untouched(const RelativeMap& s) {
  switch (s.kind) {
    case MapKind::plain: return std::numeric_limits<std::int64_t>::max();
    case MapKind::interpolated: return s.factor == 1 ? std::numeric_limits<std::int64_t>::max() : 0;
    case MapKind::window:
    case MapKind::rerope:
    case MapKind::leaky_rerope: return s.window;
    case MapKind::self_extend: return s.window - 1;
    case MapKind::dual_chunk: break;
  }
  // Keys in the query's chunk or the one before reach at least s back, and min(r + s, m) = r + s up to m - s positions back.
  return std::min(s.chunk_length(), s.largest_in_chunks() - s.chunk_length());
}

// What no entry of keys up to the query exceeds.
double largest(const RelativeMap& s) {
  const auto last = static_cast<double>(s.span.last_query()), w = static_cast<double>(s.window), g = static_cast<double>(s.group_size);
  switch (s.kind) {
    case MapKind::plain: return last;
    case MapKind::interpolated: return last / s.factor;
    case MapKind::window:
    case MapKind::rerope: return w;
    case MapKind::leaky_rerope: return std::max(std::min(last, w), w + (last - w) / s.factor);
    case MapKind::self_extend:
      return std::max(std::min(last, w - 1), std::floor(last / g) + w - (s.shift == MapShift::floor ? std::floor(w / g) : w / g));
    case MapKind::dual_chunk: break;
  }
  return static_cast<double>(s.largest_in_chunks());
}

}  // namespace

std::vector<Law> RelativeMap::laws() const {
  const char* paper = origin(kind);
  std::vector<Law> out;
  if (is_toeplitz() && span.form == SpanForm::matrix) out.push_back(detail::toeplitz_law(paper, span, 1));
  // A whole number rounds by u of itself, integers not at all (u = 0).
  out.push_back(detail::row_law("near", "a query and a key near it are i - j apart", paper, span, 1,
                                [near = untouched(*this)](const detail::SpanRow& row) -> detail::Failed {
                                  for (std::int64_t d = std::min<std::int64_t>(row.last(), 0); d >= row.first && -d <= near; --d) {
                                    const auto want = static_cast<double>(-d);
                                    if (std::isfinite(row.at(d)) && !(std::fabs(row.at(d) - want) <= row.unit_roundoff * want))
                                      return fmt::format("{:.9g} at distance {}", row.at(d), d);
                                  }
                                  return {};
                                }));
  // Rounding keeps order up to u; the bound itself takes up to four roundings of binary64.
  out.push_back(detail::row_law("range", fmt::format("entries of keys up to the query are between 0 and {:.9g}", largest(*this)), paper, span, 1,
                                [most = largest(*this)](const detail::SpanRow& row) -> detail::Failed {
                                  for (std::int64_t d = row.first; d <= std::min<std::int64_t>(row.last(), 0); ++d)
                                    if (std::isfinite(row.at(d)) && !(row.at(d) >= 0 && row.at(d) <= most * (1 + row.unit_roundoff + 0x1p-50)))
                                      return fmt::format("{:.9g} at distance {}, outside 0 to {:.9g}", row.at(d), d, most);
                                  return {};
                                }));
  if (kind == MapKind::dual_chunk) {
    out.push_back(detail::row_law("chunks", "within one chunk of keys the relative position falls by 1 with each key", paper, span, 1,
                                  [s = *this](const detail::SpanRow& row) -> detail::Failed {
                                    // The key at distance d of this row's query, whose key 0 is at row.first.
                                    for (std::int64_t d = row.first; d < std::min<std::int64_t>(row.last(), 0); ++d)
                                      if ((d + 1 - row.first) % s.chunk_length() != 0 && row.at(d) - row.at(d + 1) != 1)
                                        return fmt::format("{:.9g} at distance {} and {:.9g} at {}", row.at(d), d, row.at(d + 1), d + 1);
                                    return {};
                                  }));
  } else {
    // A rounding keeps order: no tolerance.
    out.push_back(detail::row_law("order", "no entry falls as a key before the query gets farther away", paper, span, 1,
                                  [](const detail::SpanRow& row) -> detail::Failed {
                                    for (std::int64_t d = row.first; d < std::min<std::int64_t>(row.last(), 0); ++d)
                                      if (row.at(d) < row.at(d + 1))
                                        return fmt::format("{:.9g} at distance {} and {:.9g} at {}", row.at(d), d, row.at(d + 1), d + 1);
                                    return {};
                                  }));
  }
  if (future == MapFuture::mask)
    out.push_back(detail::row_law("mask", "keys after the query have -1", "causal attention", span, 1, [](const detail::SpanRow& row) -> detail::Failed {
      for (std::int64_t d = std::max<std::int64_t>(row.first, 1); d <= row.last(); ++d)
        if (row.at(d) != -1) return fmt::format("{:.9g} at distance {}", row.at(d), d);
      return {};
    }));
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(relative_map, RelativeMap)
