// Putting a rule on an encoding: all checks that are about the change rather than about the result.
#include "posenc/rescale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "posenc/error.hpp"
#include "posenc/positions.hpp"
#include "posenc/spec.hpp"
#include "posenc/text.hpp"
#include "rescale/plain.hpp"
#include "rescale/successor.hpp"

namespace posenc {
namespace {

using rescale::Settings, rescale::trained_fields;

constexpr std::string_view plain_method = rescale::Plain::name;
// What encodings call the number of positions.
constexpr std::string_view length_fields[] = {"positions", "length", "key_length", "query_length"};

template <class List>
bool among(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

const FieldView* find(const std::vector<FieldView>& fields, std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const FieldView& f) { return f.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

std::optional<std::string> given(const Settings& settings, std::string_view name) {
  for (const auto& [field, text] : settings)
    if (field == name) return text;
  return std::nullopt;
}

std::string short_text(const std::string& value) { return value.size() > 40 ? value.substr(0, 37) + "..." : value; }

// "method yarn (factor 4, original_max_position_embeddings 4096)".
std::string rule_text(const std::vector<FieldView>& fields) {
  std::string parameters;
  for (const FieldView& f : fields)
    if (!f.group.empty() && f.present && f.value != f.fallback)
      parameters += fmt::format("{}{} {}", parameters.empty() ? "" : ", ", f.name, short_text(f.value));
  return fmt::format("method {}{}", find(fields, "method")->value, parameters.empty() ? "" : " (" + parameters + ")");
}

std::string changes_text(const std::vector<FieldView>& before, const std::vector<FieldView>& after) {
  std::string text;
  for (const FieldView& f : after) {
    if (!f.present) continue;
    const FieldView* old = find(before, f.name);
    const bool had = old != nullptr && old->present && old->group == f.group;
    // A parameter that came with the method at its usual value is no news.
    if (had ? old->value == f.value : f.value == f.fallback) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", f.name, short_text(f.value));
    if (had && f.name != "method") text += fmt::format(" (was {})", short_text(old->value));
  }
  for (const FieldView& f : before)
    if (f.present && f.group.empty() && (find(after, f.name) == nullptr || !find(after, f.name)->present))
      text += fmt::format("{}{} {} dropped with the rule that it belonged to", text.empty() ? "" : ", ", f.name, short_text(f.value));
  return text.empty() ? "as it was" : text;
}

bool same_tensors(const Encoding& a, const Encoding& b) {
  const auto x = a.tensors(), y = b.tensors();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const Tensor& s, const Tensor& t) {
    return s.name == t.name &&
           std::equal(s.axes.begin(), s.axes.end(), t.axes.begin(), t.axes.end(), [](const Axis& i, const Axis& j) { return i.size == j.size; });
  });
}

std::optional<double> length_of(const FieldView* f) {
  if (f == nullptr || !f->present) return std::nullopt;
  return f->type == "positions" ? Positions::parse(f->value).length() : static_cast<double>(parse_int(f->value, f->name));
}

void refuse_fewer(std::int64_t context, double length, bool force) {
  if (static_cast<double>(context) < length && !force)
    fail_usage(fmt::format("context {} is less than the length {} of what is there and would shorten it; give force to take it all the same", context, print(length)));
}

// The lengths that are the old context become the new one; says which are others and stay. An absent query_length is as long as the
// keys already, and queries that were the last positions stay the last ones.
std::string put_context(Encoding& changed, const std::vector<FieldView>& before, const Rescaling& how) {
  double old = 0;
  for (const std::string_view field : length_fields) old = std::max(old, length_of(find(before, field)).value_or(0));
  std::string kept;
  for (const std::string_view field : length_fields) {
    const FieldView* f = find(before, field);
    const auto length = length_of(f);
    if (!length || given(how.settings, field)) continue;
    refuse_fewer(*how.context, old, how.force);
    if (*length != old)
      kept += fmt::format("; {} stays {}", field, short_text(f->value));
    else
      changed.set(field, f->type == "positions" ? reaching(f->value, *how.context, how.force) : print(*how.context));
  }
  const auto keys = length_of(find(before, "key_length")), queries = length_of(find(before, "query_length")), offset = length_of(find(before, "query_offset"));
  if (keys && queries && offset && *offset == *keys - *queries && !given(how.settings, "query_offset")) {
    const auto fields = changed.fields();
    changed.set("query_offset", print(*length_of(find(fields, "key_length")) - *length_of(find(fields, "query_length"))));
  }
  return kept;
}

// No rules here: more positions of the same.
Rescaled longer(const Encoding& encoding, const Rescaling& how) {
  const std::string name(encoding.name());
  const auto known = encoding.all_fields();
  for (const auto& [field, text] : how.settings)
    if (find(known, field) == nullptr)
      fail_usage(
          fmt::format("{} has no rules on frequencies, so {} {} means nothing to it; only context makes it longer", name, field, short_text(text)));
  if (!how.context && std::none_of(how.settings.begin(), how.settings.end(), [](const auto& setting) { return among(length_fields, setting.first); }))
    fail_usage(fmt::format("{} has no rules on frequencies; say the length that it should reach with context", name));
  const auto before = encoding.fields();
  auto changed = encoding.clone();
  apply(*changed, how.settings);
  std::string kept;
  if (how.context) kept = put_context(*changed, before, how);
  changed->check();
  if (same_tensors(encoding, *changed) && changes_text(before, changed->fields()) == "as it was")
    fail_usage(fmt::format("nothing of this {} would change: it depends on no length, or has that length already", name));
  return {std::move(changed), kept};
}

class Ruled {
 public:
  Ruled(const Encoding& encoding, const Rescaling& how)
      : encoding_(encoding), how_(how), before_(encoding.fields()), now_(find(before_, "method")->value) {}

