// attention_temperature: factors on attention scores (or on queries, which is the same) that depend on the position or on the
// context, so that softmax stays as sharp over more keys than in training. n = position + n_offset is the number of keys that a
// causal query sees, L0 = original_max_position_embeddings:
//   log-n          log(n) / log(L0)                    Su, kexue.fm/archives/8823
//   log-n-clipped  max(1, log(n) / log(L0))            kexue.fm/archives/9706, ReRoPE, Self-Extend
//   qwen           log(n) / log(L0) where n > L0, else 1    Qwen's logn_attn: the same number, other steps in float32
//   llama4         1 + attn_scale log(1 + floor(n / floor_scale))    Llama 4's layers without RoPE; Nakanishi 2025, arXiv:2501.19399
//   yarn           (mscale_coefficient ln(factor) + 1)^2    1 / t of Peng et al. 2023, arXiv:2309.00071, equation 22
//   deepseek       (mscale_coefficient mscale_all_dim ln(factor) + 1)^2    softmax_multiplier of DeepSeek-V2 and V3
// The last two are 1 for factors up to 1 and the same at every position. Tables of rope with method yarn carry the root of
// yarn's in cos and sin (attention_factor): multiply by one or the other. With head_dim every factor is divided by
// sqrt(head_dim) as well.
//
// A rational log(n) / log(L0) is a / b with n, L0 < 2^54 a-th and b-th powers of one integer, recognised as such.
#pragma once
#include <memory>
#include <optional>

#include "posenc/encoding.hpp"
#include "posenc/positions.hpp"

namespace posenc {

enum class TemperatureKind : std::uint8_t { log_n, log_n_clipped, qwen, llama4, yarn, deepseek };
template <>
struct EnumNames<TemperatureKind> {
  static constexpr std::array<EnumName<TemperatureKind>, 6> values{{
      {TemperatureKind::log_n, "log-n", "log n to base L0: models trained with it (Su)"},
      {TemperatureKind::log_n_clipped, "log-n-clipped", "the same, at least 1: finished models; ReRoPE, Self-Extend"},
      {TemperatureKind::qwen, "qwen", "the same: Qwen's use_logn_attn, which makes it in binary64 (arithmetic float32, dtype f32 gives its values)"},
      {TemperatureKind::llama4, "llama4", "grows with log(1 + floor(n / floor_scale)): Llama 4's layers without RoPE"},
      {TemperatureKind::yarn, "yarn", "1 / t = (0.1 ln(factor) + 1)^2 at every position: YaRN"},
      {TemperatureKind::deepseek, "deepseek", "(0.1 mscale_all_dim ln(factor) + 1)^2 at every position: DeepSeek-V2, V3"},
  }};
};

struct AttentionTemperature {
  static constexpr std::string_view name = "attention_temperature";
  static constexpr std::string_view summary = "factor on the attention scores of each position: log n, Llama 4, YaRN, DeepSeek";
  static constexpr std::string_view source = "Su 2021, kexue.fm/archives/8823; Peng et al. 2023, arXiv:2309.00071; Llama 4; DeepSeek-V3";

  TemperatureKind kind = TemperatureKind::log_n_clipped;
  std::int64_t original_max_position_embeddings = 512;
  std::int64_t n_offset = 1;
  std::int64_t floor_scale = 8192;
  double attn_scale = 0.1;
  std::optional<double> factor{};
  double mscale_coefficient = 0.1;
  double mscale_all_dim = 1;
  std::optional<std::int64_t> head_dim{};
  Positions positions = Positions::range(0, 2048);

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "kind", .metavar = "NAME", .help = "which factor"}, s.kind);
    v(Field{.name = "original_max_position_embeddings", .metavar = "N", .help = "L0: length that the model was trained for (log-n kinds)",
            .unit = "positions", .range = between(2, 0x1p53), .source = "kexue.fm/archives/8823: 512; Qwen: seq_length", .count = true},
      s.original_max_position_embeddings);
    v(Field{.name = "n_offset", .metavar = "N", .help = "n = position + n_offset: 1 counts the query's own key, 0 takes the position itself",
            .unit = "positions", .range = between(0, 1), .source = "ReRoPE, Qwen, Llama 4: 1"},
      s.n_offset);
    v(Field{.name = "floor_scale", .metavar = "N", .help = "positions that share one factor (llama4)", .unit = "positions",
            .range = between(1, 0x1p53), .source = "config.floor_scale", .count = true},
      s.floor_scale);
    v(Field{.name = "attn_scale", .metavar = "X", .help = "how fast the factor grows (llama4)", .range = at_least(0),
            .source = "config.attn_scale"},
      s.attn_scale);
    v(Field{.name = "factor", .metavar = "X", .help = "context ratio (yarn, deepseek)", .unit = "ratio", .range = positive,
            .source = "rope_scaling.factor"},
      s.factor);
    v(Field{.name = "mscale_coefficient", .metavar = "X", .help = "what ln(factor) is multiplied by (yarn, deepseek)", .range = at_least(0),
            .source = "0.1 in the paper, 0.07 in the YaRN repository's Mistral file"},
      s.mscale_coefficient);
    v(Field{.name = "mscale_all_dim", .metavar = "X", .help = "multiplies ln(factor) as well (deepseek); 0 turns it off", .range = at_least(0),
            .source = "rope_scaling.mscale_all_dim"},
      s.mscale_all_dim);
    v(Field{.name = "head_dim", .metavar = "N", .help = "divides by sqrt(head_dim) as well: the whole scale of the scores; absent: not",
            .unit = "lanes", .range = between(1, 1 << 20), .source = "DeepSeek-V3: qk_head_dim 192"},
      s.head_dim);
    v(Field{.name = "positions", .metavar = "P", .help = "N, A:B, A:B:S, a list, or a file of integers or reals, from 0 on", .unit = "positions"},
      s.positions);
  }

  void check() const;
  /// `scale` [position].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  [[nodiscard]] bool is_log_n() const {
    return kind == TemperatureKind::log_n || kind == TemperatureKind::log_n_clipped || kind == TemperatureKind::qwen;
  }
  [[nodiscard]] bool is_constant() const { return kind == TemperatureKind::yarn || kind == TemperatureKind::deepseek; }

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes an AttentionTemperature's values. Copies share their state.
class AttentionTemperature::Table {
 public:
  explicit Table(const AttentionTemperature& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  std::shared_ptr<const AttentionTemperature> spec_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const AttentionTemperature& encoding);

}  // namespace posenc
