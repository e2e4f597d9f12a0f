// Pieces of config texts that in_dialect and rescaled_config share.
#pragma once
#include <string>
#include <string_view>

#include "context/object_text.hpp"
#include "context/opened.hpp"
#include "posenc/config_edit.hpp"

namespace posenc::config {

inline constexpr std::string_view scaling = "rope_scaling", parameters = "rope_parameters", theta = "rope_theta", share = "partial_rotary_factor";

/// Whether the class fills the key in by itself.
[[nodiscard]] bool in_defaults(const OpenedConfig& c, std::string_view key);
/// The keys of base and share that this class reads in the old dialect.
[[nodiscard]] std::string_view old_base(const OpenedConfig& c);
[[nodiscard]] std::string_view old_share(const OpenedConfig& c);
/// True where two kinds of layers have their bases under keys of their own: Gemma-3, ModernBERT.
[[nodiscard]] bool two_bases(const OpenedConfig& c);
/// True where rope_parameters has a block for each kind of layers.
[[nodiscard]] bool has_layer_blocks(const OpenedConfig& c);
/// The white space by which members of the outermost object are written further in; "" on one line.
[[nodiscard]] std::string unit_of(std::string_view text);

/// A real number as Python writes one: 1000000.0, 1e+16.
[[nodiscard]] std::string json_number(double value);

/// Throws usage "NAME WHAT: .." unless both texts are read alike, wherever their values stand.
void check_same_readings(std::string_view before, std::string_view after, std::string_view name, std::string_view what);

}  // namespace posenc::config
