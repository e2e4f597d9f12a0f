// Which tensors take part, how pairs lie in them, and the result behind the seam.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "apply/evaluators.hpp"
#include "posenc/error.hpp"
#include "posenc/names.hpp"
#include "posenc/text.hpp"
#include "stream/tensor_called.hpp"

namespace posenc {
namespace {

using detail::names_of;
using detail::tensor_called;

bool has(const std::vector<Tensor>& tensors, const std::string& name) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; });
}

// "" or "short.": the frequency set whose cos and sin are used.
std::string set_prefix(const std::vector<Tensor>& tensors, const std::string& set) {
  if (!set.empty()) return set + ".";
  if (has(tensors, "cos") && has(tensors, "sin")) return "";
  std::vector<std::string> sets;
  for (const Tensor& tensor : tensors)
    if (tensor.name.ends_with(".cos")) sets.push_back(tensor.name.substr(0, tensor.name.size() - 4));
  if (sets.size() > 1) fail_usage(fmt::format("there are several frequency sets; say which with set {}", one_of(sets)));
  if (sets.size() == 1) return sets[0] + ".";
  fail_usage(fmt::format("rotate wants tensors cos and sin; there {} {} (choose a layout that has cos and sin)", tensors.size() == 1 ? "is" : "are", one_of(names_of(tensors))));
}

// Whether the tables turn pairs of lanes: they have cos, or the encoding knows layouts of pairs (and was given another one).
bool rotary(const Encoding& encoding, const std::vector<Tensor>& tensors) {
  const auto fields = encoding.fields();
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.name == "cos" || t.name.ends_with(".cos"); }) ||
         std::any_of(fields.begin(), fields.end(), [](const FieldView& field) {
           return field.name == "layout" && std::any_of(field.choices.begin(), field.choices.end(), [](const auto& choice) { return choice.first == "half"; });
         });
}

// What the encoding's own parameters say about how pairs lie.
std::optional<Pairing> pairing_said_by(const Encoding& encoding) {
  std::optional<Pairing> out;
  for (const FieldView& field : encoding.fields()) {
    if (field.name == "pair_stride" && field.present) return field.value == "1" ? Pairing::interleaved : Pairing::half;
    if (field.name == "layout" && field.value == "interleaved") out = Pairing::interleaved;
    if (field.name == "layout" && (field.value == "half" || field.value == "half-width")) out = Pairing::half;
  }
  return out;
}

class Applied final : public Encoding {
 public:
  Applied(std::shared_ptr<const Encoding> tables, Application application, std::shared_ptr<const Input> input)
      : tables_(std::move(tables)), application_(std::move(application)), input_(std::move(input)) {
    tables_->check();
    const std::vector<Tensor> tensors = tables_->tensors();
    if (!application_.operation) application_.operation = rotary(*tables_, tensors) && application_.tensor.empty() ? Operation::rotate
                                : tensors.size() == 1 && tensors[0].name == "scale"                   ? Operation::multiply
                                                                                                    : Operation::add;
    if (turns()) (void)set_prefix(tensors, application_.set);
    if (turns() && !application_.pairing) application_.pairing = pairing_said_by(*tables_);
    if (turns() && !application_.pairing)
      fail_usage("how do the pairs of lanes lie? say pairing half, interleaved, interleaved-to-half or axis-halves");
    if (turns() && !application_.tensor.empty()) fail_usage(fmt::format("rotate takes cos and sin; leave tensor {} out", quoted_word(application_.tensor)));
    if (!turns() && !application_.set.empty()) fail_usage("a frequency set is for rotate; name the tensor instead");
    if (!turns() && application_.pairing) fail_usage(fmt::format("pairing is for rotate; {} takes lanes one by one", enum_name(*application_.operation)));
    if (!application_.axes.empty() && application_.axes.size() != input_->shape().size())
      fail_usage(fmt::format("{} axis name{} for an array of {} axes, shape [{}]", application_.axes.size(), application_.axes.size() == 1 ? "" : "s",
                             input_->shape().size(), fmt::join(input_->shape(), ", ")));
    for (std::size_t i = 0; i < application_.axes.size(); ++i) {
      if (std::count(application_.axes.begin(), application_.axes.end(), application_.axes[i]) > 1) fail_usage(fmt::format("axis {} is named twice", application_.axes[i]));
      if (turns() && i + 1 < application_.axes.size() && (application_.axes[i] == "lane" || application_.axes[i] == "pair"))
        fail_usage(fmt::format("rotate turns pairs of lanes along the last axis; {} is axis {} of {}", application_.axes[i], i + 1, application_.axes.size()));
    }
    y_.name = "y";
    for (std::size_t i = 0; i < input_->shape().size(); ++i)
      y_.axes.push_back({application_.axes.empty() ? fmt::format("axis{}", i) : application_.axes[i], input_->shape()[i]});
  }

