// floater: positions as the path of a dynamical system, dp/dt = h(t, p) (Liu et al. 2020, arXiv:2003.09229, equation 5).
//
// Row k is p at t = k dt; between rows a solver takes `substeps` steps of dt / substeps. Fields h:
//   sinusoid          dp_2i/dt = theta_i p_2i+1, dp_2i+1/dt = -theta_i p_2i: from (0, 1, 0, 1, ..) its path is `sinusoidal`
//   sinusoid-forced   dp_2i/dt = theta_i cos(theta_i t), dp_2i+1/dt = -theta_i sin(theta_i t): the paper's form of the same
//   mlp               W2 [relu(W1 [p; t] + b1); t] + b2: FLOATER's flow_func_linear, the one in use
//   conv              of the vectors as channels: conv(kernel 5, stride 2, padding 2) of [p; t], selu, then transposed
//                     conv(kernel 5, stride 2, padding 2, output padding 1) of [.; t]: flow_func
// Solvers, with step h and slopes k1 = h(t, p) and so on:
//   euler             p + h k1
//   midpoint          p + h k2, k2 at t + h/2, p + h k1/2
//   rk4               p + h (k1 + 2 k2 + 2 k3 + k4) / 6, the classical rule
//   rk4-38            p + h (k1 + 3 k2 + 3 k3 + k4) / 8 with k2 at t + h/3, p + h k1/3; k3 at t + 2h/3, p + h (k2 - k1/3); k4 at
//                     t + h, p + h (k1 - k2 + k3): the 3/8 rule, which is what torchdiffeq calls rk4 and FLOATER uses
// The truth is what the solver gives in real arithmetic, not the path of the field. FLOATER: dt 0.01, 5 substeps.
// Weights that are not given stand at torch's start values (uniform within 1 / sqrt(fan_in), from the seed), initial vectors at
// xavier's. Rows need the rows before them: they are kept in memory as far as they were asked for.
#pragma once
#include <memory>

#include "numeric/real.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class FloaterField : std::uint8_t { sinusoid, sinusoid_forced, mlp, conv };
template <>
struct EnumNames<FloaterField> {
  static constexpr std::array<EnumName<FloaterField>, 4> values{{
      {FloaterField::sinusoid, "sinusoid", "each pair turns by itself: the sinusoidal table as a special solution"},
      {FloaterField::sinusoid_forced, "sinusoid-forced", "the same path driven by the time: the paper's form"},
      {FloaterField::mlp, "mlp", "linear, relu, linear, the time appended to each input: FLOATER's flow_func_linear"},
      {FloaterField::conv, "conv", "convolution, selu, transposed convolution, the time as one more channel: FLOATER's flow_func"},
  }};
};

enum class FloaterSolver : std::uint8_t { euler, midpoint, rk4, rk4_38 };
template <>
struct EnumNames<FloaterSolver> {
  static constexpr std::array<EnumName<FloaterSolver>, 4> values{{
      {FloaterSolver::euler, "euler", "order 1"},
      {FloaterSolver::midpoint, "midpoint", "order 2"},
      {FloaterSolver::rk4, "rk4", "order 4, the classical rule"},
      {FloaterSolver::rk4_38, "rk4-38", "order 4, the 3/8 rule: what torchdiffeq calls rk4, FLOATER"},
  }};
};

struct Floater {
  static constexpr std::string_view name = "floater";
  static constexpr std::string_view summary = "positions as the path of a dynamical system, by an explicit solver";
  static constexpr std::string_view source = "Liu et al. 2020, arXiv:2003.09229, equation 5";

  FloaterField field = FloaterField::sinusoid;
  FloaterSolver solver = FloaterSolver::rk4_38;
  std::int64_t dim = 8;
  std::int64_t length = 16;
  std::int64_t vectors = 1;
  std::int64_t hidden = 8;
  double dt = 1;
  std::int64_t substeps = 5;
  double base = 10000;
  Array initial{};
  Array weight_0{}, bias_0{}, weight_2{}, bias_2{};
  std::int64_t seed = 0;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "field", .metavar = "NAME", .help = "h of dp/dt = h(t, p)"}, s.field);
    v(Field{.name = "solver", .metavar = "NAME", .help = "how a step is taken"}, s.solver);
    v(Field{.name = "dim", .metavar = "N", .help = "width of a vector", .unit = "channels", .range = between(1, 4096)}, s.dim);
    v(Field{.name = "length", .metavar = "N", .help = "rows", .unit = "positions", .range = between(1, 1 << 24), .count = true}, s.length);
    v(Field{.name = "vectors", .metavar = "N", .help = "vectors at each position (biases of q, k and v); the channels of field conv",
            .unit = "vectors", .range = between(1, 4096)},
      s.vectors);
    v(Field{.name = "hidden", .metavar = "N", .help = "width of the inner layer of field mlp, or its channels of field conv", .unit = "channels",
            .range = between(1, 4096)},
      s.hidden);
    v(Field{.name = "dt", .metavar = "X", .help = "time from one position to the next", .unit = "time per position", .range = positive,
            .source = "FLOATER: time_dt 0.01; of the sinusoid 1"},
      s.dt);
    v(Field{.name = "substeps", .metavar = "N", .help = "steps of the solver from one position to the next", .range = between(1, 1 << 16),
            .source = "FLOATER: 5"},
      s.substeps);
    v(Field{.name = "base", .metavar = "X", .help = "theta_i = base^(-2i / dim) of the sinusoid's fields", .range = positive}, s.base);
    v(Field{.name = "initial", .metavar = "FILE", .help = "p(0) [vectors, dim]; absent: 0, 1, 0, 1, .. of the sinusoid's fields, else xavier's start values"},
      s.initial);
    v(Field{.name = "weight_0", .metavar = "FILE", .help = "first layer: [hidden, dim + 1] of mlp, [hidden, vectors + 1, 5] of conv"}, s.weight_0);
    v(Field{.name = "bias_0", .metavar = "FILE", .help = "first layer: [hidden]"}, s.bias_0);
    v(Field{.name = "weight_2", .metavar = "FILE", .help = "second layer: [dim, hidden + 1] of mlp, [hidden + 1, vectors, 5] of conv"}, s.weight_2);
    v(Field{.name = "bias_2", .metavar = "FILE", .help = "second layer: [dim] of mlp, [vectors] of conv"}, s.bias_2);
    v(Field{.name = "seed", .metavar = "N", .help = "key of the generator of start values", .range = between(0, 0x1p53)}, s.seed);
  }

  void check() const;
  /// `table` [position, vector, channel].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;
  [[nodiscard]] bool is_sinusoid() const { return field == FloaterField::sinusoid || field == FloaterField::sinusoid_forced; }

  class Table;
  [[nodiscard]] Table table() const;
};

/// What computes a Floater's values. Copies share their state.
class Floater::Table {
 public:
  explicit Table(const Floater& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Floater& encoding);

}  // namespace posenc
