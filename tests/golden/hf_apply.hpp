// Rotated queries and keys of golden/hf (family rope_apply): transformers on a CPU in binary32, from a config.
#pragma once
#include "hf_rope.hpp"

namespace golden {

/// How a model's code turns its vectors.
struct Turning {
  std::string model_type, layout, pairing, axes;
};

inline Turning turning(const std::string& id) {
  const std::string heads_last = "batch,position,head,lane";
  if (id == "apply_llama_half") return {"llama", "half", "half", ""};
  if (id == "apply_glm_partial_interleaved") return {"glm", "interleaved", "interleaved", ""};
  if (id == "apply_neox_partial_half") return {"gpt_neox", "half", "half", ""};
  if (id == "apply_cohere_interleaved") return {"cohere", "interleaved", "interleaved", ""};
  if (id == "apply_deepseek_v3_interleave") return {"llama", "half", "interleaved-to-half", ""};  // its config gives head_dim, not qk_rope_head_dim
  if (id == "apply_llama4_complex") return {"llama4_text", "interleaved", "interleaved", heads_last};
  if (id == "apply_gptj_interleaved") return {"", "interleaved", "interleaved", heads_last};
  return {};
}

/// y = x_a cos + x_b sin. The golden table and ours differ as rule (c) says, each in its column; the two products and the
/// sum round once each on both sides: 4 half_ulp of |x_a| + |x_b| at most, times the amplitude.
inline Rule turned_rule(const Command& command, const Command& inv_freq, const Values& x, const Values& positions, const Turning& t, double error, double amplitude) {
  const Values frequencies = produced(inv_freq.as("f64"));
  const std::size_t pairs = frequencies.size();
  const auto input = open_golden(command.apply.at(0).second);
  const auto& shape = input->tensors()[0].shape;
  const auto lanes = static_cast<std::size_t>(shape.back());
  std::vector<double> allowed;
  for (std::size_t at = 0; at < x.size(); ++at) {
    const std::size_t lane = at % lanes, row = at / lanes;
    if (lane >= 2 * pairs) {
      allowed.push_back(0);
      continue;
    }
    const std::size_t position = t.axes.empty() ? row % positions.size() : row / static_cast<std::size_t>(shape[2]) % positions.size();
    const std::size_t pair = t.pairing == "interleaved" ? lane / 2 : lane % pairs;
    const std::size_t a = t.pairing == "half" ? pair : 2 * pair, b = t.pairing == "half" ? pair + pairs : 2 * pair + 1;
    const double angle = std::fabs(positions[position] * frequencies[pair]);
    int exponent = 0;
    (void)std::frexp(angle, &exponent);
    const double table = angle * error + (angle == 0 ? 0 : std::ldexp(1.0, exponent - 25)) + 0x1p-23;
    allowed.push_back(amplitude * (std::fabs(x[row * lanes + a]) + std::fabs(x[row * lanes + b])) * (table + 4 * half_ulp));
  }
  return within(std::move(allowed), fmt::format("angle within {:.2g} relative + 1/2 ulp, products and sums rounded", error));
}

inline Checks hf_apply(const Case& c) {
  const Turning t = turning(c.id());
  REQUIRE_MESSAGE(!t.layout.empty(), c.id());
  Command command{"rope"};
  if (c.params().contains("config")) {
    command.config = c.params().at("config").dump();
    command.model_type = t.model_type;
    command.config_name = c.id() + ".json";
  } else {
    command.settings.emplace_back("head_dim", text_of(c.params().at("rotary_dim")));
  }
  const Values positions = c.params().at("positions").get<Values>();
  command = command.with({{"positions", positions_text(positions)}, {"layout", t.layout}});
  const Command inv_freq = command.with({{"layout", "inv-freq"}}).only("inv_freq");
  const double amplitude = produced(command.with({{"layout", "half-width"}, {"positions", "1"}}).only("cos").as("f64")).at(0);
  Checks checks;
  for (const std::string& output : c.outputs()) {
    const std::string input = "in_" + (output == "out" ? std::string("x") : output.substr(0, 1));
    Command turned = command;
    turned.apply = {{"input", c.path(input)}, {"pairing", t.pairing}};
    if (!t.axes.empty()) turned.apply.emplace_back("input-axes", t.axes);
    const Values x = load(folder + c.path(input));
    checks.push_back({output, turned, turned_rule(turned, inv_freq, x, positions, t, frequency_error(c, inv_freq), amplitude)});
    checks.push_back({output, turned.as("f32", "float32"), turned_rule(turned, inv_freq, x, positions, t, step_error(c, inv_freq), amplitude)});
  }
  return checks;
}

}  // namespace golden
