// kerple: parameters, formulas, laws.
#include "encodings/kerple.hpp"

#include "encodings/distance_rows.hpp"
#include "encodings/model.hpp"
#include "encodings/span_laws.hpp"

namespace posenc {

void Kerple::check() const {
  span.check();
  const bool bias = output == KerpleOutput::bias;
  const std::vector<double>&a = bias ? r1 : w1, &b = bias ? r2 : w2;
  if (a.empty() || a.size() != b.size())
    fail_usage(fmt::format("{} and {} want one number per head each, got {} and {}", bias ? "r1" : "w1", bias ? "r2" : "w2", a.size(), b.size()));
  if (!clamp && (!bias || kind == KerpleKind::power))
    for (const double exponent : b)
      if (exponent > 2)
        fail_usage(fmt::format("{} {} is above 2, beyond which the kernel is not positive definite; clamp clamps it", bias ? "r2" : "w2", print(exponent)));
}

std::vector<Tensor> Kerple::tensors() const {
  if (output == KerpleOutput::weight) return {{"weight", span.axes({{"head", heads()}}), Kind::real, "factor on the scores before the bias"}};
  return {{"bias", span.axes({{"head", heads()}}), Kind::real, "added to the scores"}};
}

struct Kerple::Table::State {
  explicit State(const Kerple& s) : spec(s) {
    // Chi et al. 2022 (code): self.eps = 1e-2, clamps on use.
    for (std::vector<double>* list : {&spec.r1, &spec.r2, &spec.w1, &spec.w2})
      for (double& x : *list)
        if (spec.clamp) x = std::max(x, 0.01);
    if (!spec.clamp) return;
    for (double& x : spec.w2) x = std::min(x, 2.0);
    if (spec.kind == KerpleKind::power)
      for (double& x : spec.r2) x = std::min(x, 2.0);
  }

  // For fill_by_distance. m = 0 gives an exact 0 (bias) or 1 (weight).
  static constexpr bool is_exact = false;
  template <class T>
  T bias(std::int64_t head, std::int64_t distance) const {
    const auto h = static_cast<std::size_t>(head);
    const bool weight = spec.output == KerpleOutput::weight;
    if (distance > 0 && spec.future == FutureKeys::mask) return weight ? T::of(std::int64_t{0}) : T::infinity(-1);
    const std::int64_t m = distance > 0 && spec.future == FutureKeys::zero ? 0 : std::abs(distance);
    if (m == 0) return T::of(std::int64_t{weight ? 1 : 0});
    if (weight) return exp(-T::of(spec.w1[h]) * pow(T::of(m), T::of(spec.w2[h])));
    if (spec.kind == KerpleKind::power) return -T::of(spec.r1[h]) * pow(T::of(m), T::of(spec.r2[h]));
    return -T::of(spec.r1[h]) * log(T::of(std::int64_t{1}) + T::of(spec.r2[h]) * T::of(m));
  }

  Kerple spec;
  std::uint64_t number = num::new_owner();
};

Kerple::Table::Table(const Kerple& spec) : state_(std::make_shared<const State>(spec)) {}
Kerple::Table Kerple::table() const { return Table(*this); }

template <class T>
T Kerple::Table::element(std::size_t, std::span<const std::int64_t> index) const {
  return state_->template bias<T>(index[0], state_->spec.span.distance(index.subspan(1)));
}

void Kerple::Table::fill(std::size_t, Block& block) const { detail::fill_by_distance(*state_, state_->spec.span, state_->number, block); }

std::vector<Law> Kerple::laws() const {
  const char* paper = "Chi et al. 2022, arXiv:2205.09921, section 4";
  std::vector<Law> out;
  if (span.form == SpanForm::matrix) out.push_back(detail::toeplitz_law(paper, span, heads()));
  if (future == FutureKeys::symmetric) {
    out.push_back(detail::symmetric_law(paper, span, heads()));
    out.push_back(detail::decay_law(paper, span, heads()));
  }
  const double here = output == KerpleOutput::bias ? 0 : 1;
  out.push_back(detail::row_law("origin", output == KerpleOutput::bias ? "the bias at distance 0 is 0" : "the weight at distance 0 is 1", paper, span,
                                heads(), [here](const detail::SpanRow& row) -> detail::Failed {
                                  if (!row.holds(0) || row.at(0) == here) return {};
                                  return fmt::format("head {}: {:.9g} at distance 0", row.head, row.at(0));
                                }));
  return out;
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(kerple, Kerple)
