// Rotary tables over several coordinates: which tensors, and where the pairs of a row lie in its lanes. Used by rope_2d,
// rope_2d_mixed and rope_3d, whose rows hold one block of pairs for each axis.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "../numeric/scalar.hpp"
#include "posenc/field.hpp"
#include "posenc/law.hpp"
#include "posenc/names.hpp"
#include "posenc/tensor.hpp"

namespace posenc {

enum class RotaryPart : std::uint8_t { cos_sin, sin_cos, complex, angles, inv_freq, coordinates };
template <>
struct EnumNames<RotaryPart> {
  static constexpr std::array<EnumName<RotaryPart>, 6> values{{
      {RotaryPart::cos_sin, "cos-sin", "two tensors, cos and sin: EVA-02, Qwen2-VL, Pixtral, DINOv3"},
      {RotaryPart::sin_cos, "sin-cos", "one tensor [sin | cos]: timm's embed"},
      {RotaryPart::complex, "complex", "freqs_cis, cos + i sin of each pair: RoPE-ViT, Llama 4"},
      {RotaryPart::angles, "angles", "radians, not reduced"},
      {RotaryPart::inv_freq, "inv-freq", "the frequencies, radians per coordinate"},
      {RotaryPart::coordinates, "coordinates", "integer coordinates of each token on the grid, in the order of the axes"},
  }};
};

enum class RotaryLayout : std::uint8_t { half_width, half, interleaved, axis_halves };
template <>
struct EnumNames<RotaryLayout> {
  static constexpr std::array<EnumName<RotaryLayout>, 4> values{{
      {RotaryLayout::half_width, "half-width", "one column for each pair"},
      {RotaryLayout::half, "half", "lanes i and i + pairs alike: Qwen2-VL, Pixtral, DINOv3"},
      {RotaryLayout::interleaved, "interleaved", "lanes 2i and 2i + 1 alike: timm, EVA-02"},
      {RotaryLayout::axis_halves, "axis-halves", "each axis' block of lanes tiled in itself: Gemma 4; V-JEPA 2 as released"},
  }};
};

namespace detail {

/// One row of a table: `pairs` pairs, in blocks of `block` for each axis.
struct RotaryRow {
  RotaryPart part = RotaryPart::cos_sin;
  RotaryLayout layout = RotaryLayout::half_width;
  std::int64_t pairs = 0, block = 0;

  /// Refuses layouts that the part cannot have.
  void check() const;
  /// Columns of cos, sin or angles.
  [[nodiscard]] std::int64_t columns() const { return layout == RotaryLayout::half_width ? pairs : 2 * pairs; }
  /// The pair that a column belongs to.
  [[nodiscard]] std::int64_t pair(std::int64_t column) const;
  /// Tensors of the parts cos_sin, sin_cos, complex and angles.
  [[nodiscard]] std::vector<Tensor> tensors(const std::vector<Axis>& leading) const;
  [[nodiscard]] bool turns() const { return part == RotaryPart::cos_sin || part == RotaryPart::sin_cos || part == RotaryPart::complex; }

  enum class What : std::uint8_t { cosine, sine, angle };
  /// What an element of these tensors holds.
  struct Value {
    std::int64_t pair;
    What what;
  };
  [[nodiscard]] Value at(std::size_t tensor, std::span<const std::int64_t> index) const;

  /// Stored values of one row (a number over the leading axes), one for each column: cos and sin, or angles in `cos`.
  struct Read {
    std::vector<double> cos, sin;
  };
  [[nodiscard]] std::optional<Read> read(const Stored& stored, std::int64_t row) const;
  /// The first column of each pair, among those of read().
  [[nodiscard]] std::vector<std::size_t> first_columns() const;
  /// Whether read() has more than one column for each pair.
  [[nodiscard]] bool repeats() const { return layout != RotaryLayout::half_width; }
};

/// What a column holds of an angle. An angle that is exactly 0 gives exact numbers in running bounds too, which would else leave
/// the sign of a zero open.
template <class T>
T turned_by(const T& angle, RotaryRow::What what) {
  if (what == RotaryRow::What::angle) return angle;
  if constexpr (std::is_same_v<T, num::Bounded>)
    if (angle.v == 0 && angle.e == 0) return T::of(std::int64_t{what == RotaryRow::What::cosine ? 1 : 0});
  return what == RotaryRow::What::sine ? sin(angle) : cos(angle);
}

/// cos^2 + sin^2 = 1 in every column, on sampled rows of `rows`.
Law rotary_norm_law(const RotaryRow& row, std::int64_t rows, std::string source);
/// The columns of one pair are equal.
Law rotary_repeats_law(const RotaryRow& row, std::int64_t rows, std::string source);

}  // namespace detail
}  // namespace posenc
