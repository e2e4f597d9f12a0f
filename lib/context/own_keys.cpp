#include "context/own_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "context/dialect.hpp"
#include "posenc/architectures.hpp"
#include "posenc/text.hpp"

namespace posenc::config {
namespace {

const OwnKeys& own(const OpenedConfig& c) { return c.known->own; }

// 10000 times a double is not every double: the one that comes out right, else the nearest.
double in_units(double base, double unit) {
  const double quotient = base / unit;
  for (const double near : {quotient, std::nextafter(quotient, 0.0), std::nextafter(quotient, std::numeric_limits<double>::infinity())})
    if (unit * near == base) return near;
  return quotient;
}

}  // namespace

bool by_own_keys(const OpenedConfig& c, bool v5) { return c.known != nullptr && !c.known->scales && !(v5 && c.known->scales_in_5); }

std::optional<std::string> own_refusal(const OpenedConfig& c, std::string_view method, const std::vector<std::string>& base_rules) {
  const OwnKeys& keys = own(c);
  std::vector<std::string> methods;
  if (!keys.base.empty()) methods = base_rules;
  if (!keys.dynamic.empty()) methods.emplace_back("dynamic");
  if (std::find(methods.begin(), methods.end(), method) != methods.end()) return std::nullopt;
  constexpr std::string_view tables = "its tables under any rule: posenc generate --config --method";
  if (methods.empty()) {
    const Architecture* architecture = architecture_of(c.known->model_type);
    return fmt::format("the code of {} has its base in it and reads {}, which is no key about frequencies: no method can be said in its config ({})", c.known->model_type,
                       architecture == nullptr ? "lengths" : fmt::format("{}", fmt::join(architecture->keys, ", ")), tables);
  }
  return fmt::format("the code of {} reads {}{}{} and no rope_scaling: {} can be said so, method {} cannot ({}{})", c.known->model_type, keys.base,
                     keys.dynamic.empty() ? "" : " and ", keys.dynamic, one_of(methods), quoted_word(method), c.known->scales_in_5 ? "dialect 5 takes the others; " : "", tables);
}

double own_base(const OpenedConfig& c, double base) { return own(c).unit * in_units(base, own(c).unit); }

std::string with_own_base(std::string text, const OpenedConfig& c, double base) {
  const std::string_view key = own(c).base;
  const std::string number = json_number(in_units(base, own(c).unit));
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) return with_key(std::move(text), c, key, number);
  const std::string_view part = key.substr(0, dot), inner = key.substr(dot + 1);
  const auto edit = [&](const Place& place) {
    const std::string unit = unit_of(text);
    text = edited(text, place.name(), [&](ObjectText& o) {
      const auto old = o.get(part);
      const std::string kept = old && old->starts_with('{') ? std::string(*old) : std::string();
      ObjectText block = kept.empty() ? ObjectText::inside(o, unit) : ObjectText(kept);
      block.set(inner, number);
      o.set(part, block.text());
    });
  };
  bool written = false;
  for (const Place& place : c.text)
    if (place.object->contains(std::string(part))) edit(place), written = true;
  if (!written) edit(c.text.front());
  return text;
}

std::string with_own_dynamic(std::string text, const OpenedConfig& c, std::optional<double> factor) {
  const OwnKeys& keys = own(c);
  const std::string value = keys.dynamic_is_flag ? (factor ? "true" : "false") : factor ? json_number(*factor) : "null";
  return with_key(std::move(text), c, keys.dynamic, value);
}

std::string with_key(std::string text, const OpenedConfig& c, std::string_view key, const std::string& value) {
  bool written = false;
  for (const Place& place : c.text)
    if (place.object->contains(std::string(key))) text = edited(text, place.name(), [&](ObjectText& o) { o.set(key, value), written = true; });
  if (!written) text = edited(text, c.text.front().name(), [&](ObjectText& o) { o.set(key, value); });
  return text;
}

std::vector<std::string> own_remarks(OpenedConfig& c, std::string_view method, std::int64_t trained) {
  std::vector<std::string> out;
  const OwnKeys& keys = own(c);
  const bool dynamic = method == "dynamic";
  const Lookup model = c.model();
  if (dynamic && keys.dynamic_is_flag)
    out.push_back(fmt::format("the dynamic rule of {} has no factor: above {} {} positions the base follows the length in use (variant qwen)", c.known->model_type, keys.trained, trained));
  if (dynamic && !keys.dynamic_is_flag)
    out.push_back(fmt::format("vLLM does not read {} and serves {}", keys.dynamic, keys.trained));
  if (const auto logn = model.flag({"use_logn_attn"}); keys.dynamic_is_flag && logn && logn->value)
    out.push_back(fmt::format("use_logn_attn stays on: queries beyond {} are multiplied by a logarithm, whatever the table", keys.trained));
  if (keys.unit != 1 && !dynamic && !model.has({keys.base}))
    out.push_back(fmt::format("{} is new in this file: the checkpoint's code must read it, which the first code of ChatGLM2-6B does not", keys.base));
  if (c.known->scales_in_5 && !dynamic && !model.has({parameters}))
    out.push_back(fmt::format("transformers 5 reads the base of {} in rope_parameters; ask for dialect 5 there", c.known->model_type));
  return out;
}

}  // namespace posenc::config
