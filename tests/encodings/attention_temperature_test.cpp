// attention_temperature: every kind against formulas of its own, exact cases, DeepSeek's published scale, refusals, laws.
#include "encodings/attention_temperature.hpp"

#include <doctest/doctest.h>

#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

Big truth(const AttentionTemperature& s, double position) {
  const Big n = Big(position) + s.n_offset, ratio = log(n) / log(Big(s.original_max_position_embeddings));
  Big value = 1;
  switch (s.kind) {
    case TemperatureKind::log_n: value = ratio; break;
    case TemperatureKind::log_n_clipped:
    case TemperatureKind::qwen: value = n > s.original_max_position_embeddings ? ratio : Big(1); break;
    case TemperatureKind::llama4: value = 1 + Big(s.attn_scale) * log(1 + floor(n / s.floor_scale)); break;
    case TemperatureKind::yarn: value = Big(s.mscale_coefficient) * log(Big(*s.factor)) + 1, value *= value; break;
    case TemperatureKind::deepseek: value = Big(s.mscale_coefficient) * s.mscale_all_dim * log(Big(*s.factor)) + 1, value *= value; break;
  }
  return s.head_dim ? Big(value / sqrt(Big(*s.head_dim))) : value;
}

TEST_CASE("attention_temperature: every kind, correctly rounded") {
  for (const auto& entry : EnumNames<TemperatureKind>::values)
    for (const std::optional<std::int64_t> head_dim : {std::optional<std::int64_t>{}, std::optional<std::int64_t>{192}, std::optional<std::int64_t>{64}}) {
      AttentionTemperature s{.kind = entry.value, .original_max_position_embeddings = 48, .floor_scale = 16, .factor = 40, .mscale_all_dim = 0.707, .head_dim = head_dim};
      s.positions = Positions::list({0, 1, 5, 15, 16, 30.5, 46, 46.25, 47, 47.5, 48, 62.75, 63, 64, 2303, 100000, 1e12, 9e15});
      const auto encoding = erase(s);
      int wrong = 0;
      for (const DType dtype : reference::float_dtypes) {
        const auto values = values_of(*encoding, dtype);
        // A power of L0 has a whole logarithm: known to be n = 48 and 48^2.
        for (std::int64_t i = 0; i < s.positions.size(); ++i) {
          const double n = s.positions[i] + 1;
          Big want = truth(s, s.positions[i]);
          if (s.is_log_n() && (n == 48 || n == 2304)) want = Big(n == 48 ? 1 : 2) / (head_dim ? Big(sqrt(Big(*head_dim))) : Big(1));
          wrong += oracle::correctly_rounded(dtype, values[static_cast<std::size_t>(i)], want) ? 0 : 1;
        }
      }
      CHECK_MESSAGE(wrong == 0, entry.name);
      check_encoding(*encoding);
    }
}

TEST_CASE("attention_temperature: powers of the base have exact logarithms") {
  const AttentionTemperature s{.kind = TemperatureKind::log_n, .positions = Positions::list({0, 1, 7, 63, 511, 4095, 262143})};
  const std::vector<double> values = values_of(*erase(s));
  const std::vector<double> want{0, 1.0 / 9, 3.0 / 9, 6.0 / 9, 1, 12.0 / 9, 2};
  CHECK(values == want);
  // n = position: 512 is at 512.
  CHECK(values_of(*erase(AttentionTemperature{.kind = TemperatureKind::log_n, .n_offset = 0, .positions = Positions::list({512})})) == std::vector<double>{1});
  CHECK(values_of(*erase(AttentionTemperature{.original_max_position_embeddings = 9, .positions = Positions::list({0, 8, 26, 80})})) == std::vector<double>{1, 1, 1.5, 2});
}

TEST_CASE("attention_temperature: DeepSeek's softmax scales, YaRN's temperature, Llama 4's steps") {
  // transformers, modeling_deepseek_v3.py, in binary64: a logarithm, products, a power and a root, each within an ulp.
  const double published[] = {0.1352337788608801, 0.1147213867929261, 0.07216878364870322};
  const double all_dim[] = {1, 0.707, 0};
  for (int i = 0; i < 3; ++i) {
    const AttentionTemperature s{.kind = TemperatureKind::deepseek, .factor = 40, .mscale_all_dim = all_dim[i], .head_dim = 192, .positions = Positions::list({0})};
    CHECK(std::fabs(values_of(*erase(s))[0] / published[i] - 1) <= 0x1p-50);
  }
  const AttentionTemperature one{.kind = TemperatureKind::yarn, .factor = 0.5, .positions = Positions::range(0, 3)};
  CHECK(values_of(*erase(one)) == std::vector<double>{1, 1, 1});
  // 1 up to position 8190, 1 + 0.1 ln 2 from 8191 on.
  const AttentionTemperature llama{.kind = TemperatureKind::llama4, .positions = Positions::list({8190, 8191, 16382, 16383})};
  const auto values = values_of(*erase(llama), DType::f32);
  CHECK(values[0] == 1);
  CHECK(values[1] == static_cast<double>(1.0693147f));
  CHECK(values[2] == values[1]);
  CHECK(values[3] > values[2]);
}

TEST_CASE("attention_temperature: what makes no sense is refused in one sentence, laws notice wrong values") {
  const auto has = [](const AttentionTemperature& s, const char* part) { return reference::refusal(*erase(s)).find(part) != std::string::npos; };
  CHECK(reference::refusal(*erase(AttentionTemperature{})).empty());
  CHECK(has({.kind = TemperatureKind::yarn}, "kind yarn wants factor"));
  CHECK(has({.kind = TemperatureKind::deepseek}, "kind deepseek wants factor"));
  CHECK(has({.positions = Positions::range(-1, 4)}, "position -1 is before 0"));
  CHECK(has({.positions = Positions::range(4, -4, -1)}, "position -3 is before 0"));
  CHECK(has({.positions = Positions::list({3, -0.5})}, "position -0.5 is before 0"));
  CHECK(has({.kind = TemperatureKind::log_n, .n_offset = 0}, "logarithm of 0"));
  CHECK(has({.original_max_position_embeddings = 1}, "original_max_position_embeddings must"));
  AttentionTemperature s{.original_max_position_embeddings = 8, .positions = Positions::range(0, 20)};
  CHECK(broken_laws(*erase(s), 0, 1).empty());
  CHECK(broken_laws(*erase(s), 3, 1.5) == "order trained");
  CHECK(broken_laws(*erase(s), 15, 1.0) == "order");
  s.kind = TemperatureKind::log_n;
  CHECK(broken_laws(*erase(s), 7, 1.01) == "trained");
  s.kind = TemperatureKind::llama4;
  CHECK(broken_laws(*erase(s), 0, 0.9) == "least");
  s.kind = TemperatureKind::yarn;
  s.factor = 4;
  CHECK(broken_laws(*erase(s), 5, 1.2) == "constant");
}

}  // namespace
