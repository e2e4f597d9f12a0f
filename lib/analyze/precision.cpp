// precision: what narrow arithmetic does to the angles position * inv_freq (to the biases position * slope of ALiBi) over
// positions 0..context-1: which positions fall together when they are cast, how far each pair is off at worst and from where
// on. Every figure is exact, the maximum over all positions (angle_error.hpp), to within the rounding of its last digits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analyze/angle_error.hpp"
#include "analyze/cells.hpp"
#include "analyze/fields.hpp"
#include "analyze/section.hpp"
#include "analyze/turning.hpp"
#include "encodings/alibi.hpp"
#include "encodings/rope_state.hpp"
#include "encodings/sinusoidal.hpp"

namespace posenc::analyze_sections {
namespace {

// An angle off by this much moves cos and sin by up to as much; a bias, an attention weight by a tenth.
constexpr double limit = 0.1;

struct Spelt {
  DType dtype;
  std::string_view word;
};
constexpr std::array<Spelt, 4> floats{{{DType::f64, "float64"}, {DType::f32, "float32"}, {DType::bf16, "bfloat16"}, {DType::f16, "float16"}}};

std::string_view word(DType dtype) {
  return std::find_if(floats.begin(), floats.end(), [&](const Spelt& s) { return s.dtype == dtype; })->word;
}

// A way in which code forms angles: what the frequencies are kept in, and what positions and products are cast to.
struct Way {
  std::string_view key, label;  ///< {} in the label: inv_freq or slope
  DType kept, formed;
};
constexpr std::array<Way, 6> ways{{
    {"f64", "float64", DType::f64, DType::f64},
    {"f32", "float32, as model code does", DType::f32, DType::f32},
    {"bf16_kept", "float32, {} cast to bfloat16", DType::bf16, DType::f32},
    {"f16_kept", "float32, {} cast to float16", DType::f16, DType::f32},
    {"bf16", "bfloat16 throughout", DType::bf16, DType::bf16},
    {"f16", "float16 throughout", DType::f16, DType::f16},
}};
constexpr std::size_t model_code = 1, bf16_kept = 2, f16_kept = 3;  // in `ways`

// What is multiplied by positions: frequencies of pairs, or slopes of heads.
struct Rates {
  std::vector<num::Real> truth;
  std::vector<double> float32;  ///< as model code computes them
  double amplitude = 1;         ///< of cos and sin
  std::string set;              ///< of several frequency sets, the one in force
  std::int64_t first = 0;  ///< number of the first
  std::string_view item = "pair", rate = "inv_freq", unit = "radians per position", error = "phase error", error_unit = "radians";
};

Rates rates_of(const Rope& given, std::int64_t count) {
  const Rope rope = at_length(given, count);
  const RopeState state(rope);
  const std::size_t set = frequency_set(rope, count);
  Rates out;
  out.amplitude = std::fabs(state.amplitude_real().to_double());
  if (const auto sets = facts(rope).sets; sets.size() > 1) out.set = sets[set];
  for (std::int64_t i = 0; i < rope.rotary() / 2; ++i) {
    out.truth.push_back(state.inv_freq<num::Real>(set, i));
    out.float32.push_back(state.inv_freq<num::Float32>(set, i).to_double());
  }
  return out;
}

Rates rates_of(const Sinusoidal& sinusoidal) {
  Rates out;
  for (std::int64_t i = 0; i < sinusoidal.frequencies(); ++i) {
    out.truth.push_back(sinusoidal.inv_freq(i));
    out.float32.push_back(sinusoidal.inv_freq_float32(i).to_double());
  }
  return out;
}

Rates rates_of(Alibi alibi) {
  alibi.form = AlibiForm::slopes;
  const auto evaluator = erase(alibi)->evaluator();
  Rates out;
  out.item = "head", out.rate = "slope", out.unit = "bias per position", out.error = "error of the bias", out.error_unit = "";
  out.first = alibi.head_start;
  for (std::int64_t h = 0; h < alibi.heads(); ++h) {
    out.truth.push_back(abs(alibi.slope(alibi.head_start + h)));
    out.float32.push_back(std::fabs(evaluator->imitate(Arithmetic::float32, 0, std::array{h})));
  }
  return out;
}

std::optional<Rates> rates_of(const Encoding& encoding, std::int64_t count) {
  if (const auto* rope = typed<Rope>(encoding)) return rates_of(*rope, count);
  if (const auto* mrope = typed<Mrope>(encoding)) return rates_of(rope_of(*mrope), count);
  if (const auto* sinusoidal = typed<Sinusoidal>(encoding)) return rates_of(*sinusoidal);
  if (const auto* alibi = typed<Alibi>(encoding)) return rates_of(*alibi);
  return std::nullopt;
}

// Half the distance of numbers of the format just below the amplitude: what the rounding of one value costs at most.
double half_step(DType dtype, double amplitude) {
  int e = 0;
  const double m = std::frexp(amplitude, &e);
  return std::ldexp(1.0, (m == 0.5 ? e - 1 : e) - num::format_of(dtype).digits - 1);
}

// How one way fares on all pairs.
struct Fate {
  std::vector<AngleError::Worst> worst;           ///< by pair
  std::vector<std::optional<std::int64_t>> past;  ///< first position past the limit, by pair
  std::size_t worst_pair = 0;
  std::int64_t pairs_past = 0, pairs_confused = 0;
  std::optional<std::int64_t> first_past, infinite_from;
};

void earliest(std::optional<std::int64_t>& best, const std::optional<std::int64_t>& other) {
  if (other && (!best || *other < *best)) best = other;
}

Fate fate_of(const Way& way, const Rates& rates, std::int64_t count) {
  Fate out;
  const num::Format form = num::format_of(way.formed);
  for (std::size_t i = 0; i < rates.truth.size(); ++i) {
    const num::Real& truth = rates.truth[i];
    const double used =
        num::decide(way.kept, [&] { return way.kept == DType::f64 ? truth : num::Real::of(rates.float32[i]); });
    const AngleError error(truth, used, form, form);
    out.worst.push_back(error.worst(count));
    out.past.push_back(error.first_past(limit, count));
    if (out.worst[i].error > out.worst[out.worst_pair].error) out.worst_pair = i;
    if (out.past[i]) ++out.pairs_past;
    if (out.worst[i].error > truth.to_double() / 2) ++out.pairs_confused;
    earliest(out.first_past, out.past[i]);
    earliest(out.infinite_from, error.infinite_from(count));
  }
  return out;
}

class Writer {
 public:
  Writer(const Question& question, const Rates& rates, std::int64_t count)
      : rates_(rates), count_(count), dtype_(question.dtype), turns_(rates.error_unit == "radians") {
    for (const Way& way : ways) fates_.push_back(fate_of(way, rates, count));
  }

