// What the tests of posenc rescale share: models, and tables made on the spot.
#pragma once
#include <cmath>
#include <span>

#include "cli/process.hpp"
#include "support/arrays.hpp"
#include "support/configs.hpp"

namespace posenc::test {

inline const std::string llama = configs + "meta-llama--Llama-2-7b-hf", gemma = configs + "google--gemma-3-4b-it",
                         llama31 = configs + "meta-llama--Llama-3.1-8B";

/// A file of one array.
inline void save(const std::string& path, const std::vector<std::int64_t>& shape, const std::vector<double>& values, const std::string& name = "t") {
  FilePlan plan;
  plan.tensors = {{name, DType::f64, shape, {}, false, ""}};
  const auto writer = formats::create(formats::format_of_suffix(path), path, plan);
  writer->write(0, 0, std::as_bytes(std::span(values)));
  writer->finish();
}

/// Numbers as good as any, none of them special: k sqrt(2) mod 1.
inline std::vector<double> numbers(std::int64_t count) {
  std::vector<double> out;
  for (std::int64_t k = 0; k < count; ++k) out.push_back(std::fmod(static_cast<double>(k + 1) * 1.4142135623730951, 1.0) - 0.5);
  return out;
}

/// A rope of 8 lanes and 32 positions, as one NPY file whose bytes are its values.
inline std::string small_rope(const Scratch& scratch, const Words& more = {}) {
  const std::string path = scratch / "rope.npy";
  done(plus({"generate", "rope", "--head-dim", "8", "--positions", "32", "--layout", "cache", "-o", path, "--quiet"}, more));
  return path;
}

}  // namespace posenc::test
