// Wrong command lines over all commands: each gets one line, a documented status, and names no option that the command lacks.
#include <map>
#include <set>
#include <sstream>

#include "cli/process.hpp"

namespace posenc::test {
namespace {

// The options that a command's help lists, with those of the encoding behind it.
std::set<std::string> options_of(const Words& words) {
  std::set<std::string> out{"--help", "--version"};
  Words command;
  for (const std::string& word : words)
    if (command.size() < 2 && word.find_first_of("-./# ") == std::string::npos && !word.empty()) {
      command.push_back(word);
      const Outcome help = run(plus(command, {"--help"}));
      if (help.status != 0) command.pop_back();
      std::istringstream lines(help.status == 0 ? help.out : "");
      for (std::string line; std::getline(lines, line);)
        if (const std::size_t at = line.find("--"); line.starts_with("  -") && at != std::string::npos) out.insert(line.substr(at, line.find_first_of(" ,", at) - at));
    }
  return out;
}

std::set<std::string> options_named(const std::string& sentence) {
  std::set<std::string> out;
  for (std::size_t at = sentence.find("--"); at != std::string::npos; at = sentence.find("--", at)) {
    const std::size_t end = std::min(sentence.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-", at + 2), sentence.size());
    if (end > at + 2) out.insert(sentence.substr(at, end - at));
    at = end;
  }
  return out;
}

void files(const Scratch& scratch) {
  const Setup here{.folder = scratch.path()};
  done({"generate", "rope", "--head-dim", "16", "--positions", "16", "-o", "rope.npz"}, here);
  done({"generate", "rope", "--head-dim", "16", "--positions", "16", "--chunk", "1k", "-o", "rope.h5"}, here);
  done({"generate", "learned", "--dim", "4", "-o", "learned.npz"}, here);
  done({"generate", "alibi", "--num-heads", "4", "-o", "alibi.npy"}, here);
  spill(scratch / "spec.json", done({"generate", "rope", "--head-dim", "16", "--print-spec"}).out);
  spill(scratch / "config.json", R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 128})");
  spill(scratch / "broken.json", R"({"model_type": "llama",})");
  spill(scratch / "cut.h5", slurp(scratch / "rope.h5").substr(0, 3000));
  spill(scratch / "noise.bin", "\xFF\x1B[31m no format");
  fs::create_directory(scratch / "empty");
}

}  // namespace

TEST_CASE("wrong command lines: one line, a documented status, no option that is none") {
  const Scratch scratch;
  files(scratch);
  const auto gen = [](const Words& more) { return plus({"generate"}, plus(more, {"-o", "x.npz"})); };
  const auto res = [](const Words& more) { return plus({"rescale"}, plus(more, {"-o", "x.npz"})); };
  const std::vector<Words> calls{
      gen({"rope", "--head-dim", "7"}), gen({"rope", "--head-dim", "seven"}), gen({"rope", "--head-dim", "-2"}), gen({"rope", "--base", "0"}), gen({"rope", "--base", "1e400"}),
      gen({"rope", "--factor", "2"}), gen({"rope", "--method", "yarn"}), gen({"rope", "--method", "ntk"}), gen({"rope", "--method", "nothing"}), gen({"rope", "--layout", "none"}),
      gen({"rope", "--rotary-dim", "7"}), gen({"rope", "--head-dim", "8", "--rotary-dim", "16"}), gen({"rope", "--inv-freq", "1,2,3"}), gen({"rope", "--inv-freq", "1,,2"}),
      gen({"rope", "--positions", "x"}), gen({"rope", "--positions", "-5"}), gen({"rope", "--positions", "0:4:0"}), gen({"rope", "--positions", "1e18"}), gen({"rope", "--positions", "4", "--offset", "1e300"}),
      gen({"rope", "--factor", "2", "--factor", "3"}), gen({"rope", "--dtype", "f33"}), gen({"rope", "--dtype", "i32"}), gen({"rope", "--tensor", "tan"}), gen({"rope", "--for", "vlm"}),
      gen({"rope", "--chunk", "1M"}), gen({"rope", "--threads", "0"}), gen({"rope", "--threads", "x"}), gen({"rope", "--arithmetic", "float8"}), gen({"rope", "--complex", "polar"}),
      gen({"rope", "--layout", "half", "--pair-stride", "1"}), gen({"rope", "--method", "yarn", "--factor", "4"}), gen({"rope", "--method", "longrope", "--factor", "4"}),
      gen({"sinusoidal", "--dim", "1"}), gen({"sinusoidal", "--dim", "3", "--odd", "split"}), gen({"kerple", "--r1", "1,2", "--r2", "3"}), gen({"kerple", "--num-heads", "0"}),
      gen({"t5", "--num-buckets", "3"}), gen({"t5", "--num-buckets", "32", "--max-distance", "2"}), gen({"alibi", "--slopes", "1,2", "--num-heads", "3"}), gen({"alibi", "--form", "square"}),
      gen({"cope"}), gen({"fire", "--num-heads", "0"}), gen({"learned", "--initialiser", "zeros", "--std", "1"}), gen({"learned", "--low", "3", "--high", "2"}), gen({"mrope", "--mrope-section", "1,2"}),
      gen({"sincos_2d", "--dim", "3"}), gen({"zigzag", "--ranks", "3", "--length", "4"}), gen({"randomized", "--length", "9", "--max-length", "4"}), gen({"radix", "--width", "0"}),
      gen({"--config", "config.json", "--layout", "none"}), gen({"--config", "broken.json"}), gen({"--config", "empty"}), gen({"--config", "config.json", "--spec", "spec.json"}),
      gen({"--config", "config.json", "--num-buckets", "3"}), gen({"--spec", "config.json"}), gen({"--spec", "gone.json"}), gen({"--spec", "spec.json", "--head-dim", "7"}), gen({}), gen({"ropee"}),
      {"generate", "rope"}, {"generate", "rope", "-o"}, {"generate", "rope", "-o", "x"}, {"generate", "rope", "-o", "-"}, {"generate", "rope", "-o", "x.h5", "--compress", "zip"},
      {"generate", "rope", "-o", "x.h5", "--chunk", "0"}, {"generate", "rope", "-o", "x.npy", "--dtype", "bf16"}, {"generate", "rope", "-o", "gone/x.npz"},
      res({"rope.npz"}), res({"rope.npz", "--method", "linear"}), res({"rope.npz", "--method", "yarn", "--factor", "4"}), res({"rope.npz", "--method", "yarn", "--factor", "x"}),
      res({"rope.npz", "--method", "linear", "--context", "1e18"}), res({"rope.npz", "--method", "linear", "--factor", "0.5"}), res({"rope.npz", "--method", "linear", "--factor", "2", "--rows", "4"}),
      res({"rope.npz", "--method", "ramp", "--factor", "2"}), res({"rope.npz", "--layer-type", "every", "--method", "linear", "--factor", "2"}), res({"rope.npz#cos", "--method", "linear"}),
      res({"learned.npz", "--method", "linear"}), res({"learned.npz", "--method", "grid", "--length", "8"}),
      res({"learned.npz", "--method", "tile", "--length", "0"}), res({"learned.npz", "--rows", "grid", "--new-height", "3"}), res({"config.json", "--method", "yarn"}),
      res({"config.json", "--method", "linear", "--factor", "2", "--factor", "2"}), res({"noise.bin", "--length", "4"}), res({"gone.npz"}), {"rescale"}, {"rescale", "rope.npz"},
      {"rescale", "config.json", "--method", "yarn", "--factor", "4", "--context", "99", "-o", "x.json"}, {"rescale", "config.json", "--method", "yarn", "--layer-type", "every", "--factor", "4", "-o", "x.json"},
      {"rescale", "config.json", "--positions", "64", "--method", "yarn", "--factor", "4", "-o", "x.json"}, {"rescale", "config.json", "--config-dialect", "6", "-o", "x.json"},
      {"extend"}, {"extend", "rope.npz"}, {"extend", "rope.npz", "--positions", "x"}, {"extend", "rope.npz", "--positions", "4"}, {"extend", "rope.npz", "--positions", "32", "-o", "x"},
      {"extend", "rope.npz", "--positions", "32", "-o", "-"}, {"extend", "rope.npz", "--positions", "32", "-o", "/dev/null"}, {"extend", "rope.h5", "--positions", "32", "-o", "x.npz"},
      {"extend", "rope.h5", "--positions", "9007199254740992"}, {"extend", "rope.npz", "--positions", "5:50"}, {"extend", "config.json", "--positions", "32"}, {"extend", "gone.npz", "--positions", "32"},
      {"extend", "rope.npz", "--positions", "32", "--format", "npz"}, {"extend", "cut.h5", "--positions", "32"}, {"extend", "learned.npz", "--positions", "1e18"},
      {"verify"}, {"verify", "gone.npz"}, {"verify", "cut.h5"}, {"verify", "noise.bin"}, {"verify", "rope.npz", "--against", "gone.npz"}, {"verify", "rope.npz", "--agianst", "x"},
      {"verify", "rope.npz", "rope", "--head-dim", "7"}, {"verify", "rope.npz", "--spec", "broken.json"}, {"verify", "rope.npz", "--config", "broken.json"},
      {"inspect"}, {"inspect", "gone"}, {"inspect", "noise.bin"}, {"inspect", "cut.h5"}, {"inspect", "broken.json"}, {"inspect", "empty"}, {"inspect", "rope.npz", "--config-dialect", "5"},
      {"inspect", "config.json", "--config-dialect", "6"}, {"inspect", "spec.json", "--config-dialect", "4"}, {"inspect", "rope.npz", "extra"}, {"inspect", "--jsn", "rope.npz"},
      {"analyze"}, {"analyze", "alibi.npy", "--context", "0"}, {"analyze", "rope.npz", "--context", "x"}, {"analyze", "rope.npz", "--dtype", "i64"}, {"analyze", "rope", "--head-dim", "7"},
      {"analyze", "config.json", "--head-dim", "8"}, {"analyze", "config.json", "rope"}, {"analyze", "noise.bin"}, {"analyze", "broken.json"},
      {"apply"}, {"apply", "rope"}, {"apply", "rope", "--input", "gone.npy", "-o", "y.npy"}, {"apply", "rope", "--head-dim", "7", "--input", "alibi.npy", "-o", "y.npy"},
      {"apply", "rope", "--input", "alibi.npy", "-o", "y.npy", "--operation", "divide"}, {"apply", "--table", "rope.npz", "--input", "alibi.npy", "-o", "y.npy"},
      {"apply", "--table", "gone.npz", "--input", "alibi.npy", "-o", "y.npy"}, {"apply", "rope", "--input", "alibi.npy", "--score", "1", "-o", "y.npy"}, {"apply", "rope", "--input", "rope.npz", "-o", "y"},
      {"list", "nothing"}, {"list", "rope", "rope"}, {"list", "--head-dim", "4"}, {"nothing"}, {"--nothing"}, {"-x"}, {"\x1B[31m"}, {"generate", "\xFF"}};
  CHECK(calls.size() > 120);
  const Words before = scratch.names();
  std::map<std::string, std::set<std::string>> known;
  for (const Words& words : calls) {
    CAPTURE(joined(words));
    const Outcome outcome = run(words, {.folder = scratch.path()});
    CHECK((outcome.status >= 1 && outcome.status <= 4));
    CHECK_MESSAGE((outcome.err.starts_with("posenc: ") && outcome.err.ends_with('\n') && outcome.error_lines() == 1), outcome.err);
    CHECK_MESSAGE(std::none_of(outcome.err.begin(), outcome.err.end() - 1, [](char c) { return static_cast<unsigned char>(c) < 0x20; }), outcome.err);
    CHECK(outcome.out.empty());
    for (const char* foreign : {"At Most", "literal", "sblock", "read attempts", "syntax error", "json.exception", "required but", "H5"}) CHECK_MESSAGE(!mentions(outcome.err, foreign), outcome.err);
    const std::set<std::string> named = options_named(outcome.err);
    if (named.empty()) continue;
    const std::string command = words[0] + " " + (words.size() > 1 ? words[1] : "");
    if (!known.contains(command)) known[command] = options_of(words);
    for (const std::string& option : named) {
      const bool typed = std::any_of(words.begin(), words.end(), [&](const std::string& word) { return word.starts_with(option); });
      CHECK_MESSAGE((known[command].contains(option) || typed), option, " is no option: ", outcome.err);
    }
  }
  CHECK(scratch.names() == before);
}

}  // namespace posenc::test
