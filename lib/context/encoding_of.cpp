#include "context/encoding_of.hpp"

#include "posenc/spec.hpp"

namespace posenc::config {

std::unique_ptr<Encoding> encoding_of(const Reading& reading, const std::vector<std::pair<std::string, std::string>>& more) {
  auto encoding = make_encoding(reading.encoding);
  std::vector<std::pair<std::string, std::string>> settings;
  for (const Setting& s : reading.settings) settings.emplace_back(s.field, s.value);
  settings.insert(settings.end(), more.begin(), more.end());
  apply(*encoding, std::move(settings));
  return encoding;
}

}  // namespace posenc::config
