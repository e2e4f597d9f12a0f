// The dictionaries rope_scaling and rope_parameters: flat or one per layer type, and how their rule is named.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "context/lookup.hpp"

namespace posenc::config {

struct RopeBlocks {
  std::vector<Place> flat;                               ///< for all layers
  std::vector<std::pair<std::string, Place>> per_layer;  ///< a null object: these layers do not rotate
  [[nodiscard]] bool nested() const { return !per_layer.empty(); }
};

[[nodiscard]] RopeBlocks find_rope_blocks(const Lookup& model);

/// The rule that a block names, in posenc's spelling: default, linear, dynamic, yarn, llama3, longrope, proportional.
[[nodiscard]] Given<std::string> rope_rule(const Lookup& block);

}  // namespace posenc::config
