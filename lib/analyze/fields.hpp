// What sections ask an encoding for: its own type, and single parameters.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "encodings/model.hpp"
#include "posenc/encoding.hpp"

namespace posenc::analyze_sections {

/// The encoding as its own type; null where it is another one.
template <class E>
[[nodiscard]] const E* typed(const Encoding& encoding) {
  const auto* model = dynamic_cast<const detail::Model<E>*>(&encoding);
  return model == nullptr ? nullptr : &model->typed();
}

/// The value of a parameter that was given or has a default; "" when it has neither, or there is none of that name.
[[nodiscard]] std::string field_text(const Encoding& encoding, std::string_view name);
/// The same as a number.
[[nodiscard]] std::optional<double> field_real(const Encoding& encoding, std::string_view name);
[[nodiscard]] std::optional<std::int64_t> field_count(const Encoding& encoding, std::string_view name);

}  // namespace posenc::analyze_sections
