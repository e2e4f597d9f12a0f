// Rotary cases of golden/papers: the papers' own code, in its own precision and in binary64. Tolerances are the manifest's.
#pragma once
#include <numbers>

#include "checks.hpp"

namespace golden {

class PapersRope {
 public:
  explicit PapersRope(const Case& c) : case_(c), p_(c.params()) {}

  /// Empty when the case is none of these.
  Checks checks() {
    const std::string id = case_.id();
    if (id == "rope_matrix")
      add("R", rope({{"head_dim", text_of(p_["d"])}, {"pair_stride", "1"}, {"positions", "0,1,2,5,17"}, {"layout", "matrix"}}));
    if (id == "rope_llama_complex")
      both("freqs_cis", rope({{"head_dim", text_of(p_["dim"])}, {"base", text_of(p_["theta"])}, {"positions", text_of(p_["end"])}, {"layout", "complex"}}));
    if (id == "seed_llama_rope_200_2048") table(rope({{"head_dim", text_of(p_["dim"])}, {"base", text_of(p_["base"])}}));
    if (id == "rope_wavelengths") wavelengths();
    if (id == "rope_sinusoid_relation") shift();
    if (id == "rope_same_vector") same_vector();
    if (id == "rope_decay_bound") decay_bound();
    if (id == "rope_base_fmin") smallest_sums();
    if (id == "radix_rope_correspondence") radix();
    if (id == "prope_a")
      add("angles", rope({{"head_dim", "16"}, {"method", "proportional"}, {"rotary_dim", "12"}, {"frequency_denominator", "16"},
                          {"pair_stride", "8"}, {"positions", "6"}, {"layout", "angles"}}),
          "p 0.75 of 16 lanes");
    if (id == "scale_linear_pi")
      table(rope({{"head_dim", dim()}, {"method", "linear"}, {"factor", text_of(p_["scale"])}}), "", "", rope({{"head_dim", dim()}}),
            "the original divides positions: its buffer holds the plain frequencies");
    if (id == "scale_dynamic_linear")
      table(rope({{"head_dim", dim()}, {"method", "dynamic-linear"}, {"max_position_embeddings", text_of(p_["max_position_embeddings"])},
                  {"length", text_of(p_["seq_len"])}}),
            "", "", rope({{"head_dim", dim()}}), "the original multiplies positions: its buffer holds the plain frequencies");
    if (id == "scale_ntk_by_parts")
      table(rope({{"head_dim", dim()}, {"method", "ntk-by-parts"}, {"ramp", "index"}, {"factor", text_of(p_["scale"])},
                  {"original_max_position_embeddings", text_of(p_["original_max_position_embeddings"])}}));
    if (id == "scale_by_parts_paper") by_parts();
    if (id == "scale_su_ntk") su();
    if (id == "scale_su_mixed_code")
      both("inv_freq", rope({{"head_dim", dim()}, {"base", text_of(p_["base"])}, {"method", "ntk-mixed"}, {"factor", text_of(p_["k"])},
                             {"exponent", text_of(p_["b"])}, {"layout", "inv-freq"}}));
    if (id == "scale_ntk_aware") table(rope({{"head_dim", dim()}, {"method", "ntk"}, {"factor", text_of(p_["alpha"])}}));
    if (id == "scale_dynamic_ntk")
      table(rope({{"head_dim", dim()}, {"method", "dynamic"}, {"factor", text_of(p_["ntk"])},
                  {"max_position_embeddings", text_of(p_["max_position_embeddings"])}, {"length", text_of(p_["seq_len"])}}));
    if (id == "scale_yarn")
      table(rope({{"head_dim", dim()}, {"base", text_of(p_["base"])}, {"method", "yarn"}, {"factor", text_of(p_["scale"])},
                  {"original_max_position_embeddings", text_of(p_["original_max_position_embeddings"])}}));
    if (id == "scale_yarn_mscale") magnitudes();
    if (id == "scale_dynamic_variants") dynamic_variants();
    if (id == "scale_llama3" || id == "scale_llama4")
      both("inv_freq", rope({{"head_dim", dim()}, {"base", text_of(p_["theta"])}, {"method", "llama3"}, {"factor", text_of(p_["scale_factor"])},
                             {"low_freq_factor", text_of(p_["low_freq_factor"])}, {"high_freq_factor", text_of(p_["high_freq_factor"])},
                             {"original_max_position_embeddings", text_of(p_["old_context_len"])}, {"layout", "inv-freq"}}));
    if (id == "scale_longrope") {
      const std::string list = text_of(p_["rescale_factors"]);
      table(rope({{"head_dim", dim()}, {"base", text_of(p_["base"])}, {"method", "longrope"}, {"short_factor", list}, {"long_factor", list},
                  {"original_max_position_embeddings", text_of(p_["original_max_position_embeddings"])}, {"factor", "4"}}),
            "long.", "16384 positions are 4 times the original; both lists are the paper's one");
    }
    return std::move(out_);
  }

