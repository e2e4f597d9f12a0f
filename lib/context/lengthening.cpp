// decide_lengthening: the request taken apart, held against what the file says and against itself.
#include "context/lengthening.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "context/dialect.hpp"
#include "context/encoding_of.hpp"
#include "context/lengths.hpp"
#include "context/own_keys.hpp"
#include "context/readers.hpp"
#include "context/rope_rule.hpp"
#include "numeric/decide.hpp"
#include "posenc/error.hpp"
#include "posenc/spec.hpp"
#include "rescale/ntk.hpp"
#include "rescale/plain.hpp"

namespace posenc::config {
namespace {

using rescale::Settings;

static_assert(std::all_of(base_rules.begin(), base_rules.end(), rescale::is_rule_name));
static_assert(std::all_of(rope_types.begin(), rope_types.end(), rescale::is_rule_name));

class Decider {
 public:
  Decider(const Reading& reading, const OpenedConfig& opened, std::string_view name, const ConfigChange& change, std::vector<std::string>& remarks)
      : opened_(opened), name_(name), change_(change), remarks_(remarks) {
    out_.reading = &reading;
  }

  Lengthening run() {
    if (out_.reading->encoding == "alibi") alibi();
    else if (out_.reading->encoding == "rope") rope();
    else refuse_weights();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& sentence) const { refuse_change(name_, sentence); }
  // What is refused without knowing of any file.
  template <class F>
  auto in_file(F&& f) const {
    try {
      return f();
    } catch (const Error& e) {
      refuse(e.what());
    }
  }

  [[noreturn]] void refuse_weights() const {
    const std::string& e = out_.reading->encoding;
    if (e == "t5") refuse("T5's buckets carry any length as they are; there is nothing in its config to rescale");
    if (e == "learned" || e == "sinusoidal")
      refuse(fmt::format("its positions are a stored {} table, and a longer one is other weights, which a config does not hold; posenc inspect names the tensor to resize with posenc rescale and the keys to change", e));
    refuse(fmt::format("its positions are a stored table of distances ({}), and a longer one is other weights, which a config does not hold; posenc inspect names the tensor to resize with posenc rescale and the keys to change", e));
  }

  // What is asked for, whether it stands in a field of its own or among the settings.
  void take_request() {
    out_.method = change_.method;
    out_.factor = change_.factor;
    for (const auto& [field, text] : change_.settings) {
      if (field == "method") {
        if (!out_.method.empty() && out_.method != text) refuse(fmt::format("method is {} and {}; give one", out_.method, text));
        out_.method = text;
      } else if (field == "factor") {
        const double value = parse_real(text, field);
        if (out_.factor && *out_.factor != value) refuse(fmt::format("factor is {} and {}; give one", print(*out_.factor), print(value)));
        out_.factor = value;
      } else if (!among(rescale::trained_fields, field)) {
        out_.settings.emplace_back(field, text);
      }
    }
    out_.trained = in_file([&] { return rescale::said_trained_length(change_.settings); });
    if (out_.trained && static_cast<double>(*out_.trained) > positions.max) refuse(fmt::format("the trained length must be from 1 to 2^53, got {}", *out_.trained));
    if (change_.context && (*change_.context < 1 || static_cast<double>(*change_.context) > positions.max)) refuse(fmt::format("context must be from 1 to 2^53, got {}", *change_.context));
    if (out_.factor && !(*out_.factor > 0 && *out_.factor <= factors.max)) refuse(fmt::format("factor must be greater than 0, got {}", print(*out_.factor)));
  }

  void alibi() {
    take_request();
    if (!out_.method.empty() && out_.method != "default") refuse(fmt::format("ALiBi has no rules on frequencies: leave method {} out, the length is all that changes", out_.method));
    if (!out_.settings.empty()) refuse(fmt::format("ALiBi's slopes stay: {} means nothing here", out_.settings[0].first));
    if (!out_.trained) out_.trained = out_.reading->context;
    find_context();
    if (!out_.context) refuse("say the context that it should reach, or a factor");
  }

  void rope() {
    take_request();
    in_force_ = in_file([&] { return encoding_of(*out_.reading)->fields(); });
    keep_what_stays();
    check_rule();
    find_trained();
    find_context();
    out_.own_dynamic = out_.method == "dynamic" && opened_.known != nullptr && !opened_.known->own.dynamic.empty();
    find_wanted();
    if (out_.own_dynamic && !change_.context) keep_declared();
    if (out_.by_base()) find_base();
  }

