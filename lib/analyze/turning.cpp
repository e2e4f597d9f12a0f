#include "analyze/turning.hpp"

#include <algorithm>

#include "analyze/fields.hpp"
#include "encodings/sinusoidal.hpp"

namespace posenc::analyze_sections {
namespace {

// The frequencies of one set, in whatever layout the table is.
Turning::Exact exact_of(Rope rope, std::size_t set) {
  rope.layout = RopeLayout::inv_freq;
  rope.pair_stride.reset();
  std::shared_ptr<const Evaluator> evaluator = erase(rope)->evaluator();
  const std::int64_t pairs = rope.rotary() / 2;
  return [=] {
    std::vector<num::Real> list;
    for (std::int64_t i = 0; i < pairs; ++i) list.push_back(evaluator->element(set, std::span(&i, 1)));
    return list;
  };
}

std::vector<double> rounded(const Turning::Exact& exact) {
  std::vector<double> out;
  // 192 bits leave the middle of the interval within a 2^-130th of the value: its rounding is the value's, but within that of a tie.
  num::at_precision(192, [&] {
    out.clear();
    for (const num::Real& f : exact()) out.push_back(f.to_double());
    return 0;
  });
  return out;
}

// The last length for which the first of a rule's two frequency sets holds.
std::optional<std::int64_t> switched_after(const rescale::LongRope& rule) { return rule.original_max_position_embeddings; }
std::optional<std::int64_t> switched_after(const rescale::LongRopeTransformers448& rule) { return rule.original(); }
template <class R>
std::optional<std::int64_t> switched_after(const R&) {
  static_assert(!requires(const R& r, const RopeGeometry& g) { r.sets(g); }, "say where this rule changes from one set to the next");
  return std::nullopt;
}

}  // namespace

std::size_t frequency_set(const Rope& rope, std::optional<std::int64_t> positions) {
  const auto last = std::visit([](const auto& rule) { return switched_after(rule); }, rope.rule);
  return last && positions && *positions > *last ? 1 : 0;
}

Rope at_length(Rope rope, std::int64_t positions) {
  rope.positions = Positions::range(0, positions);
  rope.offset = 0;
  return rope;
}

Rope rope_of(const Mrope& mrope) {
  Rope rope;
  rope.head_dim = mrope.head_dim;
  rope.rotary_dim = mrope.rotary_dim;
  rope.base = mrope.base;
  rope.inv_freq = mrope.inv_freq;
  rope.attention_factor = mrope.attention_factor;
  return rope;
}

Turning turning_of(const Rope& given, std::optional<std::int64_t> context) {
  Rope rope = context ? at_length(given, *context) : given;
  rope.offset = 0;
  Rope plain = rope;
  plain.rule = rescale::Plain{};
  plain.frequency_denominator = rope.geometry().frequency_denominator;
  const RopeFacts rule = facts(rope);
  const std::size_t set = frequency_set(rope, context);
  Turning out;
  out.exact_plain = exact_of(plain, 0);
  out.exact_used = exact_of(rope, set);
  out.plain = rounded(out.exact_plain);
  out.used = rounded(out.exact_used);
  out.method = rule.method;
  out.set = rule.sets[set];
  out.attention_factor = rule.attention_factor;
  if (rope.inv_freq.empty()) out.base = rope.base;
  out.denominator = *plain.frequency_denominator;
  out.rope = std::move(rope);
  return out;
}

std::optional<Turning> turning_of(const Question& q) {
  if (const auto* rope = typed<Rope>(q.encoding)) return turning_of(*rope, q.context);
  if (const auto* mrope = typed<Mrope>(q.encoding)) return turning_of(rope_of(*mrope), q.context);
  if (const auto* table = typed<Sinusoidal>(q.encoding)) {
    Turning out;
    out.exact_plain = out.exact_used = [spec = *table] {
      std::vector<num::Real> list;
      for (std::int64_t i = 0; i < spec.pairs(); ++i) list.push_back(spec.inv_freq(i));
      return list;
    };
    out.plain = out.used = rounded(out.exact_plain);
    out.method = "default";
    if (out.plain.empty()) return std::nullopt;
    return out;
  }
  return std::nullopt;
}

std::int64_t still_lanes(const Question& question) {
  if (question.turning == nullptr) return 0;
  std::int64_t head = field_count(question.encoding, "head_dim").value_or(0);
  if (question.reading != nullptr && question.reading->qk_head_dim) head = std::max(head, *question.reading->qk_head_dim);
  return std::max<std::int64_t>(0, head - 2 * static_cast<std::int64_t>(question.turning->plain.size()));
}

}  // namespace posenc::analyze_sections
