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
struct RopeRule : Given<std::string> {
  std::string word{};  ///< as the file spells it; "" where it names none
};
[[nodiscard]] RopeRule rope_rule(const Lookup& block);

/// "yarn" where it means longrope: the class of Phi-3 reads "su" and "yarn" of its first files so (transformers, Phi3Config).
[[nodiscard]] bool is_old_longrope(std::string_view word, std::string_view model_type);

}  // namespace posenc::config
