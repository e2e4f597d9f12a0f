// `--name=` with nothing behind it, which CLI11 fills with the next word of the command line, whatever that is.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace posenc::cli {

/// Throws usage where an option that takes a value has a '=' and no value. Run before CLI11 parses; `app` has all its commands.
void refuse_empty_values(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace posenc::cli
