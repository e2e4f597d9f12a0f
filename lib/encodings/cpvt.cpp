// cpvt: parameters, tensors, formula, laws.
#include "encodings/cpvt.hpp"

#include "encodings/model.hpp"
#include "encodings/start_values.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Streams of the generator.
constexpr std::uint32_t weights = 1, biases = 2;

}  // namespace

void Cpvt::check() const {
  if (kernel % 2 == 0) fail_usage(fmt::format("kernel must be odd, to have a middle, got {}", kernel));
  if (x.given()) check_shape(x, {prefix_rows + height * width, dim}, "x");
  if (weight.given()) check_shape(weight, {dim, 1, kernel, kernel}, "weight");
  if (bias.given()) check_shape(bias, {dim}, "bias");
}

std::vector<Tensor> Cpvt::tensors() const {
  return {{"y", {{"token", prefix_rows + out_height() * out_width()}, {"channel", dim}}, Kind::real, "tokens with their positions"}};
}

Cpvt::Table Cpvt::table() const { return Table(*this); }

// arXiv:2102.10882, section 3.2: PEG. Row by row of the kernel, then the bias, then x, as torch's convolution is written.
template <class T>
T Cpvt::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const Cpvt& s = *spec_;
  const std::int64_t channel = index[1], k = s.kernel, half = k / 2;
  const auto token = [&](std::int64_t row) { return s.x.given() ? T::of(s.x.values[at(row * s.dim + channel)]) : T::of(std::int64_t{1}); };
  if (index[0] < s.prefix_rows) return token(index[0]);
  // torch: uniform within 1 / sqrt(fan_in) = 1 / kernel.
  const auto start = [&](std::uint32_t stream, std::int64_t column) { return T::of(detail::start_value(s.seed, stream, channel, column)) / T::of(k); };
  const std::int64_t out = index[0] - s.prefix_rows;
  const std::int64_t y = out / s.out_width() * s.stride, x = out % s.out_width() * s.stride;
  T sum = T::of(std::int64_t{0});
  for (std::int64_t j = std::max<std::int64_t>(0, y - half); j <= std::min(s.height - 1, y + half); ++j)
    for (std::int64_t i = std::max<std::int64_t>(0, x - half); i <= std::min(s.width - 1, x + half); ++i) {
      const std::int64_t tap = (j - y + half) * k + i - x + half;
      const T w = s.weight.given() ? T::of(s.weight.values[at(channel * k * k + tap)]) : start(weights, tap);
      sum = sum + w * token(s.prefix_rows + j * s.width + i);
    }
  sum = sum + (s.bias.given() ? T::of(s.bias.values[at(channel)]) : start(biases, 0));
  return s.stride == 1 ? sum + token(s.prefix_rows + y * s.width + x) : sum;
}

namespace {

using Failed = std::optional<std::string>;

// Where x is constant, no border is near and the sums are the same numbers, values are equal whatever the rounding.
Failed interior(const Cpvt& s, const Stored& stored) {
  std::optional<std::vector<double>> first;
  const std::int64_t half = s.kernel / 2;
  std::int64_t seen = 0;
  for (std::int64_t y = 0; y < s.out_height(); ++y)
    for (std::int64_t x = 0; x < s.out_width(); ++x) {
      const std::int64_t j = y * s.stride, i = x * s.stride;
      if (j < half || i < half || j + half >= s.height || i + half >= s.width || ++seen > 256) continue;
      const auto row = stored.row(0, s.prefix_rows + y * s.out_width() + x);
      if (!row) return {};
      if (!first) first = row;
      if (*row != *first) return fmt::format("token ({}, {}): away from the border, but not as the others there", y, x);
    }
  return {};
}

// A prefix row is the given one: within u of it, or half the smallest step of f16.
Failed prefix(const Cpvt& s, const Stored& stored) {
  const double u = stored.unit_roundoff(0);
  for (std::int64_t r = 0; r < std::min<std::int64_t>(s.prefix_rows, 16); ++r) {
    const auto row = stored.row(0, r);
    if (!row) return {};
    for (std::int64_t c = 0; c < s.dim; ++c) {
      const double wanted = s.x.given() ? s.x.values[at(r * s.dim + c)] : 1.0, got = (*row)[at(c)];
      if (!std::isinf(got) && !(std::fabs(got - wanted) <= u * std::fabs(wanted) + u * 0x1p-14))
        return fmt::format("prefix row {}, channel {}: {} where x has {}", r, c, print(got), print(wanted));
    }
  }
  return {};
}

}  // namespace

std::vector<Law> Cpvt::laws() const {
  std::vector<Law> out;
  const auto add = [&](const char* law, const char* text, Failed (*holds)(const Cpvt&, const Stored&)) {
    out.push_back({law, text, std::string(source), [spec = *this, holds](const Stored& stored) { return holds(spec, stored); }});
  };
  if (!x.given()) add("interior", "of equal tokens those away from the border stay equal: position enters through the padding", interior);
  if (prefix_rows > 0) add("prefix", "class tokens are passed on unchanged", prefix);
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(cpvt, Cpvt)