  Section write() {
    out_.key = "precision";
    out_.title = "Precision";
    figures();
    casts();
    summary();
    out_.grids.push_back(per_item("worst", fmt::format("Worst {}, exact over all positions", rates_.error), std::string(rates_.error_unit),
                                  [](const Fate& fate, std::size_t i) { return Cell(fate.worst[i].error); }));
    out_.grids.push_back(per_item("first_past", fmt::format("First position with a {} above {}", rates_.error, print(limit)), "",
                                  [](const Fate& fate, std::size_t i) { return count(fate.past[i]); }));
    findings();
    return std::move(out_);
  }

 private:
  void figures() {
    out_.figures.push_back({"positions", "positions looked at, from 0", count_, "positions"});
    if (!rates_.set.empty()) out_.figures.push_back({"frequency_set", "frequencies in force at this length", rates_.set, ""});
    out_.figures.push_back({"dtype", "stored type", std::string(word(dtype_)), ""});
    out_.figures.push_back({"distinct_positions", fmt::format("positions that stay distinct as {}", word(dtype_)),
                            cast_positions(num::format_of(dtype_), count_).distinct, "positions"});
    out_.figures.push_back({"limit", fmt::format("limit on the {}", rates_.error), limit, std::string(rates_.error_unit)});
    if (turns_)
      out_.figures.push_back({"rounding", fmt::format("error of cos and sin where they alone are rounded to {}, at most", word(dtype_)),
                              half_step(dtype_, rates_.amplitude), ""});
  }

  // Positions by themselves.
  void casts() {
    Grid grid{"casts", "Positions cast to a type", {{"dtype", "type", ""}, {"distinct", "distinct", "positions"},
              {"first_lost", "first equal to the one before", ""}, {"step", "step at the end", "positions"},
              {"infinite_from", "infinite from", ""}}, {}};
    for (const Spelt& s : floats) {
      const CastPositions c = cast_positions(num::format_of(s.dtype), count_);
      grid.rows.push_back({std::string(s.word), c.distinct, count(c.first_lost), c.infinite ? Cell() : Cell(c.step), count(c.infinite)});
    }
    out_.grids.push_back(std::move(grid));
  }

  void summary() {
    const std::string item(rates_.item), unit(rates_.error_unit);
    Grid grid{"ways", "How angles are formed", {{"way", "formed in", ""}, {"worst", fmt::format("worst {}", rates_.error), unit},
              {item, item, ""}, {"position", "at position", ""}, {"past_limit", fmt::format("{}s above {}", item, print(limit)), ""},
              {"first_past", "first above it", ""}, {"confused", fmt::format("{}s off by half a step", item), ""},
              {"infinite_from", "infinite from", ""}}, {}};
    if (!turns_) grid.label = "How biases are formed";
    for (std::size_t w = 0; w < ways.size(); ++w) {
      const Fate& f = fates_[w];
      const AngleError::Worst& worst = f.worst[f.worst_pair];
      grid.rows.push_back({label_of(ways[w]), worst.error, number(f.worst_pair), worst.position,
                           f.pairs_past, count(f.first_past), f.pairs_confused, count(f.infinite_from)});
    }
    out_.grids.push_back(std::move(grid));
  }

