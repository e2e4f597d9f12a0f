// What a model's class knows that its config.json does not say: which encoding, how lanes are paired, defaults.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace posenc::config {

/// Which reader understands the config.
enum class Family : std::uint8_t {
  rope,      ///< rotary by the common keys
  latent,    ///< rotary on qk_rope_head_dim lanes of each query and key head (DeepSeek)
  chatglm,   ///< rotary, base 10000 times rope_ratio
  qwen,      ///< rotary with the first Qwen's own dynamic rule
  nomic,     ///< rotary_emb_* keys
  baichuan,  ///< rotary at 4096 lanes, ALiBi at 5120
  falcon,    ///< ALiBi when `alibi` says so, else rotary
  bloom,     ///< ALiBi
  mpt,       ///< ALiBi when attn_config.alibi says so, else a learned table
  t5,        ///< bucketed relative bias
  deberta,   ///< disentangled attention
  table,     ///< a learned table as long as the positions
  padded,    ///< a learned table that starts after the padding id (RoBERTa)
  opt,       ///< a learned table with two rows in front
  bart,      ///< the same in encoder and decoder
  whisper,   ///< sinusoidal encoder, learned decoder
  image,     ///< a learned table over patches
  clip,      ///< text tower and image tower, both learned
  beit,      ///< relative bias over one window
  swin,      ///< relative bias, one window per stage
  unread,    ///< known for its architecture alone
};

enum class Pairs : std::uint8_t { half, adjacent };

/// Layer i is of type `chosen` when (i + shift) is a multiple of the count under `key`, else of type `others`.
struct EveryNth {
  std::string_view key = "";
  std::int64_t count = 0;  ///< when the file does not say; 0: no pattern
  std::int64_t shift = 0;
  std::string_view chosen = "", others = "";
  std::string_view chosen_base = "rope_theta", others_base = "rope_theta";  ///< keys of their bases
};

/// The keys by which a class that reads no rope_scaling can be told of a rule all the same.
struct OwnKeys {
  std::string_view base = "";     ///< key of the base, "attn_config.rope_theta" in an object; "": the base stands in its code
  double unit = 1;                ///< the base is this times the key's value
  std::string_view dynamic = "";  ///< key that turns its dynamic rule on: true, or the factor
  bool dynamic_is_flag = false;
  std::string_view trained = "", reach = "";  ///< lengths: above which the dynamic rule acts, and for which the model is declared
};

struct ModelClass {
  std::string_view model_type = "";
  Family family = Family::rope;
  Pairs pairs = Pairs::half;
  std::string_view defaults = "{}";  ///< JSON: keys that the class fills in when the file has none
  EveryNth pattern = {};
  std::string_view still = "";        ///< layer type without any position encoding
  std::string_view scaled_only = "";  ///< the one layer type that rope_scaling reaches
  bool softmax_from_mscale = false;   ///< the attention scale is multiplied by g(factor, mscale_all_dim)^2
  bool interleaved_mrope = false;     ///< position axes alternate lane by lane
  std::int64_t extra_tokens = 0;      ///< image tables: rows beside the patches
  bool scales = true;                 ///< false: its code reads no rope_scaling
  bool scales_in_5 = false;           ///< but transformers 5 reads rope_parameters
  OwnKeys own = {};
  std::string_view architecture = "";  ///< name in architectures.inc
};

[[nodiscard]] std::span<const ModelClass> model_classes();
/// Null when the type is not in the list.
[[nodiscard]] const ModelClass* find_model_class(std::string_view model_type);

}  // namespace posenc::config
