#include "rescale/successor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "posenc/error.hpp"
#include "posenc/text.hpp"
#include "rescale/plain.hpp"

namespace posenc::rescale {

bool plain_yet(const std::vector<FieldView>& fields) {
  const bool ruled = std::any_of(fields.begin(), fields.end(), [](const FieldView& f) { return f.name == "method" && f.value != Plain::name; });
  return !ruled || std::all_of(fields.begin(), fields.end(), [](const FieldView& f) { return f.group.empty() || (f.name == "factor" && f.value == "1"); });
}

bool stays(const FieldView& field) { return field.present && !field.group.empty(); }

std::optional<std::int64_t> said_trained_length(const Settings& said) {
  std::optional<std::int64_t> out;
  for (const std::string_view name : trained_fields)
    for (const auto& [field, text] : said) {
      if (field != name) continue;
      const std::int64_t length = parse_int(text, field, true);
      if (length < 1) fail_usage(fmt::format("{} must be at least 1, got {}", field, quoted_word(text)));
      if (out && *out != length)
        fail_usage(fmt::format("{} and {} both mean the trained length, but are {} and {}; give one", trained_fields[0], trained_fields[1], *out, length));
      out = length;
    }
  return out;
}

std::optional<std::int64_t> trained_length(std::optional<std::int64_t> said, const std::vector<FieldView>& in_force,
                                           std::optional<std::int64_t> declared) {
  if (said) return said;
  for (const std::string_view name : trained_fields)
    for (const FieldView& f : in_force)
      if (f.name == name && f.present) return parse_int(f.value, name);
  return plain_yet(in_force) ? declared : std::nullopt;
}

}  // namespace posenc::rescale
