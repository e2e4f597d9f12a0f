#include "rescale/successor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "posenc/error.hpp"
#include "posenc/text.hpp"
#include "rescale/dynamic.hpp"
#include "rescale/llama3.hpp"
#include "rescale/plain.hpp"
#include "rescale/proportional.hpp"

namespace posenc::rescale {
namespace {

// cos and sin times 3: 0.1 ln(factor) + 1 gets there at a factor of 5e8.
constexpr double largest_amplitude = 3;

// Whether the factor is how much longer the context gets.
bool is_ratio(std::string_view method) { return method != Llama3::name && method != Dynamic::name; }

}  // namespace

bool is_magnitude(std::string_view field) { return field == "attention_factor" || field == "softmax_multiplier"; }

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

std::optional<std::string> cannot_follow(std::string_view now, std::string_view next) {
  if ((now == Proportional::name) == (next == Proportional::name)) return std::nullopt;
  return now == Proportional::name ? "these layers turn by the proportional rule, which only method proportional lengthens"
                                   : "method proportional is for layers that turn by the proportional rule, and these do not";
}

void check_asked(const Asked& a, std::string_view advice) {
  if (a.factor_said && a.context && a.trained && is_ratio(a.method) &&
      static_cast<double>(*a.context) / static_cast<double>(*a.trained) != a.factor)
    fail_usage(fmt::format("factor {} times the trained length {} is {}, but context says {}; give one of them{}", print(a.factor), *a.trained,
                           print(a.factor * static_cast<double>(*a.trained)), *a.context, advice));
  if (a.force) return;
  if (a.context && a.trained && *a.context < *a.trained)
    fail_usage(fmt::format(
        "context {} is less than the trained length {}: factor {} would shorten, a factor above 1 lengthens; give force to take it all the same",
        *a.context, *a.trained, print(static_cast<double>(*a.context) / static_cast<double>(*a.trained))));
  if (a.factor < 1)
    fail_usage(fmt::format(
        "factor {} would shorten the context, a factor above 1 lengthens: a frequency scale of {} is factor {}; give force to take it all the same",
        print(a.factor), print(a.factor), print(1 / a.factor)));
  if (a.attention_factor && *a.attention_factor > largest_amplitude)
    fail_usage(fmt::format("attention_factor {} multiplies cos and sin, where 1 or a little more is meant and never the context ratio; leave it out, or "
                           "give force to take it all the same",
                           print(*a.attention_factor)));
}

}  // namespace posenc::rescale
