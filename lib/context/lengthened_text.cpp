#include "context/lengthened_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "context/dialect.hpp"
#include "context/layer_plan.hpp"
#include "context/lengths.hpp"
#include "context/own_keys.hpp"
#include "context/readers.hpp"
#include "context/rope_rule.hpp"
#include "posenc/text.hpp"

namespace posenc::config {
namespace {

std::string json_text(const FieldView& f) {
  if (f.type == "integer" || f.type == "boolean") return f.value;
  if (f.type == "real") return json_number(parse_real(f.value, f.name));
  std::string list;
  for (const double x : parse_reals(f.value, f.name)) list += (list.empty() ? "" : ", ") + json_number(x);
  return "[" + list + "]";
}

class TextWriter {
 public:
  TextWriter(std::string text, const OpenedConfig& opened, std::string_view name, const Lengthening& what)
      : text_(std::move(text)), opened_(opened), name_(name), what_(what) {}

  LengthenedText run() {
    if (what_.reading->encoding == "rope") {
      if (what_.by_base())
        base();
      else if (what_.own_dynamic)
        text_ = with_own_dynamic(text_, opened_, what_.factor);
      else
        block();
    }
    const int count = what_.declared() ? lengths(*what_.declared()) : 0;
    if (what_.own_dynamic) {
      text_ = with_key(text_, opened_, opened_.known->own.reach, print(*what_.context));
      text_ = with_key(text_, opened_, opened_.known->own.trained, print(*what_.trained));
    }
    return {std::move(text_), count};
  }

 private:
  [[noreturn]] void refuse(const std::string& sentence) const { refuse_change(name_, sentence); }
  bool v5() const { return has_rope_parameters(opened_); }
  // The part of the file whose key this is; the innermost one where none has it.
  std::string home(std::initializer_list<std::string_view> keys) const {
    for (const Place& place : opened_.text)
      for (std::string_view key : keys)
        if (place.object->contains(std::string(key))) return place.name();
    return opened_.text.front().name();
  }

  // Edits the one block of rope_parameters or rope_scaling that speaks for the layers; `edit` gets the old one, or an empty one.
  void edit_block(const std::function<void(ObjectText&)>& edit) {
    const std::string unit = unit_of(text_);
    const bool fresh = v5();
    const std::string_view key = fresh ? parameters : scaling;
    text_ = edited(text_, home({key}), [&](ObjectText& o) {
      const auto old = o.get(key);
      ObjectText block = old && old->starts_with('{') && !ObjectText(*old).empty() ? ObjectText(*old) : ObjectText::inside(o, unit);
      std::string inner;
      for (const std::string& type : block.keys())
        if (block.get(type)->starts_with('{') && same_layer_type(type, what_.reading->layer_type)) inner = type;
      if (inner.empty()) {
        edit(block);
      } else {
        const std::string member(*block.get(inner));
        ObjectText layer(member);
        edit(layer);
        block.set(inner, layer.text());
      }
      o.set(key, block.text(), theta);
    });
  }

  // A class with a base for each kind of layers, in the old dialect: its one block reaches one kind.
  void refuse_wrong_reach() const {
    if (has_layer_blocks(opened_) || !two_bases(opened_)) return;
    const ModelClass* known = opened_.known;
    if (known->scaled_only.empty()) refuse("the old dialect of this model's class has no rule; ask for dialect 5");
    if (!same_layer_type(known->scaled_only, what_.reading->layer_type)) refuse(fmt::format("rope_scaling reaches {} only; ask for dialect 5", known->scaled_only));
  }

  void clear_rule(ObjectText& block) {
    for (const std::string& key : block.keys())
      if (is_rule_key(key)) block.remove(key);
  }

  void block() {
    refuse_wrong_reach();
    const bool beside = in_defaults(opened_, original_key);  // Phi-3 keeps the trained length beside the block and takes three keys in it
    edit_block([&](ObjectText& block) {
      const bool said_type = block.has("type"), said_new = block.has("rope_type");
      clear_rule(block);
      const std::string rule = fmt::format("\"{}\"", what_.method);
      const bool old_phi = beside && !v5() && !said_new;  // that class looks for `type`
      if (said_type || old_phi) block.set("type", said_type && *block.get("type") == "\"su\"" && what_.method == "longrope" ? "\"su\"" : rule);
      if (!old_phi) block.set("rope_type", rule);
      if (v5() && !block.has(theta) && find_setting(*what_.reading, "base") != nullptr) block.set(theta, json_number(parse_real(find_setting(*what_.reading, "base")->value, "base")));
      for (const FieldView& f : what_.rope.fields()) {
        if (!f.present || (f.group.empty() && f.name != "attention_factor") || f.name == max_key || f.name == "length") continue;
        const bool needed = f.name == "factor" || f.name == original_key || f.name == "low_freq_factor" || f.name == "high_freq_factor" || f.type == "list";
        if (!needed && !given(what_.wanted, f.name)) continue;
        if (beside && (f.name == original_key || f.name == "factor")) continue;
        if (!needed && !is_rule_key(f.name) && f.name != "attention_factor") continue;  // at its usual value, and nobody reads it
        block.set(f.name, json_text(f));
      }
    });
    bool outside = false;
    if (what_.method == "yarn" || what_.method == "llama3" || what_.method == "longrope")
      for (const Place& place : opened_.text)  // transformers lets the outer one win; gpt-oss says it a second time
        for (std::string_view key : {original_key, std::string_view("initial_context_length")})
          if (place.object->contains(std::string(key))) {
            text_ = edited(text_, place.name(), [&](ObjectText& o) { o.set(key, print(*what_.trained)); });
            outside = outside || key == original_key;
          }
    if (beside && !outside) text_ = edited(text_, home({max_key}), [&](ObjectText& o) { o.set(original_key, print(*what_.trained)); });
  }

