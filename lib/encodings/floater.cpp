// floater: parameters, tensors, fields and solvers. The laws are in floater_laws.cpp.
#include "encodings/floater.hpp"

#include "encodings/model.hpp"
#include "encodings/recurrence.hpp"
#include "encodings/start_values.hpp"

namespace posenc {
namespace {

using num::Real;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
template <class T>
T whole(std::int64_t x) {
  return T::of(x);
}

// max(x, 0) and min(x, 0) without a comparison, which an interval around 0 could not decide.
template <class T>
T positive_part(const T& x) {
  return (x + abs(x)) / whole<T>(2);
}
template <class T>
T negative_part(const T& x) {
  return (x - abs(x)) / whole<T>(2);
}

// Klambauer et al. 2017, arXiv:1706.02515; the constants as the binary64 numbers of torch.
template <class T>
T selu(const T& x) {
  const T scale = T::of(1.0507009873554804934193349852946), alpha = T::of(1.6732632423543772848170429916717);
  return scale * (positive_part(x) + alpha * (exp(negative_part(x)) - whole<T>(1)));
}

// What a field needs that does not change: theta_i; or all weights, [weight_0 | bias_0 | weight_2 | bias_2].
struct Constants {
  Floater s;
  std::int64_t size_0, size_2, bias_2_size, fan_0, fan_2;

  explicit Constants(const Floater& f) : s(f) {
    const bool conv = s.field == FloaterField::conv;
    size_0 = conv ? s.hidden * (s.vectors + 1) * 5 : s.hidden * (s.dim + 1);
    size_2 = conv ? (s.hidden + 1) * s.vectors * 5 : s.dim * (s.hidden + 1);
    bias_2_size = conv ? s.vectors : s.dim;
    fan_0 = conv ? (s.vectors + 1) * 5 : s.dim + 1;
    fan_2 = conv ? s.vectors * 5 : s.hidden + 1;  // torch: of a transposed convolution the output channels times the kernel
  }
  template <class T>
  std::vector<T> operator()() const {
    std::vector<T> out;
    if (s.is_sinusoid()) {
      for (std::int64_t i = 0; i < s.dim / 2; ++i) {
        if constexpr (std::is_same_v<T, Real>)
          out.push_back(pow(T::of(s.base), -2 * i, s.dim));
        else
          out.push_back(whole<T>(1) / pow(T::of(s.base), 2 * i, s.dim));
      }
      return out;
    }
    const auto add = [&](const Array& given, std::int64_t n, std::uint32_t stream, std::int64_t fan) {
      const T root = sqrt(whole<T>(fan));
      for (std::int64_t i = 0; i < n; ++i)
        out.push_back(given.given() ? T::of(given.values[at(i)]) : T::of(detail::start_value(s.seed, stream, 0, i)) / root);
    };
    add(s.weight_0, size_0, 1, fan_0);
    add(s.bias_0, s.hidden, 2, fan_0);
    add(s.weight_2, size_2, 3, fan_2);
    add(s.bias_2, bias_2_size, 4, fan_2);
    return out;
  }
};

class Step {
 public:
  explicit Step(const Floater& s) : s_(s), shape_(s), constants_(Constants(s)) {}

  template <class T>
  std::vector<T> first() const {
    std::vector<T> out;
    const T xavier = sqrt(whole<T>(6) / whole<T>(s_.vectors + s_.dim));
    for (std::int64_t v = 0; v < s_.vectors; ++v)
      for (std::int64_t c = 0; c < s_.dim; ++c)
        out.push_back(s_.initial.given()  ? T::of(s_.initial.values[at(v * s_.dim + c)])
                      : s_.is_sinusoid() ? whole<T>(c % 2)
                                         : T::of(detail::start_value(s_.seed, 0, v, c)) * xavier);
    return out;
  }
  template <class T>
  std::vector<T> next(std::vector<T> p, std::int64_t n) const {
    const T h = T::of(s_.dt) / whole<T>(s_.substeps);
    for (std::int64_t j = 0; j < s_.substeps; ++j) p = step(p, whole<T>(n) * T::of(s_.dt) + whole<T>(j) * h, h);
    return p;
  }

