// posenc list: the lists themselves.
#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "command.hpp"
#include "field_options.hpp"
#include "posenc/encoding.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/plan.hpp"
#include "posenc/presets.hpp"
#include "posenc/text.hpp"
#include "report.hpp"

namespace posenc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string topic;
};

struct Row {
  std::string name, help;
};

// The choices of every choice-valued parameter called `field`, over all encodings: methods, layouts.
std::vector<Row> choices_of(const std::string& field) {
  std::vector<Row> rows;
  for (const EncodingEntry& entry : encodings())
    for (const FieldView& f : entry.make()->all_fields())
      if (f.name == field)
        for (const auto& [name, help] : f.choices) rows.push_back({fmt::format("{} {}", entry.name, name), help});
  return rows;
}

struct Topic {
  std::string name, title;
  std::function<std::vector<Row>()> rows;
};

const std::vector<Topic>& topics() {
  static const std::vector<Topic> list{
      {"encodings", "Encodings (posenc list NAME tells each one's parameters)",
       [] {
         std::vector<Row> rows;
         for (const EncodingEntry& e : encodings()) rows.push_back({std::string(e.name), fmt::format("{} ({})", e.summary, e.source)});
         return rows;
       }},
      {"rules", "Rescaling rules (--method)", [] { return choices_of("method"); }},
      {"layouts", "Layouts (--layout)", [] { return choices_of("layout"); }},
      {"formats", "Formats (by suffix or --format)",
       [] {
         std::vector<Row> rows;
         for (const formats::FormatTraits& f : formats::formats()) rows.push_back({std::string(f.name), fmt::format("{} ({})", f.help, fmt::join(f.suffixes, " "))});
         return rows;
       }},
      {"dtypes", "Element types (--dtype, --index-dtype)",
       [] {
         std::vector<Row> rows;
         for (const DTypeInfo& d : dtypes()) rows.push_back({std::string(d.name), std::string(d.help)});
         return rows;
       }},
      {"arithmetics", "Arithmetics (--arithmetic)",
       [] {
         std::vector<Row> rows;
         for (const auto& a : EnumNames<Arithmetic>::values) rows.push_back({std::string(a.name), std::string(a.help)});
         return rows;
       }},
      {"presets", "Presets (--for)",
       [] {
         std::vector<Row> rows;
         for (const Preset& p : presets()) rows.push_back({std::string(p.name), fmt::format("{}, {} ({})", p.help, name_of(p.dtype), p.source)});
         return rows;
       }},
  };
  return list;
}

void print_field(const FieldView& f) {
  std::string type = f.type;
  if (!f.unit.empty()) type += ", " + f.unit;
  if (!f.range.empty()) type += ", " + f.range;
  type += f.fallback.empty() ? "" : ", default " + f.fallback;
  fmt::print("  {:<36} {}\n  {:<36} {}\n", flag_of(f.name), f.help, "", type);
  for (const auto& [name, help] : f.choices) fmt::print("  {:<36}   {:<14} {}\n", "", name, help);
  if (!f.source.empty()) fmt::print("  {:<36} source: {}\n", "", f.source);
}

Json field_json(const FieldView& f) {
  Json out{{"name", f.name}, {"flag", flag_of(f.name)}, {"type", f.type}, {"help", f.help}, {"unit", f.unit}, {"range", f.range}, {"default", f.fallback}, {"source", f.source}, {"method", f.group}};
  if (!f.choices.empty()) {
    Json choices = Json::object();
    for (const auto& [name, help] : f.choices) choices[name] = help;
    out["choices"] = std::move(choices);
  }
  return out;
}

void list_encoding(const Encoding& encoding, bool json) {
  const auto fields = encoding.all_fields();
  if (json) {
    Json list = Json::array();
    for (const FieldView& f : fields) list.push_back(field_json(f));
    fmt::print("{}\n", json_text(Json{{"encoding", encoding.name()}, {"summary", encoding.summary()}, {"source", encoding.source()}, {"parameters", std::move(list)}}));
    return;
  }
  fmt::print("{}: {}\nsource: {}\n", encoding.name(), encoding.summary(), encoding.source());
  std::string group;
  for (const FieldView& f : fields) {
    if (f.group != group) fmt::print("\n--method {}\n", f.group);
    group = f.group;
    print_field(f);
  }
}

int run(const Options& o, const Common& common) {
  std::vector<std::string> known;
  Json all = Json::object();
  for (const Topic& topic : topics()) {
    known.push_back(topic.name);
    if (!o.topic.empty() && o.topic != topic.name) continue;
    Json rows = Json::array();
    if (!common.json) fmt::print("{}{}\n", o.topic.empty() && topic.name != topics().front().name ? "\n" : "", topic.title);
    for (const Row& row : topic.rows()) {
      if (!common.json) fmt::print("  {:<28} {}\n", row.name, row.help);
      rows.push_back({{"name", row.name}, {"help", row.help}});
    }
    all[topic.name] = std::move(rows);
  }
  if (!all.empty()) {
    if (common.json) fmt::print("{}\n", json_text(all));
    return 0;
  }
  for (const EncodingEntry& entry : encodings()) {
    known.emplace_back(entry.name);
    if (entry.name == o.topic) {
      list_encoding(*entry.make(), common.json);
      return 0;
    }
  }
  fail_usage(fmt::format("list knows {}, got {}{}", one_of(known), quoted_word(o.topic), did_you_mean(o.topic, known)));
}

}  // namespace

Command add_list(CLI::App& app, Common& common) {
  CLI::App* sub = app.add_subcommand("list", "show encodings, rules, layouts, formats, dtypes, presets; 'list rope' documents every parameter");
  auto o = std::make_shared<Options>();
  add_text(*sub, "topic", o->topic, "TOPIC", "one of the lists, or an encoding");
  add_common(*sub, common);
  return {sub, [o, &common] { return run(*o, common); }};
}

}  // namespace posenc::cli
