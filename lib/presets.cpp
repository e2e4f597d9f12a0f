#include "posenc/presets.hpp"

#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc {

std::span<const Preset> presets() {
  static const std::vector<Preset> list{
      {"transformers", "rope", "cos and sin as LlamaRotaryEmbedding.forward returns them: tiled, full width",
       "modeling_llama.py: emb = cat(freqs, freqs)", {{"layout", "half"}}, DType::f32, {}},
      {"vllm", "rope", "cos_sin_cache [position, rotary_dim] = [cos | sin] in the model's bfloat16",
       "rotary_embedding: _compute_cos_sin_cache", {{"layout", "cache"}}, DType::bf16, {{"cos_sin", "cos_sin_cache"}}},
      {"flashinfer", "rope", "cos_sin_cache [position, rotary_dim] = [cos | sin], which its kernels want in f32",
       "apply_rope_with_cos_sin_cache_inplace", {{"layout", "cache"}}, DType::f32, {{"cos_sin", "cos_sin_cache"}}},
      {"llama.cpp", "rope", "rope_freqs.weight [pair]: what each angle is divided by", "ggml_rope_ext: freq_factors",
       {{"layout", "divisors"}}, DType::f32, {{"rope_freqs", "rope_freqs.weight"}}},
      {"onnxruntime", "rope", "cos_cache, sin_cache [position, rotary_dim/2] of com.microsoft.RotaryEmbedding",
       "contrib operators: RotaryEmbedding", {{"layout", "half-width"}}, DType::f32, {{"cos", "cos_cache"}, {"sin", "sin_cache"}}},
      {"onnx", "rope", "cos_cache, sin_cache [position, rotary_dim/2] of ai.onnx RotaryEmbedding, opset 23",
       "ONNX operators: RotaryEmbedding-23", {{"layout", "half-width"}}, DType::f32, {{"cos", "cos_cache"}, {"sin", "sin_cache"}}},
      {"tensorrt-llm", "rope", "rotary_cos_sin [position, pair, (cos, sin)]; the plugin takes the same values flattened to [1, N]",
       "create_sinusoidal_positions_for_attention_plugin", {{"layout", "complex"}}, DType::f32,
       {{"freqs_cis", "rotary_cos_sin"}}, ComplexForm::pair},
  };
  return list;
}

const Preset& parse_preset(std::string_view name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset;
    names.emplace_back(preset.name);
  }
  fail_usage("--for wants " + one_of(names) + ", got " + quoted_word(name) + did_you_mean(name, names));
}

}  // namespace posenc
