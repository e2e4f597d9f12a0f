// What a Rope's values are computed from: everything derived from the parameters, once. Private to the library.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "encodings/rope.hpp"
#include "numeric/decide.hpp"
#include "numeric/phasor.hpp"

namespace posenc {

struct RopeState {
  explicit RopeState(const Rope& rope);
  ~RopeState();

  Rope rope;
  RopeGeometry geometry;
  Positions positions;  ///< with the offset
  std::vector<Tensor> tensors;
  std::int64_t pairs, stride;
  std::size_t parts;  ///< tensors per frequency set

  /// Position of row i as a scalar of the formula.
  template <class T>
  T position(std::int64_t i) const {
    return T::of(positions[i]);
  }
  /// inv_freq of one pair; 0 for pairs that do not turn.
  template <class T>
  T inv_freq(std::size_t set, std::int64_t pair) const;
  template <class T>
  T amplitude() const {
    return rescale::scalar<T>(amplitude_real());
  }
  [[nodiscard]] num::Real amplitude_real() const;

  /// Fast values; false where the layout has none (small tensors).
  bool fill(std::size_t tensor, Block& block) const;
  /// Whole rows of cos and sin in f32, rounded as they are made; false where the layout, the positions or a pair that does
  /// not turn need the general way.
  bool rounded(std::size_t tensor, const Extent& extent, float* out, std::vector<std::uint32_t>& undecided) const;

 private:
  template <class T>
  [[nodiscard]] T formula(std::size_t set, std::int64_t pair) const;
  template <class T>
  const std::vector<T>& cached(std::size_t set) const;

  struct Fast;
  const Fast& fast(std::size_t set) const;
  [[nodiscard]] std::unique_ptr<Fast> make_fast(std::size_t set) const;

  struct Caches;
  std::unique_ptr<Caches> caches_;
};

}  // namespace posenc
