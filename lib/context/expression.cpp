#include "context/expression.hpp"

#include <cctype>
#include <stdexcept>
#include <string>

#include "posenc/text.hpp"

namespace posenc::config {
namespace {

using Number = std::optional<std::int64_t>;

Number combine(char op, Number a, Number b) {
  if (!a || !b) return std::nullopt;
  std::int64_t out = 0;
  switch (op) {
    case '+':
      return __builtin_add_overflow(*a, *b, &out) ? Number{} : out;
    case '-':
      return __builtin_sub_overflow(*a, *b, &out) ? Number{} : out;
    case '*':
      return __builtin_mul_overflow(*a, *b, &out) ? Number{} : out;
    case '/':
      return *a < 0 || *b <= 0 ? Number{} : *a / *b;
    default:  // '^', small exponents only
      if (*b < 0 || *b > 8) return std::nullopt;
      out = 1;
      for (std::int64_t i = 0; i < *b; ++i)
        if (__builtin_mul_overflow(out, *a, &out)) return std::nullopt;
      return out;
  }
}

// sum := product (+|- product)*; product := power (*|/ power)*; power := atom (^ atom)?
class Parser {
 public:
  Parser(std::string_view text, const Values& values) : text_(text), values_(values) {}

  Number whole() {
    const Number value = sum();
    if (peek() != '\0') bad();
    return value;
  }

 private:
  [[noreturn]] void bad() const { throw std::logic_error("expression \"" + std::string(text_) + "\" does not read"); }
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  Number sum() {
    Number value = product();
    for (char op = peek(); op == '+' || op == '-'; op = peek()) ++at_, value = combine(op, value, product());
    return value;
  }
  Number product() {
    Number value = power();
    for (char op = peek(); op == '*' || op == '/'; op = peek()) ++at_, value = combine(op, value, power());
    return value;
  }
  Number power() {
    const Number base = atom();
    return take('^') ? combine('^', base, atom()) : base;
  }
  Number atom() {
    if (take('(')) {
      const Number value = sum();
      if (!take(')')) bad();
      return value;
    }
    peek();
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (word.empty()) bad();
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return parse_int(word, "a number in an expression");
    if (word == "first" && take('(')) return first();
    return values_(word);
  }
  Number first() {
    Number found;
    do {
      const Number value = sum();
      if (!found && value && *value > 0) found = value;
    } while (take(','));
    if (!take(')')) bad();
    return found;
  }

  std::string_view text_;
  const Values& values_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> evaluate(std::string_view expression, const Values& values) { return Parser(expression, values).whole(); }

}  // namespace posenc::config