  // ntk, ntk-old and base are another rope_theta, in every place that states it.
  void base() {
    const std::string number = json_number(what_.base);
    std::string_view key = old_base(opened_);
    if (two_bases(opened_)) key = same_layer_type(what_.reading->layer_type, opened_.known->pattern.chosen) ? opened_.known->pattern.chosen_base : opened_.known->pattern.others_base;
    bool written = false;
    for (const Place& place : opened_.text)
      for (std::string_view flat : {key, key == old_base(opened_) ? theta : key})
        if (place.object->contains(std::string(flat)))
          text_ = edited(text_, place.name(), [&](ObjectText& o) { o.set(flat, number), written = true; });
    const bool block_has = find_setting(*what_.reading, "base")->origin.find(parameters) != std::string::npos || find_setting(*what_.reading, "base")->origin.find(scaling) != std::string::npos;
    if (v5() || block_has) {
      edit_block([&](ObjectText& block) { block.set(theta, number); });
      written = true;
    }
    if (by_own_keys(opened_, false) && !opened_.known->own.base.empty())
      text_ = with_own_base(text_, opened_, what_.base);
    else if (!written)
      text_ = edited(text_, home({key, max_key}), [&](ObjectText& o) { o.set(key, number); });
    drop_rule();
  }
  // A rule that is replaced by a mere base.
  void drop_rule() {
    const Setting* now = find_setting(*what_.reading, "method");
    if (now == nullptr || now->value == "default") return;
    if (by_own_keys(opened_, v5()) && !opened_.known->own.dynamic.empty()) {
      text_ = with_own_dynamic(text_, opened_, std::nullopt);
      return;
    }
    if (v5())
      return edit_block([&](ObjectText& block) {
        clear_rule(block);
        block.remove("type");
        block.set("rope_type", "\"default\"");
      });
    for (const Place& place : opened_.text)
      if (place.object->contains(std::string(scaling))) {
        text_ = edited(text_, place.name(), [&](ObjectText& o) {
          std::string left = "null";
          if (const auto old = o.get(scaling); old && old->starts_with('{')) {
            ObjectText block(*old);
            clear_rule(block);
            block.remove("type"), block.remove("rope_type");
            if (!block.empty()) block.set("rope_type", "\"default\""), left = block.text();
          }
          o.set(scaling, left);
        });
        return;
      }
    text_ = edited(text_, home({max_key}), [&](ObjectText& o) { o.set(scaling, "null"); });  // keeps the class's own rule out
  }

  // All keys that declare a length, wherever they stand: one that is left behind caps the model in vLLM.
  int lengths(std::int64_t length) {
    int written = 0;
    std::vector<std::string_view> keys(capping_keys.begin(), capping_keys.end());
    for (std::string_view key : context_keys)
      if (!among(keys, key)) keys.push_back(key);
    if (opened_.known != nullptr && !opened_.known->own.trained.empty() && !among(keys, opened_.known->own.trained)) keys.push_back(opened_.known->own.trained);
    for (const Place& place : opened_.text)
      for (std::string_view key : keys)
        if (const auto it = place.object->find(std::string(key)); it != place.object->end() && it->is_number()) {
          text_ = edited(text_, place.name(), [&](ObjectText& o) { o.set(key, print(length)); });
          ++written;
        }
    if (written > 0 || what_.reading->encoding != "rope") return written;
    text_ = edited(text_, home({theta, scaling, parameters}), [&](ObjectText& o) { o.set(max_key, print(length)); });
    return written + 1;
  }

  std::string text_;
  const OpenedConfig& opened_;
  std::string_view name_;
  const Lengthening& what_;
};

}  // namespace

LengthenedText lengthened_text(std::string text, const OpenedConfig& opened, std::string_view name, const Lengthening& what) {
  return TextWriter(std::move(text), opened, name, what).run();
}

}  // namespace posenc::config
