#include "context/opened.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "posenc/error.hpp"
#include "posenc/json.hpp"

namespace posenc::config {
namespace {

constexpr std::size_t widest_integer = 19;  // digits that 64 bits hold, whatever they are

// A token without meaning for JSON becomes a marked string of the same length: quote, mark, its kind, ..., quote.
void mask(std::string& text, std::size_t at, std::size_t size, char kind) {
  text[at] = '"';
  text[at + 1] = unreadable_mark;
  for (std::size_t k = at + 2; k + 1 < at + size; ++k) text[k] = kind;
  text[at + size - 1] = '"';
}

/// Python's json module writes NaN and Infinity, which JSON does not have, and integers of any length (tokenizers say 10^30 for
/// "no limit"). Each becomes a marked string of the same length, so that lines and columns stay true; read where a number
/// is wanted, it is refused by its name.
std::string without_literals(std::string_view text, std::size_t& replaced) {
  std::string out(text);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  bool quoted = false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char c = out[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
      continue;
    }
    if (c == '"') {
      quoted = true;
      continue;
    }
    if (is_digit(c) || (c == '-' && i + 1 < out.size() && is_digit(out[i + 1]))) {
      const std::size_t end = std::min(out.find_first_not_of("0123456789+-.eE", i + 1), out.size());
      const std::string_view token = std::string_view(out).substr(i, end - i);
      const std::size_t digits = token.size() - (c == '-');
      if (digits > widest_integer && token.find_first_not_of("0123456789", 1) == std::string_view::npos && token[token.size() - digits] != '0')
        mask(out, i, token.size(), '#');
      i = end - 1;
      continue;
    }
    if (c != 'N' && c != 'I' && c != '-') continue;
    for (std::string_view literal : {"NaN", "Infinity", "-Infinity"}) {
      if (std::string_view(out).substr(i, literal.size()) != literal) continue;
      mask(out, i, literal.size(), literal == "-Infinity" ? '-' : '+');
      i += literal.size() - 1;
      ++replaced;
      break;
    }
  }
  return out;
}

// The part that describes the text model, when it is not the whole file.
constexpr std::array<std::string_view, 3> text_parts{"text_config", "llm_config", "language_config"};

// The places of the text model's keys, innermost first.
std::vector<Place> find_text(const Lookup& whole) {
  std::vector<Place> places;
  Lookup around = whole;
  if (const auto thinker = whole.objects("thinker_config"); !thinker.empty()) {  // Qwen's omni models
    places = thinker;
    around = whole.at(thinker);
  }
  std::vector<Place> inner;
  for (std::string_view part : text_parts)
    for (const Place& place : around.objects(part)) inner.push_back(place);
  if (inner.size() > 1)
    whole.fail(fmt::format("{} and {} both stand; keep the one that describes the text model", inner[0].name(), inner[1].name()));
  places.insert(places.begin(), inner.begin(), inner.end());
  places.push_back(whole.places().front());
  return places;
}

}  // namespace

OpenedConfig::OpenedConfig(std::string_view json_text, std::string_view name) : known(nullptr), file_(name) {
  if (json_text.starts_with("\xEF\xBB\xBF")) {
    json_text.remove_prefix(3);
    log.warnings.emplace_back("starts with a byte-order mark, which JSON does not have; it is skipped");
  }
  root_ = json::parse(without_literals(json_text, literals), name);
  if (!root_.is_object()) fail_input(fmt::format("{}: holds {}, not a JSON object; give a model's config", file_, shown(root_)));

  const Lookup all = whole();
  text = find_text(all);
  nested = text.size() > 1;
  auto outer = all.word({"model_type"});
  const auto inner = all.at({text.front()}).word({"model_type"});
  if (!outer) outer = inner;
  text_type = inner ? inner->value : outer ? outer->value : "";
  if (!outer) {
    const auto named = all.find({"architectures"});
    if (!named || !named->value->is_array() || named->value->empty() || !named->value->front().is_string())
      all.fail("has no model_type and no architectures, so the model's class is not known; add model_type");
    text_type = named->value->front().get<std::string>();
    all.warn(fmt::format("has no model_type; the class of {} is not looked up", in_quotes(text_type)));
  }
  model_type = outer ? outer->value : "";
  if (model_type == "clip") {  // two towers and no text model of its own
    if (!nested) all.fail("model_type clip needs a text_config; add it");
    text_type = "clip_text_model";
    text.pop_back();
  }
  known = find_model_class(text_type);
  defaults_ = known != nullptr ? Json::parse(known->defaults) : Json::object();
}

std::vector<Place> OpenedConfig::halves() {
  std::vector<Place> out;
  if (!model_type.ends_with("encoder-decoder")) return out;
  for (std::string_view half : {"encoder", "decoder"})
    for (const Place& place : whole().objects(half)) out.push_back(place);
  return out;
}

}  // namespace posenc::config
