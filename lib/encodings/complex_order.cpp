// complex_order: parameters, tensors, formula, laws.
#include "encodings/complex_order.hpp"
#include "encodings/law_tools.hpp"

#include "encodings/model.hpp"

namespace posenc {

using num::Real;

void ComplexOrder::check() const {
  if (amplitude.given()) check_shape(amplitude, {vocabulary, dim}, "amplitude");
  if (phase.given()) check_shape(phase, {vocabulary, dim}, "phase");
  if (frequency.given()) {
    switch (sharing) {
      case ComplexOrderSharing::none: check_shape(frequency, {vocabulary, dim}, "frequency"); break;
      case ComplexOrderSharing::words: check_shape(frequency, {dim}, "frequency"); break;
      case ComplexOrderSharing::dimensions: check_shape(frequency, {vocabulary}, "frequency"); break;
    }
    if (padding_word) fail_usage("padding_word is for start frequencies; give that word 0 in frequency");
  }
  if (padding_word && *padding_word >= vocabulary)
    fail_usage(fmt::format("padding_word {} is not one of {} words (0 is the first)", *padding_word, vocabulary));
  if (!words.given()) return;
  check_shape(words, {positions.size()}, "words");
  for (const double w : words.values)
    if (w != std::floor(w) || w >= static_cast<double>(vocabulary))
      fail_usage(fmt::format("words wants integers from 0 to {}, got {}", vocabulary - 1, print(w)));
}

std::vector<Tensor> ComplexOrder::tensors() const {
  const Axis position{"position", positions.size()}, channel{"channel", dim};
  switch (form) {
    case ComplexOrderForm::complex:
      return {{"embedding", {position, channel, {"complex", 2}}, Kind::complex, "r exp(i (omega position + theta))"}};
    case ComplexOrderForm::pair:
      return {{"real", {position, channel}, Kind::real, "r cos(omega position + theta)"},
              {"imaginary", {position, channel}, Kind::real, "r sin(omega position + theta)"}};
    case ComplexOrderForm::frequencies: break;
  }
  return {{"omega", {{"word", vocabulary}, channel}, Kind::real, "frequencies, radians per position"}};
}

template <class T>
T ComplexOrder::omega(std::int64_t w, std::int64_t channel) const {
  if (frequency.given()) {
    const std::int64_t at = sharing == ComplexOrderSharing::none ? w * dim + channel : sharing == ComplexOrderSharing::words ? channel : w;
    return T::of(frequency.values[static_cast<std::size_t>(at)]);
  }
  if (padding_word == w) return T::of(std::int64_t{0});
  constexpr bool imitated = std::is_same_v<T, num::Float32> || std::is_same_v<T, num::BFloat16>;
  const bool classification = frequency_start == ComplexOrderStart::classification;
  const std::int64_t top = 2 * (classification ? channel : channel / 2);
  const T power = imitated ? T::of(std::int64_t{1}) / pow(T::of(base), top, dim) : pow(T::of(base), -top, dim);
  return classification ? T::of(w) * power : power;
}

ComplexOrder::Table ComplexOrder::table() const { return Table(*this); }

// arXiv:1912.12333, equation 7.
template <class T>
T ComplexOrder::Table::element(std::size_t tensor, std::span<const std::int64_t> index) const {
  const ComplexOrder& s = *spec_;
  if (s.form == ComplexOrderForm::frequencies) return s.omega<T>(index[0], index[1]);
  const std::int64_t w = s.word(index[0]), channel = index[1];
  T angle = T::of(s.positions[index[0]]) * s.omega<T>(w, channel);
  if (s.phase.given()) angle = angle + T::of(s.phase.values[static_cast<std::size_t>(w * s.dim + channel)]);
  const bool imaginary = s.form == ComplexOrderForm::complex ? index[2] == 1 : tensor == 1;
  const T turned = imaginary ? sin(angle) : cos(angle);
  return s.amplitude.given() ? T::of(s.amplitude_of(w, channel)) * turned : turned;
}

namespace {

using Failed = std::optional<std::string>;
constexpr double e = 0x1p-53;

// (re, im) of a row and channel, in either form.
struct Value {
  double re, im;
};
std::optional<Value> value(const ComplexOrder& s, const Stored& stored, std::int64_t row, std::int64_t channel) {
  if (s.form == ComplexOrderForm::complex) {
    const auto v = stored.row(0, row * s.dim + channel);
    return v ? std::optional<Value>({(*v)[0], (*v)[1]}) : std::nullopt;
  }
  const auto re = stored.row(0, row), im = stored.row(1, row);
  if (!re || !im) return {};
  const auto at = static_cast<std::size_t>(channel);
  return Value{(*re)[at], (*im)[at]};
}

using detail::spread;

// Each part of z is off by u times itself, or by half the smallest step of f16, u 2^-14, so |z| by sqrt(2) of that; r outside
// the dtype's range says nothing. The hypotenuse of doubles errs by 4e.
double slack(const Stored& stored, double r) {
  const double u = stored.unit_roundoff(0);
  return u * r * (1 + 0x1p-7) + u * 0x1p-13 + 4 * e * r;
}

Failed constant_amplitude(const ComplexOrder& s, const Stored& stored) {
  for (const std::int64_t row : spread(s.positions.size(), 32))
    for (const std::int64_t c : spread(s.dim, 64)) {
      const auto z = value(s, stored, row, c);
      if (!z) return {};
      if (std::isinf(z->re) || std::isinf(z->im)) continue;
      const double r = std::fabs(s.amplitude_of(s.word(row), c)), off = std::hypot(z->re, z->im) - r;
      if (!(std::fabs(off) <= slack(stored, r)))
        return fmt::format("row {}, channel {}: |z| - r = {:.3g}, allowed {:.3g}", row, c, off, slack(stored, r));
    }
  return {};
}

// z(k + s) - z(k) exp(i omega s), with the turn's parts within e: both z are off by the slack above, the product by 8e r.
Failed shift(const ComplexOrder& s, const Stored& stored) {
  const num::Precision precision(256);
  for (const std::int64_t row : spread(s.positions.size() - 1, 8)) {
    const std::int64_t w = s.word(row);
    const double distance = s.positions[row + 1] - s.positions[row];
    if (s.word(row + 1) != w || s.positions[row] + distance != s.positions[row + 1]) continue;
    for (const std::int64_t c : spread(s.dim, 64)) {
      const auto a = value(s, stored, row, c), b = value(s, stored, row + 1, c);
      if (!a || !b) return {};
      if (std::isinf(a->re) || std::isinf(a->im) || std::isinf(b->re) || std::isinf(b->im)) continue;
      const Real angle = Real::of(distance) * s.omega<Real>(w, c);
      const double x = cos(angle).to_double(), y = sin(angle).to_double(), r = std::fabs(s.amplitude_of(w, c));
      const double off = std::hypot(a->re * x - a->im * y - b->re, a->re * y + a->im * x - b->im);
      const double allowed = 2 * slack(stored, r) + 8 * e * r;
      if (!(off <= allowed)) return fmt::format("rows {} and {}, channel {}: the turn is off by {:.3g}, allowed {:.3g}", row, row + 1, c, off, allowed);
    }
  }
  return {};
}

}  // namespace

std::vector<Law> ComplexOrder::laws() const {
  if (form == ComplexOrderForm::frequencies) return {};
  const auto bound = [this](Failed (*holds)(const ComplexOrder&, const Stored&)) {
    return [spec = *this, holds](const Stored& stored) { return holds(spec, stored); };
  };
  return {{"amplitude", "|z| = r at every position", "arXiv:1912.12333, section 2.2", bound(constant_amplitude)},
          {"shift", "z(k + s) = z(k) exp(i omega s) for the same word", "arXiv:1912.12333, property 1", bound(shift)}};
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(complex_order, ComplexOrder)
