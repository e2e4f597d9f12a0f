// What every subcommand has: a function that adds it to the program, and the state they share.
#pragma once
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace posenc::cli {

/// Options that every command knows.
struct Common {
  std::vector<std::string> words;  ///< the command line, to build no more of the program than it names
  [[nodiscard]] bool named(const std::string& word) const { return std::find(words.begin(), words.end(), word) != words.end(); }
  bool json = false;
  bool quiet = false;
  std::string threads;  ///< text; parsed by the library
};

/// A command adds itself to `app` and leaves in `run` what is to be done when it was chosen; run returns the exit status.
struct Command {
  CLI::App* app;
  std::function<int()> run;
};
Command add_generate(CLI::App& app, Common& common);
Command add_rescale(CLI::App& app, Common& common);
Command add_verify(CLI::App& app, Common& common);
Command add_apply(CLI::App& app, Common& common);
Command add_inspect(CLI::App& app, Common& common);
Command add_analyze(CLI::App& app, Common& common);
Command add_extend(CLI::App& app, Common& common);
Command add_list(CLI::App& app, Common& common);

/// An option whose text is kept; given twice is an error.
CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& into, const std::string& metavar, const std::string& help);

}  // namespace posenc::cli
