// Properties that finished tensors must have, each with its source; verify checks them on stored values.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace posenc {

/// Stored values as a law sees them. Values are the exact values of the stored dtype.
class Stored {
 public:
  virtual ~Stored() = default;
  /// One row (see Tensor::rows) of tensor number `tensor` of the encoding; nullopt when that tensor is not in the file.
  [[nodiscard]] virtual std::optional<std::vector<double>> row(std::size_t tensor, std::int64_t row) const = 0;
  /// Half an ulp of 1 in the stored dtype: a stored value x is within u * |x| of the truth (u = 2^-24 for f32).
  [[nodiscard]] virtual double unit_roundoff(std::size_t tensor) const = 0;
};

struct Law {
  std::string name;    ///< short: "norm"
  std::string text;    ///< one sentence, with the formula
  std::string source;  ///< paper, equation
  /// A sentence that says where and by how much the law fails, or nothing when it holds.
  std::function<std::optional<std::string>(const Stored&)> check;
};

}  // namespace posenc
