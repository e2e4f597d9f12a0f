// The small networks that turn a few numbers into biases, over any scalar type.
#pragma once
#include <array>
#include <vector>

#include "posenc/array.hpp"

namespace posenc::detail {

/// max(x, 0) without a comparison, which a sum that is 0 but not known to be could never decide.
template <class T>
T relu(const T& x) {
  return (x + abs(x)) * T::of(0.5);
}

/// relu(weight x + bias) of `inputs`; weight [hidden, inputs], bias [hidden].
template <class T, std::size_t inputs>
std::vector<T> hidden_layer(const Array& weight, const Array& bias, const std::array<T, inputs>& x) {
  std::vector<T> out;
  for (std::size_t h = 0; h < bias.values.size(); ++h) {
    T sum = T::of(weight.values[h * inputs]) * x[0];
    for (std::size_t i = 1; i < inputs; ++i) sum = sum + T::of(weight.values[h * inputs + i]) * x[i];
    out.push_back(relu(sum + T::of(bias.values[h])));
  }
  return out;
}
/// Row `head` of weight [heads, hidden] times the hidden layer.
template <class T>
T output_of(const Array& weight, std::int64_t head, const std::vector<T>& hidden) {
  T sum = T::of(std::int64_t{0});
  for (std::size_t h = 0; h < hidden.size(); ++h)
    sum = sum + T::of(weight.values[static_cast<std::size_t>(head) * hidden.size() + h]) * hidden[h];
  return sum;
}

}  // namespace posenc::detail