  Rescaled make() {
    const std::optional<std::string> method = given(how_.settings, "method");
    if (!method) refuse_without_method();
    // A rule that changes nothing yet is given its factor: that composes nothing.
    at_one_ = now_ == *method && now_ != plain_method && rescale::plain_yet(before_);
    if (in_force() && !at_one_ && !how_.replace)
      fail_usage(
          fmt::format("the frequencies are already under {}, and a rule on top of a rule is neither of them; give replace to put the new one onto "
                      "the plain frequencies",
                      force_text()));
    if (how_.of_config)
      if (const auto why = rescale::cannot_follow(now_, *method)) fail_usage(*why);
    start(*method);
    put_trained(*method);
    put_factor(*method);
    put_length();
    check_directions(*method);
    made_->check();
    return {std::move(made_), ""};
  }

 private:
  [[nodiscard]] bool has_amplitude() const {
    const FieldView* amplitude = find(before_, "attention_factor");
    return amplitude != nullptr && amplitude->present && amplitude->value != "1" && !given(how_.settings, "attention_factor");
  }
  [[nodiscard]] bool in_force() const { return now_ != plain_method || has_amplitude(); }
  [[nodiscard]] std::string force_text() const {
    return now_ != plain_method ? rule_text(before_)
                                : fmt::format("an amplitude of their own (attention_factor {})", find(before_, "attention_factor")->value);
  }

  [[noreturn]] void refuse_without_method() const {
    std::vector<std::string> names;
    for (const auto& [choice, help] : find(before_, "method")->choices) names.push_back(choice);
    if (in_force())
      fail_usage(fmt::format("say which rule with method; the one in force is {}, and only replace puts another in its place", force_text()));
    fail_usage(fmt::format("{} is lengthened by a rule on its frequencies: say which with method: {}", encoding_.name(), one_of(names)));
  }

  // The plain encoding, then all that was asked but the trained length, which rules spell in two ways. A rule that replaces
  // itself keeps the parameters that are not said anew, but no magnitude that was worked out for the old factor.
  void start(const std::string& method) {
    made_ = make_encoding(encoding_.name());
    const bool drops = in_force() && !at_one_;
    Settings kept;
    for (const FieldView& f : before_) {
      if (!f.present || f.name == "method" || (!f.group.empty() && (now_ != method || !rescale::stays(f)))) continue;
      if ((drops && rescale::is_magnitude(f.name)) || given(how_.settings, f.name)) continue;
      kept.emplace_back(f.name, f.value);
    }
    kept.emplace_back("method", method);
    apply(*made_, kept);
    Settings asked;
    const std::string_view to_reach = reach_field();
    for (const auto& setting : how_.settings)
      if (setting.first != "method" && (!among(trained_fields, setting.first) || setting.first == to_reach)) asked.push_back(setting);
    apply(*made_, std::move(asked));
  }

  // What the new rule calls the trained length; empty where it has no use for it.
  [[nodiscard]] std::string_view trained_field() const {
    const auto fields = made_->fields();
    for (const std::string_view name : trained_fields)
      if (find(fields, name) != nullptr) return name;
    return {};
  }

  // What the new rule calls the length to reach, where it has a word for each length; else empty.
  [[nodiscard]] std::string_view reach_field() const {
    const auto fields = made_->fields();
    const bool both = std::all_of(std::begin(trained_fields), std::end(trained_fields), [&](std::string_view name) { return find(fields, name) != nullptr; });
    return both ? trained_fields[1] : std::string_view();
  }

  void put_trained(const std::string& method) {
    Settings about_training = how_.settings;
    std::erase_if(about_training, [to_reach = reach_field()](const auto& setting) { return setting.first == to_reach; });
    const auto said = rescale::said_trained_length(about_training);
    trained_ = rescale::trained_length(said, before_, how_.trained);
    const std::string_view field = trained_field();
    if (field.empty()) return;  // the rule itself has no use for it
    if (!trained_)
      fail_usage(fmt::format("method {} needs the length that the model was trained for, which nothing here says; give it with {}", method, field));
    made_->set(field, print(*trained_));
  }

