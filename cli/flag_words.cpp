#include "flag_words.hpp"

#include <algorithm>
#include <string_view>

namespace posenc::cli {
namespace {

using Words = std::vector<std::string_view>;

bool among(const Words& list, std::string_view word) { return std::find(list.begin(), list.end(), word) != list.end(); }

// A word between blanks: "(base", "length;", "'a b'" in two.
struct Token {
  std::string_view text, core, tail;  // core: without punctuation around it
  bool aside = false;                 // in quotes, parentheses or brackets
  const FlagWord* name = nullptr;     // none aside, but for "has no parameter 'rows'"
};

std::vector<Token> tokens_of(std::string_view sentence, const FlagWords& names) {
  std::vector<Token> out;
  char quote = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= sentence.size();) {
    const std::size_t end = std::min(sentence.find(' ', at), sentence.size());
    Token t;
    t.text = sentence.substr(at, end - at);
    const std::size_t last = t.text.find_last_not_of(",;:.)]");
    t.core = t.text.substr(0, last == std::string_view::npos ? 0 : last + 1);
    t.tail = t.text.substr(t.core.size());
    if (quote == 0 && (t.core.starts_with('\'') || t.core.starts_with('"'))) quote = t.core.front();
    depth += static_cast<int>(std::count_if(t.text.begin(), t.text.end(), [](char c) { return c == '(' || c == '['; }));
    t.aside = quote != 0 || depth > 0;
    if (const auto found = t.aside ? names.end() : names.find(std::string(t.core)); found != names.end()) t.name = &found->second;
    if (quote != 0 && t.core.ends_with(quote)) quote = 0;
    const bool whole = t.core.size() > 2 && t.core.starts_with('\'') && t.core.ends_with('\'');
    if (whole && !out.empty() && out.back().core == "parameter")
      if (const auto found = names.find(std::string(t.core.substr(1, t.core.size() - 2))); found != names.end()) t.name = &found->second;
    depth = std::max(0, depth - static_cast<int>(std::count_if(t.text.begin(), t.text.end(), [](char c) { return c == ')' || c == ']'; })));
    out.push_back(t);
    at = end + 1;
  }
  return out;
}

bool is_number(std::string_view word) {
  const std::size_t first = word.find_first_not_of('-');
  return first < 2 && word[first] >= '0' && word[first] <= '9';
}

class Sentence {
 public:
  explicit Sentence(std::vector<Token> tokens) : tokens_(std::move(tokens)), flags_(tokens_.size()) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (begins_clause(i)) asks_ = false, subject(i);
      before_value(i);
      asked(i);
      if (tokens_[i].core == "say" || tokens_[i].core == "give") asks_ = true;
    }
  }
  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const Token& t = tokens_[i];
      const bool certain = t.name != nullptr && (t.aside || t.core.find('_') != std::string_view::npos);
      out += i == 0 ? "" : " ";
      out += flags_[i] || certain ? t.name->flag + std::string(t.tail) : std::string(t.text);
    }
    return out;
  }

 private:
  bool begins_clause(std::size_t i) const { return i == 0 || tokens_[i - 1].tail.ends_with(';') || tokens_[i - 1].tail.ends_with(':'); }
  std::string_view next(std::size_t i) const { return i + 1 < tokens_.size() && tokens_[i].tail.empty() && !tokens_[i + 1].aside ? tokens_[i + 1].core : ""; }

  // The end of "a, b and c" that begins at `first`, all of them names.
  std::size_t list_from(std::size_t first) const {
    std::size_t end = first;
    for (std::size_t i = first; i < tokens_.size() && tokens_[i].name != nullptr;) {
      end = i + 1;
      if (tokens_[i].tail.empty() && (next(i) == "and" || next(i) == "or"))
        i += 2;
      else if (tokens_[i].tail == ",")
        i += 1;
      else
        break;
    }
    return end;
  }
  void take(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) flags_[i] = tokens_[i].name != nullptr;
  }

  void subject(std::size_t i) {
    static const Words verbs{"is", "are", "has", "have", "goes", "go", "needs", "need", "gives", "give", "does", "do", "belongs", "leaves", "leads", "must", "want", "wants", "says"};
    const std::size_t end = list_from(i);
    if (end > i && tokens_[i].name->takes_value && among(verbs, next(end - 1))) take(i, end);
  }

  void before_value(std::size_t i) {
    static const Words before{"and", "or", "but", "with", "use", "than", "for", "to", "needs", "keep", "take", "below", "above", "beyond", "give", "by"};
    const FlagWord* name = tokens_[i].name;
    if (name == nullptr || !name->takes_value || (!begins_clause(i) && !among(before, tokens_[i - 1].core))) return;
    const std::string_view word = next(i);
    const bool value = name->choices.empty() ? is_number(word) : std::find(name->choices.begin(), name->choices.end(), word) != name->choices.end();
    if (value || word == "must" || word == "want" || word == "wants" || word == "says") flags_[i] = true;
  }

  void asked(std::size_t i) {
    static const Words asking{"needs", "need", "give", "see", "leave", "only"}, closing{"instead", "out", "to", "too", "there"};
    const std::string_view word = tokens_[i].core;
    if (!tokens_[i].tail.empty() || (!among(asking, word) && !(word == "with" && asks_))) return;
    const std::size_t first = next(i) == "it" || next(i) == "out" ? i + 2 : i + 1;
    const std::size_t end = list_from(first);
    if (end == first) return;
    if (end == tokens_.size() || tokens_[end].aside || !tokens_[end - 1].tail.empty() || among(closing, tokens_[end].core) || word == "only") take(first, end);
  }

  std::vector<Token> tokens_;
  std::vector<bool> flags_;
  bool asks_ = false;  // the clause says "say" or "give"
};

}  // namespace

std::string flag_of(const std::string& field) {
  std::string flag = "--" + field;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string in_flags(const std::string& sentence, const FlagWords& names) { return Sentence(tokens_of(sentence, names)).text(); }

}  // namespace posenc::cli
