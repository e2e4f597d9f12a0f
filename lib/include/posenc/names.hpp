// Named enums <-> text, from their EnumNames list.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "posenc/error.hpp"
#include "posenc/field.hpp"
#include "posenc/text.hpp"

namespace posenc {

template <class E>
std::string_view enum_name(E value) {
  for (const auto& entry : EnumNames<E>::values)
    if (entry.value == value) return entry.name;
  return "";
}

/// Throws usage: "`what` wants a, b or c, got 'x'; did you mean ...".
template <class E>
E parse_enum(std::string_view text, std::string_view what) {
  std::vector<std::string> names;
  for (const auto& entry : EnumNames<E>::values) {
    if (entry.name == text) return entry.value;
    names.emplace_back(entry.name);
  }
  fail_usage(std::string(what) + " wants " + one_of(names) + ", got " + quoted_word(text) + did_you_mean(text, names));
}

}  // namespace posenc
