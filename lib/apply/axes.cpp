#include "apply/axes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc::detail {
namespace {

std::string axes_text(const Tensor& table) {
  std::string out;
  for (const Axis& axis : table.axes) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", axis.name, axis.size);
  return out;
}

}  // namespace

bool lacks_last_axis(const Tensor& table, const std::vector<std::string>& names) {
  return !names.empty() && std::find(names.begin(), names.end() - 1, table.axes.back().name) != names.end() - 1;
}

std::vector<std::size_t> match_axes(const Tensor& table, const std::vector<std::int64_t>& shape, const std::vector<std::string>& names) {
  const std::size_t leading = table.axes.size() - (lacks_last_axis(table, names) ? 0 : 1);
  std::vector<std::size_t> at(leading);
  for (std::size_t i = 0; i < leading; ++i) {
    const Axis& axis = table.axes[i];
    if (names.empty()) {
      if (shape.size() < table.axes.size())
        fail_usage(fmt::format("{} has the axes [{}], more than the input's shape [{}]", table.name, axes_text(table), fmt::join(shape, ", ")));
      at[i] = shape.size() - table.axes.size() + i;
    } else {
      const auto found = std::find(names.begin(), names.end() - 1, axis.name);
      if (found == names.end() - 1)
        fail_usage(fmt::format("{} has an axis {}, which is not among the axes given before the last, {}", table.name, axis.name, one_of(std::span(names).first(names.size() - 1))));
      at[i] = static_cast<std::size_t>(found - names.begin());
    }
    if (shape[at[i]] != axis.size)
      fail_usage(fmt::format("{} has {}, the input has {} along that axis (shape [{}]{})", table.name,
                             axis.name.starts_with("axis") ? fmt::format("{} along {}", axis.size, axis.name) : fmt::format("{} {}s", axis.size, axis.name), shape[at[i]],
                             fmt::join(shape, ", "),
                             names.empty() ? "; axes name the input's axes where they lie otherwise" : ""));
  }
  return at;
}

RowMap::RowMap(const Tensor& table, const std::vector<std::int64_t>& shape, const std::vector<std::string>& names)
    : one_value_(lacks_last_axis(table, names)), shape_(shape.begin(), shape.end() - 1), stride_(shape_.size(), 0) {
  const std::vector<std::size_t> at = match_axes(table, shape, names);
  std::int64_t step = 1;
  for (std::size_t i = at.size(); i-- > 0;) {
    stride_[at[i]] = step;
    step *= table.axes[i].size;
  }
}

std::int64_t RowMap::operator()(std::int64_t row) const {
  std::int64_t out = 0;
  for (std::size_t i = shape_.size(); i-- > 0;) {
    out += row % shape_[i] * stride_[i];
    row /= shape_[i];
  }
  return out;
}

}  // namespace posenc::detail
