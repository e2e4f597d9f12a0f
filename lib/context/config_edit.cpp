// rescaled_config: the lengthening is decided (lengthening.hpp), written (lengthened_text.hpp), and what was written is read back.
#include "posenc/config_edit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "context/dialect.hpp"
#include "context/lengthened_text.hpp"
#include "context/own_keys.hpp"
#include "context/reached_layers.hpp"
#include "context/readers.hpp"
#include "context/rope_rule.hpp"
#include "posenc/error.hpp"

namespace posenc {
namespace config {
namespace {

ConfigReading read_back(std::string_view text, std::string_view name) {
  try {
    return read_config(text, name);
  } catch (const Error& e) {
    fail_usage(fmt::format("the change leaves a config that does not read: {}", e.what()));
  }
}

// What stands in the file now is what was asked for.
void check_result(std::string_view text, const ConfigReading& before, std::string_view name, const Lengthening& what) {
  const ConfigReading after = read_back(text, name);
  for (std::size_t i = 0; i < after.readings.size() && i < before.readings.size(); ++i) {
    if (&before.readings[i] != what.reading) continue;
    const Reading& r = after.readings[i];
    const auto differs = [&](std::string_view field, const std::string& want) {
      const Setting* s = find_setting(r, field);
      if (s == nullptr || s->value != want) refuse_change(name, fmt::format("would be read with {} {} where {} is meant; its class does not take this change", field, s == nullptr ? "absent" : s->value, want.substr(0, 60)));
    };
    if (what.by_base()) {
      differs("base", print(what.base));
      differs("method", "default");
    } else {
      for (const FieldView& f : what.rope.fields())
        if (f.present && (!f.group.empty() || f.name == "method") && given(what.wanted, f.name) && (is_rule_key(f.name) || f.name == "method" || what.own_dynamic)) differs(f.name, f.value);
    }
    const std::optional<std::int64_t> reach = what.declared();
    if (reach && r.context != reach) refuse_change(name, fmt::format("would be read with a context of {} where {} is meant; correct its length keys first", r.context ? print(*r.context) : "none", *reach));
    return;
  }
  refuse_change(name, "would be read with other kinds of layers; its class does not take this change");
}

// "method yarn, factor 4, trained length 4096, positions 16384 (was 4096)".
std::string change_text(const Lengthening& what) {
  const bool by_base = what.by_base();
  std::string text = fmt::format("method {}", what.method);
  if (by_base) text += fmt::format(", base {} (was {})", print(what.base), find_setting(*what.reading, "base")->value);
  if (what.factor) text += fmt::format(", factor {}", print(*what.factor));
  if (what.trained && !by_base) text += fmt::format(", trained length {}", *what.trained);
  if (what.context && what.declared() == what.context) {
    text += fmt::format(", positions {}", *what.context);
    if (what.reading->context && *what.reading->context != *what.context) text += fmt::format(" (was {})", *what.reading->context);
  }
  return text;
}

void say_remarks(OpenedConfig& opened, std::string_view name, const Lengthening& what, bool one_of_several, std::vector<std::string>& remarks) {
  const auto add = [&](std::string remark) {
    if (std::find(remarks.begin(), remarks.end(), remark) == remarks.end()) remarks.push_back(std::move(remark));
  };
  const Lookup model = opened.model();
  if (what.method == "linear" && what.context)
    add(fmt::format("{}: vLLM multiplies the declared length by factor once more; there, cap it with --max-model-len {}", name, *what.context));
  if (by_own_keys(opened, has_rope_parameters(opened)))
    for (const std::string& remark : own_remarks(opened, what.method, what.trained.value_or(0))) add(fmt::format("{}: {}", name, remark));
  if (what.method == "dynamic" && !what.own_dynamic)
    add(fmt::format("{}: the declared length stays {}, the trained one, from which the dynamic rule counts; vLLM serves factor times that, {}", name,
                    *what.trained, print(*what.factor * static_cast<double>(*what.trained))));
  if (const auto window = model.explicit_only().find({"sliding_window"}); window && window->value->is_number() && what.reading->layer_type.empty())
    add(fmt::format("{}: {} {} stays", name, window->origin, shown(*window->value)));
  add(fmt::format("{}: {}{}", name, one_of_several ? what.reading->layer_type + ": " : "", change_text(what)));
}

std::string rescaled(std::string text, std::string_view name, const ConfigChange& change, std::vector<std::string>& remarks) {
  const ConfigReading before = read_config(text, name);
  OpenedConfig opened(text, name);
  std::vector<Lengthening> changes;  // decided by what stands in the file, before any of them is written
  for (const Reading* reading : target_readings(before, opened, name, change.layer_types))
    changes.push_back(decide_lengthening(*reading, opened, name, change, remarks));
  LengthenedText made{std::move(text)};
  for (const Lengthening& what : changes) {
    if (what.declared() != changes.front().declared())
      refuse_change(name, fmt::format("{} and {} would declare different lengths, and a config has one; give context", changes.front().reading->layer_type, what.reading->layer_type));
    made = lengthened_text(std::move(made.text), opened, name, what);
  }
  for (const Lengthening& what : changes) {
    if (what.reading->encoding == "rope") {
      check_result(made.text, before, name, what);
      say_remarks(opened, name, what, changes.size() > 1, remarks);
    } else if (made.lengths == 0) {
      remarks.push_back(fmt::format("{}: declares no length, and ALiBi has no limit; nothing is changed", name));
    }
  }
  return std::move(made.text);
}

}  // namespace
}  // namespace config

std::string rescaled_config(std::string_view json_text, std::string_view name, const ConfigChange& change, std::vector<std::string>* remarks) {
  std::vector<std::string> unheard;
  std::string text = change.dialect ? in_dialect(json_text, name, *change.dialect) : std::string(json_text);
  return config::rescaled(std::move(text), name, change, remarks != nullptr ? *remarks : unheard);
}

}  // namespace posenc
