// Texts of config.json changed where positions are concerned and nowhere else: from one dialect into the other, and to a longer
// context. Text in, text out; order, indentation and the spelling of every other value stay as they are.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace posenc {

/// How a config spells rotary positions: rope_theta and rope_scaling side by side (transformers 4), or one rope_parameters, with
/// a block for each layer type where they differ (transformers 5).
enum class ConfigDialect : std::uint8_t { v4, v5 };
/// "4" or "5"; throws usage naming `what`.
[[nodiscard]] ConfigDialect parse_config_dialect(std::string_view text, std::string_view what);

/// The same config in a dialect: read_config reads the same from it. A text without rotary positions, or of a class with one
/// spelling only, comes back as it is, which a remark tells. Throws usage for what the dialect cannot say.
[[nodiscard]] std::string in_dialect(std::string_view json_text, std::string_view name, ConfigDialect dialect,
                                     std::vector<std::string>* remarks = nullptr);

/// What rescaled_config is to do.
struct ConfigChange {
  std::string method{};                   ///< rule ('posenc list rules'); "" where the encoding has none: ALiBi
  std::optional<double> factor{};         ///< context ratio
  std::optional<std::int64_t> context{};  ///< positions; absent: factor times the trained length
  /// More parameters of the rule, by the names of lib/rescale: {"beta_fast", "32"}; also attention_factor, and
  /// original_max_position_embeddings, which says the trained length where the file does not.
  std::vector<std::pair<std::string, std::string>> settings{};
  bool replace = false;  ///< put the new rule in the place of one that is already there; the same rule keeps what is not given
  bool force = false;    ///< a factor below 1, a shorter context or a wild amplitude is meant
  std::optional<ConfigDialect> dialect{};
  std::vector<std::string> layer_types{};  ///< that get the rule, or "all"; none: full_attention where layer types have blocks of their own
};

/// The config for the longer context. Throws usage for a change that makes no sense or that no config says: a config that is
/// scaled already (without replace), weights that would change, a rule that transformers does not know. What other
/// readers make of the result goes into `remarks`.
[[nodiscard]] std::string rescaled_config(std::string_view json_text, std::string_view name, const ConfigChange& change,
                                          std::vector<std::string>* remarks = nullptr);

/// The layer types of the rotations that a rule reaches when it is put into this config for none in particular: all where one block
/// speaks for all of them, "" where there is one kind. Empty where nothing rotates.
[[nodiscard]] std::vector<std::string> layer_types_reached(std::string_view json_text, std::string_view name);

}  // namespace posenc
