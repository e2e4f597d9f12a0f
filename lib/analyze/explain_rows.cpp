#include "analyze/explain_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "posenc/text.hpp"

namespace posenc::analyze_sections {
namespace {

using Json = nlohmann::ordered_json;
using namespace program_words;

Json json_of(const FieldView& f) {
  if (f.type == "integer") return parse_int(f.value, f.name);
  if (f.type == "real") return parse_real(f.value, f.name);
  if (f.type == "boolean") return parse_bool(f.value, f.name);
  if (f.type == "list") return parse_reals(f.value, f.name);
  return f.value;
}
Cell cell_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_array()) return fmt::format("{} numbers", value.size());
  return value.get<std::string>();
}

class Collector {
 public:
  Collector(const ExplainNumbers& numbers, const ExplainWords& words) : n_(numbers), words_(words) {}

  std::vector<ExplainRow> collect() {
    ExplainRow& rule = add("rule", "how frequencies are rescaled", "", n_.facts.method);
    give(rule, "");
    for (std::size_t p = 0; p < programs.size(); ++p)
      if (!rule.given[p].is_null()) rule.given[p] = std::string(words_.rule(p));
    if (n_.in_window()) rule.given[transformers4] = Json();  // there it is the rule of the other layers
    if (n_.factor) {
      ExplainRow& row = add("factor", "context ratio", "", *n_.factor);
      if (!words_.naming().by_base) give(row, *n_.factor);
      if (std::isfinite(1 / *n_.factor)) give(add("freq_scale", "1 / factor", "", 1 / *n_.factor), 1 / *n_.factor);
    }
    const bool stretched = n_.alpha && (*n_.alpha != 1 || words_.naming().by_base);
    if (stretched) add("alpha", "NTK's alpha: how far the last wavelength is stretched", "", *n_.alpha);
    if (n_.rope.inv_freq.empty()) {
      ExplainRow& base = add("base", "rope_theta", "", n_.rope.base);
      if (!words_.naming().by_base) give(base, n_.rope.base);
    }
    if (stretched) {
      ExplainRow& row = add("effective_base", "base * alpha^(d/(d-2)): the base that alone stretches the last wavelength as far", "", *n_.effective_base);
      if (words_.naming().by_base) give(row, *n_.effective_base);
    }
    if (n_.original) give(add("original_max_position_embeddings", "length trained for", "positions", *n_.original), *n_.original);
    if (n_.facts.method == "dynamic") rows_.back().given = {};  // it has no such key: max_position_embeddings is this length
    if (n_.reach) add("reach", "factor times the length trained for", "positions", *n_.reach);
    lengths();
    widths();
    amplitude();
    add("softmax_multiplier", "second magnitude: factor on the attention scale", "", n_.softmax);
    rest();
    axes();
    if (words_.by_divisors()) {
      ExplainRow& row = add("divisors", "divisors of the plain frequencies", "", std::string("posenc generate --for llama.cpp writes them"));
      row.given[gguf] = fmt::format("{} numbers", n_.state.geometry.rotary_dim / 2);
    }
    return std::move(rows_);
  }

 private:
  ExplainRow& add(std::string key, std::string label, std::string unit, Cell value) {
    rows_.push_back({std::move(key), std::move(label), std::move(unit), std::move(value), {}});
    return rows_.back();
  }
  // Gives the row's quantity to every program that has the rule and a word that counts under it.
  void give(ExplainRow& row, const Json& value) const {
    const Spelling* s = spelling_of(row.key);
    if (s == nullptr) return;
    for (std::size_t p = 0; p < programs.size(); ++p) {
      const std::string_view rule = words_.rule(p);
      const std::string_view under = p == gguf ? s->gguf_rules : p == llama_flags ? s->flag_rules : "";
      if (!words_.word(p, *s).empty() && !rule.empty() && (under.empty() || has_word(under, rule))) row.given[p] = value;
    }
  }

