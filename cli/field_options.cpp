#include "field_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "array_argument.hpp"
#include "posenc/error.hpp"
#include "posenc/positions.hpp"
#include "posenc/resample.hpp"

namespace posenc::cli {
namespace {

// "(N lanes, >= 1; default 128)"
std::string details(const FieldView& f) {
  std::vector<std::string> parts;
  if (!f.unit.empty()) parts.push_back(f.unit);
  if (!f.range.empty()) parts.push_back(f.range);
  std::string choices;
  for (const auto& [name, help] : f.choices) choices += (choices.empty() ? "" : "|") + name;
  if (!choices.empty()) parts.push_back(choices);
  if (!f.fallback.empty()) parts.push_back("default " + f.fallback);
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, "; "));
}

// The words that a parameter of any encoding, or of resampling, takes.
std::map<std::string, std::vector<std::string>> choices_of_fields() {
  std::map<std::string, std::vector<std::string>> out;
  const auto add = [&](const std::vector<FieldView>& fields) {
    for (const FieldView& f : fields)
      for (const auto& [choice, help] : f.choices) out[f.name].push_back(choice);
  };
  for (const EncodingEntry& entry : encodings()) add(entry.make()->all_fields());
  add(Resampling{}.views());
  return out;
}

// A parameter's text as the library takes it. Positions are read by one function whatever the parameter is called.
std::string field_text(const std::string& text, const std::string& field, const std::string& type) {
  if (type != "positions" && type != "list" && type != "array") return text;
  std::string out = array_text(text, field, type);
  if (type != "positions") return out;
  try {
    (void)Positions::parse(out);
  } catch (const Error& e) {
    const std::string sentence = e.what(), said = in_flags(sentence, FlagWords{{"positions", {flag_of(field)}}});
    throw Error(e.failure(), said == sentence ? fmt::format("{}: {}", flag_of(field), sentence) : said);
  }
  return out;
}

void add_field(CLI::App& app, const FieldView& f, const std::string& group, Given& given) {
  const std::string field = f.name, type = f.type;
  CLI::Option* option = app.add_option_function<std::string>(
      flag_of(field),
      [&given, field, type](const std::string& text) {
        for (const auto& [name, value] : given.settings)
          if (name == field) fail_usage(fmt::format("{} is given twice", flag_of(field)));
        given.settings.emplace_back(field, field_text(text, field, type));
      },
      f.help + details(f));
  option->type_name(f.metavar.empty() ? "TEXT" : f.metavar);
  option->group(group);
}

}  // namespace

std::string in_flags(const std::string& sentence, const std::vector<std::string>& names) {
  FlagWords words;
  for (const std::string& name : names) words[name] = {flag_of(name)};
  for (const auto& [name, choices] : choices_of_fields())
    if (const auto word = words.find(name); word != words.end()) word->second.choices = choices;
  return in_flags(sentence, words);
}

std::string in_flags_of(const std::string& sentence, const CLI::App& app, const std::vector<std::string>& typed) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  FlagWords words;
  for (const CLI::App* a = at; a != nullptr; a = a->get_parent())
    for (const CLI::Option* option : a->get_options())
      for (const std::string& name : option->get_lnames()) {
        const std::string flag = "--" + name;
        const bool given = std::any_of(typed.begin(), typed.end(), [&](const std::string& word) { return word.substr(0, word.find('=')) == flag; });
        std::string field = name;
        std::replace(field.begin(), field.end(), '-', '_');
        // A file may be called factor; and parameters that the help does not list are those of a config or a spec.
        if ((option->get_group().empty() && !given) || std::find(typed.begin(), typed.end(), field) != typed.end()) continue;
        words[field] = {flag, {}, option->get_items_expected_max() > 0};
        if (name == "config-dialect") words["dialect"] = words[field];
      }
  for (const auto& [name, choices] : choices_of_fields())
    if (const auto word = words.find(name); word != words.end()) word->second.choices = choices;
  return in_flags(sentence, words);
}

void add_fields(CLI::App& app, const std::vector<FieldView>& fields, const std::string& group, Given& given) {
  for (const FieldView& f : fields)
    if (CLI::Option* there = app.get_option_no_throw(flag_of(f.name)); there == nullptr)
      add_field(app, f, group, given);
    else if (there->get_group() != group)
      there->description(fmt::format("{}; {}: {}{}", there->get_description(), group, f.help, details(f)));
}

void add_encodings(CLI::App& app, Given& given, const std::vector<std::string>& words) {
  // CLI11 compares every new option with all others: adding hundreds that nobody asked for takes longer than a small table.
  // A word behind an option may be its value (-o rope) and names nothing.
  const auto named = [&](std::string_view name) {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] == name && (i == 0 || !words[i - 1].starts_with('-') || words[i - 1].find('=') != std::string::npos)) return true;
    return false;
  };
  const bool any_named = std::any_of(encodings().begin(), encodings().end(), [&](const EncodingEntry& e) { return named(e.name); });
  std::set<std::string> everywhere;
  for (const EncodingEntry& entry : encodings()) {
    const std::string name(entry.name);
    CLI::App* sub = app.add_subcommand(name, fmt::format("{} ({})", entry.summary, entry.source));
    sub->fallthrough();
    sub->get_formatter()->column_width(34);
    sub->footer(fmt::format("Options of the command itself: posenc {} --help", app.get_name()));
    sub->callback([&given, name] { given.encoding = name; });
    if (any_named && !named(name)) continue;
    std::set<std::string> seen;
    for (const FieldView& f : entry.make()->all_fields()) {
      // A parameter that several rules share is one option; 'posenc list rope' tells each rule's meaning.
      if (!seen.insert(f.name).second) continue;
      if (any_named) add_field(*sub, f, f.group.empty() ? "Parameters" : fmt::format("Parameters of a --method (see 'posenc list {}')", name), given);
      // A command's own option of that name wins; the encoding's can be had by naming the encoding.
      if (!any_named && everywhere.insert(f.name).second && app.get_option_no_throw(flag_of(f.name)) == nullptr) add_field(app, f, "", given);
    }
  }
}

}  // namespace posenc::cli
