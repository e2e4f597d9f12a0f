// A table with more positions: the same spec with a larger number of them, when all that means is more rows behind those
// that are there. What it would change otherwise is found by planning and by comparing values, for any encoding.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "posenc/pipeline.hpp"

namespace posenc {

struct Extension {
  Spec spec;                           ///< with the new number of positions
  std::vector<PlannedTensor> before;   ///< as the reader has them
  std::vector<PlannedTensor> after;    ///< the same tensors, at least as long along their first axis
  std::vector<std::size_t> sources;    ///< of before[i] in the reader
  [[nodiscard]] bool grows() const;    ///< false: there are as many positions as wanted already
};

/// Lengthens `spec`, which describes the tensors of `reader` (one tensor may have any name there), to `positions`: a number, or a
/// range that continues the one in the spec. Values are compared on every row of small tensors and on some of large ones:
/// those of the file, of the spec and of the longer spec must be the same. Throws usage when more positions mean anything but
/// more rows, difference when the file is not what its spec says; `what` names the file.
[[nodiscard]] Extension extend(const Spec& spec, const Reader& reader, std::string_view positions, const std::string& what);

}  // namespace posenc
