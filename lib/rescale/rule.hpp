// All rules as one type, from list.inc.
#pragma once
#include <variant>

// One include per line of list.inc; an entry without its file does not compile.
#include "base.hpp"
#include "divisors.hpp"
#include "dynamic.hpp"
#include "dynamic_linear.hpp"
#include "dynamic_yarn.hpp"
#include "linear.hpp"
#include "llama3.hpp"
#include "longrope.hpp"
#include "longrope_transformers_4_48.hpp"
#include "ntk.hpp"
#include "ntk_by_parts.hpp"
#include "ntk_fixed.hpp"
#include "ntk_mixed.hpp"
#include "ntk_old.hpp"
#include "plain.hpp"
#include "proportional.hpp"
#include "yarn.hpp"
#include "yarn_transformers_4_48.hpp"

namespace posenc {

namespace detail {
template <class First, class... Rest>
using VariantOfRest = std::variant<Rest...>;  // the list's entries each bring a comma in front
}

using Rule = detail::VariantOfRest<void
#define POSENC_RULE(function, Type) , rescale::Type
#include "list.inc"
#undef POSENC_RULE
                                   >;

}  // namespace posenc
