// Whole numbers that follow from a config, as data: "max_position_embeddings + 2", "(image_size / patch_size)^2 + 1".
// Names are keys; + - * / ^ and brackets; / is rounded down; first(a, b) is the first that is there and positive.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace posenc::config {

/// The value of a name; nothing when it has none.
using Values = std::function<std::optional<std::int64_t>(std::string_view)>;

/// Nothing when a name has no value, or the result leaves 64 bits. `expression` is data of ours: bad grammar throws std::logic_error.
[[nodiscard]] std::optional<std::int64_t> evaluate(std::string_view expression, const Values& values);

}  // namespace posenc::config
