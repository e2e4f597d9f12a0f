#include "context/lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc::config {
namespace {

constexpr std::size_t shown_width = 60;

std::string cut(std::string text) {
  if (text.size() > shown_width) text = text.substr(0, shown_width - 3) + "...";
  return text;
}

bool same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_number_integer() && b.is_number_integer()) return a == b;
    return a.get<double>() == b.get<double>();
  }
  return a == b;
}

std::string range(Limits limits, bool whole) {
  const auto number = [&](double x) { return whole ? print(static_cast<std::int64_t>(x)) : plain(x); };
  if (limits.open_min) return fmt::format("greater than {} and at most {}", number(limits.min), number(limits.max));
  return fmt::format("from {} to {}", number(limits.min), number(limits.max));
}

}  // namespace

std::string in_quotes(std::string_view text) {
  return cut(Json(std::string(text.substr(0, 4096))).dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::string shown(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (!text.empty() && text[0] == unreadable_mark)
      return text.size() > 1 && text[1] == '#' ? fmt::format("an integer of {} digits", text.size() + 2)
             : text.size() == 1 ? "NaN" : text[1] == '-' ? "-Infinity" : "Infinity";  // see without_literals
    return in_quotes(text);
  }
  return cut(value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::string plain(double value) { return fmt::format("{}", value); }

std::string either(Keys keys) {
  const std::vector<std::string> names(keys.begin(), keys.end());
  return one_of(names);
}

void Lookup::fail(const std::string& sentence) const { fail_input(file_ + ": " + sentence); }
void Lookup::warn(const std::string& sentence) const {
  std::vector<std::string>& said = log_->warnings;
  if (std::find(said.begin(), said.end(), sentence) == said.end()) said.push_back(sentence);
}
void Lookup::agree(const std::string& origin, const std::string& other) const {
  std::vector<std::string>& others = log_->also[origin];
  if (other != origin && std::find(others.begin(), others.end(), other) == others.end()) others.push_back(other);
}

std::vector<Place> Lookup::objects(std::string_view key) const {
  std::vector<Place> found;
  for (const Place& place : places_) {
    const auto it = place.object->find(std::string(key));
    if (it == place.object->end() || it->is_null()) continue;
    if (!it->is_object()) fail(fmt::format("{}{} is {}; write an object or null", place.prefix, key, shown(*it)));
    found.push_back({&*it, fmt::format("{}{}.", place.prefix, key), place.label});
  }
  return found;
}

bool Lookup::has(Keys keys) const {
  for (const Place& place : places_)
    for (std::string_view key : keys)
      if (place.object->contains(std::string(key))) return true;
  return false;
}

std::optional<Given<const Json*>> Lookup::find(Keys keys) const {
  std::optional<Given<const Json*>> first;
  bool null = false;
  for (const Place& place : places_)
    for (std::string_view key : keys) {
      const auto it = place.object->find(std::string(key));
      if (it == place.object->end()) continue;
      if (it->is_null()) {
        null = true;
        continue;
      }
      std::string origin = place.label.empty() ? place.prefix + std::string(key) : place.label;
      if (!first)
        first = Given<const Json*>{&*it, std::move(origin)};
      else if (!same(*first->value, *it))
        fail(fmt::format("{} is {} but {} is {}; remove the wrong one", first->origin, shown(*first->value), origin, shown(*it)));
      else
        agree(first->origin, origin);
    }
  if (first || null || defaults_ == nullptr) return first;
  for (std::string_view key : keys)
    if (const auto it = defaults_->find(std::string(key)); it != defaults_->end())
      return Given<const Json*>{&*it, "class default of " + owner_};
  return std::nullopt;
}

std::int64_t Lookup::as_count(const Json& value, const std::string& origin, Limits limits) const {
  const std::string wanted = range(limits, true);
  if (!value.is_number()) fail(fmt::format("{} is {}; write a whole number {}", origin, shown(value), wanted));
  if (value.is_number_float()) {
    const double real = value.get<double>();
    if (real != std::floor(real)) fail(fmt::format("{} is {}, not a whole number; write one {}", origin, shown(value), wanted));
    if (!(real >= limits.min && real <= limits.max))
      fail(fmt::format("{} is {}; write a whole number {}", origin, shown(value), wanted));
    warn(fmt::format("{} is written {}; it is read as the whole number {}", origin, shown(value),
                     print(static_cast<std::int64_t>(real))));
    return static_cast<std::int64_t>(real);
  }
  const bool fits = !value.is_number_unsigned() ||
                    value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t number = fits ? value.get<std::int64_t>() : std::numeric_limits<std::int64_t>::max();
  if (number < static_cast<std::int64_t>(limits.min) || number > static_cast<std::int64_t>(limits.max))
    fail(fmt::format("{} is {}; write a whole number {}", origin, shown(value), wanted));
  return number;
}

double Lookup::as_real(const Json& value, const std::string& origin, Limits limits) const {
  if (!value.is_number()) fail(fmt::format("{} is {}; write a number {}", origin, shown(value), range(limits, false)));
  const double real = value.get<double>();
  if (!(real >= limits.min && real <= limits.max) || (limits.open_min && real == limits.min))
    fail(fmt::format("{} is {}; write a number {}", origin, shown(value), range(limits, false)));
  return real;
}

std::optional<Given<std::int64_t>> Lookup::count(Keys keys, Limits limits) const {
  const auto found = find(keys);
  if (!found) return std::nullopt;
  return Given<std::int64_t>{as_count(*found->value, found->origin, limits), found->origin};
}

std::optional<Given<double>> Lookup::real(Keys keys, Limits limits) const {
  const auto found = find(keys);
  if (!found) return std::nullopt;
  return Given<double>{as_real(*found->value, found->origin, limits), found->origin};
}

std::optional<Given<bool>> Lookup::flag(Keys keys) const {
  const auto found = find(keys);
  if (!found) return std::nullopt;
  if (!found->value->is_boolean()) fail(fmt::format("{} is {}; write true or false", found->origin, shown(*found->value)));
  return Given<bool>{found->value->get<bool>(), found->origin};
}

std::optional<Given<std::string>> Lookup::word(Keys keys) const {
  const auto found = find(keys);
  if (!found) return std::nullopt;
  if (!found->value->is_string() || found->value->get_ref<const std::string&>().starts_with(unreadable_mark))
    fail(fmt::format("{} is {}; write a word in quotes", found->origin, shown(*found->value)));
  return Given<std::string>{found->value->get<std::string>(), found->origin};
}

std::optional<Given<std::vector<double>>> Lookup::reals(Keys keys, Limits limits) const {
  const auto found = find(keys);
  if (!found) return std::nullopt;
  if (!found->value->is_array()) fail(fmt::format("{} is {}; write a list of numbers", found->origin, shown(*found->value)));
  Given<std::vector<double>> list{{}, found->origin};
  for (const Json& item : *found->value)
    list.value.push_back(as_real(item, fmt::format("{}[{}]", found->origin, list.value.size()), limits));
  return list;
}

std::optional<Given<std::vector<std::int64_t>>> Lookup::counts(Keys keys, Limits limits) const {
  const auto found = find(keys);
  if (!found) return std::nullopt;
  if (!found->value->is_array())
    fail(fmt::format("{} is {}; write a list of whole numbers", found->origin, shown(*found->value)));
  Given<std::vector<std::int64_t>> list{{}, found->origin};
  for (const Json& item : *found->value)
    list.value.push_back(as_count(item, fmt::format("{}[{}]", found->origin, list.value.size()), limits));
  return list;
}

Given<std::int64_t> Lookup::need_count(Keys keys, Limits limits) const {
  auto found = count(keys, limits);
  if (!found)
    fail(fmt::format("has no {}{}, and model_type {} has no known default; add it", places_.front().prefix, either(keys),
                     in_quotes(owner_)));
  return *found;
}

std::optional<Given<std::int64_t>> Lookup::first_count(Keys keys, Limits limits) const {
  std::optional<Given<std::int64_t>> first;
  for (std::string_view key : keys) {
    const auto found = explicit_only().count({key}, limits);
    if (!found) continue;
    if (!first)
      first = found;
    else if (found->value == first->value)
      agree(first->origin, found->origin);
    else
      warn(fmt::format("{} is {} but {} is {}; {} is used", first->origin, first->value, found->origin, found->value,
                       first->origin));
  }
  return first ? first : count(keys, limits);
}

bool Lookup::flag_or(Keys keys, bool fallback) const {
  const auto found = flag(keys);
  return found ? found->value : fallback;
}

}  // namespace posenc::config