  // One row per pair, one column per way.
  template <class F>
  Grid per_item(std::string key, std::string label, const std::string& unit, F&& value) const {
    Grid grid{std::move(key), std::move(label), {{std::string(rates_.item), std::string(rates_.item), ""},
              {std::string(rates_.rate), std::string(rates_.rate), std::string(rates_.unit)}}, {}};
    for (const Way& way : ways) grid.columns.push_back({std::string(way.key), label_of(way), unit});
    for (std::size_t i = 0; i < rates_.truth.size(); ++i) {
      std::vector<Cell> row{number(i), rates_.truth[i].to_double()};
      for (const Fate& fate : fates_) row.push_back(value(fate, i));
      grid.rows.push_back(std::move(row));
    }
    return grid;
  }

  // Positions that fall together, in the type asked first and then in the others; frequencies that were cast; model code.
  void findings() {
    cast_finding(dtype_);
    for (const DType dtype : {DType::bf16, DType::f16})
      if (dtype != dtype_) cast_finding(dtype);
    if (turns_)
      for (const std::size_t way : {bf16_kept, f16_kept}) kept_finding(way);
    model_code_finding();
  }

  void cast_finding(DType dtype) {
    const CastPositions c = cast_positions(num::format_of(dtype), count_);
    if (!c.first_lost) return;
    const std::string_view better = dtype == DType::f32 || count_ > std::int64_t{1} << 24 ? "float64" : "float32 or better";
    const std::string advice = turns_ ? fmt::format("form angles in {} and round only cos and sin", better)
                                      : fmt::format("multiply slopes by positions in {} and round only the bias", better);
    out_.findings.push_back(fmt::format("{} positions: {} of {} rows are distinct, {} is the first that equals the one before{}; {}",
                                        word(dtype), c.distinct, count_, *c.first_lost,
                                        c.infinite ? fmt::format(", and from {} on all are infinite", *c.infinite) : "", advice));
  }

  void kept_finding(std::size_t way) {
    const Fate& f = fates_[way];
    if (f.pairs_past == 0) return;
    const AngleError::Worst& worst = f.worst[f.worst_pair];
    out_.findings.push_back(fmt::format(
        "inv_freq cast to {}: {} of {} pairs are off by more than {} rad, the first at position {}, pair {} by {:.7g} rad at {}; "
        "keep inv_freq in float32",
        word(ways[way].kept), f.pairs_past, rates_.truth.size(), print(limit), *f.first_past, number(f.worst_pair), worst.error, worst.position));
  }

  void model_code_finding() {
    const Fate& f = fates_[model_code];
    const AngleError::Worst& worst = f.worst[f.worst_pair];
    if (worst.error == 0) return;
    std::string text = fmt::format("float32 as in model code: the {} is at most {:.3g}{} ({} {}, position {})", rates_.error, worst.error,
                                   turns_ ? " rad" : "", rates_.item, number(f.worst_pair), worst.position);
    if (turns_)
      text += fmt::format(", cos and sin are off by no more{} before they are rounded; rounding them to {} costs {:.3g} at most",
                          rates_.amplitude > 1 ? fmt::format(" than {:.3g}", worst.error * rates_.amplitude) : "", word(dtype_),
                          half_step(dtype_, rates_.amplitude));
    if (f.pairs_past > 0)
      text += fmt::format("; it passes {} from position {} on, where {} are to be formed in float64", print(limit), *f.first_past,
                          turns_ ? "angles" : "biases");
    out_.findings.push_back(std::move(text));
  }

  [[nodiscard]] std::string label_of(const Way& way) const {
    return fmt::format(fmt::runtime(way.label), rates_.rate);
  }
  [[nodiscard]] std::int64_t number(std::size_t i) const { return rates_.first + static_cast<std::int64_t>(i); }

  const Rates& rates_;
  const std::int64_t count_;
  const DType dtype_;
  const bool turns_;  ///< rates are frequencies
  std::vector<Fate> fates_;
  Section out_;
};

}  // namespace

std::optional<Section> precision(const Question& question) {
  if (info(question.dtype).integer) return std::nullopt;
  const std::optional<std::int64_t> asked = question.context ? question.context : question.trained;
  const std::int64_t count = std::min(asked.value_or(0), max_position);
  if (count < 1) return std::nullopt;
  return num::at_precision(256, [&]() -> std::optional<Section> {
    const std::optional<Rates> rates = rates_of(question.encoding, count);
    if (!rates || rates->truth.empty()) return std::nullopt;
    // What 16 bits cannot hold has no error in them.
    const auto too_large = [](double rate) { return !(std::fabs(rate) <= 65504); };
    if (std::any_of(rates->float32.begin(), rates->float32.end(), too_large)) return std::nullopt;
    return Writer(question, *rates, count).write();
  });
}

}  // namespace posenc::analyze_sections
