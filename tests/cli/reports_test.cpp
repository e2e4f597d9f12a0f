// What goes to standard output: help, lists, inspections; text or JSON, each by itself on its stream.
#include <nlohmann/json.hpp>

#include "cli/process.hpp"
#include "posenc/encoding.hpp"
#include "posenc/formats.hpp"
#include "posenc/plan.hpp"
#include "posenc/presets.hpp"
#include "support/configs.hpp"

namespace posenc::test {
namespace {

using Json = nlohmann::json;

Outcome fine(const Words& words, const Setup& setup = {}) {
  CAPTURE(joined(words));
  Outcome outcome = run(words, setup);
  CHECK_MESSAGE(outcome.status == 0, outcome.err);
  CHECK(!outcome.out.empty());
  CHECK_MESSAGE(outcome.err.empty(), outcome.err);
  return outcome;
}

Json fine_json(Words words, const Setup& setup = {}) {
  words.emplace_back("--json");
  return Json::parse(fine(words, setup).out);
}

}  // namespace

TEST_CASE("help and version") {
  CHECK(fine({"--version"}).out == "posenc " + std::string(version()) + "\n");
  const std::string help = fine({"--help"}).out;
  for (const char* command : {"generate", "verify", "inspect", "list"}) {
    CHECK(mentions(help, command));
    fine({command, "--help"});
    fine({command, "-h"});
  }
  for (const EncodingEntry& entry : encodings()) {
    const std::string text = fine({"generate", std::string(entry.name), "--help"}).out;
    fine({"verify", std::string(entry.name), "--help"});
    for (const FieldView& f : entry.make()->all_fields()) {
      std::string flag = "--" + f.name;
      std::replace(flag.begin(), flag.end(), '_', '-');
      CHECK_MESSAGE(mentions(text, flag + " "), flag);
    }
  }
}

TEST_CASE("list, every topic and every encoding") {
  const Json all = fine_json({"list"});
  for (const auto& [topic, rows] : all.items()) {
    fine({"list", topic});
    CHECK(fine_json({"list", topic})[topic] == rows);
    CHECK(!rows.empty());
  }
  const auto names = [&](const char* topic) {
    Words list;
    for (const Json& row : all[topic]) list.push_back(row["name"]);
    return list;
  };
  Words want;
  for (const EncodingEntry& entry : encodings()) want.emplace_back(entry.name);
  CHECK(names("encodings") == want);
  want.clear();
  for (const auto& format : formats::formats()) want.emplace_back(format.name);
  CHECK(names("formats") == want);
  want.clear();
  for (const Preset& preset : presets()) want.emplace_back(preset.name);
  CHECK(names("presets") == want);
  for (const EncodingEntry& entry : encodings()) {
    const std::string name(entry.name);
    fine({"list", name});
    const Json parameters = fine_json({"list", name})["parameters"];
    CHECK(parameters.size() == entry.make()->all_fields().size());
    for (const Json& p : parameters) CHECK_MESSAGE(!p["help"].get<std::string>().empty(), p.dump());
  }
}

TEST_CASE("generate, inspect and verify of every format") {
  for (const auto& format : formats::formats()) {
    CAPTURE(format.name);
    const Scratch scratch;
    const Setup here{.folder = scratch.path()};
    const std::string name = "x" + std::string(format.suffixes.front());
    const Json written = fine_json({"generate", "rope", "--positions", "10", "--tensor", "cos", "-o", name}, here);
    CHECK(written["written"][0]["file"] == name);
    CHECK(written["written"][0]["format"] == format.name);
    CHECK(written["written"][0]["tensors"][0]["shape"] == Json({10, 64}));
    CHECK(written["written"][0]["tensors"][0]["axes"] == Json({"position", "pair"}));
    fine({"inspect", name}, here);
    const Json seen = fine_json({"inspect", name}, here);
    CHECK(seen["format"] == format.name);
    CHECK(seen["tensors"].size() == 1);
    CHECK(seen["tensors"][0]["dtype"] == "f32");
    if (format.metadata) CHECK(seen["spec"]["encoding"] == "rope");
    fine({"verify", name}, here);
    CHECK(fine_json({"verify", name}, here)["holds"] == true);
    const Outcome quiet = run({"verify", name, "--quiet"}, here);
    CHECK(quiet.status == 0);
    CHECK(quiet.out.empty());
    CHECK(quiet.err.empty());
  }
}

TEST_CASE("a printed spec gives the same file") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  const Words made{"generate", "rope", "--positions", "3,1.5,7:10", "--method", "yarn", "--factor", "4", "--original-max-position-embeddings", "4096", "--dtype", "f16"};
  Words file = made, printed = made;
  file.insert(file.end(), {"-o", "a.npz", "--quiet"});
  printed.emplace_back("--print-spec");
  REQUIRE(run(file, here).status == 0);
  const std::string spec = fine(printed, here).out;
  CHECK(Json::parse(spec)["encoding"] == "rope");
  REQUIRE(run({"generate", "--spec", "-", "-o", "b.npz", "--quiet"}, {.folder = scratch.path(), .input = spec}).status == 0);
  CHECK(slurp(scratch / "a.npz") == slurp(scratch / "b.npz"));
  spill(scratch / "spec.json", spec);
  fine({"inspect", "spec.json"}, here);
  CHECK(fine_json({"inspect", "spec.json"}, here)["kind"] == "spec");
  CHECK(fine({"generate", "--spec", "spec.json", "--print-spec"}, here).out == spec);
}

TEST_CASE("every preset makes a file that verifies, and its spec says so") {
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    const Scratch scratch;
    const Setup here{.folder = scratch.path()};
    // llama3 has divisors as well as frequencies, so every layout has something to say.
    REQUIRE(run({"generate", std::string(preset.encoding), "--for", std::string(preset.name), "--positions", "40", "--method", "llama3", "--factor", "8",
                 "--original-max-position-embeddings", "8192", "-o", "x.safetensors"},
                here)
                .status != 70);
  }
}

TEST_CASE("a model's config") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  const std::string folder = configs + "meta-llama--Llama-3.1-8B";
  fine({"inspect", folder});
  CHECK(fine_json({"inspect", folder})["kind"] == "config");
  const Outcome made = run({"generate", "--config", folder, "--positions", "16", "-o", "x.h5"}, here);
  CHECK(made.status == 0);
  CHECK(!made.out.empty());
  CHECK(mentions(made.err, "llama3"));  // where each value came from
  const Outcome quiet = run({"generate", "--config", folder, "--positions", "16", "-o", "x.h5", "--quiet"}, here);
  CHECK(quiet.err.empty());
  fine({"verify", "x.h5", "--config", folder, "--positions", "16", "--quiet", "--json"}, here);
}

TEST_CASE("no colour and no progress where nobody looks") {
  const Scratch scratch;
  const Outcome outcome = run({"generate", "rope", "--positions", "20000", "-o", "x.npz"}, {.folder = scratch.path()});
  CHECK(outcome.err.empty());
  CHECK(outcome.out.find('\x1b') == std::string::npos);
  CHECK(outcome.out.find('\r') == std::string::npos);
}

}  // namespace posenc::test
