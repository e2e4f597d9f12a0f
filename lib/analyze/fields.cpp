#include "analyze/fields.hpp"

#include "posenc/text.hpp"

namespace posenc::analyze_sections {

std::string field_text(const Encoding& encoding, std::string_view name) {
  for (const FieldView& f : encoding.fields())
    if (f.name == name && f.present) return f.value;
  return "";
}
std::optional<double> field_real(const Encoding& encoding, std::string_view name) {
  const std::string text = field_text(encoding, name);
  return text.empty() ? std::nullopt : std::optional(parse_real(text, name));
}
std::optional<std::int64_t> field_count(const Encoding& encoding, std::string_view name) {
  const std::string text = field_text(encoding, name);
  return text.empty() ? std::nullopt : std::optional(parse_int(text, name, true));
}

}  // namespace posenc::analyze_sections
