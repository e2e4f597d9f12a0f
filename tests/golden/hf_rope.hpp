// Rotary cases of golden/hf: transformers on a CPU in binary32, from a config. TRANSFORMERS.md section 0 has the rules.
#pragma once
#include <map>

#include "checks.hpp"

namespace golden {

// What a user of the golden config would have beside it: the model's type, where it is not like llama's, and flags where
// the table is not what the config says.
struct Reproduction {
  std::string model_type = "llama";
  std::string table{};  ///< layer type
  Settings flags{};
  bool config = true;  ///< false: the reader refuses the config on purpose; flags say everything
  std::string remark{};
};

inline Reproduction reproduction(const Case& c) {
  const std::string id = c.id();
  const auto list = [&](const char* key) { return text_of(c.params().at("config").at("rope_scaling").at(key)); };
  if (id == "inv_default_gpt_neox_20b_partial" || id == "cs_gpt_neox_20b_partial") return {"gpt_neox"};
  if (id == "inv_default_gemma_7b" || id == "cs_gemma_7b") return {"gemma"};
  if (id == "inv_default_mistral_7b_v01") return {"mistral"};
  if (id == "inv_default_phi2_partial") return {"phi"};
  if (id == "inv_default_glm4_9b_partial") return {"glm"};
  if (id == "cs_glm4_9b_partial")
    return {"glm", "", {{"pair_stride", "32"}}, true, "GLM's forward tiles the table; its apply step repeats the first half"};
  if (id == "cs_cohere_command_r_interleaved") return {"cohere"};
  if (id == "cs_llama4_scout_text_complex") return {"llama4_text"};
  if (id == "inv_default_odd_dim25")
    return {"", "", {{"head_dim", "80"}, {"rotary_dim", "26"}, {"frequency_denominator", "25"}}, false,
            "config refused: 80 * 0.3125 = 25 lanes, lanes turn in pairs; 13 frequencies over 25"};
  if (id == "inv_linear_gemma3_4b_full") return {"gemma3_text", "full_attention"};
  if (id == "inv_proportional_gemma4_full") return {"gemma4_text", "full_attention"};
  if (id == "inv_v4_yarn_qwen25_7b_f4")
    return {"qwen2", "", {{"method", "yarn-transformers-4.48"}, {"factor", "4"}, {"max_position_embeddings", "32768"}}, true,
            "transformers 4.48 does not look at original_max_position_embeddings"};
  if (id.starts_with("inv_yarn_qwen25") || id.starts_with("cs_qwen25")) return {"qwen2"};
  if (id == "inv_yarn_nested_truncate_ignored")
    return {"", "",
            {{"head_dim", "64"}, {"base", "150000"}, {"method", "yarn"}, {"factor", "32"}, {"original_max_position_embeddings", "4096"}}, false,
            "the config says truncate false, which transformers does not see in a nested dict"};
  if (id.starts_with("inv_yarn_gpt_oss") || id.starts_with("cs_gpt_oss")) return {"gpt_oss", "full_attention"};
  const Settings yarn4{{"base", "1000000"}, {"method", "yarn"}, {"factor", "4"}, {"original_max_position_embeddings", "32768"}};
  if (id == "inv_yarn_betas_zero_default")
    return {"", "", yarn4, false, "config refused: betas are positive; transformers takes 0 for 32 and 1"};
  if (id == "inv_yarn_low_eq_high") {
    Settings flags = yarn4;
    flags.insert(flags.end(), {{"beta_fast", "8"}, {"beta_slow", "8"}, {"truncate", "false"}});
    return {"", "", flags, false, "config refused: beta_fast must be greater than beta_slow"};
  }
  if (id == "inv_longrope_no_original")
    return {"", "",
            {{"head_dim", "96"}, {"method", "longrope"}, {"short_factor", list("short_factor")}, {"long_factor", list("long_factor")},
             {"original_max_position_embeddings", "131072"}, {"factor", "1"}},
            false, "config refused: where short ends is not said; transformers takes max_position_embeddings"};
  if (id == "inv_v4_longrope_factor_overridden")
    return {"phi3", "",
            {{"method", "longrope-transformers-4.48"}, {"short_factor", list("short_factor")}, {"long_factor", list("long_factor")},
             {"max_position_embeddings", "131072"}, {"original_max_position_embeddings", "4096"}, {"factor", "16"}},
            true, "transformers 4.48 takes 131072/4096 = 32 for the factor, whatever the block says"};
  if (id.find("longrope") != std::string::npos || id.starts_with("cs_phi3")) return {"phi3"};
  return {};
}

// A config that a remark calls refused is refused, by the reader or by the encoding.
inline void check_refused(const Case& c) {
  Command command{"rope"};
  command.config = c.params().at("config").dump();
  command.model_type = "llama";
  CHECK_THROWS_AS((void)spec_of(command), posenc::Error);
}

// The command without a layout; `set` is what precedes a tensor's name ("long.", "full_attention.").
inline Command rope_command(const Case& c, std::string& set, std::string& remark) {
  const Reproduction r = reproduction(c);
  Command command{"rope"};
  remark = r.remark;
  if (r.config) {
    command.config = c.params().at("config").dump();
    command.model_type = r.model_type;
    command.config_name = c.id() + ".json";
    remark = "model_type " + r.model_type + (remark.empty() ? "" : "; " + remark);
  }
  if (r.remark.starts_with("config refused")) check_refused(c);
  command.settings = r.flags;
  set = r.table.empty() ? "" : r.table + ".";
  std::int64_t length = 0;
  if (c.params().contains("call")) length = c.params().at("call").value("seq_len", std::int64_t{0});
  if (c.params().contains("positions")) length = c.params().at("positions").back().get<std::int64_t>() + 1;
  const Command any = command.with({{"layout", "inv-freq"}}).only(r.table);
  const std::string method = parameter(any, "method");
  if (method.starts_with("longrope")) {
    const auto original = posenc::parse_int(parameter(any, "original_max_position_embeddings"), "original");
    set += length > original ? "long." : "short.";
  }
  if (c.params().contains("positions"))
    command = command.with({{"positions", positions_text(c.params().at("positions").get<Values>())}});
  else if (method == "dynamic" && length > 0)
    command = command.with({{"length", posenc::print(length)}});
  return command;
}

/// How far the golden frequencies may be from the true ones, relative.
inline double frequency_error(const Case& c, const Command& inv_freq) {
  const std::string method = parameter(inv_freq, "method");
  std::string denominator = parameter(inv_freq, "frequency_denominator");
  if (denominator.empty()) denominator = parameter(inv_freq, "rotary_dim");
  if (denominator.empty()) denominator = parameter(inv_freq, "head_dim");
  const double d = posenc::parse_real(denominator, "denominator"), base = posenc::parse_real(parameter(inv_freq, "base"), "base");
  double error = rule_a;
  if (method.starts_with("yarn") || method == "llama3") error = rule_a_blend;
  // 2i / d is rounded to binary32 when d is no power of two: base^x changes by x ln(base) times that, x < 1.
  if (std::log2(d) != std::floor(std::log2(d))) error += std::log(base) * half_ulp;
  if (method == "linear") error += half_ulp;        // one quotient more
  if (method.starts_with("longrope")) error += 2 * half_ulp;  // divisors rounded, one product more
  if (method == "dynamic") {
    error += half_ulp;  // the new base is rounded to binary32
    // A tensor of a length: the base is a chain of quotient, product, difference, power and product in binary32. A position's
    // length reaches the table so too.
    if (c.params().contains("positions") || c.params().contains("calls") || c.params().at("call").contains("seq_len_is_tensor"))
      error += 8 * half_ulp;
  }
  return error;
}
/// The same against the steps in binary32: the exponents, divisors and quotients are rounded alike.
inline double step_error(const Case& c, const Command& inv_freq) {
  const std::string method = parameter(inv_freq, "method");
  if (method.starts_with("yarn") || method == "llama3") return rule_a_blend;
  return method == "dynamic" ? frequency_error(c, inv_freq) : rule_a;
}

inline void check_frequencies(Checks& checks, const Case& c, const std::string& output, const Command& command, const std::string& set,
                              const std::string& remark) {
  const Command inv_freq = command.with({{"layout", "inv-freq"}}).only(set + "inv_freq");
  checks.push_back({output, inv_freq.as("f64"), relative(frequency_error(c, inv_freq)), remark});
  checks.push_back({output, inv_freq.as("f32", "float32"), relative(step_error(c, inv_freq)), remark});
}

// The amplitude is cos of position 0.
inline void check_amplitude(Checks& checks, const Command& command, const std::string& set, const std::string& remark) {
  const Command start = command.with({{"layout", "half-width"}, {"positions", "1"}}).only(set + "cos").as("f64");
  checks.push_back({"scalars.attention_factor", start, amplitude_rule(), remark, [](const Values& v) { return Values{v.at(0)}; }});
}

inline Checks hf_inv_freq(const Case& c) {
  Checks checks;
  std::string set, remark;
  const Command command = rope_command(c, set, remark);
  if (c.id() == "inv_dynamic_sticky_state_v5") {
    check_frequencies(checks, c, "before", command, set, remark);
    check_frequencies(checks, c, "after_8192", command.with({{"length", "8192"}}), set, remark);
    check_frequencies(checks, c, "after_short", command.with({{"length", "8192"}}), set,
                      remark + "; transformers 5 keeps the table of the longest call");
    return checks;
  }
  check_frequencies(checks, c, "inv_freq", command, set, remark);
  if (c.has("printed_5_digits"))  // as its unit test compares
    checks.push_back({"printed_5_digits", command.with({{"layout", "inv-freq"}}).as("f64"), relative(5e-5), remark});
  if (c.entry.contains("scalars")) check_amplitude(checks, command, set, remark);
  return checks;
}

inline Checks hf_cos_sin(const Case& c) {
  Checks checks;
  std::string set, remark;
  const Command command = rope_command(c, set, remark);
  const bool complex = c.has("freqs_cis");
  const std::string layout = complex                                      ? "complex"
                             : c.id() == "cs_gpt_oss_20b_half"            ? "half-width"
                             : c.id() == "cs_cohere_command_r_interleaved" ? "interleaved"
                                                                          : "half";
  check_frequencies(checks, c, "inv_freq", command, set, remark);
  const Command exact_frequencies = command.with({{"layout", "inv-freq"}}).only(set + "inv_freq");
  double amplitude = 1;
  if (c.entry.contains("scalars")) {
    check_amplitude(checks, command, set, remark);
    amplitude = c.entry.at("scalars").at("attention_factor").at("value");
  }
  const Values inv_freq = c.values("inv_freq"), positions = c.params().at("positions").get<Values>();
  Command given{"rope"};
  given.settings = {{"head_dim", posenc::print(static_cast<std::int64_t>(2 * inv_freq.size()))},
                    {"inv_freq", c.path("inv_freq")},
                    {"positions", positions_text(positions)},
                    {"layout", layout}};
  if (amplitude != 1) given.settings.emplace_back("attention_factor", posenc::print(amplitude));
  for (const std::string& output : c.outputs()) {
    if (output == "inv_freq") continue;
    const std::string tensor = output.substr(0, output == "freqs_cis" ? std::string::npos : 3);
    const std::string type = c.dtype(output);
    const Rule rule = type == "f32" ? rule_b(amplitude) : one_ulp(posenc::parse_dtype(type));
    checks.push_back({output, given.only(tensor).as(type, "float32"), rule, "frequencies of the golden case"});
    if (type == "f32")
      checks.push_back({output, command.with({{"layout", layout}}).only(set + tensor),
                        rule_c(positions, inv_freq, columns_of(layout, inv_freq.size()), frequency_error(c, exact_frequencies), amplitude), remark});
  }
  return checks;
}

// transformers 4.38 to 4.42 divided the positions by the factor, in binary32.
inline Checks hf_scaled_positions(const Case& c) {
  Checks checks;
  const float factor = c.params().at("factor").get<float>();
  Values quotients, positions;
  for (const Json& p : c.params().at("positions")) {
    positions.push_back(p.get<double>() / c.params().at("factor").get<double>());
    quotients.push_back(static_cast<double>(p.get<float>() / factor));
  }
  Command scaled{"rope"};
  scaled.settings = {{"head_dim", text_of(c.params().at("dim"))}, {"base", text_of(c.params().at("base"))}};
  const Values inv_freq = produced(scaled.with({{"layout", "inv-freq"}}).as("f64"));
  scaled = scaled.with({{"positions", positions_text(quotients)}, {"layout", "half"}});
  const auto columns = columns_of("half", inv_freq.size());
  // The frequencies are not stored: rule (c) with rule_a between them, both ways; a quotient's rounding between the tables.
  for (const std::string& output : c.outputs()) {
    checks.push_back({output, scaled.only(output).as("f32", "float32"), rule_c(quotients, inv_freq, columns, rule_a, 1), "positions / 3 in binary32"});
    checks.push_back({output, scaled.only(output), rule_c(quotients, inv_freq, columns, rule_a, 1), "positions / 3 in binary32"});
    checks.push_back({output,
                      Command{"rope"}.with({{"head_dim", "128"}, {"method", "linear"}, {"factor", "3"},
                                            {"positions", positions_text(c.params().at("positions").get<Values>())}, {"layout", "half"}}).only(output),
                      rule_c(positions, inv_freq, columns, rule_a + half_ulp, 1), "what was meant"});
  }
  return checks;
}

inline Checks hf_esm(const Case& c) {
  Checks checks;
  const Command command = Command{"rope"}.with({{"head_dim", text_of(c.params().at("dim"))}, {"positions", text_of(c.params().at("seq_len"))}});
  check_frequencies(checks, c, "inv_freq", command, "", "");
  const Values inv_freq = c.values("inv_freq");
  Values positions;
  for (double p = 0; p < c.params().at("seq_len").get<double>(); ++p) positions.push_back(p);
  for (const std::string output : {"cos", "sin"}) {
    const Command half = command.with({{"layout", "half"}}).only(output);
    checks.push_back({output, half.with({{"inv_freq", c.path("inv_freq")}}).as("f32", "float32"), rule_b(1), "frequencies of the golden case"});
    checks.push_back({output, half, rule_c(positions, inv_freq, columns_of("half", inv_freq.size()), rule_a, 1)});
  }
  return checks;
}

// qk_head_dim^-1/2 times what a DeepSeek config says beside its table. A reading, not a table; binary64 in Python: a root, a
// logarithm, products: 4 ulp.
inline void compare_softmax_scales(const Case& c) {
  const std::string widths = R"("hidden_size":7168,"num_attention_heads":128,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"max_position_embeddings":163840)";
  const std::string configs[] = {
      R"({"model_type":"deepseek_v3",)" + widths +
          R"(,"rope_scaling":{"type":"yarn","factor":40,"mscale":1.0,"mscale_all_dim":1.0,"original_max_position_embeddings":4096}})",
      R"({"model_type":"deepseek_v2",)" + widths +
          R"(,"rope_scaling":{"type":"yarn","factor":40,"mscale":0.707,"mscale_all_dim":0.707,"original_max_position_embeddings":4096}})",
      R"({"model_type":"deepseek_v3",)" + widths + "}"};
  const Values want = c.values("scaling");
  REQUIRE(want.size() == std::size(configs));
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto config = posenc::read_config(configs[i], "config.json");
    REQUIRE(config.readings.size() == 1);
    REQUIRE(config.readings[0].qk_head_dim == c.params().at("qk_head_dim").get<std::int64_t>());
    const double got = config.readings[0].softmax_multiplier / std::sqrt(c.params().at("qk_head_dim").get<double>());
    CHECK(relative(0x1p-50).share(i, got, want[i]) <= 1);
  }
}

}  // namespace golden
