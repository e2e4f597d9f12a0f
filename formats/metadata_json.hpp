// FilePlan::metadata as a JSON object: NPY's sidecar and NPZ's member posenc.json.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace posenc::formats {

/// Keys in order, values as strings; the spec, whose value is JSON text itself, as the JSON it is whenever printing that
/// JSON gives the same text back. `marker` becomes a first member "posenc_sidecar": true.
[[nodiscard]] std::string metadata_to_json(const std::map<std::string, std::string>& metadata, bool marker);
/// Members that are no strings come back as their JSON text. Throws bad_input, with `what`, when it is no JSON object.
[[nodiscard]] std::map<std::string, std::string> metadata_from_json(std::string_view text, std::string_view what);
/// Whether posenc wrote this JSON text, so that it may be replaced or removed. Never throws bad_input.
[[nodiscard]] bool is_posenc_metadata(std::string_view text);

}  // namespace posenc::formats
