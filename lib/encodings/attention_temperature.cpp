// attention_temperature: parameters, formulas, laws.
#include "encodings/attention_temperature.hpp"

#include "encodings/log_ratio.hpp"
#include "encodings/model.hpp"
#include "rescale/yarn_magnitude.hpp"

namespace posenc {
namespace {

template <class T>
constexpr bool imitated = !std::is_same_v<T, num::Real> && !std::is_same_v<T, num::Bounded>;

double smallest(const Positions& positions) {
  double least = positions.size() > 0 ? positions[0] : 0;
  if (positions.is_range()) return positions.size() > 0 ? std::min(least, positions[positions.size() - 1]) : least;
  for (std::int64_t i = 1; i < positions.size(); ++i) least = std::min(least, positions[i]);
  return least;
}

// log(n) / log(L0) for n = position + n_offset > 0.
template <class T>
T log_n(const AttentionTemperature& s, double position) {
  const std::int64_t base = s.original_max_position_embeddings;
  if constexpr (imitated<T>) {
    // ReRoPE divides a narrow logarithm by one made in binary64, Qwen makes both and the quotient in binary64.
    const auto log64 = [](auto x) { return num::decide(DType::f64, [&] { return log(x()); }); };
    const double log_base = log64([&] { return num::Real::of(base); });
    if (s.kind == TemperatureKind::qwen)
      return T::of(log64([&] { return num::Real::of(position) + num::Real::of(s.n_offset); }) / log_base);
    return log(T::of(position) + T::of(s.n_offset)) / T::of(log_base);
  } else {
    if constexpr (std::is_same_v<T, num::Real>)
      if (position == std::floor(position)) return detail::log_ratio(static_cast<std::int64_t>(position) + s.n_offset, base);
    return log(T::of(position) + T::of(s.n_offset)) / log(T::of(base));
  }
}

// floor(n / floor_scale). The floor of n may be taken first: floor_scale is an integer.
template <class T>
T group(const AttentionTemperature& s, double position) {
  if constexpr (imitated<T>) return floor((T::of(position) + T::of(s.n_offset)) / T::of(s.floor_scale));
  return T::of((static_cast<std::int64_t>(std::floor(position)) + s.n_offset) / s.floor_scale);
}

template <class T>
T scale(const AttentionTemperature& s, double position) {
  const T one = T::of(std::int64_t{1});
  switch (s.kind) {
    case TemperatureKind::log_n: return log_n<T>(s, position);
    case TemperatureKind::log_n_clipped:
    case TemperatureKind::qwen:
      // n > L0, exactly: L0 - n_offset is an integer.
      if (!(position > static_cast<double>(s.original_max_position_embeddings - s.n_offset))) return one;
      return log_n<T>(s, position);
    case TemperatureKind::llama4: return log1p(group<T>(s, position)) * T::of(s.attn_scale) + one;
    case TemperatureKind::yarn:
    case TemperatureKind::deepseek: break;
  }
  const T root = rescale::yarn_magnitude(T::of(*s.factor), s.kind == TemperatureKind::deepseek ? s.mscale_all_dim : 1, s.mscale_coefficient);
  return root * root;
}

}  // namespace

void AttentionTemperature::check() const {
  if (is_constant() && !factor) fail_usage(fmt::format("kind {} wants factor, the context ratio", enum_name(kind)));
  const double least = smallest(positions);
  if (least < 0) fail_usage(fmt::format("position {} is before 0, from which keys are counted", print(least)));
  if (kind == TemperatureKind::log_n && !(least + static_cast<double>(n_offset) > 0))
    fail_usage("position 0 with n_offset 0 has the logarithm of 0; use n_offset 1, or kind log-n-clipped");
}

std::vector<Tensor> AttentionTemperature::tensors() const {
  return {{"scale", {{"position", positions.size()}}, Kind::real,
           head_dim ? "factor on q . k, 1 / sqrt(head_dim) included" : "factor on the scores or the queries"}};
}

AttentionTemperature::Table::Table(const AttentionTemperature& spec) : spec_(std::make_shared<const AttentionTemperature>(spec)) {}
AttentionTemperature::Table AttentionTemperature::table() const { return Table(*this); }

template <class T>
T AttentionTemperature::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  const T factor = scale<T>(*spec_, spec_->positions[index[0]]);
  if (!spec_->head_dim) return factor;
  if constexpr (imitated<T>) return factor / sqrt(T::of(*spec_->head_dim));
  return factor * pow(T::of(*spec_->head_dim), -1, 2);
}

std::vector<Law> AttentionTemperature::laws() const {
  std::vector<Law> out;
  const auto law = [&](const char* label, const char* text, const char* paper, auto holds) {
    out.push_back({label, text, paper, [s = *this, holds](const Stored& stored) -> std::optional<std::string> {
                     const auto row = stored.row(0, 0);
                     const double unit = s.head_dim ? 1 / std::sqrt(static_cast<double>(*s.head_dim)) : 1;
                     for (std::size_t i = 0; row && i < row->size(); ++i)
                       if (!holds(s, *row, i, unit, stored.unit_roundoff(0)))
                         return fmt::format("{:.9g} at position {}", (*row)[i], print(s.positions[static_cast<std::int64_t>(i)]));
                     return {};
                   }});
  };
  using Row = std::vector<double>;
  using Spec = AttentionTemperature;
  if (is_constant()) {
    law("constant", "one factor for all positions", "Peng et al. 2023, arXiv:2309.00071, equation 22",
        [](const Spec&, const Row& row, std::size_t i, double, double) { return row[i] == row[0]; });
  } else {
    // A rounding keeps order: no tolerance.
    law("order", "the factor does not fall from a position to a later one", is_log_n() ? "Su 2021, kexue.fm/archives/8823" : "Llama 4, modeling_llama4.py",
        [](const Spec& s, const Row& row, std::size_t i, double, double) {
          if (i == 0) return true;
          const double step = s.positions[static_cast<std::int64_t>(i)] - s.positions[static_cast<std::int64_t>(i) - 1];
          return step == 0 ? row[i] == row[i - 1] : step > 0 ? row[i] >= row[i - 1] : row[i] <= row[i - 1];
        });
  }
  // unit is 1, or 1 / sqrt(head_dim) after two roundings of binary64; a stored value rounds by u of itself.
  const auto unit_at = [](double x, double unit, double u) { return std::fabs(x - unit) <= (unit == 1 ? 0 : u + 0x1p-51) * unit; };
  if (is_log_n())
    law("trained", kind == TemperatureKind::log_n ? "at n = L0 the factor is 1 (over sqrt(head_dim))" : "up to n = L0 the factor is 1 (over sqrt(head_dim))",
        "Su 2021, kexue.fm/archives/8823", [unit_at](const Spec& s, const Row& row, std::size_t i, double unit, double u) {
          const double rest = static_cast<double>(s.original_max_position_embeddings - s.n_offset) - s.positions[static_cast<std::int64_t>(i)];
          return (s.kind == TemperatureKind::log_n ? rest != 0 : rest < 0) || unit_at(row[i], unit, u);
        });
  else
    law("least", "no factor is below 1 (over sqrt(head_dim))", "factors up to 1 change nothing",
        [](const Spec&, const Row& row, std::size_t i, double unit, double u) { return row[i] >= unit * (1 - (unit == 1 ? 0 : u + 0x1p-51)); });
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(attention_temperature, AttentionTemperature)
