// What rope_2d and rope_3d have in common: rotary tables in which each pair turns with one coordinate of the token.
//
// With n bands for each axis, band i of an axis turns by angle c f_i, c the token's coordinate on the axis:
//   c   index      k + grid_offset
//       linspace   -1 + 2k / (size - 1)                     both times reference / size where a reference is given
//       centres    2 pi (2 (k + 1/2 + grid_offset) / size - 1)
//   f   language      base^(-i / n)
//       alternating   base^(-(2i + a) / 2n), a = 0 on the first axis and 1 on the second
//       pixel         pi 2^(i / (n - 1) (log2(max_freq) - 1)) = pi (max_freq / 2)^(i / (n - 1))
//       pixel-linear  pi (1 + i / (n - 1) (max_freq / 2 - 1))
// In imitated arithmetics pi is multiplied into its own factor first, as in the formulas above, and equal steps are made from
// the nearer end, as torch.linspace does.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "rotary_layout.hpp"
#include "token_grid.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class AxialCoordinates : std::uint8_t { index, linspace, centres, centres_max, centres_min };
template <>
struct EnumNames<AxialCoordinates> {
  static constexpr std::array<EnumName<AxialCoordinates>, 5> values{{
      {AxialCoordinates::index, "index", "0, 1, 2, ..: timm, RoPE-ViT, EVA-02, Qwen2-VL, Pixtral; with grid_offset 1 Llama 4"},
      {AxialCoordinates::linspace, "linspace", "-1 to 1 in equal steps: timm with in_pixels or grid_type pixel"},
      {AxialCoordinates::centres, "centres", "2 pi times the patch's centre on -1 to 1: DINOv3"},
      {AxialCoordinates::centres_max, "centres-max", "the same, both axes divided by the larger size: DINOv3 with normalize_coords max"},
      {AxialCoordinates::centres_min, "centres-min", "the same, both axes divided by the smaller size: DINOv3 with normalize_coords min"},
  }};
};

enum class AxialFrequencies : std::uint8_t { language, alternating, pixel, pixel_linear };
template <>
struct EnumNames<AxialFrequencies> {
  static constexpr std::array<EnumName<AxialFrequencies>, 4> values{{
      {AxialFrequencies::language, "language", "base^(-4i / head_dim) on both axes: timm, RoPE-ViT, EVA-02, Qwen2-VL, Llama 4, DINOv3"},
      {AxialFrequencies::alternating, "alternating", "of base^(-2i / head_dim) the first axis takes even i, the second odd: Pixtral"},
      {AxialFrequencies::pixel, "pixel", "pi to pi max_freq / 2, geometric: timm with in_pixels"},
      {AxialFrequencies::pixel_linear, "pixel-linear", "pi to pi max_freq / 2 in equal steps: timm with linear_bands, EVA-02 with freqs_for pixel"},
  }};
};

namespace detail {

struct AxialRope {
  /// An axis of the rows: which coordinate of the grid's places it takes.
  struct Axis {
    std::size_t coordinate = 0;
    std::optional<std::int64_t> reference{};
  };

  RotaryRow row{};  ///< row.block bands for each axis; pairs beyond the axes do not turn
  TokenGrid grid{};
  std::vector<Axis> axes{};
  AxialCoordinates coordinates = AxialCoordinates::index;
  double grid_offset = 0;
  AxialFrequencies frequencies = AxialFrequencies::language;
  double base = 10000, max_freq = 224;
  std::optional<std::int64_t> max_patches_per_side{};  ///< part coordinates: one number for each token instead
  bool axis_first = false;                             ///< part coordinates: [axis, token] instead of [token, axis]

  [[nodiscard]] std::int64_t bands() const { return row.block; }
  [[nodiscard]] std::int64_t size(std::size_t axis) const { return grid.size(axes[axis].coordinate); }
  [[nodiscard]] bool centred() const { return coordinates >= AxialCoordinates::centres; }
  [[nodiscard]] bool pixels() const { return frequencies >= AxialFrequencies::pixel; }
  /// Axis and band of a pair; nothing where it does not turn.
  struct Turn {
    std::size_t axis;
    std::int64_t band;
  };
  [[nodiscard]] std::optional<Turn> turn(std::int64_t pair) const {
    const auto axis = static_cast<std::size_t>(pair / bands());
    return axis < axes.size() ? std::optional(Turn{axis, pair % bands()}) : std::nullopt;
  }

  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws(const std::string& paper) const;
};

/// Computes an AxialRope's values. Copies share their state.
class AxialRopeTable {
 public:
  explicit AxialRopeTable(const AxialRope& rope);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;
  std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace detail
}  // namespace posenc
