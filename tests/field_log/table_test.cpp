// Field log, other tables: axes of M-RoPE, slopes, buckets, resized and extended tables, ids, windows, sinusoids.
#include "field_log/field_log.hpp"

#include <algorithm>
#include <numeric>

#include "posenc/resample.hpp"

using namespace field_log;
using posenc::Alignment;
using posenc::Array;
using posenc::resample;
using posenc::ResampleMethod;
using posenc::ResamplePreset;
using posenc::Resampler;
using posenc::Resampling;
using posenc::TableRowKind;

namespace {

Command command(const std::string& encoding, const Settings& settings) { return Command{encoding}.with(settings); }
Values integers(const std::string& encoding, const Settings& settings) { return produced(command(encoding, settings)); }
Values reals(const std::string& encoding, const Settings& settings) { return produced(command(encoding, settings).as("f64")); }

Values counted(std::int64_t first, std::int64_t count) {
  Values out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), static_cast<double>(first));
  return out;
}

}  // namespace

TEST_CASE("B18: which pair of M-RoPE turns with which axis") {
  const auto axes = [](const std::string& section, const std::string& arrangement, const Settings& more = {}) {
    Settings settings{{"part", "axis"}, {"mrope_section", section}, {"arrangement", arrangement}};
    settings.insert(settings.end(), more.begin(), more.end());
    std::string out;
    for (const double axis : integers("mrope", settings)) out += "THW"[static_cast<std::size_t>(axis)];
    return out;
  };
  const auto times = [](std::string_view text, std::size_t n) {
    std::string out;
    for (std::size_t i = 0; i < n; ++i) out += text;
    return out;
  };
  const auto differing = [](const std::string& a, const std::string& b) {
    REQUIRE(a.size() == b.size());
    int n = 0;
    for (std::size_t i = 0; i < a.size(); ++i) n += a[i] != b[i] ? 1 : 0;
    return n;
  };
  CHECK(axes("16,24,24", "chunked") == times("T", 16) + times("H", 24) + times("W", 24));
  const std::string qwen3 = axes("24,20,20", "interleaved");
  CHECK(qwen3 == times("THW", 20) + "TTTT");
  for (std::size_t i = 1; i <= 58; i += 3) CHECK((qwen3[i] == 'H' && qwen3[i + 1] == 'W'));
  CHECK(qwen3.substr(61, 2) == "TT");  // an unbounded stride has H and W there
  CHECK(differing(qwen3, axes("24,20,20", "chunked")) == 43);
  const Settings quarter{{"head_dim", "256"}, {"rotary_dim", "64"}};
  CHECK(axes("11,11,10", "interleaved", quarter) == times("THW", 10) + "TH");
  CHECK(differing(axes("11,11,10", "interleaved", quarter), axes("11,11,10", "chunked", quarter)) == 22);
  // Sections that do not fit are cut off, as timm has it (tests/golden: timm_rope_mrope); a config that asks for them is refused.
  const std::string cut = axes("16,24,24", "interleaved");
  CHECK(std::ranges::count(cut, 'T') == 22);
  CHECK(std::ranges::count(cut, 'H') == 21);
  CHECK(std::ranges::count(cut, 'W') == 21);
  refused(R"({"model_type":"qwen3_vl_text","hidden_size":4096,"num_attention_heads":32,"head_dim":128,"rope_theta":5000000,
              "rope_scaling":{"rope_type":"default","mrope_interleaved":true,"mrope_section":[16,24,24]}})",
          {"mrope_section", "24"});
  // With t = h = w every arrangement is plain rotation, bit for bit.
  for (const std::string arrangement : {"chunked", "interleaved"})
    for (const std::string dtype : {"f64", "f32", "bf16"})
      for (const std::string tensor : {"cos", "sin"}) {
        const Command text = command("mrope", {{"mrope_section", "24,20,20"}, {"arrangement", arrangement}, {"spans", "text:300"}, {"base", "5e6"}});
        const Command plain = command("rope", {{"head_dim", "128"}, {"base", "5e6"}, {"positions", "300"}, {"layout", "half"}});
        CHECK(produced(text.only(tensor).as(dtype)) == produced(plain.only(tensor).as(dtype)));
      }
}

