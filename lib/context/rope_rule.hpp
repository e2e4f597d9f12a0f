// The parameters of the rule that a rope block names, as settings of the `rope` encoding.
#pragma once
#include <array>

#include "context/lookup.hpp"
#include "context/model_classes.hpp"
#include "posenc/config.hpp"

namespace posenc::config {

/// The rules that transformers has a rope_type for, "default" aside.
inline constexpr std::array<std::string_view, 6> rope_types{"linear", "dynamic", "yarn", "llama3", "longrope", "proportional"};

/// True for keys of a block that belong to some rule: factor, beta_fast, ...; false for rope_theta, mrope_section and unknown ones.
[[nodiscard]] bool is_rule_key(std::string_view key);

/// Adds method, its parameters, context and the softmax multiplier to the reading. `block` may have no places.
void read_rope_rule(Reading& reading, const Lookup& block, const Lookup& model, const ModelClass* known,
                    Given<std::int64_t> rotary_dim);

}  // namespace posenc::config
