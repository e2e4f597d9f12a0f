// Options made by looping over the encodings' fields: --head-dim, --base, ... Nothing here knows an encoding by name.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "flag_words.hpp"
#include "posenc/encoding.hpp"

namespace posenc::cli {

/// What was given on the command line about encodings.
struct Given {
  std::string encoding;  ///< the subcommand used, or ""
  std::vector<std::pair<std::string, std::string>> settings;  ///< (field, text), in order
};

/// A sentence of the library with these parameters' names as flags (flag_words.hpp).
std::string in_flags(const std::string& sentence, const std::vector<std::string>& names);

/// The same with the options of the command that was parsed: those in its help, and those among the words `typed`.
std::string in_flags_of(const std::string& sentence, const CLI::App& app, const std::vector<std::string>& typed);

/// Adds an option for each field; where one of that name is there already, its help says the second meaning too.
void add_fields(CLI::App& app, const std::vector<FieldView>& fields, const std::string& group, Given& given);

/// Adds one subcommand per encoding; one that is among `words` gets its fields as options. Where none is, every field of
/// every encoding (unlisted in the help) goes to `app` itself, for use with --config and --spec.
void add_encodings(CLI::App& app, Given& given, const std::vector<std::string>& words);

}  // namespace posenc::cli
