// Arrays for encodings that take some.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "posenc/array.hpp"

namespace reference {

/// An array of numbers as good as any: multiples of `step`, up to 50 of either sign.
inline posenc::Array filled(std::vector<std::int64_t> shape, double step) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  posenc::Array array{std::move(shape), {}};
  for (std::int64_t i = 0; i < n; ++i) array.values.push_back(step * static_cast<double>(i * 37 % 101 - 50));
  return array;
}

}  // namespace reference
