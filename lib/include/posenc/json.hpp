// Strict JSON: UTF-8, no duplicate keys, bounded depth, nothing after the value. Numbers keep their kind (integer or real).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace posenc::json {

inline constexpr int max_depth = 64;

/// `what` names the text in messages ("config.json"). Throws bad_input with line and column, or naming the doubled key.
nlohmann::ordered_json parse(std::string_view text, std::string_view what);

}  // namespace posenc::json
