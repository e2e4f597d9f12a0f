// Fields of a typed struct <-> text: reading, printing and range checks for every member type that a field may have.
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "posenc/array.hpp"
#include "posenc/error.hpp"
#include "posenc/field.hpp"
#include "posenc/names.hpp"
#include "posenc/positions.hpp"
#include "posenc/text.hpp"

namespace posenc::detail {

std::string range_text(const Range& range);
/// Throws usage: "`name` must be > 0, got -3".
void check_range(std::string_view name, const Range& range, double value);

template <class E>
concept NamedEnum = std::is_enum_v<E>;
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

inline void read(const Field& f, std::int64_t& out, std::string_view text) {
  const std::int64_t value = parse_int(text, f.name, f.count);
  check_range(f.name, f.range, static_cast<double>(value));
  out = value;
}
inline void read(const Field& f, double& out, std::string_view text) {
  const double value = parse_real(text, f.name);
  check_range(f.name, f.range, value);
  out = value;
}
inline void read(const Field& f, bool& out, std::string_view text) { out = parse_bool(text, f.name); }
inline void read(const Field& f, std::vector<double>& out, std::string_view text) {
  std::vector<double> values = parse_reals(text, f.name);
  for (double value : values) check_range(f.name, f.range, value);
  out = std::move(values);
}
inline void read(const Field& f, Array& out, std::string_view text) {
  Array array = Array::parse(text, f.name);
  for (double value : array.values) check_range(f.name, f.range, value);
  out = std::move(array);
}
inline void read(const Field&, Positions& out, std::string_view text) { out = Positions::parse(text); }
template <NamedEnum E>
void read(const Field& f, E& out, std::string_view text) {
  out = parse_enum<E>(text, f.name);
}
template <class T>
void read(const Field& f, std::optional<T>& out, std::string_view text) {
  T value{};
  read(f, value, text);
  out = std::move(value);
}

inline std::string write(std::int64_t v) { return print(v); }
inline std::string write(double v) { return print(v); }
inline std::string write(bool v) { return print(v); }
inline std::string write(const std::vector<double>& v) { return print(std::span<const double>(v)); }
inline std::string write(const Array& v) { return v.text(); }
inline std::string write(const Positions& v) { return v.text(); }
template <NamedEnum E>
std::string write(E v) {
  return std::string(enum_name(v));
}
template <class T>
std::string write(const std::optional<T>& v) {
  return v ? write(*v) : "";
}

template <class T>
std::string_view type_name() {
  if constexpr (is_optional<T>::value)
    return type_name<typename T::value_type>();
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return "integer";
  else if constexpr (std::is_same_v<T, double>)
    return "real";
  else if constexpr (std::is_same_v<T, bool>)
    return "boolean";
  else if constexpr (std::is_same_v<T, Positions>)
    return "positions";
  else if constexpr (std::is_same_v<T, std::vector<double>>)
    return "list";
  else if constexpr (std::is_same_v<T, Array>)
    return "array";
  else
    return "choice";
}

template <class T>
void list_choices(FieldView& view) {
  if constexpr (is_optional<T>::value)
    list_choices<typename T::value_type>(view);
  else if constexpr (std::is_enum_v<T>)
    for (const auto& entry : EnumNames<T>::values) view.choices.emplace_back(entry.name, entry.help);
}

template <class T>
FieldView view_of(const Field& f, const T& value) {
  FieldView view;
  view.name = f.name;
  view.metavar = f.metavar;
  view.help = f.help;
  view.unit = f.unit;
  view.source = f.source;
  view.type = type_name<T>();
  view.range = range_text(f.range);
  view.value = write(value);
  view.present = true;
  if constexpr (is_optional<T>::value) view.present = value.has_value();
  if constexpr (std::is_same_v<T, std::vector<double>>) view.present = !value.empty();
  if constexpr (std::is_same_v<T, Array>) view.present = value.given();
  list_choices<T>(view);
  return view;
}

/// All fields of a typed struct as views.
template <class S>
std::vector<FieldView> views(const S& self, std::string_view group = "") {
  std::vector<FieldView> out;
  const S defaults{};
  std::vector<std::string> fallback;
  S::fields(defaults, [&](const Field&, const auto& member) { fallback.push_back(write(member)); });
  std::size_t i = 0;
  S::fields(self, [&](const Field& f, const auto& member) {
    FieldView view = view_of(f, member);
    view.group = group;
    view.fallback = i < fallback.size() ? fallback[i] : "";
    ++i;
    out.push_back(std::move(view));
  });
  return out;
}

/// Sets the field called `name`; false when there is none.
template <class S>
bool assign(S& self, std::string_view name, std::string_view text) {
  bool found = false;
  S::fields(self, [&](const Field& f, auto& member) {
    if (f.name != name) return;
    read(f, member, text);
    found = true;
  });
  return found;
}

/// Range checks of members that were set from C++ rather than from text.
template <class S>
void check_ranges(const S& self) {
  S::fields(self, [](const Field& f, const auto& member) {
    using T = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>)
      check_range(f.name, f.range, static_cast<double>(member));
    else if constexpr (std::is_same_v<T, std::optional<std::int64_t>> || std::is_same_v<T, std::optional<double>>) {
      if (member) check_range(f.name, f.range, static_cast<double>(*member));
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      for (double value : member) check_range(f.name, f.range, value);
    } else if constexpr (std::is_same_v<T, Array>) {
      for (double value : member.values) check_range(f.name, f.range, value);
    }
  });
}

}  // namespace posenc::detail
