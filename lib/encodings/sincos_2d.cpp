// sincos_2d: parameters, tensors, formula, fast fill. The laws are in sincos_2d_laws.cpp.
#include "encodings/sincos_2d.hpp"

#include <algorithm>
#include <mutex>

#include "encodings/model.hpp"

namespace posenc {
namespace {

using num::Real;

// The largest table of values per coordinate that fill keeps; beyond it values are computed one by one.
constexpr std::int64_t kept_values = 1 << 22;

template <class T>
constexpr bool is_imitated = std::is_same_v<T, num::Float32> || std::is_same_v<T, num::BFloat16>;

}  // namespace

Sincos2d::Channel Sincos2d::channel(std::int64_t c) const {
  const std::int64_t n = frequencies(), block = c / n;
  const bool x_first = axes == Sincos2dAxes::xy;
  switch (layout) {
    case Sincos2dLayout::axis_blocks: return {c % n, (block < 2) == x_first, block % 2 == 0};
    case Sincos2dLayout::function_blocks: return {c % n, (block % 2 == 0) == x_first, block < 2};
    case Sincos2dLayout::interleaved: break;
  }
  return {c % (2 * n) / 2, (c < 2 * n) == x_first, c % 2 == 0};
}

std::int64_t Sincos2d::channel_of(Channel wanted) const {
  const std::int64_t n = frequencies();
  const std::int64_t second = wanted.of_x == (axes == Sincos2dAxes::xy) ? 0 : 1, cosine = wanted.sine ? 0 : 1;
  switch (layout) {
    case Sincos2dLayout::axis_blocks: return (2 * second + cosine) * n + wanted.pair;
    case Sincos2dLayout::function_blocks: return (2 * cosine + second) * n + wanted.pair;
    case Sincos2dLayout::interleaved: break;
  }
  return 2 * (second * n + wanted.pair) + cosine;
}

Sincos2d::Pixel Sincos2d::pixel(std::int64_t token) const {
  return tokens == Sincos2dTokens::row_major ? Pixel{token / width, token % width} : Pixel{token % height, token / height};
}

void Sincos2d::check() const {
  if (dim % 4 != 0) fail_usage(fmt::format("dim must be a multiple of 4 (sine and cosine of two coordinates), got {}", dim));
  const bool image = form == Sincos2dForm::image;
  if (image && prefix_rows > 0) fail_usage("prefix_rows goes with form tokens: an image has no rows before its first");
  if (image && tokens == Sincos2dTokens::column_major) fail_usage("tokens column-major goes with form tokens: an image is [channel, y, x]");
  if (scale && coordinates != Sincos2dCoordinates::normalized) fail_usage("scale goes with coordinates normalized");
  if (mask.given()) {
    if (coordinates == Sincos2dCoordinates::index) fail_usage("mask goes with coordinates count or normalized, which do not count masked pixels");
    check_shape(mask, {height, width}, "mask");
    for (const double value : mask.values)
      if (value != 0 && value != 1) fail_usage(fmt::format("mask wants 0 and 1, got {}", print(value)));
    if (coordinates == Sincos2dCoordinates::normalized && eps == 0) fail_usage("eps 0 divides by zero where a whole row is masked");
  }
}

std::vector<Tensor> Sincos2d::tensors() const {
  std::vector<Axis> shape;
  if (form == Sincos2dForm::image)
    shape = {{"channel", dim}, {"y", height}, {"x", width}};
  else
    shape = {{"token", prefix_rows + height * width}, {"channel", dim}};
  return {{"table", shape, Kind::real, "sin and cos of coordinate * inv_freq"}};
}

struct Sincos2d::Table::State {
  explicit State(const Sincos2d& s) : spec(s), tensor(s.tensors()[0]) {
    for (std::int64_t c = 0; c < s.dim; ++c) channels.push_back(s.channel(c));
    if (!s.mask.given()) return;
    const auto size = static_cast<std::size_t>(s.height * s.width);
    down.resize(size), right.resize(size);
    for (std::int64_t y = 0; y < s.height; ++y)
      for (std::int64_t x = 0; x < s.width; ++x) {
        const auto here = at(y, x);
        const std::int64_t one = s.mask.values[here] == 0 ? 1 : 0;
        down[here] = (y > 0 ? down[at(y - 1, x)] : 0) + one;
        right[here] = (x > 0 ? right[at(y, x - 1)] : 0) + one;
      }
  }

  // Counted pixels up to this one and in all, along x or along y.
  struct Count {
    std::int64_t here, last;
  };
  [[nodiscard]] Count count(Pixel p, bool along_x) const {
    if (down.empty()) return along_x ? Count{p.x + 1, spec.width} : Count{p.y + 1, spec.height};
    return along_x ? Count{right[at(p.y, p.x)], right[at(p.y, spec.width - 1)]} : Count{down[at(p.y, p.x)], down[at(spec.height - 1, p.x)]};
  }

