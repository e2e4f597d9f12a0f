// Tables R of sinusoids of the distance in falling order, which Transformer-XL and XLNet share:
//   row r, channel i            sin(d f_i)    d = first - r, clamped to -clamp .. clamp where clamp > 0
//   row r, channel dim / 2 + i  cos(d f_i)    f_i = base^(-2i / dim)
// The distance here is the paper's i - j, query minus key: keys before the query have positive ones.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "sinusoid.hpp"
#include "posenc/encoding.hpp"
#include "posenc/tensor.hpp"

namespace posenc::detail {

struct RelativeSinusoids {
  std::int64_t dim = 512;
  double base = 10000;
  std::int64_t first = 0, rows = 1;  ///< distance of row 0, number of rows
  std::int64_t clamp = 0;
  std::int64_t batch = 0;  ///< copies along a batch axis between row and channel; 0: no such axis
  bool mirrored = false;   ///< the second half of the batch has the opposite distances

  [[nodiscard]] std::int64_t distance(std::int64_t row) const {
    const std::int64_t d = first - row;
    return clamp > 0 ? std::clamp(d, -clamp, clamp) : d;
  }
  [[nodiscard]] bool opposite(std::int64_t copy) const { return mirrored && copy >= batch / 2; }

  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws(const char* source) const;

  class Table;
};

/// Computes the values. Copies share their state.
class RelativeSinusoids::Table {
 public:
  explicit Table(const RelativeSinusoids& spec);

  template <class T>
  T element(std::size_t, std::span<const std::int64_t> index) const {
    const RelativeSinusoids& s = state_->spec;
    const std::int64_t channel = index.back(), half = s.dim / 2;
    const std::int64_t distance = (s.batch > 0 && s.opposite(index[1]) ? -1 : 1) * s.distance(index[0]);
    const T angle = T::of(distance) * sinusoid_frequency<T>(s.base, channel % half, s.dim);
    return channel < half ? sin(angle) : cos(angle);
  }
  void fill(std::size_t tensor, Block& block) const;

 private:
  struct State {
    RelativeSinusoids spec;
    std::unique_ptr<Evaluator> plain;  ///< the same table without a batch axis
  };
  std::shared_ptr<const State> state_;
};

}  // namespace posenc::detail
