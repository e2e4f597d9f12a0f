// Base of tables that hold integers only: the contract (model.hpp) asks for a fill or a formula, which nobody calls here.
#pragma once
#include <stdexcept>

#include "posenc/tensor.hpp"

namespace posenc::detail {

struct IndexTable {
  [[noreturn]] void fill(std::size_t, Block&) const { throw std::logic_error("an index tensor has no real values"); }
};

}  // namespace posenc::detail
