// swin, beit, swin_v2: indices, tables, coordinates, networks, refusals, laws.
#include <doctest/doctest.h>

#include "encodings/beit.hpp"
#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"
#include "encodings/swin.hpp"
#include "encodings/swin_v2.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

std::vector<double> part(const std::vector<double>& v, std::size_t first, std::size_t n) {
  return {v.begin() + static_cast<std::ptrdiff_t>(first), v.begin() + static_cast<std::ptrdiff_t>(first + n)};
}

// FIELD_LOG B34.
TEST_CASE("swin: printed indices and sizes") {
  CHECK(values_of(*erase(Swin{.window = {2, 2}})) == std::vector<double>{4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4});
  CHECK(part(values_of(*erase(Swin{.window = {2, 3}})), 0, 6) == std::vector<double>{7, 6, 5, 2, 1, 0});
  CHECK(Window{7, 7}.table_rows() == 169);
  CHECK(Window{12, 12}.table_rows() == 529);
  CHECK(Window{24, 24}.table_rows() == 2209);
  CHECK(Beit{.window = {14, 14}}.matrix().table_rows() == 732);
  CHECK(Beit{.window = {32, 32}}.matrix().table_rows() == 3972);
}

TEST_CASE("swin and beit: every cell's offset, the class token's rows, the table's numbers") {
  for (const Window w : {Window{1, 1}, Window{1, 5}, Window{4, 3}, Window{3, 4}})
    for (const bool token : {false, true}) {
      const std::int64_t rows = (2 * w.height - 1) * (2 * w.width - 1) + (token ? 3 : 0), skip = token ? 1 : 0, n = w.cells() + skip;
      const Array table = some_array({rows, 3}, 5);
      const auto index = token ? erase(Beit{.window = w}) : erase(Swin{.window = w});
      const auto bias = token ? erase(Beit{.window = w, .bias_table = table}) : erase(Swin{.window = w, .bias_table = table});
      const auto indices = values_of(*index), biases = values_of(*bias);
      REQUIRE(biases.size() == static_cast<std::size_t>(3 * n * n));
      bool same = true;
      for (std::int64_t q = 0; q < n; ++q)
        for (std::int64_t k = 0; k < n; ++k) {
          std::int64_t want = token && q == 0 && k == 0 ? rows - 1 : token && q == 0 ? rows - 3 : rows - 2;
          if (q >= skip && k >= skip) {
            const std::int64_t dy = (q - skip) / w.width - (k - skip) / w.width, dx = (q - skip) % w.width - (k - skip) % w.width;
            want = (dy + w.height - 1) * (2 * w.width - 1) + (dx + w.width - 1);
          }
          same = same && indices[static_cast<std::size_t>(q * n + k)] == static_cast<double>(want);
          for (std::int64_t h = 0; h < 3; ++h)
            same = same && biases[static_cast<std::size_t>((h * n + q) * n + k)] == table.values[static_cast<std::size_t>(3 * want + h)];
        }
      CHECK(same);
      check_encoding(*index);
      check_encoding(*bias);
    }
}

Big coordinate(std::int64_t o, std::int64_t divisor) {
  if (o == 0) return 0;
  const Big value = log(1 + Big(8) * std::abs(o) / divisor) / log(Big(8));
  return o < 0 ? Big(-value) : value;
}

TEST_CASE("swin_v2: coordinates, correctly rounded") {
  struct Setting {
    Window window;
    std::int64_t down, across;
  };
  for (const auto& [window, down, across] : std::initializer_list<Setting>{{{8, 8}, 0, 0}, {{16, 16}, 8, 8}, {{9, 3}, 0, 0}, {{1, 4}, 0, 12}, {{5, 1}, 1024, 1}}) {
    const SwinV2 s{.window = window, .pretrained_height = down, .pretrained_width = across};
    const auto encoding = erase(s);
    for (const DType dtype : reference::float_dtypes) {
      const auto values = values_of(*encoding, dtype);
      int wrong = 0;
      std::size_t at = 0;
      for (std::int64_t y = 1 - window.height; y < window.height; ++y)
        for (std::int64_t x = 1 - window.width; x < window.width; ++x) {
          wrong += oracle::correctly_rounded(dtype, values[at++], coordinate(y, (down == 0 ? window.height : down) - 1)) ? 0 : 1;
          wrong += oracle::correctly_rounded(dtype, values[at++], coordinate(x, (across == 0 ? window.width : across) - 1)) ? 0 : 1;
        }
      CHECK(wrong == 0);
    }
    check_encoding(*encoding);
  }
  // FIELD_LOG B34, and an offset whose coordinate is a whole number: 8 * 7 / 8 = 7.
  const auto eight = values_of(*erase(SwinV2{}));
  CHECK(std::fabs(eight.back() - 1.05664166715) < 5e-12);
  const auto pretrained = values_of(*erase(SwinV2{.window = {16, 16}, .pretrained_height = 8, .pretrained_width = 8}));
  CHECK(std::fabs(pretrained.back() - 1.39377658824) < 5e-12);
  CHECK(values_of(*erase(SwinV2{.window = {9, 9}}))[2 * (15 * 17 + 15)] == 1);
}

