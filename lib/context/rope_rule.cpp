#include "context/rope_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "context/readers.hpp"
#include "context/rope_block.hpp"
#include "rescale/yarn_magnitude.hpp"

namespace posenc::config {
namespace {

using Names = std::vector<std::string_view>;

// Keys that any block may hold, and those that each rule reads.
const Names common_names{
    "rope_type", "type", "rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved", "llama_4_scaling_beta"};
Names names_of(std::string_view rule) {
  if (rule == "linear" || rule == "proportional") return {"factor"};
  if (rule == "dynamic") return {"factor", "alpha"};
  if (rule == "yarn")
    return {
        "factor",  "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim",
        "truncate"};
  if (rule == "llama3") return {"factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"};
  if (rule == "longrope")
    return {"factor",     "original_max_position_embeddings", "attention_factor", "short_factor", "long_factor", "short_mscale",
            "long_mscale"};
  return {};
}

void warn_of_unread(const Lookup& block, std::string_view rule) {
  constexpr std::size_t shown_keys = 5;
  const Names own = names_of(rule);
  for (const Place& place : block.places()) {
    std::string list;
    std::size_t count = 0;
    for (const auto& [key, value] : place.object->items()) {
      const auto is = [&, &k = key](std::string_view name) { return name == k; };
      if (std::any_of(common_names.begin(), common_names.end(), is) || std::any_of(own.begin(), own.end(), is) || value.is_null())
        continue;
      if (++count <= shown_keys) list += (count > 1 ? ", " : "") + in_quotes(key);
    }
    if (count > shown_keys) list += fmt::format(" and {} more", count - shown_keys);
    if (count > 0)
      block.warn(fmt::format("{} {} in {} {} no meaning for rope_type {} and {} not read", count > 1 ? "the keys" : "the key",
                             list, place.name(), count > 1 ? "have" : "has", rule, count > 1 ? "are" : "is"));
  }
}

class RuleReader {
 public:
  RuleReader(Reading& reading, const Lookup& block, const Lookup& model, const ModelClass* known, Given<std::int64_t> rotary_dim)
      : reading_(reading),
        block_(block),
        model_(model),
        known_(known),
        rotary_dim_(std::move(rotary_dim)),
        rule_(rope_rule(block)) {}

  void read() {
    const std::string& rule = rule_.value;
    if (rule == "dynamic") {
      dynamic();
    } else {
      put(reading_, "method", rule, rule_.origin);
      if (rule == "linear") factor();
      if (rule == "proportional") optional_factor();
      if (rule == "yarn") yarn();
      if (rule == "llama3") llama3();
      if (rule == "longrope") longrope();
    }
    if (!reading_.context) put_context(reading_, model_);
    reach_fact();
    temperature();
    if (!block_.places().empty()) warn_of_unread(block_, rule);
  }

 private:
  std::string prefix() const { return block_.places().front().prefix; }

  template <class T>
  Given<T> need(std::optional<Given<T>> given, std::string_view key, std::string_view advice = "") const {
    if (!given)
      block_.fail(fmt::format("{}{} is missing and rope_type {} needs it{}", prefix(), key, rule_.value,
                              advice.empty() ? "; add it" : advice));
    return *given;
  }

  double factor(std::string_view advice = "") {
    const auto given = need(block_.real({"factor"}, factors), "factor", advice);
    if (given.value < 1)
      block_.warn(fmt::format("{} is {}, below 1: the context is shortened", given.origin, plain(given.value)));
    put(reading_, "factor", given.value, given.origin);
    return given.value;
  }
  void optional_factor() {
    if (const auto given = block_.real({"factor"}, factors)) put(reading_, "factor", given->value, given->origin);
  }

