// What each program calls this rope's rule and quantities: program_words.hpp looked up for one set of settings.
#pragma once
#include <string>
#include <string_view>

#include "analyze/explain_numbers.hpp"
#include "analyze/program_words.hpp"

namespace posenc::analyze_sections {

class ExplainWords {
 public:
  explicit ExplainWords(const ExplainNumbers& numbers);

  [[nodiscard]] const program_words::Naming& naming() const { return *naming_; }
  /// Whether no program has a name for the rule.
  [[nodiscard]] bool nowhere() const { return naming_ == &program_words::unknown || naming_ == &program_words::nothing; }
  /// llama.cpp can be told by divisors of the plain frequencies alone.
  [[nodiscard]] bool by_divisors() const;
  /// The rule as a program calls it; "" where it does not have it.
  [[nodiscard]] std::string_view rule(std::size_t program) const;
  /// The word of a program for a quantity; "" where it has none.
  [[nodiscard]] std::string_view word(std::size_t program, const program_words::Spelling& spelling) const;

 private:
  const ExplainNumbers& numbers_;
  const program_words::Naming* naming_ = &program_words::unknown;
  std::string base_word_ = "rope_theta";              ///< under which a config of transformers 4 has the base
  std::string share_word_ = "partial_rotary_factor";  ///< the same of the share that turns: rotary_pct of GPT-NeoX
};

}  // namespace posenc::analyze_sections
