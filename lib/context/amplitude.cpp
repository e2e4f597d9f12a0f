// The amplitude of a reading's table, as the encoding itself has it.
#include "context/readers.hpp"
#include "encodings/model.hpp"
#include "encodings/rope.hpp"
#include "posenc/error.hpp"
#include "posenc/spec.hpp"

namespace posenc::config {

std::optional<double> amplitude_of(const Reading& reading) {
  if (reading.encoding != "rope") return std::nullopt;
  detail::Model<Rope> rope;
  std::vector<std::pair<std::string, std::string>> settings;
  for (const Setting& s : reading.settings) settings.emplace_back(s.field, s.value);
  try {
    posenc::apply(rope, std::move(settings));
    rope.check();
    return facts(rope.typed()).attention_factor;
  } catch (const Error&) {
    return std::nullopt;  // said where a table is asked for, which is when it matters
  }
}

}  // namespace posenc::config
