#include "analyze/explain_words.hpp"

#include <algorithm>

#include "rescale/names.hpp"

namespace posenc::analyze_sections {

using namespace program_words;

namespace {

static_assert(std::all_of(namings.begin(), namings.end(), [](const Naming& n) { return rescale::is_rule_name(n.method); }));
static_assert(std::all_of(multiplied_by_vllm.begin(), multiplied_by_vllm.end(), rescale::is_rule_name));

// "rope_local_base_freq" of "text_config.rope_local_base_freq"; nothing where the origin is no key.
std::string last_key(std::string_view origin) {
  const std::string_view key = origin.substr(origin.rfind('.') + 1);
  const bool word = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); });
  return std::string(word ? key : "");
}

}  // namespace

ExplainWords::ExplainWords(const ExplainNumbers& n) : numbers_(n) {
  const auto named = std::find_if(namings.begin(), namings.end(), [&](const Naming& naming) { return naming.method == n.facts.method; });
  const auto variant = n.fields.find("variant");  // of dynamic: the others know one
  const bool own = variant != n.fields.end() && variant->second.value != variant->second.fallback;
  naming_ = !n.rope.inv_freq.empty() ? &nothing : named == namings.end() || own ? &unknown : &*named;
  if (naming_->by_base && !n.effective_base) naming_ = &unknown;
  if (n.question.reading == nullptr) return;
  for (const Setting& s : n.question.reading->settings)
    if (const std::string key = last_key(s.origin); s.field == "base" && (!key.empty() || n.in_window())) base_word_ = key;
    else if (s.field == "rotary_dim" && s.origin.ends_with(')'))  // "head_dim * 0.25 (rotary_pct)"
      if (const std::string share = last_key(s.origin.substr(s.origin.rfind('(') + 1, s.origin.size() - s.origin.rfind('(') - 2)); !share.empty())
        share_word_ = share;
}

bool ExplainWords::by_divisors() const {
  return numbers_.rope.inv_freq.empty() && (numbers_.facts.method == "llama3" || naming_ == &unknown);
}

std::string_view ExplainWords::rule(std::size_t p) const {
  if (p == gguf) return naming_->gguf;
  if (p == llama_flags) return numbers_.in_window() ? "" : naming_->flags;
  return p == transformers4 && naming_->new_to_5 ? "" : naming_->json;
}

std::string_view ExplainWords::word(std::size_t p, const Spelling& s) const {
  if (p == gguf && numbers_.in_window()) {
    const auto found = std::find_if(window_words.begin(), window_words.end(), [&](const WindowWord& w) { return w.quantity == s.quantity; });
    return found == window_words.end() ? "" : found->word;
  }
  if (p == transformers4 && s.words[p] == "rope_theta") return base_word_;
  return p == transformers4 && s.quantity == "partial_rotary_factor" ? std::string_view(share_word_) : s.words[p];
}

}  // namespace posenc::analyze_sections
