// Finding a tensor by its name, and saying which there are when there is none of it.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "posenc/error.hpp"
#include "posenc/tensor.hpp"
#include "posenc/text.hpp"

namespace posenc::detail {

inline std::vector<std::string> names_of(const std::vector<Tensor>& tensors) {
  std::vector<std::string> names;
  for (const Tensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

/// Its place among `tensors`; an empty name is the only one. Throws usage.
inline std::size_t tensor_called(const std::vector<Tensor>& tensors, std::string_view name) {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == name || (name.empty() && tensors.size() == 1)) return i;
  const std::vector<std::string> names = names_of(tensors);
  fail_usage(fmt::format("there is no tensor {} here; there {} {}{}", quoted_word(name), names.size() == 1 ? "is" : "are", one_of(names), did_you_mean(name, names)));
}

}  // namespace posenc::detail
