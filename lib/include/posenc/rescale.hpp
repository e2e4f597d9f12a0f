// Lengthening what has a formula: a rule put on an encoding's frequencies, or simply more positions. Tables that have values
// and no formula are resized instead (posenc/resample.hpp).
//
// Nothing is composed in silence and nothing is guessed: an encoding already under a rule is refused unless the new rule is
// to replace it, and the length that a model was trained for is what is given or recorded, never the size of a table.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posenc/encoding.hpp"

namespace posenc {

/// What is asked for.
struct Rescaling {
  std::vector<std::pair<std::string, std::string>> settings{};  ///< "method", its parameters, and any other of the encoding's, as text
  std::optional<std::int64_t> context{};  ///< positions to reach: the factor is this over the trained length
  std::optional<std::int64_t> trained{};  ///< positions that the model was trained for, where its config says
  bool replace = false;                   ///< the rule in force gives way; of the same rule what is not said anew stays
  bool force = false;                     ///< a factor below 1, fewer positions or a wild amplitude are meant
  bool of_config = false;                 ///< these are layers of a model: a rule that its config could not be given is refused
};

struct Rescaled {
  std::unique_ptr<Encoding> encoding;
  std::string changes;  ///< for people: "method yarn, factor 4, positions 16384 (was 4096)"
};

/// Whether there are rules (a parameter `method`) for this encoding.
[[nodiscard]] bool takes_rules(const Encoding& encoding);
/// Whether `field` is `method`, a parameter that some method brings along, or one of the magnitudes that go with a rule.
[[nodiscard]] bool is_rule_parameter(const Encoding& encoding, std::string_view field);

/// `encoding` under the rule that the settings name, or, where it has no rules, for more positions. Positions end with
/// context - 1 unless the settings have others (reaching); where a config says the trained length, a factor alone is a context too.
/// Without a rule the lengths that are the old context become the new one, the others stay: one query that is cached decode's.
/// A rule that wants the trained length takes it from the settings, else
/// from the rule that it replaces, else from `trained`. Throws usage.
[[nodiscard]] Rescaled rescaled(const Encoding& encoding, const Rescaling& how);

/// Positions that end with context - 1: a range from where it starts, in its steps. Throws usage for a list, which has no longer
/// form, and, without force, for a context that those there are beyond.
[[nodiscard]] std::string reaching(const std::string& positions, std::int64_t context, bool force);

/// `encoding` under the method among the settings, which are not applied otherwise: parameters that both rules have stay (a factor,
/// the trained length under either of its names), the others go with the old rule and its magnitudes, as `changes` tells. Nothing
/// of that, no `changes`.
[[nodiscard]] Rescaled with_method(const Encoding& encoding, const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace posenc
