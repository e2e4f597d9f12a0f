// In which order the rows of a table walk a grid of tokens.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "posenc/law.hpp"

namespace posenc::detail {

/// frames x height x width tokens, frame by frame and row by row; with `merge` m > 1 a frame is walked in blocks of m x m
/// tokens, row by row within each. Rows before and after the grid belong to no token of it.
struct TokenGrid {
  std::int64_t frames = 1, height = 1, width = 1;
  std::int64_t merge = 1;
  std::int64_t prefix_rows = 0, suffix_rows = 0;

  /// Coordinates (frame, row, column).
  using Place = std::array<std::int64_t, 3>;

  [[nodiscard]] std::int64_t tokens() const { return frames * height * width; }
  [[nodiscard]] std::int64_t rows() const { return prefix_rows + tokens() + suffix_rows; }
  [[nodiscard]] std::int64_t size(std::size_t coordinate) const { return coordinate == 0 ? frames : coordinate == 1 ? height : width; }
  /// Nothing for the rows before and after the grid.
  [[nodiscard]] std::optional<Place> place(std::int64_t row) const {
    const std::int64_t token = row - prefix_rows;
    if (token < 0 || token >= tokens()) return {};
    const std::int64_t frame = token / (height * width), cell = token % (height * width);
    const std::int64_t inner = cell % (merge * merge), block = cell / (merge * merge), across = width / merge;
    return Place{frame, block / across * merge + inner / merge, block % across * merge + inner % merge};
  }
  [[nodiscard]] std::int64_t row_of(const Place& p) const {
    const std::int64_t block = p[1] / merge * (width / merge) + p[2] / merge;
    return prefix_rows + p[0] * height * width + block * merge * merge + p[1] % merge * merge + p[2] % merge;
  }
};

}  // namespace posenc::detail
