#include "options.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "encodings/fields.hpp"
#include "posenc/error.hpp"
#include "posenc/names.hpp"

namespace posenc {
namespace {

using Method = ResampleMethod;
using Rows = TableRowKind;

struct Use {
  Rows rows;
  Method method;
};
// What goes together.
constexpr Use uses[] = {
    {Rows::sequence, Method::tile},     {Rows::sequence, Method::nearest},      {Rows::sequence, Method::linear},
    {Rows::sequence, Method::cubic},    {Rows::sequence, Method::hierarchical}, {Rows::sequence, Method::stretch},
    {Rows::grid, Method::nearest},      {Rows::grid, Method::linear},           {Rows::grid, Method::cubic},
    {Rows::window, Method::linear},     {Rows::window, Method::cubic},          {Rows::window, Method::geometric},
    {Rows::window, Method::geometric_spline},
    {Rows::distances, Method::replicate}, {Rows::distances, Method::linear},    {Rows::buckets, Method::rebucket},
};

// Kernels are for what has no centre.
bool has_kernel(const Resampling& how) { return (how.method == Method::linear || how.method == Method::cubic) && how.rows != Rows::distances; }

bool given(const auto& option) { return option.has_value(); }
bool given(bool option) { return option; }

void check_use(const Resampling& how) {
  std::vector<std::string> methods;
  for (const Use& use : uses) {
    if (use.rows != how.rows) continue;
    if (use.method == how.method) return;
    methods.emplace_back(enum_name(use.method));
  }
  fail_usage(fmt::format("rows {} are resized by {}, not by {}", enum_name(how.rows), one_of(methods), enum_name(how.method)));
}

// Options that nothing would look at are refused rather than dropped.
void check_unused(const Resampling& how) {
  const bool kernel = has_kernel(how), cubic = kernel && how.method == Method::cubic;
  const bool grid = how.rows == Rows::grid || how.rows == Rows::window, buckets = how.rows == Rows::buckets;
  const auto only = [&](bool used, const auto& option, std::string_view name) {
    if (!used && given(option)) fail_usage(fmt::format("{} does not go with rows {} and method {}", name, enum_name(how.rows), enum_name(how.method)));
  };
  only(kernel, how.preset, "preset");
  only(kernel || how.method == Method::nearest, how.alignment, "alignment");
  only(kernel, how.antialias, "antialias");
  only(cubic, how.cubic_a, "cubic_a");
  only(kernel, how.edges, "edges");
  only(kernel && how.rows == Rows::grid, how.scale_offset, "scale_offset");
  only(how.rows == Rows::sequence, how.length, "length");
  only(!how.grid_axes, how.prefix, "prefix");
  only(!how.grid_axes, how.extra, "extra");
  only(grid, how.height, "height");
  only(grid, how.width, "width");
  only(grid, how.new_height, "new_height");
  only(grid, how.new_width, "new_width");
  only(grid, how.grid_axes, "grid_axes");
  only(how.method == Method::hierarchical, how.alpha, "alpha");
  only(how.method == Method::stretch, how.keep, "keep");
  only(how.rows == Rows::distances, how.new_distance, "new_distance");
  only(buckets, how.bidirectional, "bidirectional");
  only(buckets, how.max_distance, "max_distance");
  only(buckets, how.new_num_buckets, "new_num_buckets");
  only(buckets, how.new_max_distance, "new_max_distance");
  only(buckets, how.factor, "factor");
}

// The preset is not overruled in silence.
void check_preset(const Resampling& how) {
  if (!how.preset) return;
  Resampling alone = how;
  alone.alignment.reset(), alone.antialias.reset(), alone.cubic_a.reset(), alone.edges.reset();
  const resampling::Kernel preset = resampling::kernel_of(alone), all = resampling::kernel_of(how);
  const auto same = [&](bool equal, std::string_view name) {
    if (!equal) fail_usage(fmt::format("preset {} has another {}; leave one of them out", enum_name(*how.preset), name));
  };
  same(preset.alignment == all.alignment, "alignment");
  same(preset.antialias == all.antialias, "antialias");
  same(preset.a == all.a, "cubic_a");
  same(preset.edges == all.edges, "edges");
}

}  // namespace

std::vector<FieldView> Resampling::views() const { return detail::views(*this); }

void Resampling::set(std::string_view field, std::string_view text) {
  if (detail::assign(*this, field, text)) return;
  std::vector<std::string> names;
  for (const FieldView& view : views()) names.push_back(view.name);
  fail_usage(fmt::format("resampling has no parameter {}{}", quoted_word(field), did_you_mean(field, names)));
}

void Resampling::check() const {
  check_use(*this);
  check_unused(*this);
  Resampling::fields(*this, [](const Field& field, const auto& member) {
    const auto number = [&](double value) { detail::check_range(field.name, field.range, value); };
    using Member = std::decay_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, std::optional<std::int64_t>> || std::is_same_v<Member, std::optional<double>>)
      if (member) number(static_cast<double>(*member));
  });
  check_preset(*this);
  if (rows == Rows::sequence && !length) fail_usage("length is missing: the positions of the new table");
  if (rows == Rows::distances && !new_distance) fail_usage("new_distance is missing: the k of the new table");
  if ((rows == Rows::grid || rows == Rows::window) && !(new_height && new_width))
    fail_usage(fmt::format("new_height and new_width are missing: the new {}", enum_name(rows)));
  if (grid_axes && !axis) fail_usage("axis is missing: the first of the grid's two axes");
  if (height.has_value() != width.has_value()) fail_usage("height and width of the old table go together");
  if (has_kernel(*this)) {
    const resampling::Kernel kernel = resampling::kernel_of(*this);
    if (kernel.alignment != Alignment::half_pixel && (kernel.antialias || kernel.edges == EdgeRule::renormalize))
      fail_usage(fmt::format("alignment {} has neither antialias nor renormalized edges anywhere; use half-pixel", enum_name(kernel.alignment)));
    if (kernel.alignment != Alignment::half_pixel && kernel.scale_offset != 0) fail_usage("scale_offset goes with alignment half-pixel");
    if (kernel.antialias && kernel.edges == EdgeRule::clamp)
      fail_usage("antialias needs edges renormalize: the weights of a widened kernel do not add up to 1");
  }
  if (method == Method::nearest && alignment == Alignment::corners)
    fail_usage("nearest wants alignment stride (torch nearest) or half-pixel (nearest-exact)");
  if (method == Method::hierarchical && alpha == 0.5)
    fail_usage("alpha 0.5 gives rows i n + j and j n + i the same values; use another, such as 0.4");
}

