// Another method in the place of one that a config or a spec has, where no lengthening is asked for: --method after --config.
#include <fmt/format.h>

#include <algorithm>

#include "posenc/error.hpp"
#include "posenc/rescale.hpp"
#include "posenc/spec.hpp"
#include "posenc/text.hpp"
#include "rescale/plain.hpp"
#include "rescale/successor.hpp"
#include "rescale/yarn_magnitude.hpp"

namespace posenc {
namespace {

using rescale::trained_fields;

bool is_trained(std::string_view name) { return std::find(trained_fields.begin(), trained_fields.end(), name) != trained_fields.end(); }

const FieldView* find(const std::vector<FieldView>& fields, std::string_view name) {
  const auto it = std::find_if(fields.begin(), fields.end(), [&](const FieldView& f) { return f.name == name; });
  return it == fields.end() ? nullptr : &*it;
}

// Under which name the new rule has this parameter; rules spell the trained length in two ways. Empty: not at all.
std::string_view name_in(const std::vector<FieldView>& fields, std::string_view name) {
  const auto has = [&](std::string_view wanted) {
    const FieldView* f = find(fields, wanted);
    return f != nullptr && !f->group.empty();
  };
  if (has(name)) return name;
  if (is_trained(name))
    for (const std::string_view other : trained_fields)
      if (has(other)) return other;
  return {};
}

bool set(Encoding& encoding, std::string_view field, const std::string& text) {
  auto tried = encoding.clone();
  try {
    tried->set(field, text);
  } catch (const Error&) {
    return false;  // a choice that only the old rule knows
  }
  encoding.set(field, text);
  return true;
}

// The factor on the attention scale is not in the table: it follows from the factor and mscale_all_dim (DeepSeek). Where it does, it
// follows the new ones; what was done, else "".
std::string follow_softmax(Encoding& encoding, const rescale::Settings& settings) {
  const auto before = encoding.fields();
  const FieldView *softmax = find(before, "softmax_multiplier"), *factor = find(before, "factor"), *all = find(before, "mscale_all_dim");
  for (const FieldView* f : {softmax, factor, all})
    if (f == nullptr || !f->present) return "";
  const auto said = [&](const FieldView& f) {
    for (const auto& [field, text] : settings)
      if (field == f.name) return text;
    return f.value;
  };
  const auto multiplier = [](const std::string& factor_text, const std::string& all_text) {
    const double g = rescale::yarn_magnitude(parse_real(factor_text, "factor"), parse_real(all_text, "mscale_all_dim"));
    return print(g * g);
  };
  const std::string now = multiplier(said(*factor), said(*all));
  if (said(*softmax) != softmax->value || multiplier(factor->value, all->value) != softmax->value || now == softmax->value) return "";
  encoding.set("softmax_multiplier", now);
  return fmt::format("softmax_multiplier {} follows factor {} (was {})", now, said(*factor), softmax->value);
}

std::string shown(const FieldView& f) { return fmt::format("{} {}", f.name, f.value.size() > 40 ? f.value.substr(0, 37) + "..." : f.value); }

}  // namespace

Rescaled with_method(const Encoding& encoding, const std::vector<std::pair<std::string, std::string>>& settings) {
  const auto said = [&](std::string_view name) { return std::any_of(settings.begin(), settings.end(), [&](const auto& s) { return s.first == name; }); };
  const auto before = encoding.fields();
  const FieldView* now = find(before, "method");
  Rescaled out{encoding.clone(), ""};
  if (now == nullptr) return out;
  if (!said("method")) {
    out.changes = follow_softmax(*out.encoding, settings);
    return out;
  }
  for (const auto& [field, text] : settings)
    if (field == "method") out.encoding->set(field, text);
  const std::string method = find(out.encoding->fields(), "method")->value;
  if (method == now->value) {
    out.changes = follow_softmax(*out.encoding, settings);
    return out;
  }
  out.encoding = make_encoding(encoding.name());
  rescale::Settings own;
  std::vector<const FieldView*> of_rule;
  for (const FieldView& f : before) {
    if (!f.present || f.name == "method" || said(f.name)) continue;
    if (f.group.empty() && (now->value == rescale::Plain::name || !rescale::is_magnitude(f.name)))
      own.emplace_back(f.name, f.value);
    else
      of_rule.push_back(&f);
  }
  own.emplace_back("method", method);
  apply(*out.encoding, own);
  const auto after = out.encoding->fields();
  std::vector<std::string> stays, goes;
  for (const FieldView* f : of_rule) {
    const std::string_view name = f->group.empty() ? std::string_view() : name_in(after, f->name);
    const bool kept = !name.empty() && !said(name) && set(*out.encoding, name, f->value);
    if (f->value != f->fallback && !(said(name) && !name.empty())) (kept ? stays : goes).push_back(shown(*f));
  }
  if (stays.empty() && goes.empty()) return out;
  out.changes = fmt::format("method {} in the place of {}", method, now->value);
  if (!stays.empty()) out.changes += fmt::format("; {} {}", fmt::join(stays, ", "), stays.size() == 1 ? "stays" : "stay");
  if (!goes.empty()) out.changes += fmt::format("; {} dropped with the rule that {} belonged to", fmt::join(goes, ", "), goes.size() == 1 ? "it" : "they");
  return out;
}

}  // namespace posenc
