// The amplitude of a reading's table, as the encoding itself has it.
#include "context/encoding_of.hpp"
#include "context/readers.hpp"
#include "encodings/model.hpp"
#include "encodings/rope.hpp"
#include "posenc/error.hpp"

namespace posenc::config {

std::optional<double> amplitude_of(const Reading& reading) {
  if (reading.encoding != "rope") return std::nullopt;
  try {
    const auto encoding = encoding_of(reading);
    encoding->check();
    return facts(dynamic_cast<const detail::Model<Rope>&>(*encoding).typed()).attention_factor;
  } catch (const Error&) {
    return std::nullopt;  // said where a table is asked for, which is when it matters
  }
}

}  // namespace posenc::config
