// All rules as one type, from list.inc.
#pragma once
#include <variant>

// One include per line of list.inc; an entry without its file does not compile.
#include "rescale/dynamic.hpp"
#include "rescale/linear.hpp"
#include "rescale/llama3.hpp"
#include "rescale/longrope.hpp"
#include "rescale/ntk.hpp"
#include "rescale/plain.hpp"
#include "rescale/proportional.hpp"
#include "rescale/yarn.hpp"

namespace posenc {

namespace detail {
template <class First, class... Rest>
using VariantOfRest = std::variant<Rest...>;  // the list's entries each bring a comma in front
}

using Rule = detail::VariantOfRest<void
#define POSENC_RULE(function, Type) , rescale::Type
#include "rescale/list.inc"
#undef POSENC_RULE
                                   >;

}  // namespace posenc