 private:
  using Derive = std::function<Values(Values)>;

  static Command rope(Settings settings) {
    Command command{"rope"};
    command.settings = std::move(settings);
    return command;
  }
  std::string dim() const { return text_of(p_["dim"]); }
  Rule rule(const std::string& output) const {
    const Json& o = case_.entry.at("outputs").at(output);
    return o.at("compare") == "exact" ? exact() : close(o.value("atol", 0.0), o.value("rtol", 0.0));
  }
  // In binary64, exact, unless the command says otherwise.
  void add(const std::string& output, const Command& command, const std::string& remark = "", Derive derive = {}) {
    out_.push_back({output, command.arithmetic == "exact" ? command.as("f64") : command, rule(output), remark, std::move(derive)});
  }
  void part(const std::string& output, std::size_t at, const Command& command, const std::string& remark = "", Derive derive = {}) {
    add(output, command, remark, std::move(derive));
    out_.back().first = at;
    out_.back().count = 1;
  }
  // The original in binary32 and the same code in binary64.
  void both(const std::string& output, const Command& command, const std::string& remark = "") {
    add(output, command.as("f32", "float32"), remark);
    add(output + "_f64", command, remark);
  }
  // Frequencies, cos and sin at rows, and the amplitude where there is one.
  void table(const Command& command, const std::string& set = "", const std::string& remark = "") {
    table(command, set, remark, command, remark);
  }
  void table(const Command& command, const std::string& set, const std::string& remark, const Command& buffer, const std::string& buffer_remark) {
    both("inv_freq", buffer.with({{"layout", "inv-freq"}}).only(set + "inv_freq"), buffer_remark);
    const Settings rows{{"positions", positions_text(p_[p_.contains("rows") ? "rows" : "positions"].get<Values>())}, {"layout", "half"}};
    for (const std::string output : {"cos", "sin"}) both(output, command.with(rows).only(set + output), remark);
    if (case_.has("mscale")) amplitude("mscale", 0, command, set, "cos of position 0");
  }
  void amplitude(const std::string& output, std::size_t at, const Command& command, const std::string& set, const std::string& remark,
                 const Derive& of = {}) {
    part(output, at, command.with({{"positions", "1"}}).only(set + "cos"), remark, [of](const Values& v) {
      const Values first{v.at(0)};
      return of ? of(first) : first;
    });
  }

