// posenc: the command line. Words are split here, values are parsed by the library; every failure becomes one line on
// stderr and the exit status of posenc/error.hpp.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "command.hpp"
#include "empty_values.hpp"
#include "field_options.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/plan.hpp"
#include "posenc/text.hpp"
#include "printable.hpp"

namespace posenc::cli {
namespace {

constexpr const char* about =
    "Make, rescale, verify and apply the position tables and bias matrices of transformers: correctly rounded, the same bytes on\n"
    "every machine.";
constexpr const char* statuses =
    "Exit status: 0 done, all holds; 1 a table is not what it is said to be; 2 usage, or a spec that makes no sense;\n"
    "3 an input file breaks its format; 4 the system refused (disk full, permission).";

// One line, whatever the message holds.
int report(const std::string& message, int status) {
  (void)std::fputs(("posenc: " + printable(message) + "\n").c_str(), stderr);  // the status says it too when nobody listens
  return status;
}

// A closed standard stream would give its number to the next file that is opened, and messages would land in it. Opened the
// wrong way round, reads and writes fail as they would have.
void occupy_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

// The words that can follow: subcommands of the deepest command given, and its options.
std::string suggestion(const CLI::App& app, const std::string& word) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  std::vector<std::string> known;
  if (word.starts_with('-')) {
    for (const CLI::App* a = at; a != nullptr; a = a->get_parent())
      for (const CLI::Option* option : a->get_options())
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  } else {
    for (const CLI::App* sub : at->get_subcommands({})) known.push_back(sub->get_name());
  }
  return did_you_mean(word.substr(0, word.find('=')), known);
}

int usage_failure(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  std::string help = "--help";
  for (const CLI::App* a = at; a != nullptr; a = a->get_parent()) help = a->get_name() + " " + help;
  auto left = app.remaining(true);
  if (!left.empty()) {
    const std::string& word = left.front();
    const char* kind = word.starts_with('-') ? "option" : (at->get_parent() == nullptr ? "command" : "argument");
    return report(fmt::format("unknown {} {}{} (see {})", kind, quoted_word(word), suggestion(app, word), help), 2);
  }
  std::string sentence = error.what();
  if (error.get_name() == "ArgumentMismatch") {  // "--factor: At Most 1 required but received 2", "--output: 1 required FILE missing"
    const std::string option = sentence.substr(0, sentence.find(": "));
    sentence = fmt::format("{} {}", option, sentence.find("At Most") != std::string::npos ? "is given twice; give it once" : "wants a value behind it");
  }
  return report(fmt::format("{} (see {})", sentence, help), 2);
}

int run(int argc, char** argv) {
  CLI::App app(about, "posenc");
  app.footer(statuses);
  app.set_version_flag("--version", fmt::format("posenc {}", version()), "Print the version and exit");
  app.get_formatter()->column_width(34);
  app.require_subcommand(0, 1);
  Common common;
  common.words.assign(argv + 1, argv + std::max(argc, 1));
  const std::vector<Command> commands{add_generate(app, common), add_rescale(app, common), add_extend(app, common),  add_verify(app, common),
                                      add_apply(app, common),    add_inspect(app, common), add_analyze(app, common), add_list(app, common)};
  refuse_empty_values(app, common.words);
  try {
    app.parse(argc, argv);
    for (const Command& command : commands)
      if (command.app->parsed()) return command.run();
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return usage_failure(app, e);
  } catch (const Error& e) {
    if (e.failure() != Failure::usage) throw;
    fail_usage(in_flags_of(e.what(), app, common.words));
  }
  fmt::print("{}", app.help());
  return 2;
}

}  // namespace
}  // namespace posenc::cli

int main(int argc, char** argv) {
  using posenc::cli::report;
  constexpr const char* unwritable = "standard output cannot be written";
  posenc::cli::occupy_standard_streams();
  try {
    posenc::formats::install_signal_cleanup();
    const int status = posenc::cli::run(argc, argv);
    // A report that could not be written is not a success.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return report(unwritable, 4);
    return status;
  } catch (const posenc::Error& e) {
    const int status = report(e.what(), e.exit_status());
    // HDF5 1.10 crashes when the program ends after a write of its own has failed: skip its end.
    if (e.failure() == posenc::Failure::system) std::_Exit(status);
    return status;
  } catch (const std::system_error&) {
    return report(unwritable, 4);  // thrown by fmt::print only; the library throws Error
  } catch (const std::bad_alloc&) {
    return report("out of memory", 4);
  } catch (const std::exception& e) {
    return report(fmt::format("internal error: {}; please report it", e.what()), 70);
  }
}
