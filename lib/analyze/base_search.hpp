// How long a context a base carries, and the smallest base for a context: Men et al. 2024, arXiv:2405.14591; Su, kexue.fm/archives/10122.
// A base carries L positions when f(m) = sum over pairs of cos(m base^(-2i/d)) is not negative for any m < L. This is not
// monotone in the base, so the smallest one cannot be found by halving.
#pragma once
#include <cstdint>
#include <optional>

namespace posenc::analyze_sections {

struct BaseSearch {
  std::int64_t length, pairs, denominator;  ///< positions; frequencies are base^(-2i/denominator), i < pairs
  int depth = 5;
};
struct BaseFound {
  double base;
  double step;  ///< bases between this one and the next smaller one that was tried
};
/// Su's search: bound = 1000 length; for k = 1..depth the bases bound j / 10^k, j = 1, 2, .., are tried and the first that carries
/// the length is the next bound; when none does, the bound stays. Nothing when no base that was tried does.
[[nodiscard]] std::optional<BaseFound> smallest_base(const BaseSearch& search);

}  // namespace posenc::analyze_sections
