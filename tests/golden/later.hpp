// Golden cases that no encoding or command of posenc yields yet, or that are no tables. Whoever adds one removes its line here;
// until then a case, an output or a value that is neither here nor compared fails the test, and so does one that is both.
#pragma once
#include <string_view>

namespace golden {

struct Later {
  std::string_view set;   ///< "hf", "papers"
  std::string_view what;  ///< id, id.output, id.output[a:b] or family of hf; a trailing * stands for anything
  std::string_view needs;  ///< or why it never will be here
};

inline constexpr Later later[] = {
    {"hf", "rope_apply", "command apply: rotated vectors"},
    {"hf", "attn_temperature/temp_llama4_8192", "temperature of the query, Llama 4"},
    {"hf", "attn_temperature/logn_qwen7b_2048", "temperature log n, Qwen"},
    {"hf", "position_ids", "operation on token ids: which row a token takes"},
    {"hf", "beit_bias_same_3x3.new_table", "resampling of tables"},
    {"hf", "beit_bias_resized_4x5.new_table", "resampling of tables"},
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
    {"papers", "abs_fairseq_positions", "operation on token ids: which row a token takes"},
    {"papers", "init_trunc_moments.moments[0:2]", "nothing: repeats the parameters"},
    {"papers", "init_trunc_moments.moments[6:8]", "nothing: repeats the parameters"},
    {"papers", "init_trunc_moments.moments[12:14]", "nothing: repeats the parameters"},
    {"papers", "init_trunc_moments.moments[18:20]", "nothing: repeats the parameters"},
    {"papers", "init_xavier.bounds[0:2]", "nothing: repeats the parameters"},
    {"papers", "init_xavier.bounds[6:8]", "nothing: repeats the parameters"},
    {"papers", "init_xavier.bounds[12:14]", "nothing: repeats the parameters"},
    {"papers", "learned_*", "resampling of learned tables"},
    {"papers", "hier_su_*", "resampling of learned tables, hierarchical"},
    {"papers", "mul_position", "command apply: multiplicative positions"},
    {"papers", "recursive_linear.A", "nothing: the matrix that a command takes as a parameter"},
    {"papers", "txl_four_terms.a", "nothing: compared in tests/encodings/transformer_xl_scores_test.cpp"},
    {"papers", "txl_four_terms.b", "nothing: compared in tests/encodings/transformer_xl_scores_test.cpp"},
    {"papers", "txl_four_terms.c", "nothing: compared in tests/encodings/transformer_xl_scores_test.cpp"},
    {"papers", "txl_four_terms.d", "nothing: compared in tests/encodings/transformer_xl_scores_test.cpp"},
    {"papers", "txl_four_terms.score_unscaled", "nothing: compared in tests/encodings/transformer_xl_scores_test.cpp"},
    {"papers", "txl_four_terms.mask", "nothing: compared in tests/encodings/transformer_xl_scores_test.cpp"},
    {"papers", "t5_exact_edges.bucket_naive_double[40:41]", "nothing: what a binary64 logarithm gets wrong on purpose"},
    {"papers", "tupe_a", "encoding tupe"},
    {"papers", "radix_seed_interpolation.old_vector_now_means", "nothing: follows from the digits, tests/encodings/radix_test.cpp"},
    {"papers", "logn_scale", "temperature log n"},
    {"papers", "rerope_map", "maps of relative positions"},
    {"papers", "leaky_rerope_map", "maps of relative positions"},
    {"papers", "selfextend_map*", "maps of relative positions"},
    {"papers", "dca_map", "maps of relative positions"},
    {"papers", "pose_positions", "positions of PoSE"},
    {"papers", "randomized_*", "randomized positions"},
    {"papers", "kerple_*", "nothing: compared in tests/encodings/decay_test.cpp"},
    {"papers", "cope_*", "encoding cope"},
    {"papers", "timm_rope_*", "encodings of rotary positions in 2-D and mrope"},
    {"papers", "ropevit_*", "encodings of rotary positions in 2-D"},
    {"papers", "eva_rope*", "encodings of rotary positions in 2-D"},
    {"papers", "mrope_*", "encoding mrope"},
    {"papers", "video_rope_3d", "encodings of rotary positions in 3-D"},
};

}  // namespace golden