namespace resampling {

Kernel kernel_of(const Resampling& how) {
  Kernel kernel{.cubic = how.method == Method::cubic};
  const ResamplePreset preset = how.preset.value_or(ResamplePreset::torch);
  const bool widens = preset == ResamplePreset::torch_aa || preset == ResamplePreset::jax;
  kernel.alignment = how.alignment.value_or(Alignment::half_pixel);
  kernel.antialias = how.antialias.value_or(widens);
  const bool keys = kernel.antialias || preset != ResamplePreset::torch;
  kernel.a = how.cubic_a.value_or(keys ? -0.5 : -0.75);
  kernel.edges = how.edges.value_or(keys ? EdgeRule::renormalize : EdgeRule::clamp);
  kernel.scale_offset = how.scale_offset.value_or(0);
  return kernel;
}

std::string method_text(const Resampling& how) {
  std::string text(enum_name(how.method));
  if (has_kernel(how)) {
    const Kernel kernel = kernel_of(how);
    text += fmt::format(", {}", enum_name(kernel.alignment));
    if (kernel.cubic) text += fmt::format(", a = {}", print(kernel.a));
    text += fmt::format(", {}edges {}", kernel.antialias ? "antialias, " : "", enum_name(kernel.edges));
    if (kernel.scale_offset != 0) text += fmt::format(", scale_offset {}", print(kernel.scale_offset));
  }
  if (how.method == Method::nearest) text += fmt::format(", {}", enum_name(how.alignment.value_or(Alignment::stride)));
  if (how.method == Method::hierarchical) text += fmt::format(", alpha {}", print(how.alpha.value_or(0.4)));
  if (how.method == Method::stretch) text += fmt::format(", {} kept", how.keep.value_or(20));
  return text;
}

}  // namespace resampling
}  // namespace posenc
