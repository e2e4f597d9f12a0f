// radix: parameters, tensors, formulas, laws.
#include "encodings/radix.hpp"
#include "encodings/law_tools.hpp"

#include <algorithm>

#include "encodings/model.hpp"

namespace posenc {
namespace {

using num::Real;

bool is_integer(double x) { return std::floor(x) == x; }

bool integer_positions(const Positions& p) {
  if (p.is_range()) return true;
  for (std::int64_t i = 0; i < p.size(); ++i)
    if (!is_integer(p[i])) return false;
  return true;
}

// Whether base^width >= n, without overflow: n <= 2^53.
bool holds(std::int64_t base, std::int64_t width, double n) {
  std::int64_t left = static_cast<std::int64_t>(std::ceil(n));
  for (std::int64_t i = 0; i < width && left > 1; ++i) left = (left + base - 1) / base;
  return left <= 1;
}

}  // namespace

std::int64_t Radix::base_in_force() const {
  if (base_rule == RadixBase::given) return base;
  const double wanted = capacity ? *capacity : std::max(1.0, std::ceil(positions.length() / factor));
  std::int64_t low = 1, high = std::int64_t{1} << 53;  // low does not hold them, high does
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle, width, wanted) ? high : low) = middle;
  }
  return high;
}

std::vector<std::int64_t> Radix::all_radices() const {
  std::vector<std::int64_t> out;
  for (const double r : radices) out.push_back(static_cast<std::int64_t>(r));
  const std::int64_t rest = out.empty() ? base_in_force() : out.back();
  out.resize(static_cast<std::size_t>(digits()), rest);
  return out;
}

bool Radix::integral() const { return factor == 1 && integer_positions(positions); }

void Radix::check() const {
  for (const double r : radices)
    if (!is_integer(r)) fail_usage(fmt::format("radices wants integers, got {}", print(r)));
  if (radices.size() > 64) fail_usage(fmt::format("radices wants at most 64 numbers, got {}", radices.size()));
  if (!radices.empty() && base_rule == RadixBase::smallest) fail_usage("base_rule smallest finds a base; it does not go with radices");
  if (capacity && base_rule != RadixBase::smallest) fail_usage("capacity goes with base_rule smallest");
  if (base_rule == RadixBase::smallest && !capacity && positions.length() / factor > 0x1p53) fail_usage("capacity must be given: the positions pass 2^53");
  if (form == RadixForm::rope) {
    if (head_dim % 2 != 0) fail_usage(fmt::format("head_dim must be even (two lanes for each angle), got {}", head_dim));
    return;
  }
  if (form != RadixForm::digits || overflow != RadixOverflow::refuse) return;
  // n / factor < product of the radices, for the largest position; the product as far as it matters.
  double most = 1;
  for (const std::int64_t r : all_radices()) most = std::min(most * static_cast<double>(r), 0x1p200);
  const auto refuse = [&](double position) {
    fail_usage(fmt::format("position {} does not fit into {} digits; take more width or a larger base, or overflow wrap", print(position), digits()));
  };
  const std::int64_t n = positions.size();
  const auto fits = [&](double p) { return p >= 0 && (most > 0x1p60 || num::Real::of(p) / num::Real::of(factor) < num::Real::of(most)); };
  if (positions.is_range()) {
    if (n > 0)
      for (const double p : {positions[0], positions[n - 1]})
        if (!fits(p)) refuse(p);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i)
    if (!fits(positions[i])) refuse(positions[i]);
}

std::vector<Tensor> Radix::tensors() const {
  const Axis position{"position", positions.size()}, digit{"digit", digits()}, pair{"pair", head_dim / 2};
  switch (form) {
    case RadixForm::digits:
      return {{"digits", {position, digit}, integral() ? Kind::integer : Kind::real, "digits of the position, divided by factor"}};
    case RadixForm::quotients: return {{"quotients", {position, digit}, Kind::real, "position over the weight of the digit"}};
    case RadixForm::remainders: return {{"remainders", {position, digit}, Kind::real, "position over the weight of the digit, modulo its radix"}};
    case RadixForm::rope: break;
  }
  return {{"beta", {{"beta", 1}}, Kind::real, "rope_base^(2 / head_dim): the base of RoPE's digits"},
          {"angles", {position, pair}, Kind::real, "position / beta^pair, radians"},
          {"cos", {position, pair}, Kind::real, "cosines of the angles"},
          {"sin", {position, pair}, Kind::real, "sines of the angles"}};
}

struct Radix::Table::State {
  explicit State(const Radix& s) : spec(s), radices(s.form == RadixForm::rope ? std::vector<std::int64_t>{} : s.all_radices()) {}
  // m of a column: 0 is the last digit.
  [[nodiscard]] std::int64_t digit(std::int64_t column) const {
    return spec.order == RadixOrder::low_first ? column : static_cast<std::int64_t>(radices.size()) - 1 - column;
  }
  Radix spec;
  std::vector<std::int64_t> radices;
};

Radix::Table::Table(const Radix& spec) : state_(std::make_shared<const State>(spec)) {}
Radix::Table Radix::table() const { return Table(*this); }

// kexue.fm/archives/9706, equation 7; form rope: 9675, beta = base^(2/d).
template <class T>
T Radix::Table::element(std::size_t tensor, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  const Radix& r = s.spec;
  if (r.form == RadixForm::rope) {
    if (tensor == 0) return pow(T::of(r.rope_base), 2, r.head_dim);
    const T angle = T::of(r.positions[index[0]]) / T::of(r.factor) / pow(T::of(r.rope_base), 2 * index[1], r.head_dim);
    return tensor == 1 ? angle : tensor == 2 ? cos(angle) : sin(angle);
  }
  const std::int64_t m = s.digit(index[1]);
  T weight = T::of(std::int64_t{1});
  for (std::int64_t k = 0; k < m; ++k) weight = weight * T::of(s.radices[static_cast<std::size_t>(k)]);
  const T quotient = T::of(r.positions[index[0]]) / T::of(r.factor) / weight;
  if (r.form == RadixForm::quotients) return quotient;
  const T radix = T::of(s.radices[static_cast<std::size_t>(m)]);
  const T reduced = quotient - radix * floor(quotient / radix);
  return r.form == RadixForm::remainders || m == 0 ? reduced : floor(reduced);
}

