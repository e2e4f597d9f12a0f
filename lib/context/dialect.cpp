// in_dialect: rope_theta, rope_scaling and their like on one side, rope_parameters on the other.
#include "context/dialect.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "context/layer_plan.hpp"
#include "context/opened.hpp"
#include "context/own_keys.hpp"
#include "context/rope_block.hpp"
#include "posenc/config.hpp"
#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace config {
namespace {

bool is_object(std::string_view value) { return value.starts_with('{'); }
bool is_null(std::string_view value) { return value == "null"; }

}  // namespace

std::string unit_of(std::string_view text) {
  const std::size_t brace = text.find('{'), line = text.find('\n', brace);
  if (line == std::string_view::npos || text.substr(brace + 1, line - brace - 1).find_first_not_of(" \t\r") != std::string_view::npos) return "";
  const std::size_t end = text.find_first_not_of(" \t", line + 1);
  return std::string(text.substr(line + 1, end - line - 1));
}

namespace {

// The innermost part that says anything about rotation; where the new block goes.
std::string home_of(const OpenedConfig& c, std::initializer_list<std::string_view> keys) {
  for (const Place& place : c.text)
    for (std::string_view key : keys)
      if (place.object->contains(std::string(key))) return place.name();
  return c.text.front().name();
}

const Reading* of_type(const std::vector<Reading>& readings, std::string_view type) {
  for (const Reading& r : readings)
    if (r.encoding == "rope" && (type.empty() || same_layer_type(r.layer_type, type))) return &r;
  return nullptr;
}
std::string base_of(const Reading& reading) {
  for (const Setting& s : reading.settings)
    if (s.field == "base") return json_number(parse_real(s.value, "base"));
  return "10000.0";
}

// rope_type in the words of transformers 5, and once.
void name_rule(ObjectText& block, std::string_view model_type) {
  const bool has_new = block.has("rope_type");
  const auto word = has_new ? block.get("rope_type") : block.get("type");
  std::string rule = !word || is_null(*word) ? "\"default\"" : std::string(*word);
  if (rule == "\"su\"" || (rule == "\"yarn\"" && is_old_longrope("yarn", model_type))) rule = "\"longrope\"";
  if (rule == "\"mrope\"") rule = "\"default\"";
  if (has_new)
    block.remove("type"), block.set("rope_type", rule);
  else
    block.replace("type", "rope_type", rule);
}

// The value of a key in the first part that has it, as written.
std::optional<std::string> written(std::string_view text, const OpenedConfig& c, std::initializer_list<std::string_view> keys) {
  for (const Place& place : c.text)
    for (std::string_view key : keys) {
      std::optional<std::string> found;
      (void)edited(text, place.name(), [&](ObjectText& o) {
        if (const auto value = o.get(key); value && !is_null(*value)) found = std::string(*value);
      });
      if (found) return found;
    }
  return std::nullopt;
}

std::string without(std::string text, const OpenedConfig& c, const std::string& home, std::initializer_list<std::string_view> keys) {
  for (const Place& place : c.text) {
    if (place.name() == home) continue;
    text = edited(text, place.name(), [&](ObjectText& o) {
      for (std::string_view key : keys) o.remove(key);
    });
  }
  return text;
}

std::string to_v5(std::string_view text, const OpenedConfig& c, const std::vector<Reading>& readings) {
  const std::string_view base_key = old_base(c), share_key = old_share(c);
  const std::string_view first_base = two_bases(c) ? c.known->pattern.chosen_base : base_key, second_base = two_bases(c) ? c.known->pattern.others_base : base_key;
  const std::initializer_list<std::string_view> all{scaling, theta, base_key, share_key, share, first_base, second_base};
  const auto stands = [&](std::initializer_list<std::string_view> keys) {
    for (const Place& place : c.text)
      for (std::string_view key : keys)
        if (place.object->contains(std::string(key))) return true;
    return false;
  };
  if (!stands({scaling, theta, base_key, first_base, second_base}) || of_type(readings, "") == nullptr) return std::string(text);
  const std::string unit = unit_of(text), home = home_of(c, {parameters, scaling, theta, base_key, first_base, second_base});
  const auto block_text = written(text, c, {parameters}), scaled = written(text, c, {scaling});
  const auto share_text = written(text, c, {share_key, share});
  // A class that scales by itself still does where the file is silent.
  std::string rule = scaled ? *scaled : "{}";
  const Json defaults = c.known != nullptr ? Json::parse(c.known->defaults) : Json::object();
  if (!stands({scaling, parameters}) && defaults.contains(std::string(scaling))) rule = defaults[std::string(scaling)].dump();

  std::string out = edited(text, home, [&](ObjectText& o) {
    const auto filled = [&](ObjectText block, const Reading& reading, std::string_view key) {
      name_rule(block, c.text_type);
      if (!block.has(theta)) block.set(theta, written(text, c, {key}).value_or(base_of(reading)));
      if (share_text && !block.has(share)) block.set(share, *share_text);
      return block.text();
    };
    const std::string_view seat = o.has(parameters) ? parameters : o.has(scaling) ? scaling : o.has(theta) ? theta : o.has(base_key) ? base_key : first_base;
    std::string value;
    if (block_text && is_object(*block_text)) {  // both dialects at once, and they agree
      ObjectText block(*block_text);
      bool nested = false;
      for (const std::string& key : block.keys()) nested = nested || is_object(*block.get(key));
      if (!nested && scaled) {
        const ObjectText old(*scaled);
        for (const std::string& key : old.keys())
          if (!block.has(key)) block.set(key, std::string(*old.get(key)));
      }
      value = nested ? *block_text : filled(std::move(block), *of_type(readings, ""), base_key);
    } else if (two_bases(c)) {
      ObjectText outer = ObjectText::inside(o, unit);
      for (const Reading& reading : readings) {
        if (reading.encoding != "rope") continue;
        const bool chosen = reading.layer_type == c.known->pattern.chosen;
        const bool scales = c.known->scaled_only.empty() || c.known->scaled_only == reading.layer_type;
        const std::string moved = moved_in(rule, unit);
        ObjectText block = scales && !ObjectText(rule).empty() ? ObjectText(moved) : ObjectText::inside(outer, unit);
        outer.set(new_layer_type(reading.layer_type), filled(std::move(block), reading, chosen ? first_base : second_base));
      }
      value = outer.text();
    } else {
      ObjectText block = ObjectText(rule).empty() || !scaled ? ObjectText::inside(o, unit) : ObjectText(rule);
      if (!scaled)
        for (const ObjectText old(rule); const std::string& key : old.keys()) block.set(key, std::string(*old.get(key)));
      value = filled(std::move(block), *of_type(readings, ""), base_key);
    }
    o.replace(seat, parameters, std::move(value));
    for (std::string_view key : all) o.remove(key);
  });
  return without(std::move(out), c, home, all);
}

[[noreturn]] void cannot(std::string_view name, const std::string& what) {
  fail_usage(fmt::format("{}: {}; the old dialect cannot say that: keep dialect 5", name, what));
}

// Takes base and share out of a block; what is left is rope_scaling, or nothing where the rule is plain.
struct OldBlock {
  std::optional<std::string> base, share, original;
  std::string scaling = "null";
};
OldBlock taken_apart(std::string_view block_text, const OpenedConfig& c) {
  ObjectText block(block_text);
  OldBlock out;
  const auto take = [&](std::string_view key) -> std::optional<std::string> {
    const auto value = block.get(key);
    if (!value || is_null(*value)) return std::nullopt;
    std::string text(*value);
    block.remove(key);
    return text;
  };
  out.base = take(theta);
  out.share = take(share);
  // Phi-3's class reads the trained length beside the block.
  if (in_defaults(c, "original_max_position_embeddings")) out.original = take("original_max_position_embeddings");
  bool plain = true;
  for (const std::string& key : block.keys())
    plain = plain && ((key == "rope_type" || key == "type") ? *block.get(key) == "\"default\"" : is_null(*block.get(key)));
  if (!plain) out.scaling = block.text();
  return out;
}

void write_old(ObjectText& o, const OldBlock& old, std::string_view base_key, std::string_view share_key) {
  o.replace(parameters, scaling, old.scaling);
  if (old.original) o.set("original_max_position_embeddings", *old.original, scaling);
  if (old.share) o.set(share_key, *old.share, scaling);
  if (old.base) o.set(base_key, *old.base, scaling);
}

std::string to_v4(std::string_view text, std::string_view name, const OpenedConfig& c) {
  const auto found = written(text, c, {parameters});
  if (!found || !is_object(*found) || ObjectText(*found).empty()) return std::string(text);
  const std::string unit = unit_of(text), home = home_of(c, {parameters}), prefix = home.empty() ? "" : home + ".";
  const ObjectText block(*found);
  std::vector<std::string> inner;
  for (const std::string& key : block.keys())
    if (is_object(*block.get(key)) || is_null(*block.get(key))) inner.push_back(key);
  const bool nested = std::any_of(inner.begin(), inner.end(), [&](const std::string& key) { return is_object(*block.get(key)); });
  std::string out = edited(text, home, [&](ObjectText& o) {
    if (!nested) {
      OldBlock old = taken_apart(*found, c);
      if (const auto beside = o.get(scaling); beside && is_object(*beside) && old.scaling == "null") old.scaling = *beside;
      return write_old(o, old, old_base(c), old_share(c));
    }
    const auto where = [&](const std::string& type) { return fmt::format("{}{}.{}", prefix, parameters, type); };
    const std::string* first = nullptr;
    const std::string* second = nullptr;
    for (const std::string& type : inner) {
      const bool chosen = c.known != nullptr && same_layer_type(type, c.known->pattern.chosen);
      const bool other = c.known != nullptr && same_layer_type(type, c.known->pattern.others);
      if (is_null(*block.get(type))) {
        if (c.known == nullptr || c.known->still != type) cannot(name, where(type) + " is null: these layers do not rotate");
        continue;
      }
      if (two_bases(c) && !chosen && !other) cannot(name, fmt::format("{} is a third kind of layer", where(type)));
      (two_bases(c) && other ? second : first) = &type;
    }
    if (!two_bases(c)) {
      const Json* parsed = nullptr;
      for (const Place& place : c.text)
        if (parsed == nullptr && place.object->contains(std::string(parameters))) parsed = &(*place.object)[std::string(parameters)];
      for (const std::string& type : inner)
        if (!(*parsed)[type].is_null() && (*parsed)[type] != (*parsed)[*first]) cannot(name, fmt::format("{} and {} differ", where(*first), where(type)));
      return write_old(o, taken_apart(moved_out(*block.get(*first), unit), c), old_base(c), old_share(c));
    }
    OldBlock global = first != nullptr ? taken_apart(moved_out(*block.get(*first), unit), c) : OldBlock{};
    const OldBlock local = second != nullptr ? taken_apart(moved_out(*block.get(*second), unit), c) : OldBlock{};
    if (local.scaling != "null") cannot(name, where(*second) + " has a rule of its own");
    if (c.known->scaled_only.empty() && global.scaling != "null") cannot(name, where(*first) + " has a rule, which this model's class did not read");
    if (first != nullptr && second != nullptr && global.share != local.share) cannot(name, fmt::format("{} and {} rotate different shares", where(*first), where(*second)));
    write_old(o, global, c.known->pattern.chosen_base, old_share(c));
    if (local.base) o.set(c.known->pattern.others_base, *local.base, c.known->pattern.chosen_base);
    if (c.known->scaled_only.empty()) o.remove(scaling);
  });
  return without(std::move(out), c, home, {parameters});
}

// DBRX: transformers 4 reads the base in attn_config, transformers 5 in rope_parameters; one does not mind the other's.
std::string own_to_v5(std::string text, const OpenedConfig& c, const std::vector<Reading>& readings) {
  const Reading* reading = of_type(readings, "");
  if (reading == nullptr || written(text, c, {parameters})) return text;
  const std::string unit = unit_of(text);
  return edited(text, home_of(c, {"attn_config"}), [&](ObjectText& o) {
    ObjectText block = ObjectText::inside(o, unit);
    block.set("rope_type", "\"default\"");
    block.set(theta, base_of(*reading));
    o.set(parameters, block.text(), "attn_config");
  });
}
std::string own_to_v4(std::string text, std::string_view name, const OpenedConfig& c) {
  const auto found = written(text, c, {parameters});
  if (!found || !is_object(*found)) return text;
  const OldBlock old = taken_apart(*found, c);
  if (old.scaling != "null") cannot(name, fmt::format("{} has a rule, which this model's class did not read", parameters));
  if (old.base) text = with_own_base(std::move(text), c, parse_real(*old.base, theta));
  const std::string nowhere = "\n";  // no place has this name: no key is kept where it stands
  return without(std::move(text), c, nowhere, {parameters});
}

// Image towers that rotate have a base and no rule.
std::string tower_in(std::string text, OpenedConfig& c, ConfigDialect dialect) {
  for (const Place& tower : c.whole().objects("vision_config")) {
    const bool has_new = tower.object->contains(std::string(parameters)), has_old = tower.object->contains(std::string(theta));
    if (dialect == ConfigDialect::v5 ? !has_old : !has_new) continue;
    text = edited(text, tower.name(), [&](ObjectText& o) {
      const auto block_text = o.get(parameters);
      if (block_text && !is_object(*block_text)) return;
      if (dialect == ConfigDialect::v4) {
        const ObjectText block(*block_text);
        const auto base = block.get(theta);
        if (base) o.replace(parameters, theta, std::string(*base));
        else o.remove(parameters);
        return;
      }
      if (!block_text) {
        ObjectText block = ObjectText::inside(o, unit_of(text));
        block.set(theta, std::string(*o.get(theta)));
        block.set("rope_type", "\"default\"");
        o.replace(theta, parameters, block.text());
      } else {
        o.remove(theta);
      }
    });
  }
  return text;
}

// What is read, in words that do not tell where it stood.
std::string gist(const Reading& reading) {
  std::string out = reading.layer_type + ": " + reading.encoding;
  for (const Setting& s : reading.settings) out += fmt::format(", {} {}", s.field, s.value);
  out += fmt::format(", context {}", reading.context ? print(*reading.context) : "none");
  out += fmt::format(", softmax_multiplier {}, layers {}, mrope {} {}", print(reading.softmax_multiplier), fmt::join(reading.layers, " "), reading.mrope_layout,
                     fmt::join(reading.mrope_section, " "));
  return out;
}

}  // namespace