  // The same rule keeps what the model was trained with, as far as the file states it.
  void keep_what_stays() {
    const Setting* now = find_setting(*out_.reading, "method");
    if (now == nullptr || now->value != out_.method) return;
    for (const FieldView& f : in_force_) {
      if (!rescale::stays(f) || among(rescale::trained_fields, f.name) || given(out_.settings, f.name)) continue;
      const Setting* s = find_setting(*out_.reading, f.name);
      if (s == nullptr || s->origin.starts_with("default of")) continue;
      if (f.name != "factor")
        out_.settings.emplace_back(f.name, f.value);
      else if (!out_.factor && !change_.context)
        out_.factor = parse_real(f.value, f.name);
    }
  }

  void check_rule() {
    if (out_.method.empty()) refuse("say which rule lengthens it with method");
    if (by_own_keys(opened_, has_rope_parameters(opened_)))
      if (const auto why = own_refusal(opened_, out_.method, {base_rules.begin(), base_rules.end()})) refuse(*why);
    if (in_defaults(opened_, original_key) && among(rope_types, out_.method) && out_.method != "longrope")
      refuse(fmt::format("the class of {} knows one rope_type, longrope; method {} would not be read", opened_.known->model_type, out_.method));
    if (!among(rope_types, out_.method) && !among(base_rules, out_.method)) {
      std::vector<std::string> names(rope_types.begin(), rope_types.end());
      names.insert(names.end(), base_rules.begin(), base_rules.end());
      refuse(fmt::format("method {} has no rope_type that transformers reads; a config can have {}{}", quoted_word(out_.method), one_of(names), did_you_mean(out_.method.substr(0, 64), names)));
    }
    const Setting* now = find_setting(*out_.reading, "method");
    const Setting* old_factor = find_setting(*out_.reading, "factor");
    if (const auto why = rescale::cannot_follow(now == nullptr ? rescale::Plain::name : now->value, out_.method))
      refuse(*why + (now == nullptr ? "" : fmt::format(" ({})", now->origin)));
    const bool in_force = now != nullptr && now->value != "default" && !(now->value == out_.method && rescale::plain_yet(in_force_));
    if (in_force && !change_.replace)
      refuse(fmt::format("is already under method {}{} ({}), and a rule on top of a rule is neither of them; give replace to put the new one in its place", now->value,
                         old_factor != nullptr ? fmt::format(", factor {}", old_factor->value) : "", now->origin));
    if (find_setting(*out_.reading, "mscale_all_dim") != nullptr && !given(out_.settings, "mscale_all_dim"))
      remarks_.push_back(fmt::format("{}: mscale_all_dim {} goes with the old rule; give it with the new one if the model's attention scale should keep its factor", name_,
                                     find_setting(*out_.reading, "mscale_all_dim")->value));
  }

  void find_trained() {
    out_.trained = rescale::trained_length(out_.trained, in_force_, out_.reading->context);
    const bool needed = out_.method != "base" && (out_.method != "proportional" || change_.context);
    if (!out_.trained && needed) refuse(fmt::format("does not say the length that the model was trained for; give it with {}", original_key));
  }

  void find_context() {
    out_.context = change_.context;
    if (out_.method == "base") {
      if (out_.factor) refuse("method base has no factor; give new_base, and the context that it should reach");
      return;
    }
    const auto amplitude = given(change_.settings, "attention_factor");
    const bool said = out_.factor.has_value();
    if (out_.context && out_.trained && !out_.factor) out_.factor = static_cast<double>(*out_.context) / static_cast<double>(*out_.trained);
    if (out_.factor)
      in_file([&] {
        rescale::check_asked({.method = out_.method,
                              .factor = *out_.factor,
                              .factor_said = said,
                              .trained = out_.trained,
                              .context = out_.context,
                              .attention_factor = amplitude ? std::optional(parse_real(*amplitude, "attention_factor")) : std::nullopt,
                              .force = change_.force});
      });
    if (out_.context && out_.trained) return;
    if (out_.factor && out_.trained) {
      const double product = *out_.factor * static_cast<double>(*out_.trained);
      if (product != std::floor(product) || product < 1 || product > positions.max) refuse(fmt::format("factor {} times the trained length {} is {}, no whole number of positions; give context", print(*out_.factor), *out_.trained, print(product)));
      out_.context = static_cast<std::int64_t>(product);
    } else if (!out_.factor && !(out_.context && out_.method.empty())) {  // ALiBi needs no trained length
      refuse("say how far: a factor, or the context that it should reach");
    }
  }