TEST_CASE("B20: ALiBi's slopes where the heads are no power of two") {
  const auto slopes = [](const std::string& heads, const std::string& rule = "reference") {
    return reals("alibi", {{"num_heads", heads}, {"form", "slopes"}, {"rule", rule}});
  };
  CHECK(slopes("6") == Values{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125});
  const Values twelve = slopes("12");
  CHECK(std::equal(twelve.begin(), twelve.begin() + 8, Values{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625}.begin()));
  check(twelve, {{8, "0.70710678119"}, {9, "0.35355339059"}, {10, "0.1767766953"}, {11, "0.088388347648"}}, 11);
  check(slopes("40"), {{0, "0.84089641525"}, {1, "0.70710678119"}, {31, "0.00390625"}, {32, "0.9170040432"}, {33, "0.7711054127"}, {39, "0.27262693317"}}, 10);
  check(slopes("12", "geometric"), {{0, "0.62996052495"}, {1, "0.39685026299"}}, 11);
  CHECK(slopes("8").front() == 0.5);
  CHECK(slopes("8").back() == 0.00390625);
}

TEST_CASE("B23: T5's buckets") {
  const auto buckets = [](const Settings& more) {
    Settings settings{{"num_buckets", "32"}, {"max_distance", "128"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return integers("t5", settings);
  };
  // One query, key - query from -200 to 200.
  const Values both = buckets({{"form", "row"}, {"key_length", "401"}, {"query_length", "1"}, {"query_offset", "200"}});
  REQUIRE(both.size() == 401);
  const auto at = [&](int relative) { return both[static_cast<std::size_t>(200 + relative)]; };
  const int first[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
  for (int bucket = 0; bucket < 16; ++bucket) {
    CHECK(at(-first[bucket]) == bucket);
    if (bucket > 0) {
      CHECK(at(-first[bucket] + 1) == bucket - 1);
      CHECK(at(first[bucket]) == 16 + bucket);
    }
  }
  CHECK(at(1) == 17);
  CHECK(at(128) == 31);
  CHECK(at(-128) == 15);
  CHECK(at(200) == 31);
  const Values causal = buckets({{"bidirectional", "false"}, {"form", "row"}, {"key_length", "301"}, {"query_length", "1"}, {"query_offset", "200"}});
  const auto back = [&](int distance) { return causal[static_cast<std::size_t>(200 - distance)]; };
  const int later[] = {16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
  for (int k = 0; k < 16; ++k) {
    CHECK(back(later[k]) == 16 + k);
    CHECK(back(later[k] - 1) == 15 + k);
  }
  CHECK(back(200) == 31);
  for (int ahead = 1; ahead <= 100; ++ahead) CHECK(back(-ahead) == 0);
  const Values ten = buckets({{"key_length", "10"}});
  CHECK(Values(ten.begin(), ten.begin() + 10) == Values{0, 17, 18, 19, 20, 21, 22, 23, 24, 24});
  CHECK(Values(ten.end() - 10, ten.end()) == Values{8, 8, 7, 6, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("B24: kernels and corners of a resized table") {
  const Array squares{{4, 1}, {0, 1, 4, 9}};
  const auto is = [&](const Resampling& how, std::initializer_list<std::string_view> right) {
    const Array got = resample(squares, how);
    REQUIRE(got.values.size() == right.size());
    std::size_t k = 0;
    for (const std::string_view text : right) check(got.values[k++], text, 9);  // printed to ten places
  };
  Resampling cubic{.method = ResampleMethod::cubic, .preset = ResamplePreset::torch, .length = 7};
  is(cubic, {"-0.0992164723", "0.15625", "0.8042091837", "2.125", "4.4246537901", "7.4807762391", "9.4960823615"});
  for (const ResamplePreset preset : {ResamplePreset::torch_aa, ResamplePreset::jax}) {
    cubic.preset = preset;
    is(cubic, {"-0.0793269231", "0.1875106058", "0.8625704417", "2.25", "4.3184875477", "7.60427626", "9.3966346154"});
  }
  is({.method = ResampleMethod::cubic, .alignment = Alignment::corners, .length = 7}, {"0", "0.21875", "1", "2.125", "4", "6.78125", "9"});
  Resampling fewer{.method = ResampleMethod::cubic, .preset = ResamplePreset::torch, .length = 3};
  is(fewer, {"0.0914351852", "2.125", "8.3344907407"});
  fewer.preset = ResamplePreset::torch_aa;
  is(fewer, {"0.0755148741", "2.3591954023", "7.9359267735"});
  fewer.method = ResampleMethod::linear;
  is(fewer, {"0.3", "2.5", "7.5"});
  fewer.preset = ResamplePreset::torch;
  is(fewer, {"0.1666666667", "2.5", "8.1666666667"});
  // The same on either axis of a grid.
  cubic.preset = ResamplePreset::torch;
  const Values line = resample(squares, cubic).values;
  Resampling grid{.rows = TableRowKind::grid, .method = ResampleMethod::cubic, .preset = ResamplePreset::torch, .prefix = 0,
                  .height = 4, .width = 1, .new_height = 7, .new_width = 1};
  CHECK(resample(squares, grid).values == line);
  std::swap(grid.height, grid.width);
  std::swap(grid.new_height, grid.new_width);
  CHECK(resample(squares, grid).values == line);
}

TEST_CASE("B25: prefix rows and grids are not guessed") {
  const auto understood = [](std::int64_t rows) {
    return Resampler({rows, 2}, {.rows = TableRowKind::grid, .new_height = 3, .new_width = 3}).understood();
  };
  struct Square {
    std::int64_t rows;
    std::string_view words;
  };
  for (const Square& s : {Square{196, "grid 14x14"}, Square{197, "1 prefix row, grid 14x14"}, Square{198, "2 prefix rows, grid 14x14"},
                          Square{201, "5 prefix rows, grid 14x14"}, Square{577, "1 prefix row, grid 24x24"}, Square{1370, "1 prefix row, grid 37x37"},
                          Square{1374, "5 prefix rows, grid 37x37"}})
    CHECK_MESSAGE(understood(s.rows).starts_with(s.words), s.rows, ": ", understood(s.rows));
  for (const std::int64_t rows : {192, 193}) CHECK_THROWS_AS((void)understood(rows), posenc::Error);
  const Resampling asked{.rows = TableRowKind::grid, .prefix = 1, .height = 16, .width = 12, .new_height = 3, .new_width = 3};
  CHECK(Resampler({193, 2}, asked).understood().starts_with("1 prefix row, grid 16x12"));
  // Equal counts are not equal grids; prefix rows are copied.
  Array table{{17, 1}, {}};
  for (int i = 0; i < 17; ++i) table.values.push_back(i * i / 7.0);
  const Array square = resample(table, {.rows = TableRowKind::grid, .prefix = 1, .height = 2, .width = 8, .new_height = 4, .new_width = 4});
  CHECK(square.shape == table.shape);
  CHECK(square.values[0] == table.values[0]);
  CHECK(!std::equal(square.values.begin() + 1, square.values.end(), table.values.begin() + 1));
}

TEST_CASE("B26: RoBERTa's rows before position 0") {
  CHECK(integers("token_positions", {{"rule", "tokens"}, {"tokens", "5,6,7,1,1"}, {"padding_idx", "1"}}) == Values{2, 3, 4, 1, 1});
  const auto roberta = [](const std::string& pad) {
    return reading_of(R"({"model_type":"roberta","hidden_size":768,"max_position_embeddings":514,"pad_token_id":)" + pad + "}");
  };
  CHECK(roberta("1").context == 512);
  CHECK(roberta("3").context == 510);
  // A new table of 512 usable rows has 514, the padding row zero.
  const Values table = reals("learned", {{"length", "512"}, {"dim", "4"}, {"offset", "2"}, {"padding_row", "1"}});
  CHECK(table.size() == 514 * 4);
  CHECK(std::all_of(table.begin() + 4, table.begin() + 8, [](double v) { return v == 0; }));
  CHECK(std::none_of(table.begin() + 8, table.begin() + 12, [](double v) { return v == 0; }));
}

TEST_CASE("B27: a learned table extended by copies") {
  Array roberta{{514, 2}, {}};
  for (int i = 0; i < 1028; ++i) roberta.values.push_back(std::sin(i));
  const Array extended = resample(roberta, {.method = ResampleMethod::tile, .length = 4096, .prefix = 2});
  CHECK(extended.shape == std::vector<std::int64_t>{4098, 2});
  for (std::int64_t row = 0; row < 4098; ++row)
    for (std::int64_t c = 0; c < 2; ++c) {
      const std::int64_t old_row = row < 2 ? row : 2 + (row - 2) % 512;
      CHECK(extended.values[static_cast<std::size_t>(2 * row + c)] == roberta.values[static_cast<std::size_t>(2 * old_row + c)]);
    }
  // The id buffer beside it.
  CHECK(integers("token_positions", {{"length", "4098"}, {"batch", "1"}}) == counted(0, 4098));
  Array bert{{512, 1}, counted(0, 512)};
  const Array twice = resample(bert, {.method = ResampleMethod::tile, .length = 1024});
  CHECK(std::equal(bert.values.begin(), bert.values.end(), twice.values.begin() + 512));
  // Keep 20, stretch 57 fourfold: 77 become 248.
  CHECK(resample({{77, 1}, counted(0, 77)}, {.method = ResampleMethod::stretch, .length = 248, .keep = 20}).shape[0] == 248);
  CHECK(resample({{8, 1}, counted(0, 8)}, {.method = ResampleMethod::hierarchical, .length = 64}).shape[0] == 64);
}

TEST_CASE("B34: windows' index, rows, resizing and log coordinates") {
  const auto window = [](const std::string& height, const std::string& width) {
    return integers("swin", {{"window_height", height}, {"window_width", width}});
  };
  CHECK(window("2", "2") == Values{4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4});
  const Values wide = window("2", "3");
  CHECK(Values(wide.begin(), wide.begin() + 6) == Values{7, 6, 5, 2, 1, 0});
  const auto rows = [](const Values& index) { return *std::ranges::max_element(index) + 1; };
  CHECK(rows(window("7", "7")) == 169);
  CHECK(rows(window("12", "12")) == 529);
  CHECK(rows(window("24", "24")) == 2209);
  const auto beit = [](const std::string& side) { return integers("beit", {{"window_height", side}, {"window_width", side}}); };
  CHECK(rows(beit("14")) == 732);
  CHECK(rows(beit("32")) == 3972);
  // 14 x 14 to 32 x 32: the last three rows are copied.
  Array table{{732, 1}, counted(0, 732)};
  const Array resized = resample(table, {.rows = TableRowKind::window, .extra = 3, .new_height = 32, .new_width = 32});
  CHECK(resized.shape[0] == 3972);
  CHECK(Values(resized.values.end() - 3, resized.values.end()) == Values{729, 730, 731});
  const auto coordinates = [](const std::string& side, const std::string& pretrained) {
    return reals("swin_v2", {{"window_height", side}, {"window_width", side}, {"pretrained_height", pretrained}, {"pretrained_width", pretrained}});
  };
  check(coordinates("8", "0").back(), "1.05664166715");
  check(coordinates("16", "8").back(), "1.39377658824");
}

TEST_CASE("B35: four conventions of sinusoids") {
  const auto first = [](const Settings& more) {
    Settings settings{{"dim", "8"}, {"positions", "1:2"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return reals("sinusoidal", settings);
  };
  const auto is = [](const Values& got, std::initializer_list<std::string_view> right) {
    REQUIRE(got.size() == right.size());
    std::size_t k = 0;
    for (const std::string_view text : right) check(got[k++], text, 10);
  };
  is(first({{"layout", "interleaved"}}),
     {"0.8414709848", "0.5403023059", "0.09983341665", "0.9950041653", "0.009999833334", "0.9999500004", "0.0009999998333", "0.9999995"});
  is(first({{"layout", "concatenated"}}),
     {"0.8414709848", "0.09983341665", "0.009999833334", "0.0009999998333", "0.5403023059", "0.9950041653", "0.9999500004", "0.9999995"});
  is(first({{"layout", "concatenated"}, {"divisor", "n-1"}}),
     {"0.8414709848", "0.04639922346", "0.002154433023", "0.00009999999983", "0.5403023059", "0.998922976", "0.9999976792", "0.999999995"});
  const Values whisper = reals("sinusoidal", {{"dim", "1280"}, {"layout", "concatenated"}, {"divisor", "n-1"}, {"positions", "1499:1500"}});
  check(whisper, {{0, "-0.444220699338"}, {1, "0.841641386827"}, {639, "0.149339254619"}, {640, "-0.895917390321"}, {1279, "0.988786016805"}});
}
