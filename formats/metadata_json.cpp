#include "metadata_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "posenc/error.hpp"
#include "posenc/io.hpp"
#include "posenc/json.hpp"

namespace posenc::formats {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* marker_key = "posenc_sidecar";

}  // namespace

std::string metadata_to_json(const std::map<std::string, std::string>& metadata, bool marker) {
  Json object = Json::object();
  if (marker) object[marker_key] = true;
  for (const auto& [key, value] : metadata) {
    object[key] = value;
    if (key != spec_key || !value.starts_with('{')) continue;
    try {
      Json spec = json::parse(value, key);
      if (spec.dump() == value) object[key] = std::move(spec);
    } catch (const Error&) {
      continue;  // not JSON after all: it stays a string
    }
  }
  return object.dump(2) + "\n";
}

std::map<std::string, std::string> metadata_from_json(std::string_view text, std::string_view what) {
  const Json object = json::parse(text, what);
  if (!object.is_object()) fail_input(fmt::format("{}: is JSON but no object of names and values", what));
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : object.items()) {
    if (key == marker_key) continue;
    metadata[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return metadata;
}

bool is_posenc_metadata(std::string_view text) {
  try {
    const Json object = json::parse(text, "sidecar");
    return object.is_object() && (object.contains(marker_key) || object.contains(spec_key));
  } catch (const Error&) {
    return false;
  }
}

}  // namespace posenc::formats
