#include "analyze/explain_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "rescale/yarn_magnitude.hpp"

namespace posenc::analyze_sections {
namespace {

using namespace program_words;

// Amplitudes of real models stay below 1.5 (factor 128: 1.485); above this one it is a slip.
constexpr double loud = 3;

// A number without an exponent where that is short.
std::string shown(double x) { return fmt::format("{}", x); }

class Finder {
 public:
  Finder(const ExplainNumbers& numbers, const ExplainWords& words, const std::vector<ExplainRow>& rows) : n_(numbers), words_(words), rows_(rows) {}

  [[nodiscard]] std::vector<std::string> all() const {
    std::vector<std::string> out;
    for (const Check check : checks)
      if (auto finding = (this->*check)()) out.push_back(std::move(*finding));
    return out;
  }

 private:
  using Finding = std::optional<std::string>;
  using Check = Finding (Finder::*)() const;
  static const std::array<Check, 16> checks;

  Finding factor_as_amplitude() const {
    if (n_.amplitude <= loud && !(n_.factor && *n_.factor != 1 && n_.rope.attention_factor && close(n_.amplitude, *n_.factor))) return std::nullopt;
    const std::string right = n_.factor ? fmt::format("for factor {} YaRN's is {:.12g}, or 1 where mscale equals mscale_all_dim", shown(*n_.factor), rescale::yarn_magnitude(*n_.factor))
                                      : std::string("real models stay below 1.5");
    return fmt::format("attention_factor is {}{}: it multiplies every logit by {:.6g}; {}", shown(n_.amplitude),
                       n_.factor && close(n_.amplitude, *n_.factor) ? ", the factor itself" : "", n_.amplitude * n_.amplitude, right);
  }
  Finding inverse_factor() const {
    if (!n_.factor || *n_.factor >= 1) return std::nullopt;
    return fmt::format("factor {0} is below 1 and shortens the context; {0} is the frequency scale (llama.cpp --rope-freq-scale) of factor {1}: "
                       "write {1} if the context is to grow",
                       shown(*n_.factor), shown(1 / *n_.factor));
  }
  // alpha goes into the base through the power d/(d-2); a round ratio of bases shows that it was multiplied in.
  Finding alpha_as_ratio() const {
    const double ratio = n_.facts.method == "ntk-old" ? *n_.factor : n_.facts.method == "base" ? *n_.number("new_base") / n_.rope.base : 0;
    if (!n_.alpha || !(ratio > 1) || ratio != std::floor(ratio) || ratio > 64) return std::nullopt;
    const double d = static_cast<double>(n_.state.geometry.frequency_denominator);
    return fmt::format("the base is multiplied by {0}: if {0} is meant as NTK's alpha the base is {1:.12g} (base * alpha^(d/(d-2))); this one has "
                       "alpha {2:.12g}",
                       shown(ratio), n_.rope.base * std::pow(ratio, d / (d - 2)), *n_.alpha);
  }
  Finding alpha_on_raised_base() const {
    if (n_.facts.method != "ntk" || n_.rope.base <= Rope{}.base) return std::nullopt;
    return fmt::format("alpha {} is applied to base {}, not to {}: check that the base was trained with and has no alpha in it yet", shown(*n_.factor), shown(n_.rope.base),
                       shown(Rope{}.base));
  }
  Finding base_by_default() const {
    if (n_.question.reading == nullptr || !n_.factor || *n_.factor == 1) return std::nullopt;
    for (const Setting& s : n_.question.reading->settings)
      if (s.field == "base" && s.origin.find("default") != std::string::npos)
        return fmt::format("the file names no base: {} is the {}, and factor is {}; check that rope_theta was not lost", shown(n_.rope.base), s.origin,
                           shown(*n_.factor));
    return std::nullopt;
  }
  Finding no_ramp() const {
    const auto fast = n_.number("beta_fast"), slow = n_.number("beta_slow");
    if (!fast || !slow || *fast > *slow) return std::nullopt;
    return fmt::format("beta_fast {} is not above beta_slow {}: the ramp between kept and interpolated pairs has no width; check their order",
                       shown(*fast), shown(*slow));
  }
  Finding original_not_below() const {
    const std::int64_t declared = n_.question.reading == nullptr ? 0 : n_.question.reading->context.value_or(0);
    if (n_.facts.method == "dynamic" || !n_.original || declared == 0 || !n_.factor || *n_.factor <= 1 || *n_.original < declared) return std::nullopt;
    return fmt::format("original_max_position_embeddings is {}, not below the {} positions declared: it is the length before rescaling", *n_.original, declared);
  }
  // The factor and the ratio of lengths are two numbers.
  Finding factor_against_ratio() const {
    if (!n_.reach || !n_.original || !n_.context || !(n_.yarn() || n_.facts.method == "longrope") || *n_.reach == *n_.context || *n_.original >= *n_.context) return std::nullopt;
    const double ratio = static_cast<double>(*n_.context) / static_cast<double>(*n_.original);
    std::string text = fmt::format("factor {} times {} reaches {} positions, not {}, whose ratio is {}", shown(*n_.factor), *n_.original, *n_.reach, *n_.context, shown(ratio));
    if (n_.yarn()) text += fmt::format(" (amplitude {:.12g})", rescale::yarn_magnitude(ratio));
    return text + "; the factor is what counts, transformers warns, and versions that take the ratio make another table";
  }
  Finding doubled_by_vllm() const {
    if ((n_.facts.method != "linear" && n_.facts.method != "dynamic") || !n_.factor || *n_.factor <= 1 || !n_.context) return std::nullopt;
    const double doubled = static_cast<double>(*n_.context) * *n_.factor;
    return fmt::format("vLLM multiplies max_position_embeddings by factor for {}: where it is {} already, vLLM serves {:.0f} positions; keep the trained "
                       "length there, or cap it with --max-model-len",
                       n_.facts.method, *n_.context, doubled);
  }
  Finding several_readings() const {
    const auto readings = mscale_readings(n_);
    if (readings.empty()) return std::nullopt;
    const auto same = [&](const MscaleReading& r) { return close(r.amplitude, readings[0].amplitude) && close(r.softmax, readings[0].softmax); };
    if (std::all_of(readings.begin(), readings.end(), same)) return std::nullopt;
    std::string text = "mscale and mscale_all_dim are read in three ways (amplitude, factor on the softmax):";
    for (std::size_t i = 0; i < readings.size(); ++i)
      text += fmt::format("{} {:.12g}, {:.12g}", i == 0 ? "" : ";", readings[i].amplitude, readings[i].softmax);
    return text + fmt::format("; in force here {:.12g}, {:.12g}: set mscale_rule and softmax_multiplier if the model's code means another", n_.amplitude, n_.softmax);
  }
  Finding second_magnitude() const {
    if (!n_.deepseek()) return std::nullopt;
    return fmt::format("the attention scale is multiplied by {:.12g} beside the table; transformers and vLLM do so in the classes of DeepSeek only, llama.cpp "
                       "from yarn_log_multiplier in deepseek2 only",
                       n_.softmax);
  }
  Finding amplitude_unread() const {
    if (close(n_.amplitude, n_.own_amplitude()) || n_.deepseek() || factor_as_amplitude()) return std::nullopt;
    if (n_.yarn())
      return fmt::format("attention_factor {:.12g} is to be written {:.12g} = {:.12g} / (0.1 ln factor + 1) for llama.cpp and as vLLM's attn_factor, which "
                         "multiply YaRN's own; --yarn-attn-factor is overwritten by recent llama.cpp, attn_factor is not",
                         n_.amplitude, n_.amplitude / n_.own_amplitude(), n_.amplitude);
    if (n_.facts.method == "longrope") return std::nullopt;
    return fmt::format("transformers and vLLM read attention_factor with yarn and longrope only: {:.12g} cannot be said with {}", n_.amplitude, n_.facts.method);
  }
  Finding not_in_llama_cpp() const {
    const std::string_view tensor = "the divisor tensor rope_freqs.weight (posenc generate --for llama.cpp writes it) says the same where the architecture loads it";
    if (n_.yarn() && n_.fields.contains("truncate") && n_.fields.at("truncate").value == "false")
      return fmt::format("truncate = false cannot be said to llama.cpp, which rounds the ends of YaRN's ramp outward; {}", tensor);
    if (n_.facts.method == "llama3") return fmt::format("llama.cpp has no llama3 rule: {}", tensor);
    if (n_.facts.method == "dynamic" && n_.effective_base)
      return fmt::format("llama.cpp has no dynamic rule: --rope-scaling none --rope-freq-base {:.9g} is its table of {} positions, for every length",
                         *n_.effective_base, n_.length);
    if (n_.facts.method == "proportional") return std::string("llama.cpp has no word for the proportional rule: the architecture itself has to know it");
    if (n_.facts.method == "longrope")
      return fmt::format("llama.cpp has no flags for longrope: it takes its two lists from tensors of the file, the long one for contexts above {}", *n_.original);
    return std::nullopt;
  }
  Finding seldom_read() const {
    const bool given = std::any_of(rows_.begin(), rows_.end(), [](const ExplainRow& q) { return q.key.starts_with("beta_") && !q.given[gguf].is_null(); });
    if (!given) return std::nullopt;
    return std::string("yarn_beta_fast and yarn_beta_slow of a GGUF file are read by the loaders of a few architectures only; the flags --yarn-beta-fast and "
                       "--yarn-beta-slow count for all");
  }
  Finding one_layer_type() const {
    if (n_.layer.empty()) return std::nullopt;
    return fmt::format("these are the settings of {0} layers: where layer types differ, transformers 5 and vLLM keep them under rope_parameters.{0}{1}", n_.layer,
                       n_.in_window() ? ", and llama.cpp has keys in the file for them but no flags" : "");
  }
  Finding not_elsewhere() const {
    if (!words_.nowhere()) return std::nullopt;
    const std::string what = n_.rope.inv_freq.empty() ? fmt::format("method {}{}", n_.facts.method, n_.fields.contains("variant") ? " in its variant " + n_.fields.at("variant").value : "")
                                                      : std::string("explicit inv_freq");
    return fmt::format("{} is not a setting of transformers, vLLM or llama.cpp; hand over the table (posenc generate --for NAME{})", what,
                       words_.by_divisors() ? "; for llama.cpp its divisors, where the architecture loads rope_freqs.weight" : "");
  }

  const ExplainNumbers& n_;
  const ExplainWords& words_;
  const std::vector<ExplainRow>& rows_;
};

const std::array<Finder::Check, 16> Finder::checks{
    &Finder::factor_as_amplitude, &Finder::inverse_factor,      &Finder::alpha_as_ratio,    &Finder::alpha_on_raised_base,
    &Finder::base_by_default,     &Finder::no_ramp,             &Finder::original_not_below, &Finder::factor_against_ratio,
    &Finder::doubled_by_vllm,     &Finder::several_readings,    &Finder::second_magnitude,  &Finder::amplitude_unread,
    &Finder::not_in_llama_cpp,    &Finder::seldom_read,         &Finder::one_layer_type,      &Finder::not_elsewhere,
};

}  // namespace

std::vector<std::string> explain_findings(const ExplainNumbers& numbers, const ExplainWords& words, const std::vector<ExplainRow>& rows) {
  return Finder(numbers, words, rows).all();
}

}  // namespace posenc::analyze_sections
