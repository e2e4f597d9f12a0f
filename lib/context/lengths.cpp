#include "context/lengths.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "context/readers.hpp"

namespace posenc::config {
namespace {

// The reading whose block vLLM multiplies by: one that states a factor under rope_scaling or rope_parameters, by a rule
// other than longrope and llama3.
const Reading* multiplied(const std::vector<Reading>& readings) {
  for (const Reading& reading : readings) {
    if (reading.encoding != "rope" || reading.layer_type == "vision") continue;
    const Setting *method = find_setting(reading, "method"), *factor = find_setting(reading, "factor");
    if (method == nullptr || factor == nullptr || method->value == "longrope" || method->value == "llama3") continue;
    if (factor->origin.find("rope_scaling") != std::string::npos || factor->origin.find("rope_parameters") != std::string::npos)
      return &reading;
  }
  return nullptr;
}

}  // namespace

DeclaredLengths read_lengths(const Lookup& model, const std::vector<Reading>& readings) {
  DeclaredLengths lengths;
  const Setting* least = nullptr;
  std::vector<std::int64_t> values;
  lengths.keys.reserve(capping_keys.size());
  for (std::string_view key : capping_keys) {
    const auto found = model.find({key});
    if (!found || !found->value->is_number_integer()) continue;
    const auto value = found->value->is_number_unsigned() && found->value->get<std::uint64_t>() > static_cast<std::uint64_t>(positions.max)
                           ? std::int64_t{0}
                           : found->value->get<std::int64_t>();
    if (value < 1) continue;
    lengths.keys.push_back({std::string(key), print(value), found->origin});
    if (values.empty() || value < *std::min_element(values.begin(), values.end())) least = &lengths.keys.back();
    values.push_back(value);
  }
  if (least == nullptr) return lengths;
  const std::int64_t start = *std::min_element(values.begin(), values.end());
  lengths.served = start;
  lengths.served_origin = least->origin;
  if (const std::int64_t most = *std::max_element(values.begin(), values.end()); most != start)
    lengths.findings.push_back(fmt::format("{} is {}, the least of the declared lengths (the largest is {}); vLLM caps the model there",
                                           least->origin, start, most));

  const Reading* reading = multiplied(readings);
  if (reading == nullptr || model.owner().find("gemma3") != std::string::npos) return lengths;
  const Setting& method = *find_setting(*reading, "method");
  const Setting& factor = *find_setting(*reading, "factor");
  std::int64_t from = start;
  std::string from_origin = least->origin;
  if (const Setting* original = find_setting(*reading, "original_max_position_embeddings"); method.value == "yarn" && original != nullptr) {
    from = parse_int(original->value, original->field);
    from_origin = original->origin;
  }
  const double product = static_cast<double>(from) * parse_real(factor.value, factor.field);
  if (!(product >= 1 && product <= positions.max)) return lengths;
  lengths.served = static_cast<std::int64_t>(product);
  lengths.served_origin = fmt::format("{} * {}", factor.origin, from_origin);
  if (method.value == "dynamic" || !reading->context || *lengths.served <= *reading->context) return lengths;
  lengths.findings.push_back(
      fmt::format("vLLM multiplies {} {} by {} {} and serves {} positions, though {} declares {}; there, cap it with --max-model-len {}",
                  from_origin, from, factor.origin, factor.value, *lengths.served, reading->context_origin, *reading->context,
                  *reading->context));
  return lengths;
}

}  // namespace posenc::config