bool in_defaults(const OpenedConfig& c, std::string_view key) {
  return c.known != nullptr && Json::parse(c.known->defaults).contains(std::string(key));
}
std::string_view old_base(const OpenedConfig& c) { return in_defaults(c, "rotary_emb_base") ? "rotary_emb_base" : theta; }
std::string_view old_share(const OpenedConfig& c) { return in_defaults(c, "rotary_pct") ? "rotary_pct" : share; }
bool two_bases(const OpenedConfig& c) { return c.known != nullptr && c.known->pattern.chosen_base != c.known->pattern.others_base; }

bool has_layer_blocks(const OpenedConfig& c) {
  for (const Place& place : c.text)
    if (const auto it = place.object->find(std::string(parameters)); it != place.object->end() && it->is_object())
      if (std::any_of(it->begin(), it->end(), [](const Json& value) { return value.is_object(); })) return true;
  return false;
}

std::string json_number(double value) {
  std::string text = print(value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

void check_same_readings(std::string_view before, std::string_view after, std::string_view name, std::string_view what) {
  const ConfigReading a = read_config(before, name), b = read_config(after, name);
  if (a.readings.size() != b.readings.size()) fail_usage(fmt::format("{} {}: it would name {} kinds of layers, not {}", name, what, b.readings.size(), a.readings.size()));
  for (std::size_t i = 0; i < a.readings.size(); ++i)
    if (gist(a.readings[i]) != gist(b.readings[i]))
      fail_usage(fmt::format("{} {}: {} would become {}", name, what, gist(a.readings[i]).substr(0, 300), gist(b.readings[i]).substr(0, 300)));
}

}  // namespace config

ConfigDialect parse_config_dialect(std::string_view text, std::string_view what) {
  if (text == "4") return ConfigDialect::v4;
  if (text == "5") return ConfigDialect::v5;
  fail_usage(fmt::format("{} wants 4 (rope_theta and rope_scaling) or 5 (rope_parameters), got {}", what, quoted_word(text)));
}

std::string in_dialect(std::string_view json_text, std::string_view name, ConfigDialect dialect, std::vector<std::string>* remarks) {
  const ConfigReading reading = read_config(json_text, name);
  config::OpenedConfig opened(json_text, name);
  std::string out(json_text);
  if (opened.known == nullptr || opened.known->scales)
    out = dialect == ConfigDialect::v5 ? config::to_v5(json_text, opened, reading.readings) : config::to_v4(json_text, name, opened);
  else if (opened.known->scales_in_5)
    out = dialect == ConfigDialect::v5 ? config::own_to_v5(std::move(out), opened, reading.readings) : config::own_to_v4(std::move(out), name, opened);
  out = config::tower_in(std::move(out), opened, dialect);
  config::check_same_readings(json_text, out, name, fmt::format("cannot be said in dialect {}", dialect == ConfigDialect::v4 ? 4 : 5));
  if (remarks != nullptr && out == json_text) {
    if (config::of_type(reading.readings, "") == nullptr)
      remarks->push_back(fmt::format("{}: has no rotary positions, which is all that the dialects spell differently; nothing changes", name));
    else if (opened.known != nullptr && !opened.known->scales && !opened.known->scales_in_5)
      remarks->push_back(fmt::format("{}: the code of {} reads neither rope_scaling nor rope_parameters and has one spelling; nothing changes", name, opened.known->model_type));
  }
  return out;
}

}  // namespace posenc
