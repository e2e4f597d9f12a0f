// cpvt: the position encoding generator of Chu et al. 2021 (arXiv:2102.10882, section 3.2): y = x + DWConv(x) + bias.
//
// Tokens of a height x width map, row by row, are put back on the map and convolved channel by channel (kernel 3 x 3, zero
// padding kernel / 2); the position enters only through the padding. With stride 2 the map shrinks and x is not added. Class
// tokens are left out of it: prefix_rows rows of x are passed on unchanged.
// Arrays that are not given stand at the start values of the published code: weight and bias as torch.nn.Conv2d makes them,
// uniform within 1 / kernel (of Kaiming's rule with a = sqrt 5, fan_in = kernel^2), drawn from the seed as those of `learned`
// are; x is 1 everywhere, which shows the position by itself.
#pragma once
#include <memory>

#include "numeric/real.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

struct Cpvt {
  static constexpr std::string_view name = "cpvt";
  static constexpr std::string_view summary = "conditional positions: tokens plus a depthwise convolution of their zero-padded map";
  static constexpr std::string_view source = "Chu et al. 2021, arXiv:2102.10882, section 3.2";

  std::int64_t height = 14, width = 14;
  std::int64_t dim = 8;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t prefix_rows = 0;
  Array x{};
  Array weight{};
  Array bias{};
  std::int64_t seed = 0;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "height", .metavar = "N", .help = "rows of the token map", .unit = "tokens", .range = between(1, 1 << 20)}, s.height);
    v(Field{.name = "width", .metavar = "N", .help = "columns of the token map", .unit = "tokens", .range = between(1, 1 << 20)}, s.width);
    v(Field{.name = "dim", .metavar = "N", .help = "width of a token", .unit = "channels", .range = between(1, 1 << 16)}, s.dim);
    v(Field{.name = "kernel", .metavar = "N", .help = "side of the kernel, odd", .unit = "tokens", .range = between(1, 63),
            .source = "Twins' PosCNN: 3"},
      s.kernel);
    v(Field{.name = "stride", .metavar = "N", .help = "tokens from one output to the next; above 1 nothing is added to the convolution", .unit = "tokens",
            .range = between(1, 64), .source = "Twins' PosCNN: the residual only with stride 1"},
      s.stride);
    v(Field{.name = "prefix_rows", .metavar = "N", .help = "rows of x before the map that are passed on, as a class token", .unit = "rows",
            .range = between(0, 1 << 20)},
      s.prefix_rows);
    v(Field{.name = "x", .metavar = "FILE", .help = "[prefix_rows + height * width, dim] tokens; absent: ones"}, s.x);
    v(Field{.name = "weight", .metavar = "FILE", .help = "[dim, 1, kernel, kernel]; absent: start values of torch.nn.Conv2d"}, s.weight);
    v(Field{.name = "bias", .metavar = "FILE", .help = "[dim]; absent: start values of torch.nn.Conv2d"}, s.bias);
    v(Field{.name = "seed", .metavar = "N", .help = "key of the generator of start values", .range = between(0, 0x1p53)}, s.seed);
  }

  void check() const;
  /// `y` [token, channel].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] std::int64_t out_height() const { return (height - 1) / stride + 1; }
  [[nodiscard]] std::int64_t out_width() const { return (width - 1) / stride + 1; }

  class Table;
  [[nodiscard]] Table table() const;
};

/// What computes a Cpvt's values.
class Cpvt::Table {
 public:
  explicit Table(const Cpvt& spec) : spec_(std::make_shared<const Cpvt>(spec)) {}
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  std::shared_ptr<const Cpvt> spec_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Cpvt& encoding);

}  // namespace posenc
