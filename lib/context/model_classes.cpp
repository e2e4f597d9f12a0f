#include "context/model_classes.hpp"

#include <algorithm>

namespace posenc::config {
namespace {

constexpr ModelClass classes[] = {
#include "context/model_classes.inc"
};

}  // namespace

std::span<const ModelClass> model_classes() { return classes; }

const ModelClass* find_model_class(std::string_view model_type) {
  const auto* it =
      std::find_if(std::begin(classes), std::end(classes), [&](const ModelClass& c) { return c.model_type == model_type; });
  return it == std::end(classes) ? nullptr : it;
}

}  // namespace posenc::config
