// Strict JSON over the parser of nlohmann: what it lets pass is refused here, and what it refuses is said in plain words.
#include "posenc/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "posenc/error.hpp"

namespace posenc::json {
namespace {

using Json = nlohmann::ordered_json;

struct Place {
  std::size_t line, column;  ///< from 1
};

Place place_of(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t last = before.rfind('\n');
  return {1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')), at - (last == std::string_view::npos ? 0 : last + 1) + 1};
}

struct Fault {
  std::size_t at;  ///< where what is wrong begins
  std::string sentence;
  bool ends = false;  ///< the text ends too early
};

std::string shortened(std::string_view word) {
  constexpr std::size_t shown = 40;
  if (word.size() <= shown) return std::string(word);
  std::size_t end = shown;
  while (end > 0 && (static_cast<unsigned char>(word[end]) & 0xC0U) == 0x80U) --end;  // whole characters
  return fmt::format("{}..", word.substr(0, end));
}

// A word that is neither a string nor a bracket.
std::string about_word(std::string_view word) {
  if (word.starts_with('/') || word.starts_with('#')) return "a comment begins, which JSON does not have; take it out";
  if (word.starts_with('\'')) return "a single quote; strings and keys stand in double quotes";
  if (word == "True" || word == "False" || word == "None")
    return fmt::format("{} is Python's word; JSON has {}", word, word == "True" ? "true" : word == "False" ? "false" : "null");
  if (!word.empty() && std::string_view("+-.0123456789").find(word[0]) != std::string_view::npos)
    return fmt::format("{} is no number of JSON (-12, 0.5, 1e-6)", shortened(word));
  return fmt::format("{} is no value of JSON; a string stands in double quotes", shortened(word));
}

// What is wrong at the byte where the parser stopped; its own words tell the kind only.
Fault fault_of(std::string_view text, std::size_t at, std::string_view token, std::string_view said) {
  const auto says = [&](std::string_view words) { return said.find(words) != std::string_view::npos; };
  const auto expects = [&](std::string_view words) { return said.ends_with(fmt::format("; expected {}", words)); };
  if (says("unexpected end of input") || says("missing closing quote")) return {at, "", true};
  if (says("ill-formed UTF-8")) return {at, "a byte that is no UTF-8; JSON is UTF-8, save the text as that"};
  if (says("control character"))
    return {at, at < text.size() && text[at] == '\n' ? "a string goes on at the end of its line; close it with a double quote, or write a line break as \\n"
                                                     : "a control character inside a string; write it as \\t or \\u00XX"};
  if (says("invalid string")) return {at, "an escape that JSON does not have, after a backslash in a string"};

  constexpr std::string_view ends_word = " \t\r\n,:[]{}\"";
  const std::size_t before = at == 0 ? std::string_view::npos : text.find_last_of(ends_word, at - 1);
  const std::size_t first = before == std::string_view::npos ? 0 : before + 1;
  const std::string_view word = text.substr(first, text.find_first_of(ends_word, at) - first);
  if (says("number overflow")) return {first, fmt::format("the number {} is too large for a double", shortened(word))};
  if (says("last read: ") || (says("unexpected number") && word != token)) return {first, about_word(word)};

  // What is read as a token holds what stood before it, where it is a single character.
  const bool single = at < text.size() && std::string_view("{}[],:").find(text[at]) != std::string_view::npos;
  if (single) token = text.substr(at, 1);
  const std::size_t start = at + 1 - std::min(token.size(), at + 1);
  const std::size_t previous = start == 0 ? std::string_view::npos : text.find_last_not_of(" \t\r\n", start - 1);
  if ((token == "}" || token == "]") && previous != std::string_view::npos && text[previous] == ',')
    return {previous, fmt::format("a comma too many, before the {}", token)};
  const std::string_view wanted = expects("string literal")   ? "a key in double quotes must stand"
                                  : expects("':'")            ? "a colon after the key must stand"
                                  : expects("'}'")            ? "a comma or } must stand"
                                  : expects("']'")            ? "a comma or ] must stand"
                                  : expects("end of input")   ? "the text must end"
                                                              : "a value must stand";
  return {start, fmt::format("{} stands where {}", shortened(token), wanted)};
}

// Builds the value without recursion: a stack of open containers, each object with the keys it has seen.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::string_view what, std::string_view text) : what_(what), text_(text) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override { return put(v); }
  bool number_float(number_float_t v, const string_t& literal) override {
    // An integer literal beyond 64 bits arrives here; its digits would be lost without a word.
    if (literal.find_first_of(".eE") == std::string::npos)
      fail_input(fmt::format("{}: the integer {} is larger than 64 bits hold", what_, literal.substr(0, 40)));
    return put(v);
  }
  bool string(string_t& v) override { return put(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second) fail_input(fmt::format("{}: the key \"{}\" stands twice in one object", what_, name));
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& e) override {
    const std::size_t at = std::min(position == 0 ? 0 : position - 1, text_.size());
    const Fault fault = fault_of(text_, at, token, e.what());
    const Place place = place_of(text_, fault.at);
    if (fault.ends) fail_input(fmt::format("{}: is not JSON: the text ends inside a value (line {})", what_, place.line));
    fail_input(fmt::format("{}: is not JSON: line {} column {}: {}", what_, place.line, place.column, fault.sentence));
  }

  Json take() { return std::move(root_); }

 private:
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  Json* place(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    // Keys are already known to be distinct; push at the end without ordered_map's linear search.
    auto& object = parent.get_ref<Json::object_t&>();
    static_cast<std::vector<std::pair<const std::string, Json>>&>(object).emplace_back(std::move(key_), std::move(value));
    return &object.back().second;
  }
  bool open(Json container) {
    if (static_cast<int>(stack_.size()) >= max_depth)
      fail_input(fmt::format("{}: JSON nested deeper than {} levels", what_, max_depth));
    stack_.push_back(place(std::move(container)));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    stack_.pop_back();
    keys_.pop_back();
    return true;
  }

  std::string_view what_, text_;
  Json root_;
  std::vector<Json*> stack_;
  std::vector<std::set<std::string>> keys_;
  std::string key_;
};

}  // namespace

Json parse(std::string_view text, std::string_view what) {
  if (text.starts_with("\xEF\xBB\xBF")) fail_input(fmt::format("{}: starts with a byte-order mark; JSON is plain UTF-8", what));
  // The parser takes a NUL for the end of the text, whatever follows.
  const std::size_t zero = text.find('\0');
  const auto zeros_at = [&](std::size_t first) { return text.size() >= 4 && text[first] == '\0' && text[first + 2] == '\0'; };
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") || zeros_at(0) || zeros_at(1))
    fail_input(fmt::format("{}: is not JSON: it is UTF-16 or UTF-32, and JSON is UTF-8; save the text as that", what));
  if (zero != std::string_view::npos) {
    const Place place = place_of(text, zero);
    fail_input(fmt::format("{}: is not JSON: line {} column {}: a NUL byte (offset {}), which no text has; take away what is there from it on", what, place.line,
                           place.column, zero));
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) fail_input(fmt::format("{}: is empty, not JSON", what));
  Builder builder(what, text);
  if (!Json::sax_parse(text, &builder)) fail_input(fmt::format("{}: is not JSON", what));
  return builder.take();
}

}  // namespace posenc::json
