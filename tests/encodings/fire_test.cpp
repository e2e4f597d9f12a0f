// fire: normalised distances and biases on either side of the threshold, refusals, laws.
#include "encodings/fire.hpp"

#include <doctest/doctest.h>

#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

Big normalised(const Fire& s, std::int64_t query, std::int64_t distance) {
  const auto psi = [&](const Big& y) { return Big(log(abs(Big(s.c) * y) + 1)); };
  const Big threshold = abs(Big(s.multiplier) * s.threshold);
  return psi(Big(std::abs(distance))) / (psi(Big(query) > threshold ? Big(query) : threshold) + Big(1e-6));
}

int wrong_values(const Fire& s) {
  int wrong = 0;
  const auto encoding = erase(s);
  const Tensor tensor = encoding->tensors()[0];
  for (const DType dtype : reference::float_dtypes) {
    const auto values = values_of(*encoding, dtype);
    for (std::size_t flat = 0; flat < values.size(); ++flat) {
      const auto index = unravel(static_cast<std::int64_t>(flat), tensor);
      const std::size_t lead = s.has_weights() ? 1 : 0;
      const bool matrix = s.span.form == SpanForm::matrix;
      const std::int64_t query = matrix ? s.span.first_query() + index[lead] : s.span.last_query();
      Big value = normalised(s, query, index[lead + (matrix ? 1 : 0)] - query);
      if (s.has_weights()) {
        Big sum = s.bias_2.values[static_cast<std::size_t>(index[0])];
        for (std::size_t u = 0; u < s.bias_1.values.size(); ++u) {
          const Big unit = s.weight_1.values[u] * value + s.bias_1.values[u];
          if (unit > 0) sum += s.weight_2.values[static_cast<std::size_t>(index[0]) * s.bias_1.values.size() + u] * unit;
        }
        value = sum;
      }
      wrong += oracle::correctly_rounded(dtype, values[flat], value) ? 0 : 1;
    }
  }
  return wrong;
}

TEST_CASE("fire: distances and biases on either side of the threshold, correctly rounded") {
  for (const bool weights : {false, true})
    for (const SpanForm form : {SpanForm::row, SpanForm::matrix, SpanForm::toeplitz}) {
      Fire s{.threshold = 5.5, .multiplier = -1.25, .span = {.form = form, .key_length = 11, .query_length = 9, .query_offset = 1}};
      if (form == SpanForm::toeplitz) s.multiplier = 3;
      if (weights) {
        s.weight_1 = some_array({7, 1}, 1);
        s.bias_1 = some_array({7}, 2);
        s.weight_2 = some_array({2, 7}, 3);
        s.bias_2 = some_array({2}, 4);
        s.bias_1.values[0] = 0;  // a unit that is exactly 0 at distance 0
      }
      CHECK(wrong_values(s) == 0);
      check_encoding(*erase(s));
    }
}

TEST_CASE("fire: what makes no sense is refused in one sentence, laws notice wrong values") {
  const auto has = [](const Fire& s, const char* part) { return reference::refusal(*erase(s)).find(part) != std::string::npos; };
  CHECK(reference::refusal(*erase(Fire{})).empty());
  CHECK(has({.c = 0}, "c must"));
  CHECK(has({.multiplier = 0}, "multiplier 0"));
  CHECK(has({.span = {.form = SpanForm::toeplitz}}, "beyond the threshold 512"));
  CHECK(has({.span = {.key_length = 4, .query_offset = -1}}, "before position 0"));
  CHECK(has({.weight_2 = some_array({2, 3}, 1)}, "weight_1 wants shape [any, 1], got nothing"));
  CHECK(has({.weight_1 = some_array({3, 1}, 1), .bias_1 = some_array({3}, 1), .weight_2 = some_array({2, 3}, 1), .bias_2 = some_array({3}, 1)},
            "bias_2 wants shape [2], got [3]"));
  const Fire s{.span = {.key_length = 9}};
  CHECK(broken_laws(*erase(s), 0, 0).empty());
  CHECK(broken_laws(*erase(s), 4 * 9 + 6, 2) == "toeplitz symmetric range");
}

}  // namespace
