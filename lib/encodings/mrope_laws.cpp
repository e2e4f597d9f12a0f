// The laws of an mrope table. u is half an ulp of 1 in the stored dtype; see span_laws.hpp for the smallest numbers.
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "encodings/mrope.hpp"
#include "encodings/mrope_ids.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {
namespace {

using detail::Failed;
using detail::spread;

constexpr const char* paper = "arXiv:2409.12191, section 2.1";

struct Known {
  explicit Known(const Mrope& s) : spec(s), ids(s) {}
  Mrope spec;
  MropeIds ids;
  [[nodiscard]] std::int64_t id(std::int64_t token, std::int64_t pair) const { return ids.at(spec.axis(pair), token); }
};

// Cosine and sine of every pair of a position, wherever the layout has them; false when a tensor is not in the file.
bool pairs_of(const Mrope& s, const Stored& stored, std::int64_t position, std::vector<double>& c, std::vector<double>& z) {
  c.assign(static_cast<std::size_t>(s.pairs()), 0);
  z = c;
  const std::vector<Tensor> tensors = s.tensors();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const auto row = stored.row(t, position);
    if (!row) return false;
    for (std::int64_t k = 0; k < tensors[t].columns(); ++k) {
      const Mrope::Column column = s.column(t, k);
      (column.sine ? z : c)[static_cast<std::size_t>(column.pair)] = (*row)[static_cast<std::size_t>(k)];
    }
  }
  return true;
}

// Each stored component is within u m of the truth: (c + dc)^2 + (s + ds)^2 - m^2 <= m^2 (4u + 2u^2); binary64 adds a few 2^-53.
Failed norm(const Known& k, const Stored& stored) {
  const double u = stored.unit_roundoff(0), m = k.spec.attention_factor, tolerance = m * m * (4 * u + 2 * u * u + 0x1p-48);
  std::vector<double> c, s;
  for (const std::int64_t r : spread(k.ids.tokens())) {
    if (!pairs_of(k.spec, stored, r, c, s)) return {};
    for (std::size_t i = 0; i < c.size(); ++i) {
      const double off = c[i] * c[i] + s[i] * s[i] - m * m;
      if (!(std::fabs(off) <= tolerance)) return fmt::format("row {}, pair {}: cos^2 + sin^2 is {:.9g}, not {:.9g}", r, i, off + m * m, m * m);
    }
  }
  return {};
}

// The value is off by u relative and floor_of(u), what is computed here by its own running bound.
Failed plain(const Known& k, const Stored& stored) {
  using num::Bounded;
  const double u = stored.unit_roundoff(0);
  std::vector<double> c, s;
  for (const std::int64_t r : spread(k.ids.tokens())) {
    const std::int64_t id = k.ids.at(0, r);
    if (k.ids.at(1, r) != id || k.ids.at(2, r) != id) continue;
    if (!pairs_of(k.spec, stored, r, c, s)) return {};
    for (std::size_t i = 0; i < c.size(); ++i) {
      const Bounded angle = Bounded::of(id) * k.spec.frequency<Bounded>(static_cast<std::int64_t>(i)), m = Bounded::of(k.spec.attention_factor);
      for (const auto& [got, want] : {std::pair{c[i], cos(angle) * m}, std::pair{s[i], sin(angle) * m}})
        if (!(std::fabs(got - want.v) <= u * std::fabs(want.v) + 2 * want.e + detail::floor_of(u)))
          return fmt::format("row {}, pair {}: {:.9g} where RoPE at position {} has {:.9g}", r, i, got, id, want.v);
    }
  }
  return {};
}