  // In the block, or at the top level. LongRoPE's model class reads the top level (Phi-3), so that one wins there.
  std::optional<Given<std::int64_t>> original() const {
    const auto inner = block_.count({"original_max_position_embeddings"}, positions);
    const auto outer = model_.count({"original_max_position_embeddings"}, positions);
    if (inner && outer && inner->value != outer->value) {
      if (outer->origin.starts_with("class default")) return inner;
      const std::string both = fmt::format("{} is {} but {} is {}", inner->origin, inner->value, outer->origin, outer->value);
      if (rule_.value != "longrope") block_.fail(both + "; remove the wrong one");
      block_.warn(both + "; longrope takes the outer one");
      return outer;
    }
    if (known_ != nullptr && known_->model_type == "gpt_oss")
      if (const auto first = model_.count({"initial_context_length"}, positions); first && inner && first->value != inner->value)
        block_.fail(
            fmt::format("{} is {} but {} is {}; remove the wrong one", inner->origin, inner->value, first->origin, first->value));
    if (inner && outer && !outer->origin.starts_with("class default")) block_.agree(inner->origin, outer->origin);
    return inner ? inner : outer;
  }

  std::optional<Given<std::int64_t>> declared() const { return model_.first_count(context_keys, positions); }

  void dynamic() {
    const auto alpha = block_.real({"alpha"}, factors);
    if (alpha) {  // Hunyuan: the base is multiplied once by alpha^(d/(d-2)), whatever the length
      if (const auto f = block_.real({"factor"}, factors); f && f->value != 1)
        block_.fail(fmt::format("{} is {} but {} is {}, and they are two rules; keep one", f->origin, plain(f->value),
                                alpha->origin, plain(alpha->value)));
      put(reading_, "method", "ntk", alpha->origin);
      put(reading_, "factor", alpha->value, alpha->origin);
      return;
    }
    put(reading_, "method", "dynamic", rule_.origin);
    factor();
    const auto length = declared();
    if (!length) block_.fail("rope_type dynamic needs the trained length; add max_position_embeddings");
    put(reading_, "max_position_embeddings", length->value, length->origin);
    reading_.notes.push_back(fmt::format("the table depends on the length in use above {} positions", length->value));
  }

  void yarn() {
    const auto trained = original();
    const auto length = declared();
    std::string advice;
    if (trained && length && length->value > trained->value)
      advice = fmt::format("; if {} / {} is meant, add {}", length->origin, trained->origin,
                           plain(static_cast<double>(length->value) / static_cast<double>(trained->value)));
    const double f = factor(advice);
    if (trained) {
      put(reading_, "original_max_position_embeddings", trained->value, trained->origin);
      reach(f, *trained, length);
    } else {
      if (!length)
        block_.fail(fmt::format(
            "{}original_max_position_embeddings is missing and so is max_position_embeddings; add the trained length", prefix()));
      put(reading_, "original_max_position_embeddings", length->value, length->origin);
      block_.warn(
          fmt::format("{}original_max_position_embeddings is missing; {} {} is taken for the trained length, as transformers "
                      "does; add it if the model was trained shorter",
                      prefix(), length->origin, length->value));
    }
    const auto fast = block_.real({"beta_fast"}, factors), slow = block_.real({"beta_slow"}, factors);
    put(reading_, "beta_fast", fast ? fast->value : 32.0, fast ? fast->origin : "default of yarn");
    put(reading_, "beta_slow", slow ? slow->value : 1.0, slow ? slow->origin : "default of yarn");
    if ((fast ? fast->value : 32.0) <= (slow ? slow->value : 1.0))
      block_.fail(fmt::format("{}beta_fast {} must be greater than beta_slow {}; check both", prefix(),
                              plain(fast ? fast->value : 32.0), plain(slow ? slow->value : 1.0)));
    const auto truncate = block_.flag({"truncate"});
    put(reading_, "truncate", truncate ? truncate->value : true, truncate ? truncate->origin : "default of yarn");
    explicit_attention_factor();
    magnitudes(f);
  }

