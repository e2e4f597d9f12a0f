// explain: the settings of a rope in the words of other programs. The quantities of one equivalent set (factor, frequency
// scale, NTK's alpha, base, lengths, YaRN's two magnitudes) are rows; how each program spells each of them and calls each
// rule is program_words.hpp. What is out of range, what contradicts and what a program cannot say are findings.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "analyze/fields.hpp"
#include "analyze/program_words.hpp"
#include "analyze/section.hpp"
#include "analyze/turning.hpp"
#include "encodings/rope_state.hpp"
#include "rescale/names.hpp"

namespace posenc::analyze_sections {
namespace {

using Json = nlohmann::ordered_json;
using num::Real;

using namespace program_words;
static_assert(std::all_of(namings.begin(), namings.end(), [](const Naming& n) { return rescale::is_rule_name(n.method); }));
static_assert(std::all_of(multiplied_by_vllm.begin(), multiplied_by_vllm.end(), rescale::is_rule_name));

// Amplitudes of real models stay below 1.5 (factor 128: 1.485); above this one it is a slip.
constexpr double loud = 3;

// A number without an exponent where that is short.
std::string shown(double x) { return fmt::format("{}", x); }
bool close(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::fabs(b); }

// YaRN's g(s, m), Peng et al. 2023 eq. 22 with DeepSeek's weight.
double magnitude(double s, double m) { return s <= 1 ? 1 : 0.1 * m * std::log(s) + 1; }

// One row: our value, and what each program is given for it (null: nothing).
struct Quantity {
  std::string key, label, unit;
  Cell value;
  std::array<Json, programs.size()> given{};
};

class Explainer {
 public:
  Explainer(const Question& question, const Rope& rope, std::int64_t length)
      : question_(question), rope_(rope), state_(at_length(rope, length)), length_(length), facts_(facts(rope)) {
    for (FieldView& f : question.encoding.fields())
      if (f.group == facts_.method && f.present) fields_.emplace(f.name, std::move(f));
    const auto named = std::find_if(namings.begin(), namings.end(), [&](const Naming& n) { return n.method == facts_.method; });
    const auto variant = fields_.find("variant");  // of dynamic: the others know one
    const bool own = variant != fields_.end() && variant->second.value != variant->second.fallback;
    naming_ = !rope.inv_freq.empty() ? &nothing : named == namings.end() || own ? &unknown : &*named;
    if (question.reading != nullptr) {
      layer_ = question.reading->layer_type;
      for (const Setting& s : question.reading->settings)
        if (const std::string key = last_key(s.origin); s.field == "base" && (!key.empty() || in_window())) base_word_ = key;
        else if (s.field == "rotary_dim" && s.origin.ends_with(')'))  // "head_dim * 0.25 (rotary_pct)"
          if (const std::string share = last_key(s.origin.substr(s.origin.rfind('(') + 1, s.origin.size() - s.origin.rfind('(') - 2)); !share.empty())
            share_word_ = share;
    }
    derive();
  }

  Section write() {
    Section out{"explain", "In other programs' words", {}, {}, {}};
    collect();
    out.grids.push_back(words());
    out.grids.push_back(settings());
    if (auto readings = mscale_readings()) out.grids.push_back(std::move(*readings));
    for (const Check check : checks)
      if (auto finding = (this->*check)()) out.findings.push_back(std::move(*finding));
    return out;
  }

 private:
  using Finding = std::optional<std::string>;
  using Check = Finding (Explainer::*)() const;
  static const std::array<Check, 16> checks;

