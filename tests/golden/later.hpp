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
    {"hf", "pos_bart_offset2.rows", "nothing: rows of a table at the ids, which are compared"},
    {"hf", "pos_led_no_offset.rows", "nothing: rows of a table at the ids, which are compared"},
    {"hf", "beit_bias_same_3x3.new_table", "nothing: compared in tests/resample/golden_test.cpp"},
    {"hf", "beit_bias_resized_4x5.new_table", "nothing: compared in tests/resample/golden_test.cpp"},
    {"hf", "vit_interp", "nothing: compared in tests/resample/golden_test.cpp"},

    {"papers", "rope_base_bound_table", "nothing: compared in tests/analyze/golden_test.cpp"},
    {"papers", "longrope2_critical", "nothing: compared in tests/analyze/golden_test.cpp"},
    {"papers", "init_trunc_moments.moments[0:2]", "nothing: repeats the parameters"},
    {"papers", "init_trunc_moments.moments[6:8]", "nothing: repeats the parameters"},
    {"papers", "init_trunc_moments.moments[12:14]", "nothing: repeats the parameters"},
    {"papers", "init_trunc_moments.moments[18:20]", "nothing: repeats the parameters"},
    {"papers", "init_xavier.bounds[0:2]", "nothing: repeats the parameters"},
    {"papers", "init_xavier.bounds[6:8]", "nothing: repeats the parameters"},
    {"papers", "init_xavier.bounds[12:14]", "nothing: repeats the parameters"},
    {"papers", "learned_*", "nothing: compared in tests/resample/golden_test.cpp"},
    {"papers", "hier_su_*", "nothing: compared in tests/resample/golden_test.cpp"},
    {"papers", "recursive_linear.A", "nothing: the matrix that a command takes as a parameter"},
    {"papers", "t5_exact_edges.bucket_naive_double[40:41]", "nothing: what a binary64 logarithm gets wrong on purpose"},
    {"papers", "radix_seed_interpolation.old_vector_now_means", "nothing: follows from the digits, tests/encodings/radix_test.cpp"},
    {"papers", "kerple_*", "nothing: compared in tests/encodings/decay_test.cpp"},
    {"papers", "video_rope_3d.axis_dim", "nothing: compared in tests/encodings/rope_3d_test.cpp"},
    {"papers", "txl_four_terms.a", "nothing: compared in tests/encodings/transformer_xl_scores_test.cpp"},
    {"papers", "txl_four_terms.b", "nothing: compared in tests/encodings/transformer_xl_scores_test.cpp"},
    {"papers", "txl_four_terms.c", "nothing: compared in tests/encodings/transformer_xl_scores_test.cpp"},
    {"papers", "txl_four_terms.d", "nothing: compared in tests/encodings/transformer_xl_scores_test.cpp"},
    {"papers", "txl_four_terms.score_unscaled", "nothing: compared in tests/encodings/transformer_xl_scores_test.cpp"},
    {"papers", "txl_four_terms.mask", "nothing: compared in tests/encodings/transformer_xl_scores_test.cpp"},
};

}  // namespace golden