  // Two numbers come of mscale and mscale_all_dim: the table's amplitude, and in the DeepSeek family a factor on the softmax.
  void magnitudes(double f) {
    constexpr Limits weights{0, 1e3};  // 0 counts as absent
    const auto m = block_.real({"mscale"}, weights), all = block_.real({"mscale_all_dim"}, weights);
    const bool has_m = m && m->value > 0, has_all = all && all->value > 0;
    if (has_m && has_all) {
      put(reading_, "mscale", m->value, m->origin);
      put(reading_, "mscale_all_dim", all->value, all->origin);
    } else if (has_m) {
      block_.warn(fmt::format("{} stands without mscale_all_dim and is not used", m->origin));
    }
    if (!has_all) return;
    if (known_ != nullptr && known_->softmax_from_mscale) {
      const double g = rescale::yarn_magnitude(f, all->value);
      reading_.softmax_multiplier = g * g;
      reading_.softmax_origin = fmt::format("(0.1 * {} * ln {} + 1)^2", all->origin, plain(f));
      reading_.notes.push_back(fmt::format("the attention scale is multiplied by {}, which is not in the table", plain(g * g)));
    } else if (known_ == nullptr) {
      block_.warn(fmt::format(
          "{} may also mean a factor of {} on the attention scale, as in DeepSeek; model_type {} is not known, so 1 is reported",
          all->origin, plain(rescale::yarn_magnitude(f, all->value) * rescale::yarn_magnitude(f, all->value)), in_quotes(model_.owner())));
    }
  }

  // Where YaRN leads to: factor times the trained length. A file may keep max_position_embeddings at the trained length.
  void reach(double f, const Given<std::int64_t>& trained, const std::optional<Given<std::int64_t>>& length) {
    const double product = f * static_cast<double>(trained.value);
    if (!length || !(product <= positions.max)) return;
    const auto reached = static_cast<std::int64_t>(std::llround(product));
    if (reached == length->value) return;
    if (length->value < trained.value)
      block_.warn(fmt::format("{} is {}, less than {} {}", length->origin, length->value, trained.origin, trained.value));
    if (reached > length->value) {
      reading_.context = reached;
      reading_.context_origin = fmt::format("{}factor * {}", prefix(), trained.origin);
      const std::string both = fmt::format("{} is {}; factor {} times {} {} reaches {}", length->origin, length->value, plain(f),
                                           trained.origin, trained.value, reached);
      if (length->value == trained.value)
        reading_.notes.push_back(both);
      else
        block_.warn(both);
    } else {
      block_.warn(fmt::format("{} is {}, more than the {} that factor {} times {} {} reaches", length->origin, length->value,
                              reached, plain(f), trained.origin, trained.value));
    }
  }

  // Factor times the trained length, for people to compare with what the file declares.
  void reach_fact() {
    const Setting *f = find_setting(reading_, "factor"), *trained = find_setting(reading_, "original_max_position_embeddings");
    if (f == nullptr || trained == nullptr) return;
    const double product = parse_real(f->value, f->field) * parse_real(trained->value, trained->field);
    if (!(product <= positions.max)) return;
    put_fact(reading_, "reach", static_cast<std::int64_t>(std::llround(product)), fmt::format("{} * {}", f->origin, trained->origin));
    if (const auto length = declared()) put_fact(reading_, "declared", length->value, length->origin);
  }

  void llama3() {
    factor();
    const auto trained = need(original(), "original_max_position_embeddings");
    put(reading_, "original_max_position_embeddings", trained.value, trained.origin);
    const auto low = need(block_.real({"low_freq_factor"}, factors), "low_freq_factor");
    const auto high = need(block_.real({"high_freq_factor"}, factors), "high_freq_factor");
    if (high.value < low.value)
      block_.fail(fmt::format("{} is {} but {} is {}; high_freq_factor must not be the smaller one", high.origin,
                              plain(high.value), low.origin, plain(low.value)));
    put(reading_, "low_freq_factor", low.value, low.origin);
    put(reading_, "high_freq_factor", high.value, high.origin);
    if (const auto length = declared(); length && length->value <= trained.value)
      block_.warn(fmt::format("{} is {}, not more than {} {}", length->origin, length->value, trained.origin, trained.value));
  }

