// Golden cases that no encoding or command of posenc yields yet. Whoever adds one removes its line here; until then a case
// that is neither here nor compared fails the test.
#pragma once
#include <string_view>

namespace golden {

struct Later {
  std::string_view set;   ///< "hf", "papers"
  std::string_view what;  ///< id, id.output, or family of hf; a trailing * stands for anything
  std::string_view needs;
};

inline constexpr Later later[] = {
    {"hf", "rope_apply", "command apply: rotated vectors"},
    {"hf", "attn_temperature/temp_llama4_8192", "temperature of the query, Llama 4"},
    {"hf", "attn_temperature/logn_qwen7b_2048", "temperature log n, Qwen"},
    {"hf", "position_ids", "encoding learned: which row a token takes"},
    {"hf", "sincos_2d", "encoding sinusoidal in 2-D (MAE)"},
    {"hf", "t5_bucket", "encoding t5"},
    {"hf", "t5_bias", "encoding t5"},
    {"hf", "deberta", "encoding deberta"},
    {"hf", "xlnet", "encoding xlnet"},
    {"hf", "transformer_xl", "encoding transformer-xl"},
    {"hf", "shaw", "encoding shaw"},
    {"hf", "nezha", "encoding nezha"},
    {"hf", "swin", "encoding swin"},
    {"hf", "swinv2", "encoding swinv2"},
    {"hf", "beit", "encoding beit"},
    {"hf", "vit_interp", "resampling of learned tables"},
    {"hf", "mrope", "encoding mrope"},
    {"hf", "vision_rope", "encodings of rotary positions in 2-D"},

    {"papers", "scale_dynamic_linear", "rule dynamic-linear"},
    {"papers", "scale_ntk_by_parts", "rule ntk-by-parts, the repository's form"},
    {"papers", "scale_by_parts_paper", "rule ntk-by-parts, the paper's ramp in turns"},
    {"papers", "scale_su_ntk", "Su's rules old, fixed and mixed"},
    {"papers", "scale_su_mixed_code", "Su's rule mixed"},
    {"papers", "rope_apply_forms", "command apply: rotated vectors"},
    {"papers", "rope_unmatched_layout", "command apply: rotated vectors of a mismatched layout"},
    {"papers", "rope_llama_complex.q_rot*", "command apply: rotated vectors"},
    {"papers", "rope_llama_complex.k_rot*", "command apply: rotated vectors"},
    {"papers", "prope_a.out", "command apply: rotated vectors"},
    {"papers", "prope_a.partial_rotary_out", "command apply: rotated vectors"},
    {"papers", "rope_base_bound_table", "command analyze: search of the smallest base"},
    {"papers", "longrope2_critical", "command analyze: critical dimension"},
    {"papers", "abs_fairseq_positions", "encoding learned: which row a token takes"},
    {"papers", "init_*", "encoding learned: initial values"},
    {"papers", "learned_*", "resampling of learned tables"},
    {"papers", "hier_su_*", "resampling of learned tables, hierarchical"},
    {"papers", "mul_position", "command apply: multiplicative positions"},
    {"papers", "floater_*", "encoding floater"},
    {"papers", "recursive_*", "encoding recursive"},
    {"papers", "complex_order*", "encoding complex-order"},
    {"papers", "shaw_*", "encoding shaw"},
    {"papers", "nezha_*", "encoding nezha"},
    {"papers", "txl_*", "encoding transformer-xl"},
    {"papers", "xlnet_*", "encoding xlnet"},
    {"papers", "t5_*", "encoding t5"},
    {"papers", "deberta_*", "encoding deberta"},
    {"papers", "tupe_a", "encoding tupe"},
    {"papers", "cnn_*", "positions that leak from zero padding"},
    {"papers", "cpvt_peg*", "encoding cpvt"},
    {"papers", "radix_seed_*", "command analyze: digits"},
    {"papers", "radix_tables", "command analyze: digits"},
    {"papers", "radix_mixed", "command analyze: digits"},
    {"papers", "logn_scale", "temperature log n"},
    {"papers", "rerope_map", "maps of relative positions"},
    {"papers", "leaky_rerope_map", "maps of relative positions"},
    {"papers", "selfextend_map*", "maps of relative positions"},
    {"papers", "dca_map", "maps of relative positions"},
    {"papers", "pose_positions", "positions of PoSE"},
    {"papers", "randomized_*", "randomized positions"},
    {"papers", "xpos_*", "encoding xpos"},
    {"papers", "kerple_*", "encoding kerple"},
    {"papers", "sandwich_*", "encoding sandwich"},
    {"papers", "fire_*", "encoding fire"},
    {"papers", "cope_*", "encoding cope"},
    {"papers", "mae_sincos2d*", "encoding sinusoidal in 2-D"},
    {"papers", "timm_sincos2d", "encoding sinusoidal in 2-D"},
    {"papers", "timm_rope_*", "encodings of rotary positions in 2-D and mrope"},
    {"papers", "detr_sine_*", "encoding sinusoidal in 2-D (DETR)"},
    {"papers", "swin*", "encodings swin and swinv2"},
    {"papers", "ropevit_*", "encodings of rotary positions in 2-D"},
    {"papers", "eva_rope*", "encodings of rotary positions in 2-D"},
    {"papers", "mrope_*", "encoding mrope"},
    {"papers", "video_rope_3d", "encodings of rotary positions in 3-D"},
};

}  // namespace golden
