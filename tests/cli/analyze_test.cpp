// posenc analyze as a process: text and JSON of every config, sizes at the ends, and what it refuses.
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include <sys/stat.h>

#include "cli/process.hpp"
#include "posenc/config.hpp"
#include "posenc/error.hpp"
#include "support/arrays.hpp"
#include "support/configs.hpp"

namespace posenc::test {
namespace {

using Json = nlohmann::json;

// Whether a word stands there by itself: "nan" is in "finance".
bool says(const std::string& text, const std::string& word) {
  const auto letter = [&](std::size_t at) { return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0; };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (!letter(at - 1) && !letter(at + word.size())) return true;
  return false;
}

// Both reports of a command; texts without a number that is none.
Json both(Words words) {
  words.insert(words.begin(), "analyze");
  CAPTURE(joined(words));
  const Outcome text = run(words);
  CHECK_MESSAGE(text.status == 0, text.err);
  CHECK_MESSAGE(text.err.empty(), text.err);
  CHECK(!text.out.empty());
  for (const char* word : {"nan", "inf", "-inf"}) CHECK_MESSAGE(!says(text.out, word), text.out);
  words.emplace_back("--json");
  const Outcome json = run(words);
  CHECK_MESSAGE(json.status == 0, json.err);
  for (const char* word : {"nan", "inf", "NaN", "Infinity"}) CHECK_MESSAGE(!says(json.out, word), json.out);
  return Json::parse(json.out);
}

// Part of the report, so of one that stays.
const Json& sections(Json&& report, std::size_t subject = 0) = delete;
const Json& sections(const Json& report, std::size_t subject = 0) { return report.at("subjects").at(subject).at("sections"); }

}  // namespace

TEST_CASE("analyze: a rule's row is what rescale makes of it for the same lengths") {
  const Scratch scratch;
  const std::string model = configs + "meta-llama--Llama-2-7b-hf";
  const Json report = Json::parse(done({"analyze", model, "--context", "64k", "--json"}).out);
  const auto last = [&](const Words& made) {
    done(plus(made, {"--layout", "inv-freq", "--dtype", "f64", "-o", scratch / "f.npz", "--quiet"}));
    return load_array(scratch / "f.npz", "inv_freq").values.back();
  };
  const double plain = last({"generate", "--config", model});
  std::size_t rows = 0;
  for (const Json& row : sections(report).at("rules").at("rules")) {
    if (row.at("in_force") == true) continue;
    const std::string method = row.at("method");
    CAPTURE(method);
    const Words call{"rescale", model, "--method", method, "--context", "64k"};
    CHECK(last(call) / plain == row.at("lowest_frequency_ratio").get<double>());
    ++rows;
  }
  CHECK(rows >= 12);
}

TEST_CASE("analyze: every config that reads, and no other") {
  std::size_t read = 0;
  for (const auto& entry : fs::directory_iterator(configs)) {
    const fs::path file = entry.path() / "config.json";
    if (!fs::exists(file)) continue;
    std::size_t readings = 0;
    try {
      readings = read_config(slurp(file), file.string()).readings.size();
    } catch (const Error& e) {
      CHECK(refused({"analyze", file.string()}, e.exit_status()) == "posenc: " + std::string(e.what()) + "\n");
      continue;
    }
    ++read;
    const Json report = both({entry.path().string()});
    CHECK(report.at("kind") == "config");
    CHECK(report.at("subjects").size() == readings);
    for (const Json& subject : report.at("subjects")) {
      if (subject.at("encoding") != "rope") continue;
      for (const char* section : {"length", "wavelengths", "decay", "base", "entropy"}) CHECK_MESSAGE(subject.at("sections").contains(section), section);
      for (const auto& [key, section] : subject.at("sections").items()) CHECK(section.at("findings").is_array());
    }
  }
  CHECK(read > 50);
}

TEST_CASE("analyze: sizes at the ends") {
  for (const char* context : {"1", "2", "3", "10M", "1G", "9007199254740992"}) {
    both({"rope", "--context", context});
    both({"rope", "--head-dim", "2", "--context", context});
    both({"alibi", "--context", context});
    both({"sinusoidal", "--context", context});
    both({configs + "meta-llama--Llama-3.1-8B", "--context", context});
  }
  both({"rope", "--head-dim", "65536", "--context", "100"});
  both({"rope", "--base", "1e300"});
  both({"rope", "--base", "1"});
  both({"rope", "--base", "0.001"});
  both({"rope", "--head-dim", "4", "--inv-freq", "0,0"});
  both({"rope", "--head-dim", "4", "--inv-freq", "1e300,1e-300"});
  both({"rope", "--head-dim", "2", "--method", "divisors", "--divisors", "5e-324"});
  both({"rope", "--method", "llama3", "--factor", "5e-324", "--low-freq-factor", "1", "--high-freq-factor", "4", "--original-max-position-embeddings", "8192"});
  both({"rope", "--method", "linear", "--factor", "1e-9", "--base", "1e-300"});
  both({"rope", "--head-dim", "4", "--method", "longrope", "--short-factor", "1,1", "--long-factor", "1e-308,1e-308", "--factor", "4",
        "--original-max-position-embeddings", "64", "--context", "256"});
  both({"rope", "--method", "linear", "--factor", "0.5"});
  both({"rope", "--positions", "0"});
  const Json silent = both({"swin"});
  CHECK(sections(silent).empty());
  CHECK(silent.at("remarks").size() == 1);
  const Json grid = both({"mrope", "--context", "4096"});
  CHECK(sections(grid).contains("wavelengths"));
}

TEST_CASE("analyze: help") {
  const Outcome help = run({"analyze", "--help"});
  CHECK(help.status == 0);
  for (const char* option : {"--context", "--dtype", "--explain", "--exhaustive", "--json", "rope", "alibi"}) CHECK_MESSAGE(mentions(help.out, option), option);
  CHECK(mentions(run({"--help"}).out, "analyze"));
}

TEST_CASE("analyze: the shape of the JSON") {
  const Json report = both({"rope", "--base", "500000", "--positions", "8192", "--context", "128k"});
  CHECK(report.at("file").is_null());
  CHECK(report.at("kind") == "flags");
  CHECK(sections(report).at("length").at("trained") == 8192);
  CHECK(sections(report).at("length").at("context") == 131072);
  CHECK(sections(report).at("wavelengths").at("pairs").size() == 64);  // whole, however long
  CHECK(sections(report).at("wavelengths").at("pairs")[0].at("inv_freq") == 1.0);
  CHECK(sections(report).at("wavelengths").at("first_never_turn") == 35);
  CHECK(sections(report).at("base").at("holds") == false);
  CHECK(report.at("remarks").empty());
  const Outcome quiet = run({"analyze", "swin", "--quiet"});
  CHECK(!mentions(quiet.out, "nothing to say"));
  const Outcome text = run({"analyze", "rope", "--base", "500000"});
  CHECK(mentions(text.out, "of 64 rows; --json has all"));
}

TEST_CASE("analyze: the text fits a terminal") {
  const std::string config = configs + "Qwen--Qwen2.5-7B-Instruct-yarn";
  const Outcome text = run({"analyze", config, "--explain"});
  std::istringstream lines(text.out);
  std::string copied;
  std::size_t grids = 0, columns = 0;
  for (std::string line; std::getline(lines, line);) {
    CHECK_MESSAGE(!line.ends_with(' '), line);
    if (line.starts_with("        vllm  ")) copied = line.substr(line.find("--hf-overrides"));
    if (line.starts_with("    ") && line[4] != ' ' && line.ends_with(':')) ++grids;
    // A row of a grid starts with its first column's cell; a finding, a figure and what is to be copied are sentences of any length.
    if (line.starts_with("      63 ")) {
      ++columns;
      CHECK_MESSAGE(line.size() <= 150, line);
    }
  }
  // Pairs, rules, decay, entropy, four of precision, words and what is to be copied: each has its label above it.
  CHECK(grids == 10);
  CHECK(columns == 3);  // pairs, and each pair's two figures of precision
  // The wide grid is told program by program; its last one in one piece, as --json has it.
  for (const char* label : {"\n      transformers 4 config.json\n", "\n      llama.cpp flags\n", "\n        factor                            --rope-scale 4\n"})
    CHECK_MESSAGE(mentions(text.out, label), label);
  CHECK(!mentions(text.out, "mscale"));
  const Json same = Json::parse(run({"analyze", config, "--explain", "--json"}).out);
  for (const Json& row : sections(same).at("explain").at("settings"))
    if (row.at("program") == "vllm") CHECK(row.at("text") == copied);
  CHECK(!copied.empty());
}

TEST_CASE("analyze: specs and files that carry one") {
  const Scratch scratch;
  const Outcome spec = run({"generate", "rope", "--head-dim", "64", "--positions", "300", "--print-spec"});
  spill(scratch / "spec.json", spec.out);
  const Json of_spec = both({scratch / "spec.json"});
  CHECK(of_spec.at("kind") == "spec");
  CHECK(run({"generate", "rope", "--head-dim", "64", "--positions", "300", "-o", scratch / "table.safetensors"}).status == 0);
  const Json of_file = both({scratch / "table.safetensors"});
  CHECK(of_file.at("kind") == "file");
  CHECK(of_file.at("subjects") == of_spec.at("subjects"));
  CHECK(both({"rope", "--head-dim", "64", "--positions", "300"}).at("subjects") == of_spec.at("subjects"));
  CHECK(sections(of_file).at("length").at("trained") == 300);
}

TEST_CASE("analyze: what is refused") {
  CHECK(mentions(refused({"analyze"}, 2), "analyze wants"));
  CHECK(mentions(refused({"analyze", "rope", "--context", "0"}, 2), "context"));
  CHECK(mentions(refused({"analyze", "rope", "--context", "-5"}, 2), "context"));
  CHECK(mentions(refused({"analyze", "rope", "--context", "9007199254740993"}, 2), "context"));
  CHECK(mentions(refused({"analyze", "rope", "--context", "many"}, 2), "many"));
  CHECK(mentions(refused({"analyze", "rope", "--dtype", "i64"}, 2), "i64"));
  CHECK(mentions(refused({"analyze", "rope", "--method", "yarn"}, 2), "factor"));
  CHECK(mentions(refused({"analyze", "rope", "--head-dim", "3"}, 2), "even"));
  const std::string config = configs + "meta-llama--Llama-3.1-8B";
  refused({"analyze", config, "--base", "7"}, 2);
  refused({"analyze", config, "rope"}, 2);
  const Scratch scratch;
  refused({"analyze", scratch / "absent.json"}, 4);
  refused({"analyze", scratch / "."}, 4);  // a folder without config.json
  spill(scratch / "empty", "");
  refused({"analyze", scratch / "empty"}, 3);
  spill(scratch / "cut.json", "{\"posenc\": ");
  refused({"analyze", scratch / "cut.json"}, 3);
  spill(scratch / "list.json", "[1, 2]");
  refused({"analyze", scratch / "list.json"}, 3);
  CHECK(run({"generate", "rope", "--positions", "10", "--tensor", "cos", "-o", "-"}, {.out_path = {}}).status == 0);
  spill(scratch / "bare.npy", run({"generate", "rope", "--positions", "10", "--tensor", "cos", "-o", "-"}).out);
  CHECK(mentions(refused({"analyze", scratch / "bare.npy"}, 2), "carries no spec"));
  REQUIRE(::mkfifo((scratch / "fifo").c_str(), 0600) == 0);
  const std::string line = refused({"analyze", scratch / "fifo"}, 3);
  CHECK(!line.empty());
}

}  // namespace posenc::test
