#include <fmt/format.h>

#include "context/readers.hpp"

namespace posenc::config {

Given<std::int64_t> width_per_head(const Lookup& model) {
  const Lookup own = model.innermost();
  const auto hidden = own.need_count(hidden_keys, lanes);
  const auto heads = own.need_count(head_keys, lanes);
  if (hidden.value % heads.value != 0)
    model.fail(fmt::format("{} {} is not a multiple of {} {}; correct one or add head_dim", hidden.origin, hidden.value,
                           heads.origin, heads.value));
  return {hidden.value / heads.value, fmt::format("{} / {}", hidden.origin, heads.origin)};
}

void put_spread(Reading& reading, const Lookup& model) {
  const auto found = model.innermost().explicit_only().find({"initializer_range", "init_std"});
  if (!found || !found->value->is_number()) return;  // never worth refusing a config for
  const double std = found->value->get<double>();
  if (std > 0 && std <= factors.max) put(reading, "std", std, found->origin);
}

void put_context(Reading& reading, const Lookup& model) {
  if (const auto length = model.first_count(context_keys, positions)) {
    reading.context = length->value;
    reading.context_origin = length->origin;
  }
}

}  // namespace posenc::config
