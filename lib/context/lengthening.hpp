// What lengthening a config amounts to: the rule, its numbers and the lengths, decided before anything is written.
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "context/opened.hpp"
#include "encodings/model.hpp"
#include "encodings/rope.hpp"
#include "posenc/config.hpp"
#include "posenc/config_edit.hpp"
#include "rescale/names.hpp"
#include "rescale/successor.hpp"

namespace posenc::config {

inline constexpr std::string_view original_key = rescale::trained_fields[0], max_key = rescale::trained_fields[1];

/// Rules that are another base and nothing else.
inline constexpr std::array<std::string_view, 3> base_rules{"ntk", "ntk-old", "base"};

template <class List>
[[nodiscard]] bool among(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}
/// Whether the file is in the dialect of transformers 5.
[[nodiscard]] bool has_rope_parameters(const OpenedConfig& opened);
[[nodiscard]] std::optional<std::string> given(const rescale::Settings& settings, std::string_view field);
/// Throws usage "NAME: sentence".
[[noreturn]] void refuse_change(std::string_view name, const std::string& sentence);

struct Lengthening {
  const Reading* reading = nullptr;  ///< the kind of layers that gets the rule
  std::string method;                ///< "" or "default" where the encoding has no rules
  rescale::Settings settings;        ///< parameters of the rule that were asked for or stay from the old one
  rescale::Settings wanted;          ///< those and all others that the encoding has under the rule
  detail::Model<Rope> rope;          ///< with them
  std::optional<double> factor;
  std::optional<std::int64_t> trained, context;
  double base = 0;  ///< the new one, of a rule that is a base
  bool own_dynamic = false;  ///< the dynamic rule goes into keys of the class's own (own_keys.hpp)
  [[nodiscard]] bool by_base() const { return among(base_rules, method); }
  /// The positions to declare: the dynamic rule of rope_scaling counts from the declared length, which is the trained one.
  [[nodiscard]] std::optional<std::int64_t> declared() const { return method == "dynamic" && !own_dynamic ? trained : context; }
};

/// `reading` is what is read of the layers that get the rule, `name` the file's name in messages. Throws usage; remarks are for people.
[[nodiscard]] Lengthening decide_lengthening(const Reading& reading, const OpenedConfig& opened, std::string_view name, const ConfigChange& change,
                                             std::vector<std::string>& remarks);

}  // namespace posenc::config
