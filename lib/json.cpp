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
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    const std::size_t at = std::min(position == 0 ? 0 : position - 1, text_.size());
    const std::string_view before = text_.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    const std::string_view said = e.what();
    if (said.find("unexpected end of input") != std::string_view::npos || said.find("missing closing quote") != std::string_view::npos)
      fail_input(fmt::format("{}: is not JSON: the text ends inside a value (line {})", what_, line));
    std::string_view reason = e.what();
    if (const std::size_t colon = reason.rfind(": "); colon != std::string_view::npos) reason.remove_prefix(colon + 2);
    // A number that overflows has no such part: "[json.exception.out_of_range.406] number overflow ..".
    if (const std::size_t end = reason.find("] "); reason.starts_with("[json.exception.") && end != std::string_view::npos) reason.remove_prefix(end + 2);
    fail_input(fmt::format("{}: is not JSON: line {} column {}: {}", what_, line, at - start + 1, reason));
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
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) fail_input(fmt::format("{}: is empty, not JSON", what));
  Builder builder(what, text);
  if (!Json::sax_parse(text, &builder)) fail_input(fmt::format("{}: is not JSON", what));
  return builder.take();
}

}  // namespace posenc::json
