// Which kinds of layers a model has and which layers are of which kind.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "context/lookup.hpp"
#include "context/model_classes.hpp"

namespace posenc::config {

struct LayerGroup {
  std::string type;                  ///< "" when all layers are alike
  std::vector<std::int64_t> layers;  ///< empty when the number of layers is not known, or all
};

/// From layer_types or no_rope_layers in the file, else from the class's pattern, else one group.
[[nodiscard]] std::vector<LayerGroup> plan_layers(const Lookup& model, const ModelClass* known);

/// True for kinds of layers that have no position encoding in any model (linear attention, convolution).
[[nodiscard]] bool never_rotates(std::string_view layer_type);

/// ModernBERT's global and local attention are full and sliding attention in transformers 5.
[[nodiscard]] bool same_layer_type(std::string_view a, std::string_view b);
[[nodiscard]] std::string_view new_layer_type(std::string_view layer_type);

/// A name made of letters, digits, _ and -, as it may become part of a tensor's name; else an error that names `origin`.
void check_layer_type(const Lookup& model, std::string_view layer_type, std::string_view origin);

/// "layers 5, 11, 17, ..., 59 (10 of 60)".
[[nodiscard]] std::string describe_layers(const std::vector<std::int64_t>& layers, std::int64_t of);

}  // namespace posenc::config
