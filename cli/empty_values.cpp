#include "empty_values.hpp"

#include <fmt/format.h>

#include "posenc/error.hpp"

namespace posenc::cli {
namespace {

const CLI::App* command_called(const CLI::App& at, const std::string& word) {
  for (const CLI::App* sub : at.get_subcommands({}))
    if (sub->get_name() == word) return sub;
  return nullptr;
}

// The option that CLI11 takes a word for: of the command, or of one around it.
const CLI::Option* option_called(const CLI::App* at, const std::string& name) {
  for (; at != nullptr; at = at->get_parent())
    if (const CLI::Option* option = at->get_option_no_throw(name)) return option;
  return nullptr;
}

}  // namespace

void refuse_empty_values(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  bool is_value = false;  // of the option before it, whatever it looks like: -o --odd=
  for (const std::string& word : words) {
    if (is_value) {
      is_value = false;
      continue;
    }
    if (word == "--") return;
    if (!word.starts_with('-')) {
      if (const CLI::App* sub = command_called(*at, word)) at = sub;
      continue;
    }
    const std::string name = word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
    const CLI::Option* option = option_called(at, name);
    if (option == nullptr || option->get_items_expected_max() == 0) continue;
    is_value = word == name;
    if (word.starts_with("--") && word == name + "=") fail_usage(fmt::format("{} wants a value, and there is none behind the '='", name));
  }
}

}  // namespace posenc::cli