  void put_factor(const std::string& method) {
    put_reach();
    const auto fields = made_->fields();
    const FieldView* factor = find(fields, "factor");
    if (factor == nullptr) return;
    if (!how_.context) {
      if (!factor->present) fail_usage(fmt::format("method {} needs factor or context, the positions that it should reach", method));
      return;
    }
    if (given(how_.settings, "factor")) return;
    if (!trained_)
      fail_usage(fmt::format("the factor is context {} over the length that the model was trained for, which nothing here says; give {} or factor",
                             *how_.context, trained_field().empty() ? trained_fields[0] : trained_field()));
    made_->set("factor", print(static_cast<double>(*how_.context) / static_cast<double>(*trained_)));
  }

  // The positions that the context or, where a trained length is known, the factor reaches; nothing where that is no whole number.
  [[nodiscard]] std::optional<std::int64_t> reach() const {
    if (how_.context) return how_.context;
    const auto fields = made_->fields();
    const FieldView* factor = find(fields, "factor");
    if (!trained_ || factor == nullptr || !factor->present) return std::nullopt;
    const double product = parse_real(factor->value, "factor") * static_cast<double>(*trained_);
    if (!(product >= 1 && product <= static_cast<double>(max_position) && product == std::floor(product))) return std::nullopt;
    return static_cast<std::int64_t>(product);
  }

  void put_reach() {
    const std::string_view field = reach_field();
    if (field.empty() || given(how_.settings, field)) return;
    if (const auto positions = reach()) made_->set(field, print(*positions));
  }

  void put_length() {
    const auto fields = made_->fields();
    // The length that a config declares moves with the factor; that of a table, and that of the dynamic rules, stays.
    if (!how_.context && (!how_.trained || find(fields, "length") != nullptr)) return;
    const auto positions = reach();
    if (!positions) return;
    if (find(fields, "length") != nullptr && !given(how_.settings, "length")) made_->set("length", print(*positions));
    if (given(how_.settings, "positions")) return;
    // What a config declares under a rule is that rule's length; only the trained one is not to be gone below (check_directions).
    const FieldView* there = find(fields, "positions");
    if (there != nullptr) made_->set("positions", reaching(there->value, *positions, how_.force || how_.trained));
  }

  void check_directions(const std::string& method) const {
    const auto fields = made_->fields();
    const FieldView* factor = find(fields, "factor");
    const bool has_factor = factor != nullptr && factor->present;
    const auto amplitude = given(how_.settings, "attention_factor");
    rescale::check_asked({.method = method,
                          .factor = has_factor ? parse_real(factor->value, "factor") : 1,
                          .factor_said = given(how_.settings, "factor").has_value(),
                          .trained = has_factor ? trained_ : std::nullopt,
                          .context = has_factor ? how_.context : std::nullopt,
                          .attention_factor = amplitude ? std::optional(parse_real(*amplitude, "attention_factor")) : std::nullopt,
                          .force = how_.force},
                         ", and positions where the table should have fewer or more rows");
  }

  const Encoding& encoding_;
  const Rescaling& how_;
  std::vector<FieldView> before_;
  std::string now_;
  std::unique_ptr<Encoding> made_;
  std::optional<std::int64_t> trained_;
  bool at_one_ = false;
};

}  // namespace

bool takes_rules(const Encoding& encoding) { return find(encoding.fields(), "method") != nullptr; }

bool is_rule_parameter(const Encoding& encoding, std::string_view field) {
  if (!takes_rules(encoding)) return false;
  const auto fields = encoding.all_fields();
  return rescale::is_magnitude(field) ||
         std::any_of(fields.begin(), fields.end(), [&](const FieldView& f) { return f.name == field && (f.name == "method" || !f.group.empty()); });
}

std::string reaching(const std::string& positions, std::int64_t context, bool force) {
  const Positions old = Positions::parse(positions);
  if (!old.is_range() || old.step() < 0)
    fail_usage(fmt::format("{} {} have no longer form that ends with context {}; give positions, those of the result",
                           old.is_range() ? "descending positions" : "listed positions", short_text(positions), context));
  refuse_fewer(context, old.length(), force);
  if (context <= old.start()) fail_usage(fmt::format("context {} ends before the first position, {}; give positions", context, old.start()));
  return Positions::range(old.start(), context, old.step()).text();
}

Rescaled rescaled(const Encoding& encoding, const Rescaling& how) {
  if (how.context && *how.context < 1) fail_usage(fmt::format("context must be at least 1, got {}", *how.context));
  Rescaled out = takes_rules(encoding) ? Ruled(encoding, how).make() : longer(encoding, how);
  const auto fields = out.encoding->fields();
  out.changes = changes_text(encoding.fields(), fields) + out.changes;
  // The dynamic rules.
  if (const FieldView* length = find(fields, "length"); length != nullptr && !length->group.empty() && !length->present)
    out.changes += "; the frequencies follow the largest position, and up to the trained length they are the plain ones";
  return out;
}

}  // namespace posenc