  // A length that is declared beside the trained one never shrinks unless one is asked for.
  void keep_declared() {
    for (const Place& place : opened_.text)
      for (const std::string_view key : context_keys)
        if (const auto it = place.object->find(std::string(key)); key != opened_.known->own.trained && it != place.object->end() && it->is_number_unsigned())
          out_.context = std::max(*out_.context, it->get<std::int64_t>());
  }

  // The parameters of the encoding under the new rule, which the encoding itself checks.
  void find_wanted() {
    Settings& out = out_.wanted;
    for (const std::string_view field : {"head_dim", "rotary_dim", "frequency_denominator", "pair_stride", "base"})
      if (const Setting* s = find_setting(*out_.reading, field)) out.emplace_back(s->field, s->value);
    out.emplace_back("method", out_.method);
    const bool without_factor = out_.own_dynamic && opened_.known->own.dynamic_is_flag;
    if (without_factor && !given(out_.settings, "variant")) out.emplace_back("variant", "qwen");
    if (without_factor && given(out_.settings, "variant").value_or("qwen") != "qwen")
      refuse(fmt::format("the code of {} knows variant qwen of the dynamic rule alone", opened_.known->model_type));
    if (out_.factor && !without_factor) out.emplace_back("factor", print(*out_.factor));
    if (out_.method == "yarn" || out_.method == "llama3" || out_.method == "longrope") out.emplace_back(original_key, print(*out_.trained));
    if (out_.method == "dynamic") out.emplace_back(max_key, print(*out_.trained));
    out.insert(out.end(), out_.settings.begin(), out_.settings.end());
    in_file([&] {
      posenc::apply(out_.rope, out);
      out_.rope.check();
    });
    for (const auto& [field, text] : out_.settings) {
      const bool amplitude = field == "attention_factor" && (out_.method == "yarn" || out_.method == "longrope");
      const bool known = is_rule_key(field) || field == "new_base" || (without_factor && field == "variant");
      if (!amplitude && !known && !is_default(field)) refuse(fmt::format("{} {} has no key that transformers reads; leave it out{}", field, text.substr(0, 40), out_.method == "yarn" ? ", or say the amplitude as attention_factor" : ""));
      if (field == "attention_factor" && !amplitude) refuse(fmt::format("rope_type {} has no attention_factor; leave it out", out_.method));
    }
  }
  bool is_default(std::string_view field) const {
    for (const FieldView& f : out_.rope.fields())
      if (f.name == field && !f.group.empty()) return f.value == f.fallback;
    return false;
  }

  void find_base() {
    const double old = parse_real(find_setting(*out_.reading, "base")->value, "base");
    const Rope& rope = out_.rope.typed();
    if (out_.method == "base")
      out_.base = parse_real(given(out_.settings, "new_base").value_or(""), "new_base");
    else if (out_.method == "ntk")
      out_.base = num::decide(DType::f64, [&] { return rescale::stretched_base(rope.geometry(), num::Real::of(*out_.factor)); });
    else
      out_.base = old * *out_.factor;
    if (!(out_.base > bases.min && out_.base <= bases.max)) refuse(fmt::format("the new base {} is out of range", plain(out_.base)));
    if (by_own_keys(opened_, false) && !opened_.known->own.base.empty()) out_.base = own_base(opened_, out_.base);
  }

  const OpenedConfig& opened_;
  std::string_view name_;
  const ConfigChange& change_;
  std::vector<std::string>& remarks_;
  Lengthening out_;
  std::vector<FieldView> in_force_;  ///< parameters of the encoding as it is read
};

}  // namespace

std::optional<std::string> given(const Settings& settings, std::string_view field) {
  for (const auto& [name, text] : settings)
    if (name == field) return text;
  return std::nullopt;
}

bool has_rope_parameters(const OpenedConfig& opened) {
  for (const Place& place : opened.text)
    if (place.object->contains(std::string(parameters)) && (*place.object)[std::string(parameters)].is_object()) return true;
  return false;
}

void refuse_change(std::string_view name, const std::string& sentence) { fail_usage(fmt::format("{}: {}", name, sentence)); }

Lengthening decide_lengthening(const Reading& reading, const OpenedConfig& opened, std::string_view name, const ConfigChange& change,
                               std::vector<std::string>& remarks) {
  return Decider(reading, opened, name, change, remarks).run();
}

}  // namespace posenc::config
