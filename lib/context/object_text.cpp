#include "context/object_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace posenc::config {
namespace {

constexpr std::string_view blanks = " \t\r\n";

std::size_t after_blanks(std::string_view text, std::size_t at) { return std::min(text.find_first_not_of(blanks, at), text.size()); }

std::size_t after_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      return at + 1;
  }
  return text.size();
}

std::size_t after_value(std::string_view text, std::size_t at) {
  if (at < text.size() && text[at] == '"') return after_string(text, at);
  if (at >= text.size() || (text[at] != '{' && text[at] != '[')) return std::min(text.find_first_of(",]} \t\r\n", at), text.size());
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = after_string(text, at);
      continue;
    }
    ++at;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  return at;
}

std::string plain_key(std::string_view quoted) {
  if (quoted.find('\\') == std::string_view::npos) return std::string(quoted.substr(1, quoted.size() - 2));
  return nlohmann::json::parse(quoted).get<std::string>();
}

std::string quoted(std::string_view key) { return nlohmann::json(std::string(key)).dump(); }

}  // namespace

ObjectText::ObjectText(std::string_view text) {
  const auto expect = [&](std::size_t at, char c) {
    if (at >= text.size() || text[at] != c) throw std::logic_error("ObjectText takes an object that was parsed before");
  };
  expect(0, '{');
  std::size_t at = 1;
  for (;;) {
    Member m;
    const std::size_t key = after_blanks(text, at);
    m.lead = text.substr(at, key - at);
    if (key < text.size() && text[key] == '}') {  // an empty object
      closing_ = m.lead;
      return;
    }
    expect(key, '"');
    const std::size_t key_end = after_string(text, key), colon = after_blanks(text, key_end);
    expect(colon, ':');
    const std::size_t value = after_blanks(text, colon + 1), value_end = after_value(text, value), next = after_blanks(text, value_end);
    m.key_text = text.substr(key, key_end - key);
    m.key = plain_key(m.key_text);
    m.colon = text.substr(key_end, value - key_end);
    m.value = text.substr(value, value_end - value);
    const bool last = next < text.size() && text[next] == '}';
    if (!last) expect(next, ',');
    const std::string_view white = text.substr(value_end, next - value_end);
    if (last)
      closing_ = white;
    else
      m.trail = white;
    members_.push_back(std::move(m));
    if (last) break;
    at = next + 1;
  }
  style_lead_ = members_.front().lead;
  style_next_ = members_[members_.size() > 1 ? 1 : 0].lead;
  style_colon_ = members_.front().colon;
}

ObjectText ObjectText::inside(const ObjectText& parent, std::string_view unit) {
  ObjectText object;
  const std::string lead(parent.style_lead_);
  object.style_colon_ = parent.style_colon_;
  object.style_next_ = parent.style_next_;
  if (lead.find('\n') == std::string::npos) return object;
  object.style_lead_ = object.style_next_ = lead + std::string(unit);
  object.closing_ = lead;
  return object;
}

const ObjectText::Member* ObjectText::find(std::string_view key) const {
  const auto it = std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.key == key; });
  return it == members_.end() ? nullptr : &*it;
}

std::optional<std::string_view> ObjectText::get(std::string_view key) const {
  const Member* m = find(key);
  if (m == nullptr) return std::nullopt;
  return m->new_value ? std::string_view(*m->new_value) : m->value;
}

std::vector<std::string> ObjectText::keys() const {
  std::vector<std::string> out;
  for (const Member& m : members_) out.push_back(m.key);
  return out;
}

void ObjectText::set(std::string_view key, std::string value, std::string_view neighbour) {
  if (Member* m = find(key)) {
    m->new_value = std::move(value);
    return;
  }
  Member m;
  m.key = key;
  m.new_key = quoted(key);
  m.new_value = std::move(value);
  const auto it = std::find_if(members_.begin(), members_.end(), [&](const Member& other) { return other.key == neighbour; });
  members_.insert(it == members_.end() ? it : it + 1, std::move(m));
}

void ObjectText::replace(std::string_view key, std::string_view new_key, std::string value) {
  if (key != new_key) remove(new_key);
  Member* m = find(key);
  if (m == nullptr) return set(new_key, std::move(value));
  if (key != new_key) m->new_key = quoted(new_key);
  m->key = new_key;
  m->new_value = std::move(value);
}

void ObjectText::remove(std::string_view key) {
  std::erase_if(members_, [&](const Member& m) { return m.key == key; });
}

std::string ObjectText::text() const {
  std::string out = "{";
  bool first = true;
  for (const Member& m : members_) {
    if (!first) out += ',';
    const bool added = m.key_text.empty();  // in the style of the others
    out += first ? std::string_view(style_lead_) : added ? std::string_view(style_next_) : m.lead;
    out += m.new_key ? std::string_view(*m.new_key) : m.key_text;
    out += added ? std::string_view(style_colon_) : m.colon;
    out += m.new_value ? std::string_view(*m.new_value) : m.value;
    out += m.trail;
    first = false;
  }
  return out + closing_ + "}";
}

std::string moved_in(std::string_view value, std::string_view unit) {
  std::string out;
  for (const char c : value) {
    out += c;
    if (c == '\n') out += unit;
  }
  return out;
}

std::string moved_out(std::string_view value, std::string_view unit) {
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    out += value[i];
    if (value[i] == '\n' && value.substr(i + 1, unit.size()) == unit) i += unit.size();
  }
  return out;
}

std::string edited(std::string_view text, std::string_view path, const std::function<void(ObjectText&)>& edit) {
  const std::size_t begin = text.find('{'), end = text.rfind('}');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) throw std::logic_error("edited takes a file that was parsed before");
  // Down the path, then back up with each object's new text.
  std::vector<std::pair<ObjectText, std::string>> chain;
  std::string_view object = text.substr(begin, end + 1 - begin);
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t dot = rest.find('.');
    ObjectText parent(object);
    const auto inner = parent.get(rest.substr(0, dot));
    if (!inner) throw std::logic_error("edited takes a path that is there");
    object = *inner;
    chain.emplace_back(std::move(parent), std::string(rest.substr(0, dot)));
    rest = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
  }
  ObjectText target(object);
  edit(target);
  std::string out = target.text();
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    it->first.set(it->second, std::move(out));
    out = it->first.text();
  }
  return std::string(text.substr(0, begin)) + out + std::string(text.substr(end + 1));
}

}  // namespace posenc::config
