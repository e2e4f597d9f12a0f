// Values as generate stores them, for tables too large to check each one.
#pragma once
#include <functional>
#include <random>

#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"

namespace testing_support {

/// How many of some values, as generate stores them in tensor 0 (not as the truth has them: this sees the fill), are not
/// correctly rounded. Values at every edge of the leading axis and spread over it.
inline int wrong_stored_values(const posenc::Encoding& encoding, posenc::DType dtype,
                               const std::function<oracle::Big(const std::vector<std::int64_t>&)>& truth) {
  const posenc::Spec spec = spec_of(encoding, dtype);
  const auto planned = posenc::plan(spec, posenc::ComplexForm::pair);
  const MemoryFile file = generated(spec, planned, {.threads = 2});
  const posenc::Tensor tensor = encoding.tensors()[0];
  const std::int64_t n = tensor.elements(), edge = 2 * tensor.columns();
  std::mt19937_64 random(11);
  int wrong = 0;
  for (std::int64_t k = 0; k < 2 * edge + 400; ++k) {
    const std::int64_t flat = k < edge ? k : k < 2 * edge ? n - 1 - (k - edge) : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    const double stored = stored_value(dtype, file.bytes[0].data() + static_cast<std::size_t>(flat) * size_of(dtype));
    wrong += oracle::correctly_rounded(dtype, stored, truth(unravel(flat, tensor))) ? 0 : 1;
  }
  return wrong;
}

}  // namespace testing_support