 private:
  // The solvers' rules as in the header.
  template <class T>
  std::vector<T> step(const std::vector<T>& p, const T& t, const T& h) const {
    const std::size_t n = p.size();
    const auto moved = [&](auto&& slope) {
      std::vector<T> out;
      for (std::size_t i = 0; i < n; ++i) out.push_back(p[i] + h * slope(i));
      return out;
    };
    const T two = whole<T>(2), three = whole<T>(3);
    const std::vector<T> k1 = slope(t, p);
    switch (s_.solver) {
      case FloaterSolver::euler: return moved([&](std::size_t i) { return k1[i]; });
      case FloaterSolver::midpoint: {
        const std::vector<T> k2 = slope(t + h / two, moved([&](std::size_t i) { return k1[i] / two; }));
        return moved([&](std::size_t i) { return k2[i]; });
      }
      case FloaterSolver::rk4: {
        const std::vector<T> k2 = slope(t + h / two, moved([&](std::size_t i) { return k1[i] / two; }));
        const std::vector<T> k3 = slope(t + h / two, moved([&](std::size_t i) { return k2[i] / two; }));
        const std::vector<T> k4 = slope(t + h, moved([&](std::size_t i) { return k3[i]; }));
        return moved([&](std::size_t i) { return (k1[i] + two * k2[i] + two * k3[i] + k4[i]) / whole<T>(6); });
      }
      case FloaterSolver::rk4_38: break;
    }
    const std::vector<T> k2 = slope(t + h / three, moved([&](std::size_t i) { return k1[i] / three; }));
    const std::vector<T> k3 = slope(t + two * h / three, moved([&](std::size_t i) { return k2[i] - k1[i] / three; }));
    const std::vector<T> k4 = slope(t + h, moved([&](std::size_t i) { return k1[i] - k2[i] + k3[i]; }));
    return moved([&](std::size_t i) { return (k1[i] + three * (k2[i] + k3[i]) + k4[i]) / whole<T>(8); });
  }

  template <class T>
  std::vector<T> slope(const T& t, const std::vector<T>& p) const {
    const std::vector<T>& constants = constants_.of<T>();
    switch (s_.field) {
      case FloaterField::sinusoid:
      case FloaterField::sinusoid_forced: break;
      case FloaterField::mlp: return mlp(constants, t, p);
      case FloaterField::conv: return conv(constants, t, p);
    }
    std::vector<T> out;
    for (std::size_t i = 0; i < p.size(); i += 2) {
      const T& theta = constants[i % at(s_.dim) / 2];
      const bool forced = s_.field == FloaterField::sinusoid_forced;
      out.push_back(theta * (forced ? cos(theta * t) : p[i + 1]));
      out.push_back(-(theta * (forced ? sin(theta * t) : p[i])));
    }
    return out;
  }

  template <class T>
  std::vector<T> mlp(const std::vector<T>& w, const T& t, const std::vector<T>& p) const {
    std::vector<T> out;
    const auto layer = [&](const T* weight, const T* bias, const T* x, std::int64_t from, std::int64_t to, auto&& put) {
      for (std::int64_t i = 0; i < to; ++i) {
        const T* row = weight + i * (from + 1);
        T sum = whole<T>(0);
        for (std::int64_t j = 0; j < from; ++j) sum = sum + row[j] * x[j];
        put(sum + row[from] * t + bias[i]);
      }
    };
    const T* weight_0 = w.data();
    const T* bias_0 = weight_0 + shape_.size_0;
    const T* weight_2 = bias_0 + s_.hidden;
    for (std::int64_t v = 0; v < s_.vectors; ++v) {
      std::vector<T> inner;
      layer(weight_0, bias_0, p.data() + v * s_.dim, s_.dim, s_.hidden, [&](const T& x) { inner.push_back(positive_part(x)); });
      layer(weight_2, weight_2 + shape_.size_2, inner.data(), s_.hidden, s_.dim, [&](const T& x) { out.push_back(x); });
    }
    return out;
  }

