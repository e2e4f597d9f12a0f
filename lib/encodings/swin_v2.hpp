// swin_v2: continuous relative position bias of windowed attention (Liu et al. 2022, arXiv:2111.09883, section 3.3).
//
// An offset of o patches along an axis of n patches has the log-spaced coordinate
//   sign(o) log2(1 + |8 o / (p - 1)|) / log2(8),   p the pretrained size of the axis, or n where that is 0
// and a small network with one hidden layer turns the two coordinates (vertical, horizontal) into each head's bias:
//   bias = 16 sigmoid( W2 relu( W1 (cy, cx) + b1 ) )
// in the row of swin's index (window.hpp). An axis of one patch has the coordinate 0. With a pretrained window coordinates go
// beyond log2(9) / log2(8).
#pragma once
#include <memory>

#include "window.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class SwinV2Output : std::uint8_t { coordinates, index, bias };
template <>
struct EnumNames<SwinV2Output> {
  static constexpr std::array<EnumName<SwinV2Output>, 3> values{{
      {SwinV2Output::coordinates, "coordinates", "log-spaced coordinates of every offset, [2 height - 1, 2 width - 1, 2]"},
      {SwinV2Output::index, "index", "row of the table of offsets for a query and a key, [query, key]"},
      {SwinV2Output::bias, "bias", "what the network makes of the coordinates, [head, query, key]"},
  }};
};

struct SwinV2 {
  static constexpr std::string_view name = "swin_v2";
  static constexpr std::string_view summary = "bias of a window of patches from log-spaced coordinates and a small network";
  static constexpr std::string_view source = "Liu et al. 2022, arXiv:2111.09883, section 3.3";

  SwinV2Output output = SwinV2Output::coordinates;
  Window window{.height = 8, .width = 8};
  std::int64_t pretrained_height = 0, pretrained_width = 0;
  Array weight_1{}, bias_1{}, weight_2{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which tensor"}, s.output);
    Window::fields(s.window, v);
    v(Field{.name = "pretrained_height", .metavar = "N", .help = "rows of the window in pretraining; 0: those of this window",
            .unit = "patches", .range = between(0, 1 << 12), .source = "config.pretrained_window_sizes"},
      s.pretrained_height);
    v(Field{.name = "pretrained_width", .metavar = "N", .help = "columns of the window in pretraining; 0: those of this window",
            .unit = "patches", .range = between(0, 1 << 12), .source = "config.pretrained_window_sizes"},
      s.pretrained_width);
    v(Field{.name = "weight_1", .metavar = "FILE", .help = "W1 [hidden, 2]; output bias needs it", .source = "cpb_mlp.0.weight"}, s.weight_1);
    v(Field{.name = "bias_1", .metavar = "FILE", .help = "b1 [hidden]; output bias needs it", .source = "cpb_mlp.0.bias"}, s.bias_1);
    v(Field{.name = "weight_2", .metavar = "FILE", .help = "W2 [num_heads, hidden]; output bias needs it", .source = "cpb_mlp.2.weight"},
      s.weight_2);
  }

  void check() const;
  /// `coordinates`, `index` or `bias`, see SwinV2Output.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] std::int64_t heads() const { return weight_2.shape.size() == 2 ? weight_2.shape[0] : 1; }
  /// What offsets along the axis are divided by.
  [[nodiscard]] std::int64_t divisor(bool vertical) const {
    const std::int64_t size = vertical ? window.height : window.width, before = vertical ? pretrained_height : pretrained_width;
    return (before == 0 ? size : before) - 1;
  }

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a SwinV2's values. Copies share their state.
class SwinV2::Table {
 public:
  explicit Table(const SwinV2& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;
  std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const SwinV2& encoding);

}  // namespace posenc
