// What contract_test.cpp asks of every encoding with its defaults, for one whose parameters (arrays, above all) a test makes.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "encodings/memory_file.hpp"
#include "encodings/mpfr_reference.hpp"
#include "posenc/array.hpp"
#include "posenc/spec.hpp"

namespace testing_support {

inline posenc::Spec spec_of(const posenc::Encoding& encoding, posenc::DType dtype) {
  posenc::Spec spec;
  spec.tables.push_back({"", std::shared_ptr<const posenc::Encoding>(encoding.clone())});
  spec.dtype = dtype;
  return spec;
}

inline std::vector<std::int64_t> unravel(std::int64_t flat, const posenc::Tensor& t) {
  std::vector<std::int64_t> index(t.axes.size());
  for (std::size_t i = t.axes.size(); i-- > 0;) {
    index[i] = flat % t.axes[i].size;
    flat /= t.axes[i].size;
  }
  return index;
}

/// All values of tensor 0: integers, or correctly rounded in the dtype.
inline std::vector<double> values_of(const posenc::Encoding& encoding, posenc::DType dtype = posenc::DType::f64) {
  const posenc::Tensor tensor = encoding.tensors()[0];
  const auto evaluator = encoding.evaluator();
  std::vector<double> out;
  if (tensor.kind == posenc::Kind::integer) {
    std::vector<std::int64_t> integers(static_cast<std::size_t>(tensor.elements()));
    evaluator->integers(0, {0, tensor.rows(), 0, tensor.columns()}, integers.data());
    for (const std::int64_t v : integers) out.push_back(static_cast<double>(v));
    return out;
  }
  for (std::int64_t flat = 0; flat < tensor.elements(); ++flat) out.push_back(evaluator->truth(0, unravel(flat, tensor), dtype));
  return out;
}

/// The laws of an encoding over values that one changed; names of those that fail, joined by spaces.
inline std::string broken_laws(const posenc::Encoding& encoding, std::int64_t flat, double value) {
  class Changed final : public posenc::Stored {
   public:
    Changed(std::vector<double> values, std::int64_t columns) : values_(std::move(values)), columns_(columns) {}
    std::optional<std::vector<double>> row(std::size_t, std::int64_t row) const override {
      const auto first = values_.begin() + row * columns_;
      return std::vector<double>(first, first + columns_);
    }
    double unit_roundoff(std::size_t) const override { return 0x1p-24; }

   private:
    std::vector<double> values_;
    std::int64_t columns_;
  };
  std::vector<double> values = values_of(encoding, posenc::DType::f32);
  values.at(static_cast<std::size_t>(flat)) = value;
  const Changed stored(std::move(values), encoding.tensors()[0].columns());
  std::string names;
  for (const posenc::Law& law : encoding.laws())
    if (law.check(stored)) names += (names.empty() ? "" : " ") + law.name;
  return names;
}

/// Bounds of the fill, correct rounding at every dtype, the same bytes for any cut, laws, text form, verification.
inline void check_encoding(const posenc::Encoding& encoding) {
  using namespace posenc;
  const auto evaluator = encoding.evaluator();
  const auto tensors = encoding.tensors();
  std::mt19937_64 random(9);
  std::vector<std::vector<std::int64_t>> sampled(tensors.size());
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].kind == Kind::integer) continue;
    const std::int64_t n = tensors[t].elements(), columns = tensors[t].columns();
    for (std::int64_t k = 0; k < std::min<std::int64_t>(n, 60); ++k)
      sampled[t].push_back(n <= 60 ? k : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)));
    int outside = 0;
    for (const std::int64_t flat : sampled[t]) {
      const double truth = evaluator->truth(t, unravel(flat, tensors[t]), DType::f64);
      for (const bool two : {false, true}) {
        double hi = 0, lo = 0;
        ErrorBound bound;
        Block block{{flat / columns, 1, flat % columns, 1}, &hi, two ? &lo : nullptr, &bound};
        evaluator->fill(t, block);
        if (std::isinf(truth)) {
          outside += hi == truth ? 0 : 1;
          continue;
        }
        const double weight = block.column_weight ? *block.column_weight : 1;
        const double allowed = bound.absolute * weight + bound.relative * std::fabs(hi) + std::fabs(truth) * 0x1p-53;
        outside += std::fabs((hi - truth) + lo) <= allowed * (1 + 1e-9) ? 0 : 1;
      }
    }
    CHECK(outside == 0);
  }
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Spec spec = spec_of(encoding, dtype);
    const std::string text = spec.json();
    CHECK(Spec::parse(text, "sample").json() == text);
    const auto planned = plan(spec, ComplexForm::pair);
    MemoryFile file = generated(spec, planned, {.threads = 1});
    CHECK(generated(spec, planned, {.threads = 3, .block_bytes = 333}).bytes == file.bytes);
    int wrong = 0;
    for (std::size_t t = 0; t < tensors.size(); ++t)
      for (const std::int64_t flat : sampled[t]) {
        const double stored = stored_value(dtype, file.bytes[t].data() + static_cast<std::size_t>(flat) * size_of(dtype));
        wrong += stored == evaluator->truth(t, unravel(flat, tensors[t]), dtype) ? 0 : 1;
      }
    CHECK(wrong == 0);
    std::vector<std::size_t> sources;
    for (std::size_t t = 0; t < planned.size(); ++t) sources.push_back(t);
    for (const LawVerdict& law : check_laws(spec, file, planned, sources)) CHECK_MESSAGE(!law.failure, law.name, ": ", law.failure.value_or(""));
    for (const TensorVerdict& v : compare(spec, file, planned, sources, {})) CHECK(v.wrong == 0);
    for (std::size_t t = 0; t < planned.size(); ++t) {
      if (file.bytes[t].empty()) continue;
      const std::size_t size = size_of(planned[t].stored.dtype), at = file.bytes[t].size() / size / 2 * size;
      file.bytes[t][at] ^= std::byte{1};
      CHECK(compare(spec, file, planned, sources, {})[t].wrong == 1);
      file.bytes[t][at] ^= std::byte{1};
    }
  }
  for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::bfloat16}) {
    Spec spec = spec_of(encoding, DType::f32);
    spec.arithmetic = arithmetic;
    const auto planned = plan(spec, ComplexForm::pair);
    CHECK(generated(spec, planned, {.threads = 3, .block_bytes = 333}).bytes == generated(spec, planned, {.threads = 1}).bytes);
  }
}

/// An array of reproducible numbers between -1 and 1, multiples of 2^-20.
inline posenc::Array some_array(std::vector<std::int64_t> shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  posenc::Array array{std::move(shape), {}};
  for (std::int64_t i = 0; i < n; ++i)
    array.values.push_back(static_cast<double>(static_cast<std::int64_t>(random() % (1u << 21)) - (1 << 20)) * 0x1p-20);
  return array;
}

}  // namespace testing_support