  template <class T>
  std::vector<T> conv(const std::vector<T>& w, const T& t, const std::vector<T>& p) const {
    const std::int64_t d = s_.dim, half = d / 2, in = s_.vectors;
    const T* weight_0 = w.data();
    const T* bias_0 = weight_0 + shape_.size_0;
    const T* weight_2 = bias_0 + s_.hidden;
    const T* bias_2 = weight_2 + shape_.size_2;
    // y[c][x] = sum w[c][j][k] in[j][2x + k - 2]
    std::vector<T> inner;
    for (std::int64_t c = 0; c < s_.hidden; ++c)
      for (std::int64_t x = 0; x < half; ++x) {
        T sum = whole<T>(0);
        for (std::int64_t j = 0; j <= in; ++j)
          for (std::int64_t k = 0; k < 5; ++k) {
            const std::int64_t from = 2 * x + k - 2;
            if (from >= 0 && from < d) sum = sum + weight_0[(c * (in + 1) + j) * 5 + k] * (j < in ? p[at(j * d + from)] : t);
          }
        inner.push_back(selu(sum + bias_0[c]));
      }
    // out[c][2x + k - 2] += in[j][x] w[j][c][k]
    std::vector<T> out;
    for (std::int64_t c = 0; c < in; ++c)
      for (std::int64_t y = 0; y < d; ++y) {
        T sum = whole<T>(0);
        for (std::int64_t j = 0; j <= s_.hidden; ++j)
          for (std::int64_t k = (y + 2) % 2; k < 5; k += 2) {
            const std::int64_t x = (y + 2 - k) / 2;
            if (y + 2 >= k && x < half) sum = sum + weight_2[(j * in + c) * 5 + k] * (j < s_.hidden ? inner[at(j * half + x)] : t);
          }
        out.push_back(sum + bias_2[c]);
      }
    return out;
  }

  Floater s_;
  Constants shape_;
  detail::Once<Constants> constants_;
};

}  // namespace

void Floater::check() const {
  if (initial.given()) check_shape(initial, {vectors, dim}, "initial");
  if (is_sinusoid()) {
    if (dim % 2 != 0) fail_usage(fmt::format("dim must be even for field {} (sine and cosine), got {}", enum_name(field), dim));
    for (const auto& [array, what] : {std::pair{&weight_0, "weight_0"}, {&bias_0, "bias_0"}, {&weight_2, "weight_2"}, {&bias_2, "bias_2"}})
      if (array->given()) fail_usage(fmt::format("{} goes with field mlp or conv", what));
    return;
  }
  const bool conv = field == FloaterField::conv;
  if (conv && dim % 2 != 0) fail_usage(fmt::format("dim must be even for field conv, which halves and doubles it, got {}", dim));
  using Shape = std::vector<std::int64_t>;
  if (weight_0.given()) check_shape(weight_0, conv ? Shape{hidden, vectors + 1, 5} : Shape{hidden, dim + 1}, "weight_0");
  if (bias_0.given()) check_shape(bias_0, {hidden}, "bias_0");
  if (weight_2.given()) check_shape(weight_2, conv ? Shape{hidden + 1, vectors, 5} : Shape{dim, hidden + 1}, "weight_2");
  if (bias_2.given()) check_shape(bias_2, {conv ? vectors : dim}, "bias_2");
}

std::vector<Tensor> Floater::tensors() const {
  return {{"table", {{"position", length}, {"vector", vectors}, {"channel", dim}}, Kind::real, "p at time position * dt"}};
}

struct Floater::Table::State {
  explicit State(const Floater& s) : spec(s), rows(s) {}
  Floater spec;
  detail::Recurrence<Step> rows;
};

Floater::Table::Table(const Floater& spec) : state_(std::make_shared<const State>(spec)) {}
Floater::Table Floater::table() const { return Table(*this); }

template <class T>
T Floater::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  return state_->rows.at<T>(index[0], at(index[1] * state_->spec.dim + index[2]));
}

void Floater::Table::fill(std::size_t, Block& block) const {
  const State& s = *state_;
  const std::int64_t vectors = s.spec.vectors, cols = block.extent.cols;
  for (std::int64_t r = 0; r < block.extent.rows; ++r) {
    const std::int64_t row = block.extent.row + r;
    s.rows.fill(row / vectors, at(row % vectors * s.spec.dim + block.extent.col), cols, block.hi + r * cols, block.lo ? block.lo + r * cols : nullptr,
                block.bounds[r]);
  }
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(floater, Floater)
