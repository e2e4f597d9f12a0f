// Rules in the own keys of classes that read no rope_scaling (model_classes.inc, `own`): another base, or a dynamic rule turned on.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "context/opened.hpp"

namespace posenc::config {

/// Whether the class takes a rule by keys of its own alone. `v5`: the file has rope_parameters.
[[nodiscard]] bool by_own_keys(const OpenedConfig& c, bool v5);

/// Why such a class cannot be told of the method, with what it reads and which methods that is enough for; nothing where it can.
/// `base_rules`: methods that are another base.
[[nodiscard]] std::optional<std::string> own_refusal(const OpenedConfig& c, std::string_view method, const std::vector<std::string>& base_rules);

/// The base that is read when this one is written: a multiple of the key's unit, at most an ulp away.
[[nodiscard]] double own_base(const OpenedConfig& c, double base);
[[nodiscard]] std::string with_own_base(std::string text, const OpenedConfig& c, double base);

/// The dynamic rule on, or off without a factor.
[[nodiscard]] std::string with_own_dynamic(std::string text, const OpenedConfig& c, std::optional<double> factor);

/// The key's value in every part of the text model that has it; where none has, in the innermost one.
[[nodiscard]] std::string with_key(std::string text, const OpenedConfig& c, std::string_view key, const std::string& value);

/// What else must be known of such a config once the method is in it; `trained` is the length up to which nothing changes.
[[nodiscard]] std::vector<std::string> own_remarks(OpenedConfig& c, std::string_view method, std::int64_t trained);

}  // namespace posenc::config
