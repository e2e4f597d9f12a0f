#include "posenc/tensor.hpp"

#include <fmt/format.h>

#include "posenc/error.hpp"
#include "posenc/io.hpp"

namespace posenc {
namespace {

std::int64_t product(std::int64_t a, std::int64_t b, const std::string& name) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) fail_usage(fmt::format("tensor {} would have more than 2^63 elements", name));
  return result;
}

}  // namespace

std::int64_t Tensor::rows() const {
  std::int64_t n = 1;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) n = product(n, axes[i].size, name);
  return n;
}

std::int64_t Tensor::columns() const { return axes.empty() ? 1 : axes.back().size; }

std::int64_t Tensor::elements() const { return product(rows(), columns(), name); }

void Tensor::row_index(std::int64_t row, std::span<std::int64_t> out) const {
  for (std::size_t i = axes.size() - 1; i-- > 0;) {
    out[i] = row % axes[i].size;
    row /= axes[i].size;
  }
}

std::int64_t StoredTensor::values() const {
  std::int64_t n = is_complex ? 2 : 1;
  for (std::int64_t size : shape) n = product(n, size, name);
  return n;
}

std::int64_t StoredTensor::bytes() const { return product(values(), static_cast<std::int64_t>(size_of(dtype)), name); }

}  // namespace posenc