// Equal ids round alike: no tolerance.
Failed one_axis(const Known& k, const Stored& stored) {
  std::vector<double> c, s, next_c, next_s;
  for (const std::int64_t r : spread(k.ids.tokens() - 1)) {
    if (!pairs_of(k.spec, stored, r, c, s) || !pairs_of(k.spec, stored, r + 1, next_c, next_s)) return {};
    for (std::int64_t i = 0; i < k.spec.pairs(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (k.id(r, i) == k.id(r + 1, i) && (c[at] != next_c[at] || s[at] != next_s[at]))
        return fmt::format("rows {} and {} differ in pair {}, whose id is {} in both", r, r + 1, i, k.id(r, i));
    }
  }
  return {};
}

Failed pairing(const Known& k, const Stored& stored) {
  const std::vector<Tensor> tensors = k.spec.tensors();
  for (std::size_t t = 0; t < tensors.size(); ++t)
    for (const std::int64_t r : spread(k.ids.tokens())) {
      const auto row = stored.row(t, r);
      if (!row) return {};
      std::vector<std::optional<double>> seen[2] = {std::vector<std::optional<double>>(static_cast<std::size_t>(k.spec.pairs())), {}};
      seen[1] = seen[0];
      for (std::int64_t c = 0; c < tensors[t].columns(); ++c) {
        const Mrope::Column column = k.spec.column(t, c);
        auto& first = seen[column.sine ? 1 : 0][static_cast<std::size_t>(column.pair)];
        const double value = (*row)[static_cast<std::size_t>(c)];
        if (first && *first != value) return fmt::format("{} row {}: the lanes of pair {} differ", tensors[t].name, r, column.pair);
        first = value;
      }
    }
  return {};
}

// A stored id is off by u; f16 may lose it to infinity.
Failed first_angle(const Known& k, const Stored& stored) {
  for (const std::int64_t r : spread(k.ids.tokens())) {
    const auto row = stored.row(0, r);
    if (!row) return {};
    const auto id = static_cast<double>(k.id(r, 0));
    if (std::isfinite((*row)[0]) && !(std::fabs((*row)[0] - id) <= stored.unit_roundoff(0) * std::fabs(id)))
      return fmt::format("row {}: the angle of pair 0 is {:.9g}, its id {:.9g}", r, (*row)[0], id);
  }
  return {};
}

// Integers: equal or wrong.
Failed walks(const Known& k, const Stored& stored) {
  const auto t = stored.row(0, 0), h = stored.row(0, 1), w = stored.row(0, 2);
  if (!t || !h || !w) return {};
  const auto at = [](const std::vector<double>& row, std::int64_t n) { return row[static_cast<std::size_t>(n)]; };
  for (std::int64_t n = 0; n < k.ids.tokens(); ++n) {
    const MropeIds::Placed& p = k.ids.span_of(n);
    if (p.span.kind == TokenSpanKind::text) {
      if (at(*t, n) != at(*h, n) || at(*t, n) != at(*w, n)) return fmt::format("the ids of the text's token {} differ: {}, {}, {}", n, at(*t, n), at(*h, n), at(*w, n));
      if (n > p.first_token && at(*t, n) != at(*t, n - 1) + 1) return fmt::format("the text's token {} has id {} after {}", n, at(*t, n), at(*t, n - 1));
      continue;
    }
    const std::int64_t grid = p.span.height * p.span.width, within = n - p.first_token;
    const double start = at(*t, p.first_token);
    if (at(*h, n) != start + static_cast<double>(within / p.span.width % p.span.height) || at(*w, n) != start + static_cast<double>(within % p.span.width))
      return fmt::format("token {}: row and column ids {} and {} of a grid that starts at {}", n, at(*h, n), at(*w, n), start);
    if (within % grid != 0 && at(*t, n) != at(*t, n - 1)) return fmt::format("token {}: time {} within a grid of time {}", n, at(*t, n), at(*t, n - 1));
    if (within > 0 && at(*t, n) < at(*t, n - 1)) return fmt::format("token {}: time {} after {}", n, at(*t, n), at(*t, n - 1));
  }
  return {};
}

Failed continues(const Known& k, const Stored& stored) {
  std::vector<double> rows[3];
  for (std::size_t a = 0; a < 3; ++a) {
    const auto row = stored.row(0, static_cast<std::int64_t>(a));
    if (!row) return {};
    rows[a] = *row;
  }
  auto next = static_cast<double>(k.spec.offset);
  for (const MropeIds::Placed& p : k.ids.placed()) {
    const double start = rows[0][static_cast<std::size_t>(p.first_token)];
    if (start != next) return fmt::format("token {} starts a span at id {}, not {}", p.first_token, start, next);
    if (p.span.kind != TokenSpanKind::text && k.spec.next_text == MropeNextText::grid) {
      next = start + static_cast<double>(std::max(p.span.height, p.span.width));
      continue;
    }
    for (const auto& row : rows)
      for (std::int64_t n = p.first_token; n < p.first_token + p.span.tokens(); ++n) next = std::max(next, row[static_cast<std::size_t>(n)] + 1);
  }
  return {};
}

// Pairs of the height and width, as far as there are any; the rest belongs to the time.
Failed counts(const Known& k, const Stored& stored) {
  const auto row = stored.row(0, 0);
  if (!row) return {};
  const auto [t, h, w] = k.spec.sections();
  const std::int64_t n = k.spec.pairs();
  std::int64_t want[3] = {t, h, w}, got[3] = {};
  if (k.spec.arrangement == MropeArrangement::interleaved) {
    want[1] = std::min(h, (n + 1) / 3);
    want[2] = std::min(w, n / 3);
    want[0] = n - want[1] - want[2];
  }
  for (const double a : *row)
    if (a == 0 || a == 1 || a == 2) ++got[static_cast<std::size_t>(a)];
  for (std::size_t a = 0; a < 3; ++a)
    if (got[a] != want[a]) return fmt::format("axis {} has {} pairs, not {}", a, got[a], want[a]);
  return {};
}

}  // namespace

std::vector<Law> Mrope::laws() const {
  std::vector<Law> out;
  const auto known = std::make_shared<const Known>(*this);
  const auto add = [&](const char* law, const char* text, const char* from, Failed (*holds)(const Known&, const Stored&)) {
    out.push_back({law, text, from, [known, holds](const Stored& stored) { return holds(*known, stored); }});
  };
  switch (output) {
    case MropePart::rotation:
      add("norm", "cos^2 + sin^2 = attention_factor^2 for every pair", "arXiv:2104.09864, section 3.2.2", norm);
      add("plain", "where the three ids are equal the row is plain RoPE's", paper, plain);
      add("one-axis", "a pair depends on the id of its axis only", paper, one_axis);
      if (layout == MropeLayout::half || layout == MropeLayout::interleaved || layout == MropeLayout::sin_cos)
        add("pairing", "all lanes of a pair hold the same value", paper, pairing);
      break;
    case MropePart::angles:
      if (inv_freq.empty()) add("first", "the angle of pair 0, whose frequency is 1, is its id", "arXiv:2104.09864, section 3.2.2", first_angle);
      break;
    case MropePart::position_ids:
      if (position_ids.given()) break;
      add("walk", "a text counts on all axes alike, a grid row by row at one time", paper, walks);
      add("next", "each span starts at the next id", "get_rope_index of Qwen2-VL", continues);
      break;
    case MropePart::axis: add("counts", "each axis has its section's pairs, as far as they reach", "config.rope_scaling.mrope_section", counts); break;
  }
  return out;
}

}  // namespace posenc
