// recurrent: p[k + 1] = f(p[k]), a table made by a recurrence (FLOATER's discrete relatives, Liu et al. 2020, arXiv:2003.09229).
//
//   map linear   p[0] = initial, p[k + 1] = A p[k] + b. Without matrix, A is blockdiag [[cos, sin], [-sin, cos]](theta_i),
//                theta_i = base^(-2i / dim), and initial (0, 1, 0, 1, ..): the table is `sinusoidal`.
//   map gru      FLOATER's rnn_transformer: `layers` GRU layers of width dim fed with the time k * time_step; row k is the last
//                layer after that input, the layers start from initial. torch's gates, in its order r, z, n:
//                  r = sigma(W_ir x + b_ir + W_hr h + b_hr), z alike, n = tanh(W_in x + b_in + r (W_hn h + b_hn)),
//                  h' = (1 - z) n + z h
// Weights that are not given stand at torch's start values, uniform within 1 / sqrt(dim) from the seed; initial of a gru at 0.
// Rows need the rows before them: they are kept in memory as far as they were asked for.
#pragma once
#include <memory>

#include "numeric/real.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class RecurrentMap : std::uint8_t { linear, gru };
template <>
struct EnumNames<RecurrentMap> {
  static constexpr std::array<EnumName<RecurrentMap>, 2> values{{
      {RecurrentMap::linear, "linear", "A p + b; without a matrix the rotation whose table is sinusoidal"},
      {RecurrentMap::gru, "gru", "gated recurrent units fed with the time: FLOATER's rnn_transformer"},
  }};
};

struct Recurrent {
  static constexpr std::string_view name = "recurrent";
  static constexpr std::string_view summary = "a table made by a recurrence p[k + 1] = f(p[k]): a linear map or GRU layers";
  static constexpr std::string_view source = "Liu et al. 2020, arXiv:2003.09229; Su, kexue.fm/archives/8130";

  RecurrentMap map = RecurrentMap::linear;
  std::int64_t dim = 8;
  std::int64_t length = 32;
  std::int64_t vectors = 1;
  std::int64_t layers = 2;
  Array initial{};
  Array matrix{}, bias{};
  double base = 10000;
  double time_step = 0.01;
  Array weight_ih_l0{}, weight_hh_l0{}, bias_ih_l0{}, bias_hh_l0{};
  Array weight_ih_l1{}, weight_hh_l1{}, bias_ih_l1{}, bias_hh_l1{};
  std::int64_t seed = 0;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "map", .metavar = "NAME", .help = "what makes a row from the one before"}, s.map);
    v(Field{.name = "dim", .metavar = "N", .help = "width of a row", .unit = "channels", .range = between(1, 4096)}, s.dim);
    v(Field{.name = "length", .metavar = "N", .help = "rows", .unit = "positions", .range = between(1, 1 << 24), .count = true}, s.length);
    v(Field{.name = "vectors", .metavar = "N", .help = "vectors at each position of a gru, that start differently (biases of q, k and v)",
            .unit = "vectors", .range = between(1, 4096)},
      s.vectors);
    v(Field{.name = "layers", .metavar = "N", .help = "layers of a gru", .range = between(1, 2), .source = "FLOATER: 2"}, s.layers);
    v(Field{.name = "initial", .metavar = "FILE", .help = "[dim], or of a gru [layers, vectors, dim]; absent: 0, 1, 0, 1, .., or of a gru 0"},
      s.initial);
    v(Field{.name = "matrix", .metavar = "FILE", .help = "A [dim, dim]; absent: the rotation that makes sinusoidal"}, s.matrix);
    v(Field{.name = "bias", .metavar = "FILE", .help = "b [dim]; absent: 0"}, s.bias);
    v(Field{.name = "base", .metavar = "X", .help = "theta_i = base^(-2i / dim) of the rotation", .range = positive}, s.base);
    v(Field{.name = "time_step", .metavar = "X", .help = "input of a gru at row k, over k", .unit = "time per position",
            .source = "FLOATER: time_dt 0.01"},
      s.time_step);
    v(Field{.name = "weight_ih_l0", .metavar = "FILE", .help = "[3 dim, 1] of the first layer, for r, z and n"}, s.weight_ih_l0);
    v(Field{.name = "weight_hh_l0", .metavar = "FILE", .help = "[3 dim, dim] of the first layer"}, s.weight_hh_l0);
    v(Field{.name = "bias_ih_l0", .metavar = "FILE", .help = "[3 dim] of the first layer"}, s.bias_ih_l0);
    v(Field{.name = "bias_hh_l0", .metavar = "FILE", .help = "[3 dim] of the first layer"}, s.bias_hh_l0);
    v(Field{.name = "weight_ih_l1", .metavar = "FILE", .help = "[3 dim, dim] of the second layer"}, s.weight_ih_l1);
    v(Field{.name = "weight_hh_l1", .metavar = "FILE", .help = "[3 dim, dim] of the second layer"}, s.weight_hh_l1);
    v(Field{.name = "bias_ih_l1", .metavar = "FILE", .help = "[3 dim] of the second layer"}, s.bias_ih_l1);
    v(Field{.name = "bias_hh_l1", .metavar = "FILE", .help = "[3 dim] of the second layer"}, s.bias_hh_l1);
    v(Field{.name = "seed", .metavar = "N", .help = "key of the generator of start values", .range = between(0, 0x1p53)}, s.seed);
  }

  void check() const;
  /// `table` [position, channel], or of a gru [position, vector, channel].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;
  [[nodiscard]] bool is_rotation() const { return map == RecurrentMap::linear && !matrix.given(); }

  class Table;
  [[nodiscard]] Table table() const;
};

/// What computes a Recurrent's values. Copies share their state.
class Recurrent::Table {
 public:
  explicit Table(const Recurrent& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  void fill(std::size_t tensor, Block& block) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Recurrent& encoding);

}  // namespace posenc