  void lengths() {
    if (!n_.context) return;
    // transformers grows a dynamic base from max_position_embeddings on: there it stays the trained length.
    const std::int64_t declared = n_.facts.method == "dynamic" && n_.original ? *n_.original : *n_.context;
    ExplainRow& row = add("declared", "positions to declare", "positions", declared);
    give(row, declared);
    if (std::find(multiplied_by_vllm.begin(), multiplied_by_vllm.end(), n_.facts.method) != multiplied_by_vllm.end()) row.given[vllm] = Json();
    ExplainRow& use = add("context", "positions to serve", "positions", *n_.context);
    give(use, *n_.context);
    if (words_.naming().flags.empty()) use.given[llama_flags] = *n_.context;
    if (words_.naming().gguf.empty()) use.given[gguf] = *n_.context;
  }

  void widths() {
    const std::int64_t turning = n_.state.geometry.rotary_dim, head = n_.rope.head_dim;
    give(add("rotary_dim", "lanes that turn", "lanes", turning), turning);
    if (turning == head) return;
    // Programs cut head_dim * share to an integer.
    double share = n_.rope.partial_rotary_factor.value_or(static_cast<double>(turning) / static_cast<double>(head));
    if (static_cast<std::int64_t>(static_cast<double>(head) * share) < turning) share = std::nextafter(share, 1);
    give(add("partial_rotary_factor", "share of head_dim that turns", "", share), share);
  }

  // Which position axis a pair follows stands in the same block: whoever replaces the block has to say it again.
  void axes() {
    if (n_.question.reading == nullptr || n_.question.reading->mrope_section.empty()) return;
    const std::vector<std::int64_t>& parts = n_.question.reading->mrope_section;
    ExplainRow& row = add("mrope_section", "pairs that follow time, height, width", "pairs", fmt::format("{}", fmt::join(parts, ", ")));
    give(row, parts);
    if (!row.given[gguf].is_null()) row.given[gguf].push_back(0);  // GGUF has four axes
    if (n_.question.reading->mrope_layout == "interleaved") give(add("mrope_interleaved", "axes alternate pair by pair", "", true), true);
  }

  // Amplitudes are written where a program would not come to the same by itself.
  void amplitude() {
    ExplainRow& row = add("attention_factor", "first magnitude: amplitude of cos and sin", "", n_.amplitude);
    const bool read = n_.yarn() || n_.facts.method == "longrope";
    if (read && !close(n_.amplitude, n_.usual_amplitude())) row.given[transformers4] = row.given[transformers5] = n_.amplitude;
    const double rest = n_.amplitude / n_.own_amplitude();
    // DeepSeek's classes come to the ratio of mscale and mscale_all_dim by themselves.
    if (n_.deepseek() || close(rest, 1) || n_.in_window()) return;
    if (n_.yarn()) row.given[vllm] = rest;
    if (!words_.naming().flags.empty()) row.given[llama_flags] = rest;
    row.given[gguf] = rest;
  }

  // What else the rule has.
  void rest() {
    for (const FieldView& f : n_.question.encoding.fields()) {
      const bool shown_already = std::any_of(rows_.begin(), rows_.end(), [&](const ExplainRow& q) { return q.key == f.name; });
      if (f.group != n_.facts.method || !f.present || shown_already || f.name == "max_position_embeddings") continue;
      if (spelling_of(f.name) == nullptr && f.value == f.fallback) continue;  // ours alone, and as everybody has it
      const Json value = json_of(f);
      ExplainRow& row = add(f.name, f.help, f.unit, cell_of(value));
      if ((f.name == "mscale" || f.name == "mscale_all_dim") && !n_.weighted() && !n_.deepseek()) continue;  // without effect
      if (const Spelling* s = spelling_of(f.name); s != nullptr && s->optional && f.value == f.fallback) continue;
      give(row, value);
      if (f.name == "mscale_all_dim")  // as llama.cpp's converter writes it for DeepSeek
        row.given[gguf] = n_.deepseek() ? Json(0.1 * *n_.number(f.name)) : Json();
    }
  }

  const ExplainNumbers& n_;
  const ExplainWords& words_;
  std::vector<ExplainRow> rows_;
};

}  // namespace

std::vector<ExplainRow> explain_rows(const ExplainNumbers& numbers, const ExplainWords& words) { return Collector(numbers, words).collect(); }

}  // namespace posenc::analyze_sections
