#include "field_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "array_argument.hpp"
#include "posenc/error.hpp"

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

void add_field(CLI::App& app, const FieldView& f, const std::string& group, Given& given) {
  const std::string field = f.name, type = f.type;
  CLI::Option* option = app.add_option_function<std::string>(
      flag_of(field),
      [&given, field, type](const std::string& text) {
        for (const auto& [name, value] : given.settings)
          if (name == field) fail_usage(fmt::format("{} is given twice", flag_of(field)));
        given.settings.emplace_back(field, type == "positions" || type == "list" || type == "array" ? array_text(text, field, type) : text);
      },
      f.help + details(f));
  option->type_name(f.metavar.empty() ? "TEXT" : f.metavar);
  option->group(group);
}

}  // namespace

std::string flag_of(const std::string& field) {
  std::string flag = "--" + field;
  for (char& c : flag)
    if (c == '_') c = '-';
  return flag;
}

std::string in_flags(const std::string& sentence, const std::vector<std::string>& names) {
  // A name with '_' is no other word. "factor" or "height" may be one, and is a name where a sentence begins with it and where
  // something is asked for: "needs factor or context", "say which with height and width".
  const std::vector<std::string> asking{"with", "give", "needs", "only"}, joining{"or", "and"};
  const auto among = [](const std::vector<std::string>& list, const std::string& word) { return std::find(list.begin(), list.end(), word) != list.end(); };
  const bool missing = sentence.find(" is missing") != std::string::npos || sentence.find(" are missing") != std::string::npos;
  std::string out, before;
  bool asked = missing, aside = false;  // aside: in parentheses, which say what is so
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t end = std::min(sentence.find(' ', at), sentence.size());
    std::string word = sentence.substr(at, end - at), tail;
    while (!word.empty() && std::string_view(",;:.)").find(word.back()) != std::string_view::npos) tail.insert(0, 1, word.back()), word.pop_back();
    aside = aside || word.starts_with('(');
    const bool is_name = !aside && among(names, word);
    aside = aside && tail.find(')') == std::string::npos;
    asked = among(asking, before) || (asked && (before.empty() || among(joining, before) || among(joining, word)));
    out += (out.empty() ? "" : " ") + (is_name && (at == 0 || asked || word.find('_') != std::string::npos) ? flag_of(word) : word) + tail;
    asked = asked && (is_name || among(joining, word));
    before = tail.empty() || tail == "," ? word : "";
    if (!tail.empty() && tail != ",") asked = false;
    at = end + 1;
  }
  return out;
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
