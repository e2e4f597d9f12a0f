// cnn_padding: how zero padding tells a convolutional network where the border is (Islam et al. 2020, arXiv:2001.08248).
//
// A field of ones goes through `depth` convolutions with the mean kernel (every weight 1 / kernel, or 1 / kernel^2 in 2-D),
// stride 1, padded to keep its size. With zero padding, a value differs from 1 exactly where the distance to the border is
// below depth * (kernel / 2), and it falls towards the border; with reflect, edge or circular padding everything stays 1: they
// leak no position. In 2-D the response is the product of the responses along y and x.
// The value at depth n is an integer over kernel^n; the truth is that number.
#pragma once
#include <algorithm>
#include <memory>

#include "numeric/real.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class CnnDimensions : std::uint8_t { one, two };
template <>
struct EnumNames<CnnDimensions> {
  static constexpr std::array<EnumName<CnnDimensions>, 2> values{{
      {CnnDimensions::one, "1", "a sequence of width positions"},
      {CnnDimensions::two, "2", "a map of height rows and width columns"},
  }};
};

enum class CnnPadding : std::uint8_t { zero, reflect, edge, circular };
template <>
struct EnumNames<CnnPadding> {
  static constexpr std::array<EnumName<CnnPadding>, 4> values{{
      {CnnPadding::zero, "zero", "zeros outside: the border shows"},
      {CnnPadding::reflect, "reflect", "mirrored at the outermost value: nothing shows"},
      {CnnPadding::edge, "edge", "the outermost value repeated: nothing shows"},
      {CnnPadding::circular, "circular", "the other end: nothing shows"},
  }};
};

enum class CnnForm : std::uint8_t { response, layers, differs, distance };
template <>
struct EnumNames<CnnForm> {
  static constexpr std::array<EnumName<CnnForm>, 4> values{{
      {CnnForm::response, "response", "response [x] or [y, x] after the last layer"},
      {CnnForm::layers, "layers", "layers [layer, x] or [layer, y, x], the ones that go in first"},
      {CnnForm::differs, "differs", "1 where a layer's value is not 1: [layer, x] or [layer, y, x]"},
      {CnnForm::distance, "distance", "distance to the nearest border, 0 at it: [x] or [y, x]"},
  }};
};

struct CnnPaddingResponse {
  static constexpr std::string_view name = "cnn_padding";
  static constexpr std::string_view summary = "the distance to the border that padded convolutions of ones give away";
  static constexpr std::string_view source = "Islam, Jia, Bruce 2020, arXiv:2001.08248";

  CnnDimensions dimensions = CnnDimensions::one;
  std::int64_t height = 16, width = 16;
  std::int64_t kernel = 3;
  std::int64_t depth = 6;
  CnnPadding padding = CnnPadding::zero;
  CnnForm form = CnnForm::response;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "dimensions", .metavar = "N", .help = "axes of the field"}, s.dimensions);
    v(Field{.name = "height", .metavar = "N", .help = "rows, of 2 dimensions", .unit = "positions", .range = between(1, 1 << 20), .count = true},
      s.height);
    v(Field{.name = "width", .metavar = "N", .help = "columns, or positions of 1 dimension", .unit = "positions", .range = between(1, 0x1p40),
            .count = true},
      s.width);
    v(Field{.name = "kernel", .metavar = "N", .help = "width of the mean kernel, odd", .unit = "positions", .range = between(1, 255)}, s.kernel);
    v(Field{.name = "depth", .metavar = "N", .help = "convolutions one after the other", .unit = "layers", .range = between(0, 256)}, s.depth);
    v(Field{.name = "padding", .metavar = "NAME", .help = "what lies outside the field"}, s.padding);
    v(Field{.name = "form", .metavar = "NAME", .help = "what is written"}, s.form);
  }

  void check() const;
  /// `response`, `layers`, or the integers `differs` or `distance`.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] bool planar() const { return dimensions == CnnDimensions::two; }
  /// Distance to the nearest border along an axis, 0 at it.
  [[nodiscard]] static std::int64_t distance(std::int64_t x, std::int64_t size) { return std::min(x, size - 1 - x); }
  /// Whether the value at a distance to the nearest border differs from 1 at a layer.
  [[nodiscard]] bool differs(std::int64_t layer, std::int64_t nearest) const {
    return padding == CnnPadding::zero && nearest < layer * (kernel / 2);
  }

  class Table;
  [[nodiscard]] Table table() const;
};

/// What computes a CnnPaddingResponse's values. Copies share their state.
class CnnPaddingResponse::Table {
 public:
  explicit Table(const CnnPaddingResponse& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  [[nodiscard]] std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const CnnPaddingResponse& encoding);

}  // namespace posenc