TEST_CASE("swin_v2: the network's biases, correctly rounded") {
  SwinV2 s{.output = SwinV2Output::bias, .window = {3, 4}};
  s.weight_1 = some_array({16, 2}, 1);
  s.bias_1 = some_array({16}, 2);
  s.weight_2 = some_array({2, 16}, 3);
  // Units whose sum is 0 on the diagonal, by cancellation and by zeros.
  s.weight_1.values[0] = 0.5, s.weight_1.values[1] = -0.5, s.bias_1.values[0] = 0;
  s.weight_1.values[2] = 0, s.weight_1.values[3] = 0, s.bias_1.values[1] = 0;
  const auto encoding = erase(s);
  for (const DType dtype : reference::float_dtypes) {
    const auto values = values_of(*encoding, dtype);
    int wrong = 0;
    for (std::int64_t h = 0; h < 2; ++h)
      for (std::int64_t q = 0; q < 12; ++q)
        for (std::int64_t k = 0; k < 12; ++k) {
          const Big cy = coordinate(q / 4 - k / 4, 2), cx = coordinate(q % 4 - k % 4, 3);
          Big sum = 0;
          for (std::size_t u = 0; u < 16; ++u) {
            const Big unit = s.weight_1.values[2 * u] * cy + s.weight_1.values[2 * u + 1] * cx + s.bias_1.values[u];
            if (unit > 0) sum += s.weight_2.values[static_cast<std::size_t>(h) * 16 + u] * unit;
          }
          wrong += oracle::correctly_rounded(dtype, values[static_cast<std::size_t>((h * 12 + q) * 12 + k)], 16 / (1 + exp(-sum))) ? 0 : 1;
        }
    CHECK(wrong == 0);
  }
  check_encoding(*encoding);
  CHECK(values_of(*erase(SwinV2{.output = SwinV2Output::index, .window = {3, 4}})) == values_of(*erase(Swin{.window = {3, 4}})));
}

TEST_CASE("windows: what makes no sense is refused in one sentence") {
  const auto has = [](const Encoding& e, const char* part) { return reference::refusal(e).find(part) != std::string::npos; };
  CHECK(reference::refusal(*erase(Swin{})).empty());
  CHECK(reference::refusal(*erase(Beit{})).empty());
  CHECK(reference::refusal(*erase(SwinV2{})).empty());
  CHECK(has(*erase(Swin{.window = {0, 7}}), "window_height"));
  CHECK(has(*erase(Swin{.bias_table = some_array({529, 3}, 1)}), "bias_table wants shape [169, any], got [529, 3]"));
  CHECK(has(*erase(Beit{.bias_table = some_array({169, 3}, 1)}), "bias_table wants shape [172, any], got [169, 3]"));
  CHECK(has(*erase(SwinV2{.pretrained_height = 1}), "pretrained_height 1 would divide"));
  SwinV2 s{.output = SwinV2Output::bias};
  CHECK(has(*erase(s), "weight_1 wants shape [any, 2], got nothing"));
  s.weight_1 = some_array({4, 2}, 1);
  CHECK(has(*erase(s), "bias_1 wants shape [4]"));
  s.bias_1 = some_array({4}, 1);
  CHECK(has(*erase(s), "weight_2 wants shape [any, 4]"));
}

TEST_CASE("windows: laws notice wrong values") {
  const auto swin = erase(Swin{.window = {4, 5}});
  CHECK(broken_laws(*swin, 0, 31).empty());
  CHECK(broken_laws(*swin, 0, 32) == "translation mirror");
  const auto beit = erase(Beit{.window = {2, 3}});
  CHECK(broken_laws(*beit, 3, 16) == "class-token");
  CHECK(broken_laws(*beit, 7 * 3, 15) == "class-token");
  const auto coordinates = erase(SwinV2{.window = {3, 3}});
  CHECK(broken_laws(*coordinates, 0, 1) == "odd monotone");
}

}  // namespace
