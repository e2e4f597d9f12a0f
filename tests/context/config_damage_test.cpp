// read_config, and what writes configs, on rubbish: a reading or one line about the file, never anything else.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "context/config_checks.hpp"
#include "context/model_classes.hpp"
#include "posenc/architectures.hpp"
#include "posenc/config_edit.hpp"
#include "posenc/error.hpp"

namespace posenc::test {
namespace {

using Json = nlohmann::ordered_json;

// Done or refused in one line, whatever writes configs or looks at their tensors.
void change_or_refuse(const std::string& text) {
  const auto attempt = [&](auto&& act) {
    try {
      act();
    } catch (const Error& error) {
      CAPTURE(error.what());
      CHECK(!mentions(error.what(), "\n"));
      CHECK((error.failure() == Failure::bad_input || error.failure() == Failure::usage));
    }
  };
  attempt([&] { (void)architectures_in(text, "config.json"); });
  for (const auto dialect : {ConfigDialect::v4, ConfigDialect::v5}) attempt([&] { (void)in_dialect(text, "config.json", dialect); });
  for (const char* method : {"yarn", "ntk"})
    attempt([&] { (void)rescaled_config(text, "config.json", {.method = method, .factor = 2, .settings = {{"original_max_position_embeddings", "16"}}, .replace = true}); });
}

}  // namespace

TEST_CASE("any key of a published config may turn into rubbish") {
  constexpr int share = 5;  // of the rubbish that is also rewritten: a prime, so that every value and key has its turn
  int number = 0;
  const Json values = Json::parse(R"([null, "x", -1, 0, 1e300, [], {}, true, 1.5, 3, 9223372036854775807, [0], {"a":1}])");
  for (const Json& entry : config_manifest()) {
    const std::string file = entry.at("file");
    if (file.find("truncated") != std::string::npos || file.find("duplicate") != std::string::npos) continue;
    INFO(file);
    const Json config = Json::parse(slurp(configs + file));
    std::vector<Json::json_pointer> places;
    const Json flat = config.flatten();
    for (const auto& [place, leaf] : flat.items()) {
      // The leaf, and each object around it.
      for (Json::json_pointer at(place); !at.empty(); at.pop_back()) {
        const std::string name = at.back();
        if (!name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }) && name != "0")
          continue;  // one item of a list is enough
        if (std::find(places.begin(), places.end(), at) == places.end()) places.push_back(at);
      }
    }
    for (const Json::json_pointer& at : places)
      for (const Json& value : values) {
        INFO(at.to_string(), " = ", value.dump());
        Json changed = config;
        changed[at] = value;
        (void)refusal(changed.dump());
        if (++number % share == 0) change_or_refuse(changed.dump());
        if (value.is_null()) {  // and without it
          Json& parent = changed[at.parent_pointer()];
          if (parent.is_object()) parent.erase(at.back()), (void)refusal(changed.dump());
        }
      }
  }
}

TEST_CASE("a config that was cut short is refused") {
  for (const Json& entry : config_manifest()) {
    const std::string file = entry.at("file");
    INFO(file);
    std::string text = slurp(configs + file);
    text.erase(text.find_last_of("}") == std::string::npos ? text.size() : text.find_last_of("}"));
    constexpr std::size_t step = 97;
    for (std::size_t size = 0; size < text.size(); size += step) CHECK(!refusal(text.substr(0, size)).empty());
  }
}

TEST_CASE("size and depth are no danger") {
  constexpr int depth = 10000;
  std::string nest, end;
  for (int i = 0; i < depth; ++i) nest += R"({"a":)", end += "}";
  CHECK(!refusal(nest + "1" + end).empty());
  CHECK(!refusal(std::string(depth, '[') + std::string(depth, ']')).empty());
  const std::string five_megabytes(5 << 20, 'x');
  CHECK(!refusal(R"({"model_type":")" + five_megabytes + R"("})").empty());
  CHECK(!refusal(llama(R"(,"rope_scaling":{"rope_type":")" + five_megabytes + "\"}")).empty());
  CHECK(!refusal(llama(R"(,"rope_theta":")" + five_megabytes + "\"")).empty());
  CHECK(read_config(llama(R"(,"rope_scaling":{"rope_type":"linear","factor":2,")" + five_megabytes + "\":1}"),
                            "config.json")
            .warnings.size() == 1);
  CHECK(!refusal("").empty());
  CHECK(!refusal("[]").empty());
  CHECK(!refusal("NaN").empty());
  CHECK(!refusal("\xEF\xBB\xBF").empty());
  CHECK(!refusal(R"({"model_type":"gemma3_text","num_hidden_layers":4611686018427387904})").empty());
}

TEST_CASE("the list of model classes is well formed") {
  std::set<std::string> seen;
  for (const config::ModelClass& entry : config::model_classes()) {
    INFO(entry.model_type);
    CHECK(seen.insert(std::string(entry.model_type)).second);
    CHECK(Json::parse(entry.defaults).is_object());
    CHECK(entry.pattern.chosen.empty() == (entry.pattern.count == 0));
    // Every class reads or refuses a config that says nothing but its name.
    (void)refusal(fmt::format(R"({{"model_type":"{}"}})", entry.model_type));
  }
}

}  // namespace posenc::test