  std::string_view name() const override { return "apply"; }
  std::string_view summary() const override { return "an encoding put to use on an array"; }
  std::string_view source() const override { return tables_->source(); }
  std::unique_ptr<Encoding> clone() const override { return std::make_unique<Applied>(*this); }
  // What is recorded of the operation; nothing of it can be set.
  std::vector<FieldView> fields() const override {
    std::vector<FieldView> out;
    const auto add = [&](const char* name, std::string value) {
      FieldView view;
      view.name = name;
      view.type = "choice";
      view.present = !value.empty();
      view.value = std::move(value);
      if (view.present) out.push_back(std::move(view));
    };
    add("operation", std::string(enum_name(*application_.operation)));
    add("pairing", application_.pairing ? std::string(enum_name(*application_.pairing)) : "");
    add("input_axes", fmt::format("{}", fmt::join(application_.axes, ",")));
    add("set", application_.set);
    add("tensor", application_.tensor);
    return out;
  }
  std::vector<FieldView> all_fields() const override { return {}; }
  void set(std::string_view field, std::string_view) override { fail_usage(fmt::format("an applied encoding has no parameter {}", field)); }
  // Nothing can be set: what applied() found right stays so.
  void check() const override {}
  std::vector<Tensor> tensors() const override { return {y_}; }
  std::vector<Law> laws() const override { return {}; }

  std::unique_ptr<Evaluator> evaluator() const override {
    detail::Operands operands{tables_, tables_->tensors(), tables_->evaluator(), input_};
    const std::vector<Tensor>& tensors = operands.tensors;
    if (turns()) {
      const std::string prefix = set_prefix(tensors, application_.set);
      const std::size_t cos = tensor_called(tensors, prefix + "cos"), sin = tensor_called(tensors, prefix + "sin");
      for (const std::size_t t : {cos, sin}) check_kind(tensors[t]);
      const auto sizes = [](const Tensor& t) {
        std::vector<std::int64_t> out;
        for (const Axis& axis : t.axes) out.push_back(axis.size);
        return out;
      };
      if (sizes(tensors[cos]) != sizes(tensors[sin]))
        fail_usage(fmt::format("cos has shape [{}] and sin [{}]; they must be alike", fmt::join(sizes(tensors[cos]), ", "), fmt::join(sizes(tensors[sin]), ", ")));
      return detail::rotating(std::move(operands), cos, sin, *application_.pairing, application_.operation == Operation::rotate_back, application_.axes);
    }
    if (application_.tensor.empty() && tensors.size() != 1)
      fail_usage(fmt::format("{} takes one tensor; there are {}; say which with tensor", enum_name(*application_.operation), one_of(names_of(tensors))));
    const std::size_t t = tensor_called(tensors, application_.tensor);
    check_kind(tensors[t]);
    if (!detail::lacks_last_axis(tensors[t], application_.axes) && tensors[t].columns() != input_->shape().back())
      fail_usage(fmt::format("{} has {} {}s, the input's last axis has {} (shape [{}])", tensors[t].name, tensors[t].columns(), tensors[t].axes.back().name,
                             input_->shape().back(), fmt::join(input_->shape(), ", ")));
    return detail::combining(std::move(operands), t, *application_.operation, application_.axes);
  }

 private:
  [[nodiscard]] bool turns() const { return application_.operation == Operation::rotate || application_.operation == Operation::rotate_back; }
  static void check_kind(const Tensor& tensor) {
    if (tensor.kind == Kind::integer) fail_usage(fmt::format("{} holds row numbers, not values to apply", tensor.name));
    if (tensor.kind == Kind::complex) fail_usage(fmt::format("{} is complex; choose a layout of real tensors", tensor.name));
    if (tensor.axes.empty()) fail_usage(fmt::format("{} is a single number", tensor.name));
  }

  std::shared_ptr<const Encoding> tables_;
  Application application_;
  std::shared_ptr<const Input> input_;
  Tensor y_;
};

}  // namespace

std::string pairing_remark(const Encoding& tables, Pairing pairing) {
  std::string layout;
  for (const FieldView& field : tables.fields())
    if (field.name == "layout") layout = field.value;
  if (layout != "half" && layout != "interleaved" && layout != "axis-halves") return "";
  const bool agree = layout == "half"          ? pairing == Pairing::half || pairing == Pairing::interleaved_to_half
                     : layout == "interleaved" ? pairing == Pairing::interleaved
                                               : pairing == Pairing::axis_halves;
  return agree ? "" : fmt::format("layout {} with pairing {}: each lane takes the column of its own number, and the result is no rotation", layout, enum_name(pairing));
}

std::shared_ptr<const Encoding> applied(std::shared_ptr<const Encoding> tables, const Application& application, std::shared_ptr<const Input> input) {
  auto out = std::make_shared<Applied>(std::move(tables), application, std::move(input));
  (void)out->evaluator();  // finds what does not meet
  return out;
}

}  // namespace posenc
