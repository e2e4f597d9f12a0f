#include "analyze/explain_numbers.hpp"

#include <algorithm>
#include <cmath>

#include "analyze/turning.hpp"
#include "posenc/text.hpp"
#include "rescale/yarn_magnitude.hpp"

namespace posenc::analyze_sections {

using num::Real;

ExplainNumbers::ExplainNumbers(const Question& q, const Rope& r, std::int64_t positions)
    : question(q), rope(r), state(at_length(r, positions)), length(positions), facts(posenc::facts(r)) {
  for (FieldView& f : question.encoding.fields())
    if (f.group == facts.method && f.present) fields.emplace(f.name, std::move(f));
  if (question.reading != nullptr) layer = question.reading->layer_type;
  amplitude = num::decide(DType::f64, [&] { return state.amplitude_real(); });
  softmax = question.reading != nullptr ? question.reading->softmax_multiplier : rope.softmax_multiplier.value_or(1);
  factor = number("factor");
  for (const char* field : {"original_max_position_embeddings", "max_position_embeddings"})
    if (const auto found = fields.find(field); !original && found != fields.end()) original = parse_int(found->second.value, field);
  const RopeGeometry& g = state.geometry;
  const std::int64_t last = g.rotary_dim / 2 - 1;
  if (g.frequency_denominator == g.rotary_dim && g.frequency_denominator > 2 && rope.inv_freq.empty()) {
    const std::size_t set = frequency_set(rope, length);
    const Real stretch = rescale::plain_inv_freq(g, Real::of(g.base), last) / state.inv_freq<Real>(set, last);
    const double a = stretch.to_double();
    const double b = (Real::of(g.base) * pow(stretch, g.frequency_denominator, g.frequency_denominator - 2)).to_double();
    if (std::isfinite(a) && std::isfinite(b)) alpha = a, effective_base = b;
  }
  const std::optional<std::int64_t> trained = original ? original : question.trained;
  if (trained && factor && facts.method != "llama3" && *factor * static_cast<double>(*trained) < 0x1p53)
    reach = std::llround(*factor * static_cast<double>(*trained));
  if (question.context) context = question.context;
  else if (question.reading != nullptr) context = question.reading->context;
  // Up to the trained length the rule would not be needed: it is there for what it reaches.
  if (context && reach && original && facts.method != "dynamic" && *context <= *original) context = std::max(*context, *reach);
}

std::optional<double> ExplainNumbers::number(std::string_view field) const {
  const auto found = fields.find(field);
  return found == fields.end() ? std::nullopt : std::optional(parse_real(found->second.value, field));
}

double ExplainNumbers::usual_amplitude() const {
  if (yarn()) return weighted() ? rescale::yarn_ratio(*factor, *number("mscale"), *number("mscale_all_dim")) : own_amplitude();
  if (facts.method != "longrope" || *factor <= 1) return 1;
  return std::sqrt(1 + std::log(*factor) / std::log(static_cast<double>(*original)));
}

double ExplainNumbers::own_amplitude() const { return yarn() ? rescale::yarn_magnitude(*factor) : 1; }

std::vector<MscaleReading> mscale_readings(const ExplainNumbers& n) {
  if (!n.yarn() || n.number("mscale_all_dim").value_or(0) == 0) return {};
  const double all = *n.number("mscale_all_dim"), g = rescale::yarn_magnitude(*n.factor, all);
  const double ratio = n.usual_amplitude();
  return {{"paper: 0.1 ln(factor) + 1, the pair unread (vLLM's and older llama.cpp's plain yarn)", n.own_amplitude(), 1},
          {"transformers: the ratio of the pair", ratio, 1},
          {"DeepSeek: the ratio, and mscale_all_dim on the softmax", ratio, g * g}};
}

bool close(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::fabs(b); }

}  // namespace posenc::analyze_sections
