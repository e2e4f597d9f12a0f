// The laws of a sincos_2d table. u is half an ulp of 1 in the stored dtype; see sinusoidal_laws.cpp for f16's small numbers.
#include <fmt/format.h>

#include <cmath>

#include "encodings/sincos_2d.hpp"
#include "encodings/law_tools.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

using Failed = std::optional<std::string>;
constexpr double e = 0x1p-53;
constexpr double margin = 1 + 0x1p-7;

// Value of a pixel's channel, in either form; nothing where the tensor is not in the file.
class Grid {
 public:
  Grid(const Sincos2d& s, const Stored& stored) : s_(s), stored_(stored) {}
  std::optional<double> at(Sincos2d::Pixel p, std::int64_t channel) {
    const bool image = s_.form == Sincos2dForm::image;
    const bool by_row = s_.tokens == Sincos2dTokens::row_major;
    const std::int64_t row = image    ? channel * s_.height + p.y
                             : by_row ? s_.prefix_rows + p.y * s_.width + p.x
                                      : s_.prefix_rows + p.x * s_.height + p.y;
    if (row != row_) values_ = stored_.row(0, row_ = row);
    if (!values_) return {};
    return (*values_)[static_cast<std::size_t>(image ? p.x : channel)];
  }

 private:
  const Sincos2d& s_;
  const Stored& stored_;
  std::int64_t row_ = -1;
  std::optional<std::vector<double>> values_;
};

constexpr std::int64_t some = 8;  // rows and columns looked at

// sin^2 + cos^2: each square is off by 2u + u^2 relative, together by as much of 1; two products and a sum add 3e.
Failed norm(const Sincos2d& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0);
  const double tolerance = (2 * u + u * u) * margin + 4 * e;
  Grid grid(s, stored);
  for (const std::int64_t y : detail::spread(s.height, some))
    for (const std::int64_t x : detail::spread(s.width, some))
      for (const bool of_x : {false, true})
        for (std::int64_t i = 0; i < s.frequencies(); ++i) {
          const auto a = grid.at({y, x}, s.channel_of({i, of_x, true})), b = grid.at({y, x}, s.channel_of({i, of_x, false}));
          if (!a || !b) return {};
          const double off = *a * *a + *b * *b - 1;
          if (!(std::fabs(off) <= tolerance))
            return fmt::format("pixel ({}, {}), {}, pair {}: sin^2 + cos^2 - 1 = {:.3g}, allowed {:.3g}", y, x, of_x ? "x" : "y", i, off,
                               tolerance);
        }
  return {};
}

// Equal formulas give equal values, whatever the rounding.
Failed separable(const Sincos2d& s, const Stored& stored) {
  Grid one(s, stored), other(s, stored);
  for (const std::int64_t y : detail::spread(s.height, some))
    for (const std::int64_t x : detail::spread(s.width, some))
      for (std::int64_t c = 0; c < s.dim; ++c) {
        const bool of_x = s.channel(c).of_x;
        const auto here = one.at({y, x}, c), there = other.at(of_x ? Sincos2d::Pixel{0, x} : Sincos2d::Pixel{y, 0}, c);
        if (!here || !there) return {};
        if (*here != *there)
          return fmt::format("pixel ({}, {}), channel {}: {} where the first {} has {}", y, x, c, print(*here), of_x ? "row" : "column",
                             print(*there));
      }
  return {};
}

Failed prefix(const Sincos2d& s, const Stored& stored) {
  for (const std::int64_t r : detail::spread(s.prefix_rows, some)) {
    const auto row = stored.row(0, r);
    if (!row) return {};
    for (std::size_t c = 0; c < row->size(); ++c)
      if ((*row)[c] != 0) return fmt::format("prefix row {}, channel {}: {}", r, c, print((*row)[c]));
  }
  return {};
}

}  // namespace

std::vector<Law> Sincos2d::laws() const {
  std::vector<Law> out;
  const auto add = [&](const char* law, const char* text, const char* from, Failed (*holds)(const Sincos2d&, const Stored&)) {
    out.push_back({law, text, from, [spec = *this, holds](const Stored& stored) { return holds(spec, stored); }});
  };
  add("norm", "sin^2 + cos^2 = 1 in every pair", "arXiv:2111.06377, MAE get_2d_sincos_pos_embed", norm);
  if (!mask.given())
    add("separable", "a channel depends on one coordinate only", "arXiv:2111.06377, MAE get_2d_sincos_pos_embed", separable);
  if (prefix_rows > 0) add("prefix", "prefix rows are zero", "MAE: the class token's row", prefix);
  return out;
}

}  // namespace posenc
