// From a reading of a config to the encoding that it describes.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "posenc/config.hpp"
#include "posenc/encoding.hpp"

namespace posenc::config {

/// The encoding with the reading's parameters and `more`; whether they go together is for its check(). Throws usage for a parameter that
/// the encoding does not take.
[[nodiscard]] std::unique_ptr<Encoding> encoding_of(const Reading& reading,
                                                    const std::vector<std::pair<std::string, std::string>>& more = {});

}  // namespace posenc::config