  void longrope() {
    if (is_old_longrope(rule_.word, block_.owner()))
      reading_.notes.push_back(fmt::format("{} is \"yarn\", which the class of {} reads as longrope", rule_.origin, block_.owner()));
    const auto trained = need(original(), "original_max_position_embeddings");
    const auto length = declared();
    const auto given = block_.real({"factor"}, factors);
    if (given) {
      put(reading_, "factor", given->value, given->origin);
      if (length && given->value * static_cast<double>(trained.value) != static_cast<double>(length->value))
        block_.warn(fmt::format("{} is {}, but {} / {} is {}; the stated factor is used", given->origin, plain(given->value),
                                length->origin, trained.origin,
                                plain(static_cast<double>(length->value) / static_cast<double>(trained.value))));
    } else {
      if (!length)
        block_.fail(
            fmt::format("{}factor is missing and so is max_position_embeddings, from which it follows; add one", prefix()));
      put(reading_, "factor", static_cast<double>(length->value) / static_cast<double>(trained.value),
          fmt::format("{} / {}", length->origin, trained.origin));
    }
    put(reading_, "original_max_position_embeddings", trained.value, trained.origin);
    put_list("short_factor");
    put_list("long_factor");
    explicit_attention_factor();
    table_magnitudes();
    reading_.notes.push_back(
        fmt::format("short_factor holds for lengths up to {}, long_factor above; one table cannot serve both", trained.value));
  }

  void put_list(std::string_view key) {
    constexpr Limits divisors{0, 1e12, true};
    const auto list = need(block_.reals({key}, divisors), key);
    if (static_cast<std::int64_t>(list.value.size()) * 2 != rotary_dim_.value)
      block_.fail(fmt::format("{} has {} numbers but {} lanes turn ({}), which takes {}; correct the list", list.origin,
                              list.value.size(), rotary_dim_.value, rotary_dim_.origin, rotary_dim_.value / 2));
    put(reading_, key, std::string_view(print(std::span<const double>(list.value))), list.origin);
  }

  void explicit_attention_factor() {
    if (const auto given = block_.real({"attention_factor"}, factors))
      put(reading_, "attention_factor", given->value, given->origin);
  }

  // Phi-3.5-MoE: an amplitude for either list.
  void table_magnitudes() {
    const auto a = block_.real({"short_mscale"}, factors), b = block_.real({"long_mscale"}, factors);
    if (!a && !b) return;
    if (!a || !b || a->value != b->value)
      block_.fail(
          fmt::format("{}short_mscale and long_mscale must both stand and be equal, as posenc holds one attention_factor; split "
                      "the two tables",
                      prefix()));
    if (const auto given = block_.real({"attention_factor"}, factors); given && given->value != a->value)
      block_.fail(fmt::format("{} is {} but {} is {}; remove the wrong one", given->origin, plain(given->value), a->origin,
                              plain(a->value)));
    if (!block_.has({"attention_factor"})) put(reading_, "attention_factor", a->value, a->origin);
  }

  // Ministral: the query grows with its position; never part of the table.
  void temperature() {
    constexpr Limits strengths{0, 1e3};
    const auto beta = block_.real({"llama_4_scaling_beta"}, strengths);
    if (!beta || beta->value == 0) return;
    const auto trained = original();
    reading_.notes.push_back(
        fmt::format("attention temperature: the query is multiplied by 1 + {} * ln(1 + floor(position / {})) ({})",
                    plain(beta->value), trained ? plain(trained->value) : "original_max_position_embeddings", beta->origin));
  }

  Reading& reading_;
  const Lookup& block_;
  const Lookup& model_;
  const ModelClass* known_;
  Given<std::int64_t> rotary_dim_;
  RopeRule rule_;
};

}  // namespace

bool is_rule_key(std::string_view key) {
  for (std::string_view rule : rope_types) {
    const Names names = names_of(rule);
    if (std::find(names.begin(), names.end(), key) != names.end()) return true;
  }
  return false;
}

void read_rope_rule(Reading& reading, const Lookup& block, const Lookup& model, const ModelClass* known,
                    Given<std::int64_t> rotary_dim) {
  RuleReader(reading, block, model, known, std::move(rotary_dim)).read();
}

}  // namespace posenc::config
