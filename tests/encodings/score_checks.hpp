// Encodings of several tensors, by the tensor's name: values against a formula of the test, laws over a changed value.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"

namespace testing_support {

inline std::size_t tensor_number(const posenc::Encoding& encoding, std::string_view name) {
  const auto tensors = encoding.tensors();
  const auto at = std::find_if(tensors.begin(), tensors.end(), [&](const posenc::Tensor& t) { return t.name == name; });
  REQUIRE(at != tensors.end());
  return static_cast<std::size_t>(at - tensors.begin());
}

inline std::vector<double> values_of(const posenc::Encoding& encoding, std::string_view name, posenc::DType dtype = posenc::DType::f64) {
  const std::size_t number = tensor_number(encoding, name);
  const posenc::Tensor tensor = encoding.tensors()[number];
  const auto evaluator = encoding.evaluator();
  std::vector<double> out;
  if (tensor.kind == posenc::Kind::integer) {
    std::vector<std::int64_t> integers(static_cast<std::size_t>(tensor.elements()));
    evaluator->integers(number, {0, tensor.rows(), 0, tensor.columns()}, integers.data());
    for (const std::int64_t v : integers) out.push_back(static_cast<double>(v));
    return out;
  }
  for (std::int64_t flat = 0; flat < tensor.elements(); ++flat) out.push_back(evaluator->truth(number, unravel(flat, tensor), dtype));
  return out;
}

/// How many values of a tensor, over all dtypes, are not the truth correctly rounded.
inline int wrong_values(const posenc::Encoding& encoding, std::string_view name,
                        const std::function<oracle::Big(const std::vector<std::int64_t>&)>& truth) {
  const posenc::Tensor tensor = encoding.tensors()[tensor_number(encoding, name)];
  int wrong = 0;
  for (const posenc::DType dtype : reference::float_dtypes) {
    const auto values = values_of(encoding, name, dtype);
    for (std::size_t flat = 0; flat < values.size(); ++flat)
      wrong += oracle::correctly_rounded(dtype, values[flat], truth(unravel(static_cast<std::int64_t>(flat), tensor))) ? 0 : 1;
  }
  return wrong;
}

/// The names of the laws that fail over binary32 values of which one changed, joined by spaces.
inline std::string broken_laws(const posenc::Encoding& encoding, std::string_view name, std::size_t flat, double value) {
  class Changed final : public posenc::Stored {
   public:
    std::optional<std::vector<double>> row(std::size_t tensor, std::int64_t row) const override {
      const auto first = values[tensor].begin() + row * columns[tensor];
      return std::vector<double>(first, first + columns[tensor]);
    }
    double unit_roundoff(std::size_t) const override { return 0x1p-24; }
    std::vector<std::vector<double>> values;
    std::vector<std::int64_t> columns;
  };
  Changed stored;
  for (const posenc::Tensor& tensor : encoding.tensors()) {
    stored.values.push_back(values_of(encoding, tensor.name, posenc::DType::f32));
    stored.columns.push_back(tensor.columns());
  }
  stored.values[tensor_number(encoding, name)].at(flat) = value;
  std::string names;
  for (const posenc::Law& law : encoding.laws())
    if (law.check(stored)) names += (names.empty() ? "" : " ") + law.name;
  return names;
}

/// The value of an array [head, position, lane], or of any three leading coordinates.
inline oracle::Big at(const posenc::Array& array, const std::vector<std::int64_t>& index) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < index.size(); ++i) flat = flat * array.shape[i] + index[i];
  return array.values.at(static_cast<std::size_t>(flat));
}
/// Sum of products over the last axis.
inline oracle::Big dot(const posenc::Array& a, std::vector<std::int64_t> i, const posenc::Array& b, std::vector<std::int64_t> j) {
  oracle::Big sum = 0;
  i.push_back(0);
  j.push_back(0);
  for (; i.back() < a.shape.back(); ++i.back(), ++j.back()) sum += at(a, i) * at(b, j);
  return sum;
}

}  // namespace testing_support
