// The library's sentences in the command line's words: which words are names, and which are not.
#include "flag_words.hpp"

#include <doctest/doctest.h>

#include <utility>

namespace posenc::test {
namespace {

using cli::FlagWord;
using cli::FlagWords;

const FlagWords names = [] {
  FlagWords out;
  for (const char* name : {"head_dim", "rotary_dim", "num_heads", "bias_table", "layer_type", "query_offset", "n_offset", "new_height", "new_width", "inv_freq", "dim", "base",
                           "factor", "context", "length", "positions", "height", "width", "low", "high", "rank", "ranks", "samples", "r1", "r2", "axis", "keep", "scores",
                           "queries", "key", "offset", "std", "slopes", "attention_factor", "target"})
    out[name] = {cli::flag_of(name)};
  out["odd"] = {"--odd", {"sine", "zero", "split"}};
  out["method"] = {"--method", {"linear", "yarn", "default"}};
  out["layout"] = {"--layout", {"half", "interleaved"}};
  out["form"] = {"--form", {"row", "matrix", "toeplitz"}};
  out["kind"] = {"--kind", {"log"}};
  out["rows"] = {"--rows", {"grid", "window"}};
  out["replace"] = {"--replace", {}, false};
  out["stack"] = {"--stack", {}, false};
  out["dialect"] = {"--config-dialect"};
  return out;
}();

}  // namespace

TEST_CASE("names in sentences of the library become flags") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"dim 1 is odd and sines and cosines come in pairs; say with odd (sine, zero or split) what is meant", "--dim 1 is odd and sines and cosines come in pairs; say with --odd (sine, zero or split) what is meant"},
      {"head_dim 7 is odd; lanes come in pairs", "--head-dim 7 is odd; lanes come in pairs"},
      {"rotary_dim 128 is larger than head_dim 64", "--rotary-dim 128 is larger than --head-dim 64"},
      {"r1 and r2 want one number per head each, got 2 and 1", "--r1 and --r2 want one number per head each, got 2 and 1"},
      {"positions wants an integer, got 'x'", "--positions wants an integer, got 'x'"},
      {"positions want N, START:STOP, START:STOP:STEP or a comma-separated list, got ''", "--positions want N, START:STOP, START:STOP:STEP or a comma-separated list, got ''"},
      {"base must be above 0, got -1", "--base must be above 0, got -1"},
      {"context must be in [1, 2^53], got 0", "--context must be in [1, 2^53], got 0"},
      {"factor 4 times the trained length 128 is 512, but context says 4096; give one of them", "--factor 4 times the trained length 128 is 512, but --context says 4096; give one of them"},
      {"method yarn needs factor or context, the positions that it should reach", "--method yarn needs --factor or --context, the positions that it should reach"},
      {"alibi has no rules on frequencies; say the length that it should reach with context", "alibi has no rules on frequencies; say the length that it should reach with --context"},
      {"say which rule with method; the one in force is yarn, and only replace puts another in its place", "say which rule with --method; the one in force is yarn, and only --replace puts another in its place"},
      {"128 rows form no square grid; say which with height and width", "128 rows form no square grid; say which with --height and --width"},
      {"new_height and new_width are missing: the new grid", "--new-height and --new-width are missing: the new grid"},
      {"height and width of the old table go together", "height and width of the old table go together"},
      {"length is missing: the positions of the new table", "--length is missing: the positions of the new table"},
      {"axis is missing: the first of the grid's two axes", "--axis is missing: the first of the grid's two axes"},
      {"low 3 must be below high 2", "--low 3 must be below --high 2"},
      {"low and high do not go with initialiser zeros", "--low and --high do not go with initialiser zeros"},
      {"std does not go with initialiser zeros", "--std does not go with initialiser zeros"},
      {"part inverse is of all ranks; leave rank out", "part inverse is of all ranks; leave --rank out"},
      {"drawn is one sample; leave samples out", "drawn is one sample; leave --samples out"},
      {"layout half pairs lanes i and i + 4, pair_stride says 1; use layout interleaved", "--layout half pairs lanes i and i + 4, pair_stride says 1; use --layout interleaved"},
      {"form toeplitz has no keys for key_positions to place; use form row or matrix", "--form toeplitz has no keys for key_positions to place; use --form row or matrix"},
      {"kind log wants factor, the context ratio", "--kind log wants factor, the context ratio"},
      {"bias_table has no heads; give it the shape [bias_table, num_heads]", "--bias-table has no heads; give it the shape [bias_table, num_heads]"},
      {"slopes has 3 entries, num_heads is 4", "--slopes has 3 entries, --num-heads is 4"},
      {"it has no block for that; leave layer_type out", "it has no block for that; leave --layer-type out"},
      {"rope_scaling reaches full_attention only; ask for dialect 5", "rope_scaling reaches full_attention only; ask for --config-dialect 5"},
      {"a: the old dialect cannot say that: keep dialect 5", "a: the old dialect cannot say that: keep --config-dialect 5"},
      {"query has 3 positions and key 7; say with query_offset where the queries are", "query has 3 positions and --key 7; say with --query-offset where the queries are"},
      {"scores has no values; give it queries and key", "--scores has no values; give it --queries and --key"},
      {"rope has no parameter 'low'; did you mean 'slow'?", "rope has no parameter --low; did you mean 'slow'?"},
      {"a rule on top of a rule is neither; give replace to put the new one there", "a rule on top of a rule is neither; give --replace to put the new one there"},
      {"target 3 is shorter than chunk_length 4", "--target 3 is shorter than chunk_length 4"},
  };
  for (const auto& [sentence, want] : cases) CHECK(cli::in_flags(sentence, names) == want);
}

TEST_CASE("ordinary words stay what they are") {
  for (const char* sentence : {
           "has no layer type 'all' with positions; there are full_attention or sliding_attention",
           "a position must be finite and at most 2^53 in magnitude, got 1e300",
           "the rotated width must be even and at least 2, got 7: lanes turn in pairs",
           "the step of a range of positions must not be 0",
           "already under method yarn (factor 4, attention_factor 1.25)",
           "a frequency scale of 0.125 is factor 8",
           "the table has 7 rows, none besides 1 of the prefix",
           "rows 0 to 5 of a table of 4 do not fit 3 values",
           "row 3 of the table holds nan",
           "'factor 4 must be' is no number",
           "its positions are a list, which has no next one",
           "nothing of this rope would change: it depends on no length, or has that length already",
           "position 5 does not fit into 3 digits; take more width or a larger base, or overflow wrap",
           "queries up to position 7 are beyond the threshold 4, so that the bias is no function of the distance",
           "x.h5 carries its spec; --spec and --config are for a table that does not",
           "stack has other axes",
           "rope has no parameter 'nothing'; did you mean 'low'?",
           "the factor is what the context says it is",
           "a window's table has odd sides, 2 height - 1 and 2 width - 1, got 5",
           "less than the trained length 4096, which is a factor 2 below",
       })
    CHECK(cli::in_flags(sentence, names) == sentence);
  CHECK(cli::in_flags("", names).empty());
  CHECK(cli::in_flags("two  blanks; base 1", {}) == "two  blanks; base 1");
}

}  // namespace posenc::test
