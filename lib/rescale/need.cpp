#include <fmt/format.h>

#include "posenc/error.hpp"
#include "rescale/geometry.hpp"

namespace posenc::rescale {

void need(bool given, std::string_view method, std::string_view field) {
  if (!given) fail_usage(fmt::format("method {} needs {}", method, field));
}

}  // namespace posenc::rescale
