// What --help says of every command, against what the command takes. The commands and their options are read out of the help
// itself: a new one is tested by existing.
#include <sstream>

#include "cli/process.hpp"

namespace posenc::test {
namespace {

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string help_of(Words command) {
  command.push_back("--help");
  const Outcome outcome = run(command);
  CHECK_MESSAGE(outcome.status == 0, joined(command));
  return outcome.out;
}

// The words that begin the lines under "Subcommands:".
Words subcommands_in(const std::string& help) {
  Words names;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    if (line == "Subcommands:") inside = true;
    else if (inside && !line.starts_with("  ")) break;
    else if (inside && line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

// The program itself, its commands, and generate with an encoding that has many parameters.
std::vector<Words> commands() {
  std::vector<Words> out{{}, {"generate", "rope"}, {"rescale", "rope"}};
  for (const std::string& name : subcommands_in(help_of({}))) out.push_back({name});
  return out;
}

struct Listed {
  std::string name;  ///< the long one
  bool value;        ///< a word for its value stands behind it
};
std::vector<Listed> options_in(const std::string& help) {
  std::vector<Listed> out;
  for (const std::string& line : lines_of(help)) {
    if (!line.starts_with("  -")) continue;
    const std::size_t at = line.find("--"), end = std::min(line.find(' ', at), line.size());
    if (at == std::string::npos) continue;
    out.push_back({line.substr(at, end - at), end + 1 < line.size() && line[end + 1] != ' '});
  }
  return out;
}

}  // namespace

TEST_CASE("help: the line of usage names a subcommand where there are some, and nowhere else") {
  std::size_t with = 0, without = 0;
  for (const Words& command : commands()) {
    CAPTURE(joined(command));
    const std::string help = help_of(command);
    const Words lines = lines_of(help);
    const auto usage = std::find_if(lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with("Usage: posenc"); });
    REQUIRE(usage != lines.end());
    const bool has = !subcommands_in(help).empty();
    CHECK(mentions(*usage, "[SUBCOMMAND]") == has);
    ++(has ? with : without);
  }
  CHECK(with > 2);
  CHECK(without > 2);
}

TEST_CASE("help: --name= without a value is refused for every option that takes one") {
  std::size_t values = 0, flags = 0;
  for (const Words& command : commands())
    for (const Listed& option : options_in(help_of(command))) {
      if (!option.value) {
        ++flags;
        continue;
      }
      ++values;
      Words words = command;
      words.insert(words.end(), {option.name + "=", "--quiet"});
      const std::string line = refused(words, 2);
      CHECK_MESSAGE(mentions(line, option.name + " wants a value"), line);
    }
  CHECK(values > 100);
  CHECK(flags > 20);
}

TEST_CASE("--name= does not take the next word, and a value may look like it") {
  CHECK(mentions(refused({"generate", "rope", "--positions=", "--base", "7", "-o", "x.npz"}, 2), "--positions"));
  CHECK(mentions(refused({"generate", "rope", "--positions=", "4", "-o", "x.npz"}, 2), "--positions"));
  CHECK(mentions(refused({"generate", "rope", "--positions", "4", "-o", "x.npz", "--tensor="}, 2), "--tensor"));
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  // The word behind -o is its value, though it is one of those.
  CHECK(run({"generate", "rope", "--positions", "4", "--format", "npz", "-o", "--positions="}, here).status == 0);
  CHECK(scratch.names() == Words{"--positions="});
  CHECK(run({"generate", "rope", "--positions=4", "--format=npz", "-o", "y"}, here).status == 0);
  CHECK(slurp(scratch / "y") == slurp(scratch / "--positions="));
  // A list without entries is one, as a word of its own.
  CHECK(run({"generate", "rope", "--positions=4", "--format=npz", "--inv-freq", "", "-o", "z"}, here).status == 0);
  CHECK(slurp(scratch / "z") == slurp(scratch / "y"));
  // What has no value is refused as before, and an option that is none is called that.
  CHECK(mentions(refused({"generate", "rope", "--positions", "", "-o", "x.npz"}, 2), "position"));
  CHECK(mentions(refused({"generate", "rope", "--positons=", "-o", "x.npz"}, 2), "did you mean '--positions'?"));
}

}  // namespace posenc::test