  template <class T>
  T coordinate(Pixel p, bool along_x) const {
    if (spec.coordinates == Sincos2dCoordinates::index) return T::of(along_x ? p.x : p.y);
    const Count c = count(p, along_x);
    if (spec.coordinates == Sincos2dCoordinates::count) return T::of(c.here);
    const T two_pi = spec.scale ? T::of(*spec.scale) : T::of(std::int64_t{2}) * T::pi();
    return T::of(c.here) / (T::of(c.last) + T::of(spec.eps)) * two_pi;
  }

  // MAE eq. of get_1d_sincos_pos_embed_from_grid; DETR divides by the timescale instead of multiplying by the frequency.
  template <class T>
  T value(Pixel p, Channel c) const {
    const T timescale = pow(T::of(spec.base), c.pair, spec.frequencies());
    const T where = coordinate<T>(p, c.of_x);
    const T angle = is_imitated<T> && spec.coordinates == Sincos2dCoordinates::index ? where * (T::of(std::int64_t{1}) / timescale)
                                                                                     : where / timescale;
    return c.sine ? sin(angle) : cos(angle);
  }

  // Sines and cosines of one axis, [coordinate][pair][sine, cosine]; without a mask they are all there is.
  struct Pair {
    double hi, lo;
  };
  [[nodiscard]] bool keeps() const { return down.empty() && (spec.height + spec.width) * spec.frequencies() * 2 <= kept_values; }
  const std::vector<Pair>& kept(bool along_x) const {
    std::call_once(once, [&] {
      const num::Precision precision(192);
      for (const bool x : {false, true}) {
        std::vector<Real> frequency;
        for (std::int64_t i = 0; i < spec.frequencies(); ++i) frequency.push_back(pow(Real::of(spec.base), -i, spec.frequencies()));
        for (std::int64_t k = 0; k < (x ? spec.width : spec.height); ++k) {
          const Real where = coordinate<Real>({k, k}, x);
          for (const Real& f : frequency) {
            const Real angle = where * f;
            for (const bool sine : {true, false}) {
              Pair pair{};
              const double left = (sine ? sin(angle) : cos(angle)).two_double(pair.hi, pair.lo);
              if (left > 0) error = std::max(error, left / std::fabs(pair.hi));
              values[x ? 1 : 0].push_back(pair);
            }
          }
        }
      }
    });
    return values[along_x ? 1 : 0];
  }

  Sincos2d spec;
  Tensor tensor;
  std::vector<Channel> channels;
  mutable double error = 0;  ///< relative, of kept values hi + lo

 private:
  [[nodiscard]] std::size_t at(std::int64_t y, std::int64_t x) const { return static_cast<std::size_t>(y * spec.width + x); }
  std::vector<std::int64_t> down, right;  ///< counts along y and x; empty without a mask
  mutable std::once_flag once;
  mutable std::vector<Pair> values[2];
};

Sincos2d::Table::Table(const Sincos2d& spec) : state_(std::make_shared<const State>(spec)) {}
Sincos2d::Table Sincos2d::table() const { return Table(*this); }

template <class T>
T Sincos2d::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  if (s.spec.form == Sincos2dForm::image) return s.value<T>({index[1], index[2]}, s.spec.channel(index[0]));
  if (index[0] < s.spec.prefix_rows) return T::of(std::int64_t{0});
  return s.value<T>(s.spec.pixel(index[0] - s.spec.prefix_rows), s.spec.channel(index[1]));
}

void Sincos2d::Table::fill(std::size_t tensor, Block& block) const {
  const State& s = *state_;
  if (!s.keeps()) return detail::plain_fill(*this, s.tensor, tensor, block);
  const std::int64_t n = s.spec.frequencies();
  const std::vector<State::Pair>* values[] = {&s.kept(false), &s.kept(true)};
  // Relative, so that the zeros of coordinate 0 and of prefix rows are exact; one double is rounded to 2^-53.
  const double bound = block.lo ? s.error * (1 + 0x1p-40) : 0x1p-53 + s.error;
  for (std::int64_t r = 0; r < block.extent.rows; ++r) block.bounds[r] = {0, bound};
  detail::each_element(s.tensor, block.extent, [&](std::span<const std::int64_t> index, std::int64_t at) {
    const bool image = s.spec.form == Sincos2dForm::image;
    State::Pair value{0, 0};
    if (image || index[0] >= s.spec.prefix_rows) {
      const Pixel p = image ? Pixel{index[1], index[2]} : s.spec.pixel(index[0] - s.spec.prefix_rows);
      const Channel c = s.channels[static_cast<std::size_t>(image ? index[0] : index[1])];
      const std::int64_t where = c.of_x ? p.x : p.y;
      value = (*values[c.of_x ? 1 : 0])[static_cast<std::size_t>((where * n + c.pair) * 2 + (c.sine ? 0 : 1))];
    }
    block.hi[at] = value.hi;
    if (block.lo) block.lo[at] = value.lo;
  });
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(sincos_2d, Sincos2d)