  void wavelengths() {
    const Command command = rope({{"head_dim", text_of(p_["d"])}, {"base", text_of(p_["base"])}, {"layout", "inv-freq"}});
    const double context = p_["context"];
    const auto each = [](const std::function<double(double)>& f) {
      return [f](Values v) {
        for (double& x : v) x = f(x);
        return v;
      };
    };
    add("theta", command);
    add("wavelength", command, "2 pi / inv_freq", each([](double f) { return 2 * std::numbers::pi / f; }));
    add("turns_in_context", command, "4096 inv_freq / 2 pi", each([=](double f) { return context * f / (2 * std::numbers::pi); }));
    add("first_dim_longer_than_context", command, "first pair with 2 pi / inv_freq > 4096", [=](const Values& v) {
      double at = 0;
      for (const double f : v) at += 2 * std::numbers::pi / f <= context;
      return Values{at};
    });
  }
  // p(k + s) = M p(k): the table further on, and the rotation by -s (M acts from the left on sin, cos pairs).
  void shift() {
    Command table{"sinusoidal"};
    table.settings = {{"dim", text_of(p_["d"])}, {"positions", "12"}, {"offset", text_of(p_["s"])}};
    add("p_k_plus_s", table);
    add("M", rope({{"head_dim", text_of(p_["d"])}, {"pair_stride", "1"}, {"positions", "-7,"}, {"layout", "matrix"}}), "s = 7");
  }
  static Command unit_rows(const Json& p, std::int64_t rows) {
    return rope({{"head_dim", text_of(p["d"])}, {"base", text_of(p["base"])}, {"positions", posenc::print(rows)}});
  }
  // x^T R(m) x = sum |x_i|^2 cos(m theta_i).
  void same_vector() {
    const Command cosines = unit_rows(p_, 513).only("cos");
    const auto weighted = [](Values weights) {
      return [weights](const Values& v) {
        Values sums;
        for (std::size_t at = 0; at < v.size(); at += weights.size())
          sums.push_back(std::inner_product(weights.begin(), weights.end(), v.begin() + static_cast<std::ptrdiff_t>(at), 0.0));
        return sums;
      };
    };
    add("ones", cosines, "row sums times 2", weighted(Values(64, 2.0)));
    add("mean_cos", cosines, "row means", weighted(Values(64, 1.0 / 64)));
    const Values x = load(folder + case_.path("in_x"));
    Values squares;
    for (std::size_t i = 0; i < 128; i += 2) squares.push_back(x.at(i) * x.at(i) + x.at(i + 1) * x.at(i + 1));
    add("vector", cosines, "row sums weighted by |x_i|^2", weighted(squares));
  }
  void decay_bound() {
    add("curve", unit_rows(p_, 257).with({{"layout", "complex"}}), "means over j of |sum of the first j|", [](const Values& v) {
      Values curve;
      for (std::size_t row = 0; row < v.size(); row += 128) {
        double re = 0, im = 0, sum = 0;
        for (std::size_t i = 0; i < 128; i += 2) sum += std::hypot(re += v[row + i], im += v[row + i + 1]);
        curve.push_back(sum / 64);
      }
      return curve;
    });
  }
  // f_b(m) = sum of cos(m theta_i) over m < L: its minimum and the first m where it is negative.
  void smallest_sums() {
    for (std::size_t k = 0; k < p_["pairs"].size(); ++k) {
      const Json& pair = p_["pairs"][k];
      const Command cosines = rope({{"head_dim", text_of(p_["d"])}, {"base", text_of(pair[1])}, {"positions", text_of(pair[0])}}).only("cos");
      const auto row_sums = [](const Values& v) {
        Values sums;
        for (auto at = v.begin(); at != v.end(); at += 64) sums.push_back(std::accumulate(at, at + 64, 0.0));
        return sums;
      };
      part("fmin", k, cosines, "smallest row sum", [=](const Values& v) {
        const Values sums = row_sums(v);
        return Values{*std::min_element(sums.begin(), sums.end())};
      });
      part("first_negative_m", k, cosines, "first negative row sum", [=](const Values& v) {
        const Values sums = row_sums(v);
        const auto at = std::find_if(sums.begin(), sums.end(), [](double s) { return s < 0; });
        return Values{at == sums.end() ? -1.0 : static_cast<double>(at - sums.begin())};
      });
    }
  }
  void radix() {
    const Command command = rope({{"head_dim", text_of(p_["d"])}, {"base", text_of(p_["base"])}});
    add("angles", command.with({{"positions", text_of(p_["n"]) + ","}, {"layout", "angles"}}));
    add("beta", command.with({{"layout", "inv-freq"}}), "1 / inv_freq[1]", [](const Values& v) { return Values{1 / v.at(1)}; });
  }
  void by_parts() {
    const double s = p_["s"], length = p_["L"];
    const Command plain = rope({{"head_dim", text_of(p_["d"])}, {"base", text_of(p_["base"])}, {"layout", "inv-freq"}});
    const Command parts = plain.with({{"method", "ntk-by-parts"}, {"factor", text_of(p_["s"])}, {"original_max_position_embeddings", text_of(p_["L"])},
                                      {"beta_slow", text_of(p_["alpha"])}, {"beta_fast", text_of(p_["beta"])}});
    add("inv_freq", parts);
    add("gamma", parts.with({{"layout", "divisors"}}), "(16 / divisor - 1) / 15", [=](Values v) {
      for (double& x : v) x = (s / x - 1) / (s - 1);
      return v;
    });
    add("rotations", plain, "4096 inv_freq / 2 pi", [=](Values v) {
      for (double& x : v) x = length * x / (2 * std::numbers::pi);
      return v;
    });
  }
  void su() {
    const Command any = rope({{"head_dim", text_of(p_["d"])}, {"base", text_of(p_["base"])}, {"factor", text_of(p_["k"])}, {"layout", "inv-freq"}});
    add("old", any.with({{"method", "ntk-old"}}));
    add("fixed", any.with({{"method", "ntk-fixed"}}));
    add("mixed", any.with({{"method", "ntk-mixed"}, {"exponent", text_of(p_["b"])}}));
    add("mixed_b1", any.with({{"method", "ntk-mixed"}, {"exponent", "1"}}));
    add("mixed_b0", any.with({{"method", "ntk-mixed"}, {"exponent", "0"}}));
  }
  void magnitudes() {
    const std::pair<const char*, const char*> coefficients[] = {{"llama", "0.1"}, {"mistral", "0.07"}, {"chunkllama", "0.05"}};
    for (std::size_t k = 0; k < p_["s"].size(); ++k) {
      const std::string s = text_of(p_["s"][k]), length = text_of(p_["L"]);
      const Command yarn = rope({{"head_dim", "4"}, {"method", "yarn"}, {"factor", s}, {"original_max_position_embeddings", length}});
      for (const auto& [output, c] : coefficients) amplitude(output, k, yarn.with({{"mscale_coefficient", c}}), "", "cos of position 0");
      amplitude("temperature_t", k, yarn, "", "1 / square of cos of position 0", [](const Values& v) { return Values{1 / (v[0] * v[0])}; });
      amplitude("longrope_su", k,
                rope({{"head_dim", "4"}, {"method", "longrope"}, {"short_factor", "1,1"}, {"long_factor", "1,1"}, {"factor", s},
                      {"original_max_position_embeddings", length}}),
                "short.", "cos of position 0");
    }
  }
  // The new base, from the last frequency: f = base^(-(d - 2) / d).
  void dynamic_variants() {
    const double d = p_["d"], base = p_["base"];
    const auto new_base = [=](const Values& v) { return Values{std::pow(v.back(), -d / (d - 2))}; };
    for (std::size_t k = 0; k < p_["l"].size(); ++k) {
      const Command dynamic = rope({{"head_dim", text_of(p_["d"])}, {"base", text_of(p_["base"])}, {"method", "dynamic"},
                                    {"max_position_embeddings", text_of(p_["L"])}, {"length", text_of(p_["l"][k])}, {"layout", "inv-freq"}});
      const std::string text = "base = inv_freq[63]^(-128/126)";
      part("alpha2", k, dynamic.with({{"factor", "2"}}), text, new_base);
      part("paper", k, dynamic.with({{"variant", "paper"}}), text, new_base);
      part("qwen", k, dynamic.with({{"variant", "qwen"}}), text, new_base);
      part("qwen_alpha", k, dynamic.with({{"variant", "qwen"}}), "alpha = (base / 10000)^(126/128)",
           [=](const Values& v) { return Values{std::pow(new_base(v)[0] / base, (d - 2) / d)}; });
    }
  }

  const Case& case_;
  const Json& p_;
  Checks out_;
};

}  // namespace golden
