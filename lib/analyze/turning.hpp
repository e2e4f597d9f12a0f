// The pairs of an encoding that turn with the position, for every section that is about frequencies.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analyze/section.hpp"
#include "encodings/mrope.hpp"
#include "encodings/rope.hpp"
#include "numeric/cosine_sum.hpp"

namespace posenc::analyze_sections {

struct Turning {
  using Exact = num::CosineSum::Exact;
  std::vector<double> plain, used;  ///< radians per position, before and after the rule; correctly rounded
  Exact exact_plain, exact_used;    ///< the same at the precision in force
  std::string method;               ///< the rule in force: "default", "yarn", ...
  std::string set;                  ///< of several frequency sets the one that holds at the context; else ""
  double attention_factor = 1;      ///< amplitude of cos and sin
  std::optional<double> base;       ///< plain is base^(-2i/denominator), where it is
  std::int64_t denominator = 0;
  std::optional<Rope> rope;         ///< where other rules could be tried
};
/// Of rope, mrope and sinusoidal, with the frequencies that hold at the question's context; nothing for the others.
[[nodiscard]] std::optional<Turning> turning_of(const Question& question);
[[nodiscard]] Turning turning_of(const Rope& rope, std::optional<std::int64_t> context);

/// Of several frequency sets the number of the one that a model takes for that many positions; 0 where there is one.
[[nodiscard]] std::size_t frequency_set(const Rope& rope, std::optional<std::int64_t> positions);
/// The rope over that many positions from 0 on.
[[nodiscard]] Rope at_length(Rope rope, std::int64_t positions);
/// The rope whose frequencies mrope's are, whatever axis a pair follows: one without a rule.
[[nodiscard]] Rope rope_of(const Mrope& mrope);

/// Lanes of a query or key head that do not turn: two of them add 1 to a sum of cosines, whatever the distance.
[[nodiscard]] std::int64_t still_lanes(const Question& question);

}  // namespace posenc::analyze_sections
