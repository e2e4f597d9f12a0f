#include <algorithm>

#include "posenc/config.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

bool is_generated(const Reading& reading) {
  const auto entry = std::find_if(encodings().begin(), encodings().end(), [&](const EncodingEntry& e) { return e.name == reading.encoding; });
  if (entry == encodings().end()) return false;
  const auto fields = entry->make()->all_fields();
  return std::all_of(reading.settings.begin(), reading.settings.end(), [&](const Setting& s) {
    return std::any_of(fields.begin(), fields.end(), [&](const FieldView& f) { return f.name == s.field; });
  });
}

}  // namespace posenc