  // "rope_local_base_freq" of "text_config.rope_local_base_freq"; nothing where the origin is no key.
  static std::string last_key(std::string_view origin) {
    const std::string_view key = origin.substr(origin.rfind('.') + 1);
    const bool word = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); });
    return std::string(word ? key : "");
  }
  static Rope at_length(Rope rope, std::int64_t length) {
    rope.positions = Positions::range(0, length);
    rope.offset = 0;
    return rope;
  }
  [[nodiscard]] std::optional<double> number(std::string_view field) const {
    const auto found = fields_.find(field);
    return found == fields_.end() ? std::nullopt : std::optional(parse_real(found->second.value, field));
  }
  [[nodiscard]] std::optional<std::int64_t> count(std::string_view field) const {
    const auto found = fields_.find(field);
    return found == fields_.end() ? std::nullopt : std::optional(parse_int(found->second.value, field));
  }

  // What follows from the parameters.
  void derive() {
    amplitude_ = num::decide(DType::f64, [&] { return state_.amplitude_real(); });
    softmax_ = question_.reading != nullptr ? question_.reading->softmax_multiplier : rope_.softmax_multiplier.value_or(1);
    factor_ = number("factor");
    original_ = count("original_max_position_embeddings");
    if (!original_) original_ = count("max_position_embeddings");
    const RopeGeometry& g = state_.geometry;
    const std::int64_t last = g.rotary_dim / 2 - 1;
    const bool whole_range = g.frequency_denominator == g.rotary_dim && g.frequency_denominator > 2 && rope_.inv_freq.empty();
    if (whole_range) {
      const std::size_t set = frequency_set(rope_, length_);
      const Real stretch = rescale::plain_inv_freq(g, Real::of(g.base), last) / state_.inv_freq<Real>(set, last);
      const double a = stretch.to_double();
      const double b = (Real::of(g.base) * pow(stretch, g.frequency_denominator, g.frequency_denominator - 2)).to_double();
      if (std::isfinite(a) && std::isfinite(b)) alpha_ = a, effective_base_ = b;
    }
    if (naming_->by_base && !effective_base_) naming_ = &unknown;
    const std::optional<std::int64_t> trained = original_ ? original_ : question_.trained;
    if (trained && factor_ && facts_.method != "llama3" && *factor_ * static_cast<double>(*trained) < 0x1p53)
      reach_ = std::llround(*factor_ * static_cast<double>(*trained));
    if (question_.context) context_ = question_.context;
    else if (question_.reading != nullptr) context_ = question_.reading->context;
    // Up to the trained length the rule would not be needed: it is there for what it reaches.
    if (context_ && reach_ && original_ && facts_.method != "dynamic" && *context_ <= *original_) context_ = std::max(*context_, *reach_);
  }

  [[nodiscard]] bool yarn() const { return facts_.method == "yarn"; }
  // llama.cpp can be told by divisors of the plain frequencies alone.
  [[nodiscard]] bool by_divisors() const { return rope_.inv_freq.empty() && (facts_.method == "llama3" || naming_ == &unknown); }
  [[nodiscard]] bool deepseek() const { return softmax_ != 1; }
  [[nodiscard]] bool weighted() const { return number("mscale").value_or(0) != 0 && number("mscale_all_dim").value_or(0) != 0; }
  // The amplitude that transformers would take by itself.
  [[nodiscard]] double usual_amplitude() const {
    if (yarn()) return weighted() ? magnitude(*factor_, *number("mscale")) / magnitude(*factor_, *number("mscale_all_dim")) : magnitude(*factor_, 1);
    if (facts_.method != "longrope" || *factor_ <= 1) return 1;
    return std::sqrt(1 + std::log(*factor_) / std::log(static_cast<double>(*original_)));
  }
  // The same of vLLM's and llama.cpp's plain YaRN, which multiply what they are given onto it.
  [[nodiscard]] double own_amplitude() const { return yarn() ? magnitude(*factor_, 1) : 1; }

  // ---- the rows

  Quantity& add(std::string key, std::string label, std::string unit, Cell value) {
    rows_.push_back({std::move(key), std::move(label), std::move(unit), std::move(value), {}});
    return rows_.back();
  }
  // The rule as a program calls it.
  [[nodiscard]] std::string_view name_for(std::size_t p) const {
    if (p == gguf) return naming_->gguf;
    if (p == llama_flags) return in_window() ? "" : naming_->flags;
    return p == transformers4 && naming_->new_to_5 ? "" : naming_->json;
  }
  // Whether these are layers with a window that a rescaling of the others does not reach (Gemma-3, ModernBERT).
  [[nodiscard]] bool in_window() const { return facts_.method == "default" && (layer_ == "sliding_attention" || layer_ == "local_attention"); }
  [[nodiscard]] std::string_view word_of(std::size_t p, const Spelling& s) const {
    if (p == gguf && in_window()) {
      const auto found = std::find_if(window_words.begin(), window_words.end(), [&](const WindowWord& w) { return w.quantity == s.quantity; });
      return found == window_words.end() ? "" : found->word;
    }
    if (p == transformers4 && s.words[p] == "rope_theta") return base_word_;
    return p == transformers4 && s.quantity == "partial_rotary_factor" ? std::string_view(share_word_) : s.words[p];
  }
  // Gives the row's quantity to every program that has the rule and a word that counts under it.
  void give(Quantity& row, const Json& value) const {
    const Spelling* s = spelling_of(row.key);
    if (s == nullptr) return;
    for (std::size_t p = 0; p < programs.size(); ++p) {
      const std::string_view rule = name_for(p);
      const std::string_view under = p == gguf ? s->gguf_rules : p == llama_flags ? s->flag_rules : "";
      if (!word_of(p, *s).empty() && !rule.empty() && (under.empty() || has_word(under, rule))) row.given[p] = value;
    }
  }

  void collect() {
    Quantity& rule = add("rule", "how frequencies are rescaled", "", facts_.method);
    give(rule, "");
    for (std::size_t p = 0; p < programs.size(); ++p)
      if (!rule.given[p].is_null()) rule.given[p] = std::string(name_for(p));
    if (in_window()) rule.given[transformers4] = Json();  // there it is the rule of the other layers
    if (factor_) {
      Quantity& row = add("factor", "context ratio", "", *factor_);
      if (!naming_->by_base) give(row, *factor_);
      if (std::isfinite(1 / *factor_)) give(add("freq_scale", "1 / factor", "", 1 / *factor_), 1 / *factor_);
    }
    const bool stretched = alpha_ && (*alpha_ != 1 || naming_->by_base);
    if (stretched) add("alpha", "NTK's alpha: how far the last wavelength is stretched", "", *alpha_);
    if (rope_.inv_freq.empty()) {
      Quantity& base = add("base", "rope_theta", "", rope_.base);
      if (!naming_->by_base) give(base, rope_.base);
    }
    if (stretched) {
      Quantity& row = add("effective_base", "base * alpha^(d/(d-2)): the base that alone stretches the last wavelength as far", "", *effective_base_);
      if (naming_->by_base) give(row, *effective_base_);
    }
    if (original_) give(add("original_max_position_embeddings", "length trained for", "positions", *original_), *original_);
    if (facts_.method == "dynamic") rows_.back().given = {};  // it has no such key: max_position_embeddings is this length
    if (reach_) add("reach", "factor times the length trained for", "positions", *reach_);
    lengths();
    widths();
    amplitude();
    add("softmax_multiplier", "second magnitude: factor on the attention scale", "", softmax_);
    rest();
    axes();
    if (by_divisors()) {
      Quantity& row = add("divisors", "divisors of the plain frequencies", "", std::string("posenc generate --for llama.cpp writes them"));
      row.given[gguf] = fmt::format("{} numbers", state_.geometry.rotary_dim / 2);
    }
  }

  void lengths() {
    if (!context_) return;
    // transformers grows a dynamic base from max_position_embeddings on: there it stays the trained length.
    const std::int64_t declared = facts_.method == "dynamic" && original_ ? *original_ : *context_;
    Quantity& row = add("declared", "positions to declare", "positions", declared);
    give(row, declared);
    if (std::find(multiplied_by_vllm.begin(), multiplied_by_vllm.end(), facts_.method) != multiplied_by_vllm.end()) row.given[vllm] = Json();
    Quantity& use = add("context", "positions to serve", "positions", *context_);
    give(use, *context_);
    if (naming_->flags.empty()) use.given[llama_flags] = *context_;
    if (naming_->gguf.empty()) use.given[gguf] = *context_;
  }

  void widths() {
    const std::int64_t turning = state_.geometry.rotary_dim, head = rope_.head_dim;
    give(add("rotary_dim", "lanes that turn", "lanes", turning), turning);
    if (turning == head) return;
    // Programs cut head_dim * share to an integer.
    double share = rope_.partial_rotary_factor.value_or(static_cast<double>(turning) / static_cast<double>(head));
    if (static_cast<std::int64_t>(static_cast<double>(head) * share) < turning) share = std::nextafter(share, 1);
    give(add("partial_rotary_factor", "share of head_dim that turns", "", share), share);
  }

  // Which position axis a pair follows stands in the same block: whoever replaces the block has to say it again.
  void axes() {
    if (question_.reading == nullptr || question_.reading->mrope_section.empty()) return;
    const std::vector<std::int64_t>& parts = question_.reading->mrope_section;
    Quantity& row = add("mrope_section", "pairs that follow time, height, width", "pairs", fmt::format("{}", fmt::join(parts, ", ")));
    give(row, parts);
    if (!row.given[gguf].is_null()) row.given[gguf].push_back(0);  // GGUF has four axes
    if (question_.reading->mrope_layout == "interleaved") give(add("mrope_interleaved", "axes alternate pair by pair", "", true), true);
  }

  // Amplitudes are written where a program would not come to the same by itself.
  void amplitude() {
    Quantity& row = add("attention_factor", "first magnitude: amplitude of cos and sin", "", amplitude_);
    const bool read = yarn() || facts_.method == "longrope";
    if (read && !close(amplitude_, usual_amplitude())) row.given[transformers4] = row.given[transformers5] = amplitude_;
    const double rest = amplitude_ / own_amplitude();
    // DeepSeek's classes come to the ratio of mscale and mscale_all_dim by themselves.
    if (deepseek() || close(rest, 1) || in_window()) return;
    if (yarn()) row.given[vllm] = rest;
    if (!naming_->flags.empty()) row.given[llama_flags] = rest;
    row.given[gguf] = rest;
  }

  // What else the rule has.
  void rest() {
    for (const FieldView& f : question_.encoding.fields()) {
      const bool shown_already = std::any_of(rows_.begin(), rows_.end(), [&](const Quantity& q) { return q.key == f.name; });
      if (f.group != facts_.method || !f.present || shown_already || f.name == "max_position_embeddings") continue;
      if (spelling_of(f.name) == nullptr && f.value == f.fallback) continue;  // ours alone, and as everybody has it
      const Json value = json_of(f);
      Quantity& row = add(f.name, f.help, f.unit, cell_of(value));
      if ((f.name == "mscale" || f.name == "mscale_all_dim") && !weighted() && !deepseek()) continue;  // without effect
      if (const Spelling* s = spelling_of(f.name); s != nullptr && s->optional && f.value == f.fallback) continue;
      give(row, value);
      if (f.name == "mscale_all_dim")  // as llama.cpp's converter writes it for DeepSeek
        row.given[gguf] = deepseek() ? Json(0.1 * *number(f.name)) : Json();
    }
  }
  static Json json_of(const FieldView& f) {
    if (f.type == "integer") return parse_int(f.value, f.name);
    if (f.type == "real") return parse_real(f.value, f.name);
    if (f.type == "boolean") return parse_bool(f.value, f.name);
    if (f.type == "list") return parse_reals(f.value, f.name);
    return f.value;
  }
  static Cell cell_of(const Json& value) {
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.is_number()) return value.get<double>();
    if (value.is_array()) return fmt::format("{} numbers", value.size());
    return value.get<std::string>();
  }

  // ---- the grids

  static std::string plain(const Json& value) {
    if (value.is_number_float()) return shown(value.get<double>());
    return value.is_string() ? value.get<std::string>() : value.dump();
  }
  [[nodiscard]] std::string phrase(std::size_t program, const Spelling& s, const Json& value) const {
    const std::string_view word = word_of(program, s);
    if (program == gguf)
      return word.starts_with("tensor ") ? fmt::format("{} [{}]", word, value.is_array() ? std::to_string(value.size()) : plain(value))
                                         : fmt::format("A.{} = {} ({})", word, plain(value), s.gguf_type);
    if (word.starts_with("--")) return fmt::format("{}{}{}", word, word.ends_with(":") ? "" : " ", plain(value));
    return fmt::format("{}: {}", word, value.is_array() ? fmt::format("[{} numbers]", value.size()) : value.dump());
  }

  [[nodiscard]] Grid words() const {
    Grid grid{"words", "One set of numbers in the words of other programs", {{"quantity", "quantity", ""}, {"value", "value", ""}}, {}};
    for (const ProgramName& p : programs) grid.columns.push_back({std::string(p.key), std::string(p.label), ""});
    grid.columns.push_back({"meaning", "meaning", ""});
    for (const Quantity& q : rows_) {
      std::vector<Cell> row{q.key, q.value};
      const Spelling* s = spelling_of(q.key);
      for (std::size_t p = 0; p < programs.size(); ++p)
        row.push_back(q.given[p].is_null() ? Cell() : Cell((s->alternative ? "or " : "") + phrase(p, *s, q.given[p])));
      row.push_back(q.unit.empty() ? q.label : fmt::format("{} [{}]", q.label, q.unit));
      grid.rows.push_back(std::move(row));
    }
    return grid;
  }

  // The same to copy: one object, one command line, one list of keys.
  [[nodiscard]] Grid settings() const {
    Grid grid{"settings", "The same, to copy", {{"program", "program", ""}, {"text", "text", ""}}, {}};
    for (std::size_t p = 0; p < programs.size(); ++p)
      grid.rows.push_back({std::string(programs[p].key), name_for(p).empty() ? Cell() : Cell(setting(p))});
    grid.rows.push_back({std::string("vllm_before_0.12"), name_for(transformers4).empty() || in_window() ? Cell() : Cell(older_vllm())});
    return grid;
  }
  // What a program's words make together: nested JSON, and a line of flags or keys.
  [[nodiscard]] std::pair<Json, std::string> joined(std::size_t program) const {
    Json object = Json::object();
    std::string line;
    for (const Quantity& q : rows_) {
      const Spelling* s = spelling_of(q.key);
      if (q.given[program].is_null() || s->alternative) continue;
      const std::string_view word = word_of(program, *s);
      const std::size_t dot = word.find('.');
      if (program == gguf || word.starts_with("--"))
        line += (line.empty() ? "" : program == gguf ? "; " : " ") + phrase(program, *s, q.given[program]);
      else if (dot == std::string_view::npos)
        object[std::string(word)] = q.given[program];
      else
        object[std::string(word.substr(0, dot))][std::string(word.substr(dot + 1))] = q.given[program];
    }
    return {std::move(object), std::move(line)};
  }
  [[nodiscard]] std::string setting(std::size_t program) const {
    const auto [object, line] = joined(program);
    if (object.empty()) return line;
    return program == vllm ? fmt::format("--hf-overrides '{}'{}{}", object.dump(), line.empty() ? "" : " ", line) : object.dump();
  }
  // Its flags took the block of transformers 4 and the base apart.
  [[nodiscard]] std::string older_vllm() const {
    auto [object, line] = joined(vllm);
    Json block = object.value("rope_parameters", Json::object());
    const Json theta = block.value("rope_theta", Json());
    object.erase("rope_parameters");
    block.erase("rope_theta");
    block.erase("partial_rotary_factor");
    std::string out;
    const auto add = [&](const std::string& word) { out += (out.empty() ? "" : " ") + word; };
    if (naming_->json != "default" || block.contains("mrope_section")) add(fmt::format("--rope-scaling '{}'", block.dump()));
    if (!theta.is_null()) add("--rope-theta " + plain(theta));
    if (!object.empty()) add(fmt::format("--hf-overrides '{}'", object.dump()));
    if (!line.empty()) add(line);
    return out;
  }

  // The pair mscale, mscale_all_dim is read in three ways.
  struct ReadingOfPair {
    std::string_view name;
    double amplitude, softmax;
  };
  [[nodiscard]] std::vector<ReadingOfPair> readings_of_pair() const {
    if (!yarn() || number("mscale_all_dim").value_or(0) == 0) return {};
    const double all = *number("mscale_all_dim"), g = magnitude(*factor_, all);
    const double ratio = magnitude(*factor_, weighted() ? *number("mscale") : 1) / (weighted() ? g : 1);
    return {{"paper: 0.1 ln(factor) + 1, the pair unread (vLLM's and older llama.cpp's plain yarn)", magnitude(*factor_, 1), 1},
            {"transformers: the ratio of the pair", ratio, 1},
            {"DeepSeek: the ratio, and mscale_all_dim on the softmax", ratio, g * g}};
  }
  [[nodiscard]] std::optional<Grid> mscale_readings() const {
    const auto readings = readings_of_pair();
    if (readings.empty()) return std::nullopt;
    Grid grid{"mscale_readings", "What mscale and mscale_all_dim can mean",
              {{"reading", "reading", ""}, {"attention_factor", "amplitude", ""}, {"softmax_multiplier", "on the softmax", ""},
               {"logits", "logits times", ""}, {"in_force", "in force here", ""}}, {}};
    for (const ReadingOfPair& r : readings)
      grid.rows.push_back({std::string(r.name), r.amplitude, r.softmax, r.amplitude * r.amplitude * r.softmax,
                           close(r.amplitude, amplitude_) && close(r.softmax, softmax_)});
    return grid;
  }

  // ---- the findings, slips first

  Finding factor_as_amplitude() const {
    if (amplitude_ <= loud && !(factor_ && *factor_ != 1 && rope_.attention_factor && close(amplitude_, *factor_))) return std::nullopt;
    const std::string right = factor_ ? fmt::format("for factor {} YaRN's is {:.12g}, or 1 where mscale equals mscale_all_dim", shown(*factor_), magnitude(*factor_, 1))
                                      : std::string("real models stay below 1.5");
    return fmt::format("attention_factor is {}{}: it multiplies every logit by {:.6g}; {}", shown(amplitude_),
                       factor_ && close(amplitude_, *factor_) ? ", the factor itself" : "", amplitude_ * amplitude_, right);
  }
  Finding inverse_factor() const {
    if (!factor_ || *factor_ >= 1) return std::nullopt;
    return fmt::format("factor {0} is below 1 and shortens the context; {0} is the frequency scale (llama.cpp --rope-freq-scale) of factor {1}: "
                       "write {1} if the context is to grow",
                       shown(*factor_), shown(1 / *factor_));
  }
  // alpha goes into the base through the power d/(d-2); a round ratio of bases shows that it was multiplied in.
  Finding alpha_as_ratio() const {
    const double ratio = facts_.method == "ntk-old" ? *factor_ : facts_.method == "base" ? *number("new_base") / rope_.base : 0;
    if (!alpha_ || !(ratio > 1) || ratio != std::floor(ratio) || ratio > 64) return std::nullopt;
    const double d = static_cast<double>(state_.geometry.frequency_denominator);
    return fmt::format("the base is multiplied by {0}: if {0} is meant as NTK's alpha the base is {1:.12g} (base * alpha^(d/(d-2))); this one has "
                       "alpha {2:.12g}",
                       shown(ratio), rope_.base * std::pow(ratio, d / (d - 2)), *alpha_);
  }
  Finding alpha_on_raised_base() const {
    if (facts_.method != "ntk" || rope_.base <= Rope{}.base) return std::nullopt;
    return fmt::format("alpha {} is applied to base {}, not to {}: check that the base was trained with and has no alpha in it yet", shown(*factor_), shown(rope_.base),
                       shown(Rope{}.base));
  }
  Finding base_by_default() const {
    if (question_.reading == nullptr || !factor_ || *factor_ == 1) return std::nullopt;
    for (const Setting& s : question_.reading->settings)
      if (s.field == "base" && s.origin.find("default") != std::string::npos)
        return fmt::format("the file names no base: {} is the {}, and factor is {}; check that rope_theta was not lost", shown(rope_.base), s.origin,
                           shown(*factor_));
    return std::nullopt;
  }
  Finding no_ramp() const {
    const auto fast = number("beta_fast"), slow = number("beta_slow");
    if (!fast || !slow || *fast > *slow) return std::nullopt;
    return fmt::format("beta_fast {} is not above beta_slow {}: the ramp between kept and interpolated pairs has no width; check their order",
                       shown(*fast), shown(*slow));
  }
  Finding original_not_below() const {
    const std::int64_t declared = question_.reading == nullptr ? 0 : question_.reading->context.value_or(0);
    if (facts_.method == "dynamic" || !original_ || declared == 0 || !factor_ || *factor_ <= 1 || *original_ < declared) return std::nullopt;
    return fmt::format("original_max_position_embeddings is {}, not below the {} positions declared: it is the length before rescaling", *original_, declared);
  }
  // The factor and the ratio of lengths are two numbers.
  Finding factor_against_ratio() const {
    if (!reach_ || !original_ || !context_ || !(yarn() || facts_.method == "longrope") || *reach_ == *context_ || *original_ >= *context_) return std::nullopt;
    const double ratio = static_cast<double>(*context_) / static_cast<double>(*original_);
    std::string text = fmt::format("factor {} times {} reaches {} positions, not {}, whose ratio is {}", shown(*factor_), *original_, *reach_, *context_, shown(ratio));
    if (yarn()) text += fmt::format(" (amplitude {:.12g})", magnitude(ratio, 1));
    return text + "; the factor is what counts, transformers warns, and versions that take the ratio make another table";
  }
  Finding doubled_by_vllm() const {
    if ((facts_.method != "linear" && facts_.method != "dynamic") || !factor_ || *factor_ <= 1 || !context_) return std::nullopt;
    const double doubled = static_cast<double>(*context_) * *factor_;
    return fmt::format("vLLM multiplies max_position_embeddings by factor for {}: where it is {} already, vLLM serves {:.0f} positions; keep the trained "
                       "length there, or cap it with --max-model-len",
                       facts_.method, *context_, doubled);
  }
  Finding several_readings() const {
    const auto readings = readings_of_pair();
    if (readings.empty()) return std::nullopt;
    const auto same = [&](const ReadingOfPair& r) { return close(r.amplitude, readings[0].amplitude) && close(r.softmax, readings[0].softmax); };
    if (std::all_of(readings.begin(), readings.end(), same)) return std::nullopt;
    std::string text = "mscale and mscale_all_dim are read in three ways (amplitude, factor on the softmax):";
    for (std::size_t i = 0; i < readings.size(); ++i)
      text += fmt::format("{} {:.12g}, {:.12g}", i == 0 ? "" : ";", readings[i].amplitude, readings[i].softmax);
    return text + fmt::format("; in force here {:.12g}, {:.12g}: set mscale_rule and softmax_multiplier if the model's code means another", amplitude_, softmax_);
  }
  Finding second_magnitude() const {
    if (!deepseek()) return std::nullopt;
    return fmt::format("the attention scale is multiplied by {:.12g} beside the table; transformers and vLLM do so in the classes of DeepSeek only, llama.cpp "
                       "from yarn_log_multiplier in deepseek2 only",
                       softmax_);
  }
  Finding amplitude_unread() const {
    if (close(amplitude_, own_amplitude()) || deepseek() || factor_as_amplitude()) return std::nullopt;
    if (yarn())
      return fmt::format("attention_factor {:.12g} is to be written {:.12g} = {:.12g} / (0.1 ln factor + 1) for llama.cpp and as vLLM's attn_factor, which "
                         "multiply YaRN's own; --yarn-attn-factor is overwritten by recent llama.cpp, attn_factor is not",
                         amplitude_, amplitude_ / own_amplitude(), amplitude_);
    if (facts_.method == "longrope") return std::nullopt;
    return fmt::format("transformers and vLLM read attention_factor with yarn and longrope only: {:.12g} cannot be said with {}", amplitude_, facts_.method);
  }
  Finding not_in_llama_cpp() const {
    const std::string_view tensor = "the divisor tensor rope_freqs.weight (posenc generate --for llama.cpp writes it) says the same where the architecture loads it";
    if (yarn() && fields_.contains("truncate") && fields_.at("truncate").value == "false")
      return fmt::format("truncate = false cannot be said to llama.cpp, which rounds the ends of YaRN's ramp outward; {}", tensor);
    if (facts_.method == "llama3") return fmt::format("llama.cpp has no llama3 rule: {}", tensor);
    if (facts_.method == "dynamic" && effective_base_)
      return fmt::format("llama.cpp has no dynamic rule: --rope-scaling none --rope-freq-base {:.9g} is its table of {} positions, for every length",
                         *effective_base_, length_);
    if (facts_.method == "proportional") return std::string("llama.cpp has no word for the proportional rule: the architecture itself has to know it");
    if (facts_.method == "longrope")
      return fmt::format("llama.cpp has no flags for longrope: it takes its two lists from tensors of the file, the long one for contexts above {}", *original_);
    return std::nullopt;
  }
  Finding seldom_read() const {
    const bool given = std::any_of(rows_.begin(), rows_.end(), [](const Quantity& q) { return q.key.starts_with("beta_") && !q.given[gguf].is_null(); });
    if (!given) return std::nullopt;
    return std::string("yarn_beta_fast and yarn_beta_slow of a GGUF file are read by the loaders of a few architectures only; the flags --yarn-beta-fast and "
                       "--yarn-beta-slow count for all");
  }
  Finding one_layer_type() const {
    if (layer_.empty()) return std::nullopt;
    return fmt::format("these are the settings of {0} layers: where layer types differ, transformers 5 and vLLM keep them under rope_parameters.{0}{1}", layer_,
                       in_window() ? ", and llama.cpp has keys in the file for them but no flags" : "");
  }
  Finding not_elsewhere() const {
    if (naming_ != &unknown && naming_ != &nothing) return std::nullopt;
    const std::string what = rope_.inv_freq.empty() ? fmt::format("method {}{}", facts_.method, fields_.contains("variant") ? " in its variant " + fields_.at("variant").value : "")
                                                      : std::string("explicit inv_freq");
    return fmt::format("{} is not a setting of transformers, vLLM or llama.cpp; hand over the table (posenc generate --for NAME{})", what,
                       by_divisors() ? "; for llama.cpp its divisors, where the architecture loads rope_freqs.weight" : "");
  }

  const Question& question_;
  const Rope& rope_;
  const RopeState state_;
  const std::int64_t length_;
  const RopeFacts facts_;
  std::map<std::string, FieldView, std::less<>> fields_;  ///< of the rule, those that are given
  const Naming* naming_ = &unknown;
  std::string layer_;                      ///< type of the layers; "" when all are alike
  std::string base_word_ = "rope_theta";   ///< under which a config of transformers 4 has the base
  std::string share_word_ = "partial_rotary_factor";  ///< the same of the share that turns: rotary_pct of GPT-NeoX
  double amplitude_ = 1, softmax_ = 1;
  std::optional<double> factor_, alpha_, effective_base_;
  std::optional<std::int64_t> original_, reach_, context_;
  std::vector<Quantity> rows_;
};

const std::array<Explainer::Check, 16> Explainer::checks{
    &Explainer::factor_as_amplitude, &Explainer::inverse_factor,      &Explainer::alpha_as_ratio,    &Explainer::alpha_on_raised_base,
    &Explainer::base_by_default,     &Explainer::no_ramp,             &Explainer::original_not_below, &Explainer::factor_against_ratio,
    &Explainer::doubled_by_vllm,     &Explainer::several_readings,    &Explainer::second_magnitude,  &Explainer::amplitude_unread,
    &Explainer::not_in_llama_cpp,    &Explainer::seldom_read,         &Explainer::one_layer_type,      &Explainer::not_elsewhere,
};

}  // namespace

std::optional<Section> explain(const Question& question) {
  const auto* rope = typed<Rope>(question.encoding);
  if (!question.explain || rope == nullptr) return std::nullopt;
  const double own = rope->positions.shifted(rope->offset).length();
  const std::int64_t length = std::clamp<std::int64_t>(question.context.value_or(static_cast<std::int64_t>(own)), 1, max_position);
  return num::at_precision(256, [&] { return Explainer(question, *rope, length).write(); });
}

}  // namespace posenc::analyze_sections
