// rescaled_config: the rule is checked by the encoding itself, written where the file keeps its rotary keys, and read back.
#include <fmt/format.h>

#include <algorithm>

#include "context/dialect.hpp"
#include "context/encoding_of.hpp"
#include "context/layer_plan.hpp"
#include "context/lengths.hpp"
#include "context/own_keys.hpp"
#include "context/readers.hpp"
#include "context/rope_rule.hpp"
#include "encodings/model.hpp"
#include "encodings/rope.hpp"
#include "numeric/decide.hpp"
#include "posenc/error.hpp"
#include "posenc/spec.hpp"
#include "rescale/names.hpp"
#include "rescale/ntk.hpp"
#include "rescale/successor.hpp"

namespace posenc {
namespace config {
namespace {

using rescale::Settings;
using RopeModel = detail::Model<Rope>;

constexpr std::string_view original_key = rescale::trained_fields[0], max_key = rescale::trained_fields[1];

// Rules that are another base and nothing else.
constexpr std::array<std::string_view, 3> base_rules{"ntk", "ntk-old", "base"};
static_assert(std::all_of(base_rules.begin(), base_rules.end(), rescale::is_rule_name));
static_assert(std::all_of(rope_types.begin(), rope_types.end(), rescale::is_rule_name));
template <class List>
bool among(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

const Setting* find(const Reading& reading, std::string_view field) {
  const auto it = std::find_if(reading.settings.begin(), reading.settings.end(), [&](const Setting& s) { return s.field == field; });
  return it == reading.settings.end() ? nullptr : &*it;
}
std::optional<std::string> given(const Settings& settings, std::string_view field) {
  for (const auto& [name, text] : settings)
    if (name == field) return text;
  return std::nullopt;
}

bool is_rotary(const Reading& reading) { return reading.encoding == "rope" && reading.layer_type != "vision"; }

class Rescaler {
 public:
  Rescaler(std::string text, std::string_view name, const ConfigChange& change, std::vector<std::string>& remarks)
      : text_(std::move(text)), name_(name), change_(change), remarks_(remarks), before_(read_config(text_, name)), opened_(text_, name) {}

  std::string run() {
    reading_ = &target();
    if (reading_->encoding == "alibi") return alibi();
    if (reading_->encoding != "rope") refuse_weights();
    return rope();
  }

 private:
  [[noreturn]] void refuse(const std::string& sentence) const { fail_usage(fmt::format("{}: {}", name_, sentence)); }
  // What is refused without knowing of any file.
  template <class F>
  auto in_file(F&& f) const {
    try {
      return f();
    } catch (const Error& e) {
      refuse(e.what());
    }
  }

  // The kind of layers that the rule is for.
  const Reading& target() const {
    std::vector<const Reading*> found;
    std::vector<std::string> types;
    for (const Reading& r : before_.readings) {
      if (r.layer_type == "vision" || r.encoding == "none") continue;
      found.push_back(&r);
      types.push_back(r.layer_type);
    }
    if (found.empty()) refuse("describes no positions that a rule could lengthen");
    if (!change_.layer_type.empty()) {
      for (const Reading* r : found)
        if (same_layer_type(r->layer_type, change_.layer_type)) return *r;
      refuse(fmt::format("has no layer type {} with positions{}", quoted_word(change_.layer_type), found.size() > 1 ? "; there are " + one_of(types) : ""));
    }
    for (const Reading* r : found)
      if (same_layer_type(r->layer_type, "full_attention")) return *r;
    return *found.front();
  }

  [[noreturn]] void refuse_weights() const {
    const std::string& e = reading_->encoding;
    if (e == "t5") refuse("T5's buckets carry any length as they are; there is nothing in its config to rescale");
    if (e == "learned" || e == "sinusoidal")
      refuse(fmt::format("its positions are a stored {} table, and a longer one is other weights, which a config does not hold; posenc inspect names the tensor to resize with posenc rescale and the keys to change", e));
    refuse(fmt::format("its positions are a stored table of distances ({}), and a longer one is other weights, which a config does not hold; posenc inspect names the tensor to resize with posenc rescale and the keys to change", e));
  }

  // What is asked for, whether it stands in a field of its own or among the settings.
  void take_request() {
    method_ = change_.method;
    factor_ = change_.factor;
    for (const auto& [field, text] : change_.settings) {
      if (field == "method") {
        if (!method_.empty() && method_ != text) refuse(fmt::format("method is {} and {}; give one", method_, text));
        method_ = text;
      } else if (field == "factor") {
        const double value = parse_real(text, field);
        if (factor_ && *factor_ != value) refuse(fmt::format("factor is {} and {}; give one", print(*factor_), print(value)));
        factor_ = value;
      } else if (!among(rescale::trained_fields, field)) {
        settings_.emplace_back(field, text);
      }
    }
    trained_ = in_file([&] { return rescale::said_trained_length(change_.settings); });
    if (trained_ && static_cast<double>(*trained_) > positions.max) refuse(fmt::format("the trained length must be from 1 to 2^53, got {}", *trained_));
    if (change_.context && (*change_.context < 1 || static_cast<double>(*change_.context) > positions.max)) refuse(fmt::format("context must be from 1 to 2^53, got {}", *change_.context));
    if (factor_ && !(*factor_ > 0 && *factor_ <= factors.max)) refuse(fmt::format("factor must be greater than 0, got {}", print(*factor_)));
  }

  std::string alibi() {
    take_request();
    if (!method_.empty() && method_ != "default") refuse(fmt::format("ALiBi has no rules on frequencies: leave method {} out, the length is all that changes", method_));
    if (!settings_.empty()) refuse(fmt::format("ALiBi's slopes stay: {} means nothing here", settings_[0].first));
    if (!trained_) trained_ = reading_->context;
    find_context();
    if (!context_) refuse("say the context that it should reach, or a factor");
    write_lengths(*context_);
    if (lengths_written_ == 0) remarks_.push_back(fmt::format("{}: declares no length, and ALiBi has no limit; nothing is changed", name_));
    return text_;
  }

  std::string rope() {
    take_request();
    in_force_ = in_file([&] { return encoding_of(*reading_)->fields(); });
    keep_what_stays();
    check_rule();
    find_trained();
    find_context();
    Settings wanted = wanted_settings();
    if (among(base_rules, method_))
      write_base();
    else if (own_dynamic())
      write_own_dynamic();
    else
      write_block(wanted);
    if (own_dynamic())
      write_own_lengths();
    else if (method_ == "dynamic")
      write_lengths(*trained_);
    else if (context_)
      write_lengths(*context_);
    check_result(wanted);
    say_remarks();
    return text_;
  }

  // The same rule keeps what the model was trained with, as far as the file states it.
  void keep_what_stays() {
    const Setting* now = find(*reading_, "method");
    if (now == nullptr || now->value != method_) return;
    for (const FieldView& f : in_force_) {
      if (!rescale::stays(f) || among(rescale::trained_fields, f.name) || given(settings_, f.name)) continue;
      const Setting* s = find(*reading_, f.name);
      if (s == nullptr || s->origin.starts_with("default of")) continue;
      if (f.name != "factor")
        settings_.emplace_back(f.name, f.value);
      else if (!factor_ && !change_.context)
        factor_ = parse_real(f.value, f.name);
    }
  }

  void check_rule() {
    if (method_.empty()) refuse("say which rule lengthens it with method");
    if (by_own_keys(opened_, v5()))
      if (const auto why = own_refusal(opened_, method_, {base_rules.begin(), base_rules.end()})) refuse(*why);
    if (in_defaults(opened_, original_key) && among(rope_types, method_) && method_ != "longrope")
      refuse(fmt::format("the class of {} knows one rope_type, longrope; method {} would not be read", opened_.known->model_type, method_));
    if (!among(rope_types, method_) && !among(base_rules, method_)) {
      std::vector<std::string> names(rope_types.begin(), rope_types.end());
      names.insert(names.end(), base_rules.begin(), base_rules.end());
      refuse(fmt::format("method {} has no rope_type that transformers reads; a config can have {}{}", quoted_word(method_), one_of(names), did_you_mean(method_.substr(0, 64), names)));
    }
    const Setting* now = find(*reading_, "method");
    const Setting* old_factor = find(*reading_, "factor");
    const bool proportional = now != nullptr && now->value == "proportional";
    if (proportional != (method_ == "proportional"))
      refuse(proportional ? fmt::format("these layers turn by the proportional rule ({}), which only method proportional lengthens", now->origin)
                          : "method proportional is for layers that turn by the proportional rule, and these do not");
    const bool in_force = now != nullptr && now->value != "default" && !(now->value == method_ && rescale::plain_yet(in_force_));
    if (in_force && !change_.replace)
      refuse(fmt::format("is already under method {}{} ({}), and a rule on top of a rule is neither of them; give replace to put the new one in its place", now->value,
                         old_factor != nullptr ? fmt::format(", factor {}", old_factor->value) : "", now->origin));
    if (find(*reading_, "mscale_all_dim") != nullptr && !given(settings_, "mscale_all_dim"))
      remarks_.push_back(fmt::format("{}: mscale_all_dim {} goes with the old rule; give it with the new one if the model's attention scale should keep its factor", name_,
                                     find(*reading_, "mscale_all_dim")->value));
  }

  void find_trained() {
    trained_ = rescale::trained_length(trained_, in_force_, reading_->context);
    const bool needed = method_ != "base" && (method_ != "proportional" || change_.context);
    if (!trained_ && needed) refuse(fmt::format("does not say the length that the model was trained for; give it with {}", original_key));
  }

  void find_context() {
    context_ = change_.context;
    if (method_ == "base") {
      if (factor_) refuse("method base has no factor; give new_base, and the context that it should reach");
      return;
    }
    const auto amplitude = given(change_.settings, "attention_factor");
    const bool said = factor_.has_value();
    if (context_ && trained_ && !factor_) factor_ = static_cast<double>(*context_) / static_cast<double>(*trained_);
    if (factor_)
      in_file([&] {
        rescale::check_asked({.method = method_,
                              .factor = *factor_,
                              .factor_said = said,
                              .trained = trained_,
                              .context = context_,
                              .attention_factor = amplitude ? std::optional(parse_real(*amplitude, "attention_factor")) : std::nullopt,
                              .force = change_.force});
      });
    if (context_ && trained_) return;
    if (factor_ && trained_) {
      const double product = *factor_ * static_cast<double>(*trained_);
      if (product != std::floor(product) || product < 1 || product > positions.max) refuse(fmt::format("factor {} times the trained length {} is {}, no whole number of positions; give context", print(*factor_), *trained_, print(product)));
      context_ = static_cast<std::int64_t>(product);
    } else if (!factor_ && !(context_ && method_.empty())) {  // ALiBi needs no trained length
      refuse("say how far: a factor, or the context that it should reach");
    }
  }

  // The parameters of the encoding under the new rule, which the encoding itself checks.
  Settings wanted_settings() {
    Settings out;
    for (const std::string_view field : {"head_dim", "rotary_dim", "frequency_denominator", "pair_stride", "base"})
      if (const Setting* s = find(*reading_, field)) out.emplace_back(s->field, s->value);
    out.emplace_back("method", method_);
    const bool without_factor = own_dynamic() && opened_.known->own.dynamic_is_flag;
    if (without_factor && !given(settings_, "variant")) out.emplace_back("variant", "qwen");
    if (without_factor && given(settings_, "variant").value_or("qwen") != "qwen")
      refuse(fmt::format("the code of {} knows variant qwen of the dynamic rule alone", opened_.known->model_type));
    if (factor_ && !without_factor) out.emplace_back("factor", print(*factor_));
    if (method_ == "yarn" || method_ == "llama3" || method_ == "longrope") out.emplace_back(original_key, print(*trained_));
    if (method_ == "dynamic") out.emplace_back(max_key, print(*trained_));
    out.insert(out.end(), settings_.begin(), settings_.end());
    in_file([&] {
      posenc::apply(rope_, out);
      rope_.check();
    });
    for (const auto& [field, text] : settings_) {
      const bool amplitude = field == "attention_factor" && (method_ == "yarn" || method_ == "longrope");
      const bool known = is_rule_key(field) || field == "new_base" || (without_factor && field == "variant");
      if (!amplitude && !known && !is_default(field)) refuse(fmt::format("{} {} has no key that transformers reads; leave it out{}", field, text.substr(0, 40), method_ == "yarn" ? ", or say the amplitude as attention_factor" : ""));
      if (field == "attention_factor" && !amplitude) refuse(fmt::format("rope_type {} has no attention_factor; leave it out", method_));
    }
    return out;
  }
  bool is_default(std::string_view field) const {
    for (const FieldView& f : rope_.fields())
      if (f.name == field && !f.group.empty()) return f.value == f.fallback;
    return false;
  }

  bool v5() const {
    for (const Place& place : opened_.text)
      if (place.object->contains(std::string(parameters)) && (*place.object)[std::string(parameters)].is_object()) return true;
    return false;
  }
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
        if (block.get(type)->starts_with('{') && same_layer_type(type, reading_->layer_type)) inner = type;
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

  // One block that speaks for all layers cannot single out one kind of them.
  void refuse_wrong_reach() const {
    const auto turning = std::count_if(before_.readings.begin(), before_.readings.end(), is_rotary);
    bool nested = false;
    for (const Place& place : opened_.text)
      if (const auto it = place.object->find(std::string(parameters)); it != place.object->end() && it->is_object())
        for (const Json& value : *it) nested = nested || value.is_object();
    if (nested) return;
    const ModelClass* known = opened_.known;
    if (two_bases(opened_) && known->scaled_only.empty()) refuse("the old dialect of this model's class has no rule; ask for dialect 5");
    if (two_bases(opened_) && !same_layer_type(known->scaled_only, reading_->layer_type)) refuse(fmt::format("rope_scaling reaches {} only; ask for dialect 5", known->scaled_only));
    if (!two_bases(opened_) && turning > 1 && !change_.layer_type.empty())
      refuse(fmt::format("its one block is for all layers, so that no rule can be for {} alone; leave layer_type out", change_.layer_type));
  }

  void clear_rule(ObjectText& block) {
    for (const std::string& key : block.keys())
      if (is_rule_key(key)) block.remove(key);
  }

  void write_block(const Settings& wanted) {
    refuse_wrong_reach();
    const bool beside = in_defaults(opened_, original_key);  // Phi-3 keeps the trained length beside the block and takes three keys in it
    edit_block([&](ObjectText& block) {
      const bool said_type = block.has("type"), said_new = block.has("rope_type");
      clear_rule(block);
      const std::string rule = fmt::format("\"{}\"", method_);
      const bool old_phi = beside && !v5() && !said_new;  // that class looks for `type`
      if (said_type || old_phi) block.set("type", said_type && *block.get("type") == "\"su\"" && method_ == "longrope" ? "\"su\"" : rule);
      if (!old_phi) block.set("rope_type", rule);
      if (v5() && !block.has(theta) && find(*reading_, "base") != nullptr) block.set(theta, json_number(parse_real(find(*reading_, "base")->value, "base")));
      for (const FieldView& f : rope_.fields()) {
        if (!f.present || (f.group.empty() && f.name != "attention_factor") || f.name == max_key || f.name == "length") continue;
        const bool needed = f.name == "factor" || f.name == original_key || f.name == "low_freq_factor" || f.name == "high_freq_factor" || f.type == "list";
        if (!needed && !given(wanted, f.name)) continue;
        if (beside && (f.name == original_key || f.name == "factor")) continue;
        if (!needed && !is_rule_key(f.name) && f.name != "attention_factor") continue;  // at its usual value, and nobody reads it
        block.set(f.name, json_text(f));
      }
    });
    bool outside = false;
    if (method_ == "yarn" || method_ == "llama3" || method_ == "longrope")
      for (const Place& place : opened_.text)  // transformers lets the outer one win; gpt-oss says it a second time
        for (std::string_view key : {original_key, std::string_view("initial_context_length")})
          if (place.object->contains(std::string(key))) {
            text_ = edited(text_, place.name(), [&](ObjectText& o) { o.set(key, print(*trained_)); });
            outside = outside || key == original_key;
          }
    if (beside && !outside) text_ = edited(text_, home({max_key}), [&](ObjectText& o) { o.set(original_key, print(*trained_)); });
  }

  static std::string json_text(const FieldView& f) {
    if (f.type == "integer" || f.type == "boolean") return f.value;
    if (f.type == "real") return json_number(parse_real(f.value, f.name));
    std::string list;
    for (const double x : parse_reals(f.value, f.name)) list += (list.empty() ? "" : ", ") + json_number(x);
    return "[" + list + "]";
  }

  // ntk, ntk-old and base are another rope_theta, in every place that states it.
  void write_base() {
    const double old = parse_real(find(*reading_, "base")->value, "base");
    const Rope& rope = rope_.typed();
    if (method_ == "base")
      base_ = parse_real(given(settings_, "new_base").value_or(""), "new_base");
    else if (method_ == "ntk")
      base_ = num::decide(DType::f64, [&] { return rescale::stretched_base(rope.geometry(), num::Real::of(*factor_)); });
    else
      base_ = old * *factor_;
    if (!(base_ > bases.min && base_ <= bases.max)) refuse(fmt::format("the new base {} is out of range", plain(base_)));
    refuse_wrong_reach_of_base();
    const bool own = by_own_keys(opened_, false) && !opened_.known->own.base.empty();
    if (own) base_ = own_base(opened_, base_);
    const std::string number = json_number(base_);
    std::string_view key = old_base(opened_);
    if (two_bases(opened_)) key = same_layer_type(reading_->layer_type, opened_.known->pattern.chosen) ? opened_.known->pattern.chosen_base : opened_.known->pattern.others_base;
    bool written = false;
    for (const Place& place : opened_.text)
      for (std::string_view flat : {key, key == old_base(opened_) ? theta : key})
        if (place.object->contains(std::string(flat)))
          text_ = edited(text_, place.name(), [&](ObjectText& o) { o.set(flat, number), written = true; });
    const bool block_has = find(*reading_, "base")->origin.find(parameters) != std::string::npos || find(*reading_, "base")->origin.find(scaling) != std::string::npos;
    if (v5() || block_has) {
      edit_block([&](ObjectText& block) { block.set(theta, number); });
      written = true;
    }
    if (own)
      text_ = with_own_base(text_, opened_, base_);
    else if (!written)
      text_ = edited(text_, home({key, max_key}), [&](ObjectText& o) { o.set(key, number); });
    drop_rule();
  }
  void refuse_wrong_reach_of_base() const {
    if (two_bases(opened_)) return;
    refuse_wrong_reach();
  }
  // A rule that is replaced by a mere base.
  void drop_rule() {
    const Setting* now = find(*reading_, "method");
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
  void write_lengths(std::int64_t length) {
    std::vector<std::string_view> keys(capping_keys.begin(), capping_keys.end());
    for (std::string_view key : context_keys)
      if (!among(keys, key)) keys.push_back(key);
    if (opened_.known != nullptr && !opened_.known->own.trained.empty() && !among(keys, opened_.known->own.trained)) keys.push_back(opened_.known->own.trained);
    for (const Place& place : opened_.text)
      for (std::string_view key : keys)
        if (const auto it = place.object->find(std::string(key)); it != place.object->end() && it->is_number()) {
          text_ = edited(text_, place.name(), [&](ObjectText& o) { o.set(key, print(length)); });
          ++lengths_written_;
        }
    if (lengths_written_ > 0 || reading_->encoding != "rope") return;
    text_ = edited(text_, home({theta, scaling, parameters}), [&](ObjectText& o) { o.set(max_key, print(length)); });
    ++lengths_written_;
  }

  bool own_dynamic() const { return method_ == "dynamic" && opened_.known != nullptr && !opened_.known->own.dynamic.empty(); }
  void write_own_dynamic() { text_ = with_own_dynamic(text_, opened_, factor_); }
  // The trained length keeps its key; a length that is declared beside it never shrinks unless one is asked for.
  void write_own_lengths() {
    const OwnKeys& own = opened_.known->own;
    if (!change_.context)
      for (const Place& place : opened_.text)
        for (const std::string_view key : context_keys)
          if (const auto it = place.object->find(std::string(key)); key != own.trained && it != place.object->end() && it->is_number_unsigned())
            context_ = std::max(*context_, it->get<std::int64_t>());
    write_lengths(*context_);
    text_ = with_key(text_, opened_, own.reach, print(*context_));
    text_ = with_key(text_, opened_, own.trained, print(*trained_));
  }

  // What stands in the file now is what was asked for.
  void check_result(const Settings& wanted) const {
    const ConfigReading after = read_back();
    for (std::size_t i = 0; i < after.readings.size() && i < before_.readings.size(); ++i) {
      if (&before_.readings[i] != reading_) continue;
      const Reading& r = after.readings[i];
      const auto differs = [&](std::string_view field, const std::string& want) {
        const Setting* s = find(r, field);
        if (s == nullptr || s->value != want) refuse(fmt::format("would be read with {} {} where {} is meant; its class does not take this change", field, s == nullptr ? "absent" : s->value, want.substr(0, 60)));
      };
      if (among(base_rules, method_)) {
        differs("base", print(base_));
        differs("method", "default");
      } else {
        for (const FieldView& f : rope_.fields())
          if (f.present && (!f.group.empty() || f.name == "method") && given(wanted, f.name) && (is_rule_key(f.name) || f.name == "method" || own_dynamic())) differs(f.name, f.value);
      }
      const std::optional<std::int64_t> reach = method_ == "dynamic" && !own_dynamic() ? trained_ : context_;
      if (reach && r.context != reach) refuse(fmt::format("would be read with a context of {} where {} is meant; correct its length keys first", r.context ? print(*r.context) : "none", *reach));
      return;
    }
    refuse("would be read with other kinds of layers; its class does not take this change");
  }

  ConfigReading read_back() const {
    try {
      return read_config(text_, name_);
    } catch (const Error& e) {
      fail_usage(fmt::format("the change leaves a config that does not read: {}", e.what()));
    }
  }

  // "method yarn, factor 4, trained length 4096, positions 16384 (was 4096)".
  std::string change_text() const {
    const bool by_base = among(base_rules, method_);
    std::string text = fmt::format("method {}", method_);
    if (by_base) text += fmt::format(", base {} (was {})", print(base_), find(*reading_, "base")->value);
    if (factor_) text += fmt::format(", factor {}", print(*factor_));
    if (trained_ && !by_base) text += fmt::format(", trained length {}", *trained_);
    if (context_ && (method_ != "dynamic" || own_dynamic())) text += fmt::format(", positions {}", *context_);
    if (context_ && (method_ != "dynamic" || own_dynamic()) && reading_->context && *reading_->context != *context_) text += fmt::format(" (was {})", *reading_->context);
    return text;
  }

  void say_remarks() {
    const Lookup model = opened_.model();
    if (method_ == "linear" && context_)
      remarks_.push_back(fmt::format("{}: vLLM multiplies the declared length by factor once more; there, cap it with --max-model-len {}", name_, *context_));
    if (by_own_keys(opened_, v5()))
      for (const std::string& remark : own_remarks(opened_, method_, trained_.value_or(0))) remarks_.push_back(fmt::format("{}: {}", name_, remark));
    if (method_ == "dynamic" && !own_dynamic())
      remarks_.push_back(fmt::format("{}: the declared length stays {}, the trained one, from which the dynamic rule counts; vLLM serves factor times that, {}", name_, *trained_, print(*factor_ * static_cast<double>(*trained_))));
    if (const auto window = model.explicit_only().find({"sliding_window"}); window && window->value->is_number() && reading_->layer_type.empty())
      remarks_.push_back(fmt::format("{}: {} {} stays", name_, window->origin, shown(*window->value)));
    remarks_.push_back(fmt::format("{}: {}", name_, change_text()));
  }

  std::string text_;
  std::string_view name_;
  const ConfigChange& change_;
  std::vector<std::string>& remarks_;
  ConfigReading before_;
  OpenedConfig opened_;
  const Reading* reading_ = nullptr;
  RopeModel rope_;
  std::vector<FieldView> in_force_;  ///< parameters of the encoding as it is read
  std::string method_;
  Settings settings_;
  std::optional<double> factor_;
  std::optional<std::int64_t> trained_, context_;
  double base_ = 0;
  int lengths_written_ = 0;
};

}  // namespace
}  // namespace config

std::string rescaled_config(std::string_view json_text, std::string_view name, const ConfigChange& change, std::vector<std::string>* remarks) {
  std::vector<std::string> unheard;
  std::string text = change.dialect ? in_dialect(json_text, name, *change.dialect) : std::string(json_text);
  return config::Rescaler(std::move(text), name, change, remarks != nullptr ? *remarks : unheard).run();
}

}  // namespace posenc
