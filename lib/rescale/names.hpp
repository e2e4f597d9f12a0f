// Whether a word is the name of a rule, for tables about rules that are not the list itself: a misspelt row does not compile.
#pragma once
#include <string_view>

#include "rescale/rule.hpp"

namespace posenc::rescale {

[[nodiscard]] constexpr bool is_rule_name(std::string_view word) {
#define POSENC_RULE(function, Type) \
  if (word == Type::name) return true;
#include "rescale/list.inc"
#undef POSENC_RULE
  return false;
}

}  // namespace posenc::rescale
