#include "encodings/rotary_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "encodings/span_laws.hpp"
#include "posenc/error.hpp"

namespace posenc::detail {

void RotaryRow::check() const {
  if (part == RotaryPart::complex && layout != RotaryLayout::half_width)
    fail_usage("complex values are one for each pair; part complex goes with layout half-width");
}

std::int64_t RotaryRow::pair(std::int64_t column) const {
  switch (layout) {
    case RotaryLayout::half_width: return column;
    case RotaryLayout::half: return column % pairs;
    case RotaryLayout::interleaved: return column / 2;
    case RotaryLayout::axis_halves: break;
  }
  // The last block may be shorter: lanes that do not turn.
  const std::int64_t start = column / (2 * block) * block, size = std::min(block, pairs - start);
  return start + (column - 2 * start) % size;
}

std::vector<Tensor> RotaryRow::tensors(const std::vector<Axis>& leading) const {
  const auto tensor = [&](std::string name, std::vector<Axis> last, std::string help, Kind kind = Kind::real) {
    std::vector<Axis> axes = leading;
    axes.insert(axes.end(), last.begin(), last.end());
    return Tensor{std::move(name), std::move(axes), kind, std::move(help)};
  };
  const std::string column = layout == RotaryLayout::half_width ? "pair" : "lane";
  switch (part) {
    case RotaryPart::sin_cos: return {tensor("sin_cos", {{"lane", 2 * columns()}}, "[sin | cos] of the angles")};
    case RotaryPart::complex: return {tensor("freqs_cis", {{"pair", pairs}, {"complex", 2}}, "cos + i sin of the angles", Kind::complex)};
    case RotaryPart::angles: return {tensor("angles", {{column, columns()}}, "radians")};
    default: return {tensor("cos", {{column, columns()}}, "cos of the angles"), tensor("sin", {{column, columns()}}, "sin of the angles")};
  }
}

RotaryRow::Value RotaryRow::at(std::size_t tensor, std::span<const std::int64_t> index) const {
  const std::int64_t last = index.back();
  switch (part) {
    case RotaryPart::sin_cos: return last < columns() ? Value{pair(last), What::sine} : Value{pair(last - columns()), What::cosine};
    case RotaryPart::complex: return {index[index.size() - 2], last == 0 ? What::cosine : What::sine};
    case RotaryPart::angles: return {pair(last), What::angle};
    default: return {pair(last), tensor == 0 ? What::cosine : What::sine};
  }
}

std::optional<RotaryRow::Read> RotaryRow::read(const Stored& stored, std::int64_t row) const {
  Read out;
  if (part == RotaryPart::complex) {
    for (std::int64_t p = 0; p < pairs; ++p) {
      const auto z = stored.row(0, row * pairs + p);
      if (!z) return {};
      out.cos.push_back((*z)[0]);
      out.sin.push_back((*z)[1]);
    }
    return out;
  }
  const auto first = stored.row(0, row);
  if (!first) return {};
  if (part == RotaryPart::sin_cos) {
    out.sin.assign(first->begin(), first->begin() + columns());
    out.cos.assign(first->begin() + columns(), first->end());
    return out;
  }
  out.cos = *first;
  if (part == RotaryPart::angles) return out;
  const auto second = stored.row(1, row);
  if (!second) return {};
  out.sin = *second;
  return out;
}

std::vector<std::size_t> RotaryRow::first_columns() const {
  std::vector<std::size_t> out(static_cast<std::size_t>(pairs));
  const std::int64_t n = part == RotaryPart::complex ? pairs : columns();
  for (std::int64_t c = n - 1; c >= 0; --c) out[static_cast<std::size_t>(pair(c))] = static_cast<std::size_t>(c);
  return out;
}

// Each of cos^2, sin^2 is off by 2u + u^2 of itself, together by as much of 1; two products and a sum round by 2^-53. A number
// below the smallest normal is off by floor_of(u), which its square does not show.
Law rotary_norm_law(const RotaryRow& row, std::int64_t rows, std::string source) {
  return {"norm", "cos^2 + sin^2 = 1 in every pair", std::move(source), [=](const Stored& stored) -> Failed {
            const double u = stored.unit_roundoff(0), tolerance = 2 * u + u * u + 4 * 0x1p-53;
            for (const std::int64_t r : spread(rows)) {
              const auto values = row.read(stored, r);
              if (!values) return {};
              for (std::size_t c = 0; c < values->cos.size(); ++c) {
                const double norm = values->cos[c] * values->cos[c] + values->sin[c] * values->sin[c];
                if (!(std::fabs(norm - 1) <= tolerance)) return fmt::format("row {}, column {}: cos^2 + sin^2 = {:.9g}", r, c, norm);
              }
            }
            return {};
          }};
}

// Equal numbers round alike: no tolerance.
Law rotary_repeats_law(const RotaryRow& row, std::int64_t rows, std::string source) {
  return {"repeats", "the two lanes of a pair hold the same value", std::move(source), [=](const Stored& stored) -> Failed {
            const auto first = row.first_columns();
            for (const std::int64_t r : spread(rows)) {
              const auto values = row.read(stored, r);
              if (!values) return {};
              for (const auto* column : {&values->cos, &values->sin})
                for (std::size_t c = 0; c < column->size(); ++c) {
                  const double twin = (*column)[first[static_cast<std::size_t>(row.pair(static_cast<std::int64_t>(c)))]];
                  if ((*column)[c] != twin) return fmt::format("row {}, lane {}: {:.9g} where its partner has {:.9g}", r, c, (*column)[c], twin);
                }
            }
            return {};
          }};
}

}  // namespace posenc::detail
