// recurrent: parameters, tensors, the maps. The laws are in recurrent_laws.cpp.
#include "encodings/recurrent.hpp"

#include "encodings/model.hpp"
#include "encodings/recurrence.hpp"
#include "encodings/start_values.hpp"

namespace posenc {
namespace {

using num::Real;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// 1 / (1 + exp(-x)), and tanh x = 1 - 2 / (1 + exp(2x)). A framework's tanh is right for small x too: imitated arithmetics
// take the correctly rounded one.
template <class T>
T sigmoid(const T& x) {
  const T one = T::of(std::int64_t{1});
  return one / (one + exp(-x));
}
Real tanh(const Real& x) {
  const Real one = Real::of(std::int64_t{1});
  // exp(2x) is 0 or infinite to any precision in use beyond 2^20, and would not fit an exponent.
  const Real limit = Real::of(0x1p20);
  if (x > limit || x < -limit) throw num::Undecided{};
  return one - (one + one) / (one + exp(x + x));
}
template <class T>
T tanh(const T& x) {
  if (std::fabs(x.to_double()) > 20) return T::of(x.to_double() > 0 ? 1.0 : -1.0);
  return T::of(num::decide(DType::f32, [&] { return tanh(Real::of(x.to_double())); }));
}

// cos and sin of the rotation, pair by pair.
struct Turns {
  std::int64_t dim;
  double base;
  template <class T>
  std::vector<T> operator()() const {
    std::vector<T> out;
    for (std::int64_t i = 0; i < dim / 2; ++i) {
      T theta;
      if constexpr (std::is_same_v<T, Real>)
        theta = pow(T::of(base), -2 * i, dim);
      else
        theta = T::of(std::int64_t{1}) / pow(T::of(base), 2 * i, dim);
      out.push_back(cos(theta));
      out.push_back(sin(theta));
    }
    return out;
  }
};

// The root that start values are divided by.
struct Root {
  std::int64_t dim;
  template <class T>
  std::vector<T> operator()() const {
    return {sqrt(T::of(dim))};
  }
};

// One layer's weights, or their start values.
struct Layer {
  const Array *weight_ih, *weight_hh, *bias_ih, *bias_hh;
  std::uint32_t stream;
};

class Step {
 public:
  explicit Step(const Recurrent& s) : s_(s), turns_(Turns{s.dim, s.base}), root_(Root{s.dim}) {}

  template <class T>
  std::vector<T> first() const {
    const std::int64_t n = s_.map == RecurrentMap::linear ? s_.dim : s_.layers * s_.vectors * s_.dim;
    std::vector<T> out;
    for (std::int64_t i = 0; i < n; ++i)
      out.push_back(s_.initial.given() ? T::of(s_.initial.values[at(i)]) : T::of(s_.map == RecurrentMap::linear ? i % 2 : std::int64_t{0}));
    return s_.map == RecurrentMap::linear ? out : gru(out, 0);
  }
  template <class T>
  std::vector<T> next(const std::vector<T>& row, std::int64_t n) const {
    if (s_.map == RecurrentMap::gru) return gru(row, n + 1);
    if (s_.is_rotation()) return rotated(row);
    std::vector<T> out;
    for (std::int64_t i = 0; i < s_.dim; ++i) {
      T sum = T::of(std::int64_t{0});
      for (std::int64_t j = 0; j < s_.dim; ++j) sum = sum + T::of(s_.matrix.values[at(i * s_.dim + j)]) * row[at(j)];
      out.push_back(s_.bias.given() ? sum + T::of(s_.bias.values[at(i)]) : sum);
    }
    return out;
  }

 private:
  template <class T>
  std::vector<T> rotated(const std::vector<T>& row) const {
    const std::vector<T>& turn = turns_.of<T>();
    std::vector<T> out;
    for (std::size_t i = 0; i < row.size(); i += 2) {
      const T &c = turn[i], &s = turn[i + 1];
      out.push_back(c * row[i] + s * row[i + 1]);
      out.push_back(c * row[i + 1] - s * row[i]);
    }
    if (s_.bias.given())
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] + T::of(s_.bias.values[i]);
    return out;
  }

  template <class T>
  T weight(const Array& given, std::uint32_t stream, std::int64_t row, std::int64_t column, std::int64_t columns) const {
    if (given.given()) return T::of(given.values[at(row * columns + column)]);
    return T::of(detail::start_value(s_.seed, stream, row, column)) / root_.template of<T>()[0];
  }