std::int64_t Radix::Table::integer(std::size_t, std::span<const std::int64_t> index) const {
  const State& s = *state_;
  const std::int64_t m = s.digit(index[1]);
  auto n = static_cast<std::int64_t>(s.spec.positions[index[0]]);
  for (std::int64_t k = 0;; ++k) {
    const std::int64_t radix = s.radices[static_cast<std::size_t>(k)];
    const std::int64_t digit = (n % radix + radix) % radix;
    if (k == m) return digit;
    n = (n - digit) / radix;
  }
}

namespace {

using Failed = std::optional<std::string>;
constexpr double e = 0x1p-53;

using detail::spread;

// The digits times their weights are n / factor, up to a multiple of the capacity. A stored digit d is off by u d (2^-25 where
// f16 is subnormal, which is u 2^-14), so the sum by u n' and a little; each of the 3 operations per digit rounds by e n'.
Failed value(const Radix& s, const Stored& stored) {
  const std::vector<std::int64_t> radices = s.all_radices();
  const double u = s.integral() ? 0 : stored.unit_roundoff(0);
  for (const std::int64_t r : spread(s.positions.size(), 48)) {
    const auto row = stored.row(0, r);
    if (!row) return {};
    double sum = 0, weight = 1, most = 0;
    for (std::size_t m = 0; m < radices.size(); ++m) {
      const double digit = (*row)[s.order == RadixOrder::low_first ? m : radices.size() - 1 - m];
      if (!(digit >= 0 && digit <= static_cast<double>(radices[m]))) return fmt::format("row {}: digit {} to the base {}", r, print(digit), radices[m]);
      sum += digit * weight;
      most += std::max(std::fabs(digit), 0x1p-14) * weight;
      weight *= static_cast<double>(radices[m]);
    }
    const double wanted = s.positions[r] / s.factor;
    const double reduced = s.overflow == RadixOverflow::wrap ? wanted - weight * std::floor(wanted / weight) : wanted;
    const double tolerance = most * u * (1 + 0x1p-7) + 4 * static_cast<double>(radices.size()) * e * (most + std::fabs(wanted));
    double off = std::fabs(sum - reduced);
    if (s.overflow == RadixOverflow::wrap) off = std::min(off, std::fabs(off - weight));  // either side of a multiple of the capacity
    if (!(off <= tolerance)) return fmt::format("row {}: the digits make {}, the position is {}, allowed {:.3g}", r, print(sum), print(reduced), tolerance);
  }
  return {};
}

// cos^2 + sin^2: each square off by 2u + u^2 relative, together by as much of 1; three operations round by e.
Failed norm(const Radix& s, const Stored& stored) {
  const double u = stored.unit_roundoff(2), tolerance = (2 * u + u * u) * (1 + 0x1p-7) + 4 * e;
  for (const std::int64_t r : spread(s.positions.size(), 48)) {
    const auto a = stored.row(2, r), b = stored.row(3, r);
    if (!a || !b) return {};
    for (std::size_t i = 0; i < a->size(); ++i)
      if (!(std::fabs((*a)[i] * (*a)[i] + (*b)[i] * (*b)[i] - 1) <= tolerance)) return fmt::format("row {}, pair {}: not on the circle", r, i);
  }
  return {};
}

// angle[m] = beta * angle[m + 1]: three stored values, each within u of itself (2^-25 = u 2^-14 where f16 is subnormal, times
// beta for one of them), and one product.
Failed quotient(const Radix& s, const Stored& stored) {
  const double u = stored.unit_roundoff(1);
  const auto beta = stored.row(0, 0);
  for (const std::int64_t r : spread(s.positions.size(), 48)) {
    const auto row = stored.row(1, r);
    if (!row || !beta) return {};
    for (std::size_t i = 0; i + 1 < row->size(); ++i) {
      const double one = (*row)[i], product = (*beta)[0] * (*row)[i + 1];
      if (std::isinf(one) || std::isinf(product)) continue;
      const double tolerance = (3 * u * std::fabs(one) + u * 0x1p-14 * (1 + (*beta)[0])) * (1 + 0x1p-5) + 4 * e * std::fabs(one) + 0x1p-126 * (1 + (*beta)[0]) ;
      if (!(std::fabs(one - product) <= tolerance)) return fmt::format("row {}, pair {}: angle {} but beta times the next is {}", r, i, print(one), print(product));
    }
  }
  return {};
}

}  // namespace

std::vector<Law> Radix::laws() const {
  std::vector<Law> out;
  const auto add = [&](const char* law, const char* text, const char* from, Failed (*test)(const Radix&, const Stored&)) {
    out.push_back({law, text, from, [spec = *this, test](const Stored& stored) { return test(spec, stored); }});
  };
  if (form == RadixForm::digits) add("value", "the digits times their weights make the position over factor", "kexue.fm/archives/9675", value);
  if (form == RadixForm::rope) {
    add("norm", "cos^2 + sin^2 = 1", "Su et al. 2021, arXiv:2104.09864", norm);
    add("quotient", "each angle is beta times the next, as quotients of successive digits are", "kexue.fm/archives/9675", quotient);
  }
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(radix, Radix)