  // All layers of all vectors after the input of position n; state [layer][vector][channel].
  template <class T>
  std::vector<T> gru(const std::vector<T>& state, std::int64_t n) const {
    const Layer layers[] = {{&s_.weight_ih_l0, &s_.weight_hh_l0, &s_.bias_ih_l0, &s_.bias_hh_l0, 1},
                            {&s_.weight_ih_l1, &s_.weight_hh_l1, &s_.bias_ih_l1, &s_.bias_hh_l1, 5}};
    const std::int64_t d = s_.dim;
    std::vector<T> out;
    for (std::int64_t l = 0; l < s_.layers; ++l)
      for (std::int64_t v = 0; v < s_.vectors; ++v) {
        const T* h = state.data() + (l * s_.vectors + v) * d;
        const std::vector<T> x = l == 0 ? std::vector<T>{T::of(n) * T::of(s_.time_step)}
                                        : std::vector<T>(out.begin() + v * d, out.begin() + (v + 1) * d);  // of layer l - 1 = 0
        const Layer& layer = layers[l];
        const auto columns = static_cast<std::int64_t>(x.size());
        const auto input = [&](std::int64_t row) {
          T sum = T::of(std::int64_t{0});
          for (std::int64_t j = 0; j < columns; ++j) sum = sum + weight<T>(*layer.weight_ih, layer.stream, row, j, columns) * x[at(j)];
          return sum + weight<T>(*layer.bias_ih, layer.stream + 2, row, 0, 1);
        };
        const auto hidden = [&](std::int64_t row) {
          T sum = T::of(std::int64_t{0});
          for (std::int64_t j = 0; j < d; ++j) sum = sum + weight<T>(*layer.weight_hh, layer.stream + 1, row, j, d) * h[j];
          return sum + weight<T>(*layer.bias_hh, layer.stream + 3, row, 0, 1);
        };
        for (std::int64_t i = 0; i < d; ++i) {
          const T r = sigmoid(input(i) + hidden(i)), z = sigmoid(input(d + i) + hidden(d + i));
          const T fresh = tanh(input(2 * d + i) + r * hidden(2 * d + i));
          out.push_back((T::of(std::int64_t{1}) - z) * fresh + z * h[i]);
        }
      }
    return out;
  }

  Recurrent s_;
  detail::Once<Turns> turns_;
  detail::Once<Root> root_;
};

}  // namespace

void Recurrent::check() const {
  const bool linear = map == RecurrentMap::linear;
  if (linear) {
    if (vectors != 1) fail_usage("vectors goes with map gru");
    if (is_rotation() && dim % 2 != 0) fail_usage(fmt::format("dim must be even for the rotation (sine and cosine), got {}; or give a matrix", dim));
    if (matrix.given()) check_shape(matrix, {dim, dim}, "matrix");
    if (bias.given()) check_shape(bias, {dim}, "bias");
    if (initial.given()) check_shape(initial, {dim}, "initial");
  } else {
    if (matrix.given() || bias.given()) fail_usage("matrix and bias go with map linear");
    if (initial.given()) check_shape(initial, {layers, vectors, dim}, "initial");
  }
  const struct {
    const Array& array;
    std::string_view name;
    std::vector<std::int64_t> shape;
    bool second;
  } weights[] = {
      {weight_ih_l0, "weight_ih_l0", {3 * dim, 1}, false},   {weight_hh_l0, "weight_hh_l0", {3 * dim, dim}, false},
      {bias_ih_l0, "bias_ih_l0", {3 * dim}, false},          {bias_hh_l0, "bias_hh_l0", {3 * dim}, false},
      {weight_ih_l1, "weight_ih_l1", {3 * dim, dim}, true},  {weight_hh_l1, "weight_hh_l1", {3 * dim, dim}, true},
      {bias_ih_l1, "bias_ih_l1", {3 * dim}, true},           {bias_hh_l1, "bias_hh_l1", {3 * dim}, true},
  };
  for (const auto& w : weights) {
    if (!w.array.given()) continue;
    if (linear) fail_usage(fmt::format("{} goes with map gru", w.name));
    if (w.second && layers < 2) fail_usage(fmt::format("{} goes with layers 2", w.name));
    check_shape(w.array, w.shape, w.name);
  }
}

std::vector<Tensor> Recurrent::tensors() const {
  if (map == RecurrentMap::linear) return {{"table", {{"position", length}, {"channel", dim}}, Kind::real, "p[k + 1] = A p[k] + b"}};
  return {{"table", {{"position", length}, {"vector", vectors}, {"channel", dim}}, Kind::real, "the last layer after each position"}};
}

struct Recurrent::Table::State {
  explicit State(const Recurrent& s) : spec(s), rows(s) {}
  // Where the last layer's values of a vector begin in a row.
  [[nodiscard]] std::size_t part(std::int64_t vector, std::int64_t channel) const {
    const std::int64_t last = spec.map == RecurrentMap::linear ? 0 : (spec.layers - 1) * spec.vectors;
    return at((last + vector) * spec.dim + channel);
  }
  Recurrent spec;
  detail::Recurrence<Step> rows;
};

Recurrent::Table::Table(const Recurrent& spec) : state_(std::make_shared<const State>(spec)) {}
Recurrent::Table Recurrent::table() const { return Table(*this); }

template <class T>
T Recurrent::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  return state_->rows.at<T>(index[0], state_->part(index.size() == 3 ? index[1] : 0, index.back()));
}

void Recurrent::Table::fill(std::size_t, Block& block) const {
  const State& s = *state_;
  const std::int64_t vectors = s.spec.vectors;
  for (std::int64_t r = 0; r < block.extent.rows; ++r) {
    const std::int64_t row = block.extent.row + r, cols = block.extent.cols;
    s.rows.fill(row / vectors, s.part(row % vectors, block.extent.col), cols, block.hi + r * cols, block.lo ? block.lo + r * cols : nullptr,
                block.bounds[r]);
  }
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(recurrent, Recurrent)
