// resample against what timm, torch, transformers, scipy, bert4keras and Longformer's script gave (tests/golden: timm, hier,
// papers, hf, each with its manifest).
#include "golden/golden.hpp"

#include <cmath>
#include <filesystem>
#include <set>

#include "golden/rules.hpp"
#include "posenc/resample.hpp"

namespace {

using namespace posenc;
using golden::Json;

double largest(const Array& array) {
  double most = 0;
  for (const double v : array.values) most = std::max(most, std::fabs(v));
  return most;
}

// Values that the rule refuses, or -1 where sizes differ; the largest share of what it allows goes to `worst`.
int wrong_values(const Array& got, const Array& want, const golden::Rule& rule, double& worst) {
  if (got.values.size() != want.values.size()) return -1;
  int wrong = 0;
  for (std::size_t i = 0; i < want.values.size(); ++i) {
    const double share = rule.share(i, got.values[i], want.values[i]);
    worst = std::max(worst, share);
    wrong += share <= 1 ? 0 : 1;
  }
  return wrong;
}

Json manifest(const std::string& set) { return Json::parse(golden::slurp(golden::folder + set + "/manifest.json")); }

// timm works in binary32, u = 2^-24. P is the largest value of the table, n the longest old axis.
// linear, cubic: x = (k + 1/2) n / N - 1/2 is off by 3 n u, which moves the weights of an axis by 4.2 times that in all (slopes
// of Keys' kernel: 1.35 and 1.35 within the first unit, 0.75 and 0.75 beyond). Horner's steps with values up to 12 put 30 u on
// each of four weights, more and narrower ones no more in all; sums of K products add K u. The other axis stretches by at most
// 1.5, the sum of absolute weights: 2 * 1.5 * (12.6 n + 120 + K) u P with K <= 2 n + 4.
double kernel_tolerance(double largest, double n) { return 3 * (12.6 * n + 120 + 2 * n + 4) * 0x1p-24 * largest; }
// geometric: places up to t, new offsets too, are off by 2 t u (a sum in binary64, rounded), differences by 4 t u, with gaps of at least
// 1 between old places; two weights on two axes: 16 t u, a quotient, products and sums 10 u.
double geometric_tolerance(double largest, double t) { return (16 * t + 10) * 0x1p-24 * largest; }
// scipy works in binary64: 1e-12 covers a collocation matrix of condition 100 and 27 unknowns; the result is stored as binary32.
golden::Rule spline_rule(double largest) { return golden::close(1e-12 * largest, golden::half_ulp * (1 + 0x1p-20)); }

struct Asked {
  Resampling how;
  golden::Rule rule;
};

Asked timm_case(const Json& c, const Array& in) {
  const std::string function = c.at("function");
  const Json& p = c.at("params");
  const double most = largest(in);
  Resampling how;
  const auto size = [&](const Json& of, std::optional<std::int64_t>& height, std::optional<std::int64_t>& width) {
    height = of.at(0).get<std::int64_t>();
    width = of.at(1).get<std::int64_t>();
  };
  if (function.starts_with("resample_abs_pos_embed") || function.ends_with("_levit")) {
    how.rows = TableRowKind::grid;
    how.method = p.at("interpolation") == "bicubic" ? ResampleMethod::cubic : ResampleMethod::linear;
    how.preset = p.at("antialias") ? ResamplePreset::torch_aa : ResamplePreset::torch;
    if (function.ends_with("_levit")) {
      how.prefix = 0;
      how.new_height = how.new_width = std::lround(std::sqrt(p.at("new_size").at(0).get<double>()));
    } else {
      size(p.at("new_size"), how.new_height, how.new_width);
    }
    if (function.ends_with("_nhwc")) {
      how.grid_axes = true;
      how.axis = 1;
    } else if (!function.ends_with("_levit")) {
      how.prefix = p.at("num_prefix_tokens").get<std::int64_t>();
      if (!p.at("old_size").is_null()) size(p.at("old_size"), how.height, how.width);
    }
    return {how, golden::absolute(kernel_tolerance(most, 16))};
  }
  how.rows = TableRowKind::window;
  size(p.at("new_window_size"), how.new_height, how.new_width);
  if (function.ends_with("_simple")) {
    how.method = ResampleMethod::cubic;
    return {how, golden::absolute(kernel_tolerance(most, 27))};
  }
  if (in.shape.size() == 3) {  // [heads, 13, 13]
    how.grid_axes = true;
    how.axis = 1;
  } else {
    how.extra = p.at("num_extra_tokens").get<std::int64_t>();
  }
  const bool spline = function.find("scipy") != std::string::npos;
  how.method = spline ? ResampleMethod::geometric_spline : ResampleMethod::geometric;
  return {how, spline ? spline_rule(most) : golden::absolute(geometric_tolerance(most, 24))};
}

TEST_CASE("resample: timm's tables") {
  double worst = 0;
  int cases = 0;
  for (const Json& c : manifest("timm")) {
    const std::string id = c.at("id");
    CAPTURE(id);
    const Array in = golden::load_array(golden::folder + "timm/" + c.at("input").get<std::string>());
    const Array want = golden::load_array(golden::folder + "timm/" + c.at("output").get<std::string>());
    const Asked asked = timm_case(c, in);
    const Resampler resampler(in.shape, asked.how);
    const Array got = resampler(in, DType::f32);
    CHECK_MESSAGE(wrong_values(got, want, asked.rule, worst) == 0, resampler.understood());
    if (in.shape.size() != 3 || c.at("function") == "resample_abs_pos_embed") CHECK(got.shape == want.shape);  // timm mixes up [heads, 13, 13]
    if (id.find("identity") != std::string::npos) CHECK(got.values == in.values);
    ++cases;
  }
  CHECK(cases == 36);
  MESSAGE(cases, " cases, at most ", worst, " of what is allowed");
}

TEST_CASE("resample: hierarchical tables of bert4keras") {
  double worst64 = 0, worst32 = 0;
  int cases = 0;
  for (const Json& c : manifest("hier")) {
    ++cases;
    const std::string id = c.at("id");
    CAPTURE(id);
    const Json& p = c.at("params");
    const Array in = golden::load_array(golden::folder + "hier/" + c.at("input").get<std::string>());
    const auto n = p.at("n").get<std::int64_t>(), offset = p.at("row_offset").get<std::int64_t>(), dim = p.at("d").get<std::int64_t>();
    const Array f64 = golden::load_array(golden::folder + "hier/" + c.at("output_f64").get<std::string>());
    const Array f32 = golden::load_array(golden::folder + "hier/" + c.at("output_f32").get<std::string>());
    Resampling how{.method = ResampleMethod::hierarchical, .length = f64.shape[0] - offset, .prefix = offset, .alpha = p.at("alpha").get<double>()};
    if (how.alpha == 0.5) {
      CHECK_THROWS_WITH_AS(resample(in, how), "alpha 0.5 gives rows i n + j and j n + i the same values; use another, such as 0.4", Error);
      how.alpha = 0.5 + 0x1p-53;  // its neighbour, which moves values by less than the rule has left
    }
    // u_i is made in three steps with values up to (1 + alpha) / (1 - alpha) P, the row in three more: half an ulp each.
    const double most = 6 * (1 + *how.alpha) / (1 - *how.alpha) * largest(in);
    CHECK(wrong_values(resample(in, how), f64, golden::absolute(most * 0x1p-53), worst64) == 0);
    const Array got = resample(in, how, DType::f32);
    CHECK(wrong_values(got, f32, golden::absolute(most * 0x1p-24), worst32) == 0);
    // Where the code only comes near: rows below n + offset are the old ones.
    for (std::size_t i = 0; i < std::min(got.values.size(), static_cast<std::size_t>((n + offset) * dim)); ++i) REQUIRE(got.values[i] == in.values[i]);
  }
  CHECK(cases == 14);
  MESSAGE("at most ", worst64, " (binary64) and ", worst32, " (binary32) of what is allowed");
}

// Keyed by the manifest's words for a method.
Resampling extended(const Json& c) {
  const std::string method = c.at("method");
  const Json& p = c.at("params");
  Resampling how{.length = p.at("N").get<std::int64_t>(), .prefix = p.at("row_offset").get<std::int64_t>()};
  if (method == "tile") how.method = ResampleMethod::tile;
  else if (method == "nearest_floor") how.method = ResampleMethod::nearest, how.alignment = Alignment::stride;
  else if (method == "linear_half_pixel") how.alignment = Alignment::half_pixel;
  else if (method == "linear_align_corners") how.alignment = Alignment::corners;
  else if (method == "linear_stride") how.alignment = Alignment::stride;
  else if (method == "cubic_half_pixel a=-0.75") how.method = ResampleMethod::cubic, how.alignment = Alignment::half_pixel;
  else if (method == "cubic_align_corners a=-0.75") how.method = ResampleMethod::cubic, how.alignment = Alignment::corners;
  else if (method == "keep_then_stretch") how.method = ResampleMethod::stretch, how.keep = p.at("keep").get<std::int64_t>();
  else FAIL("no comparison knows ", method);
  return how;
}

TEST_CASE("resample: extended tables of tests/fixtures/expected") {
  const std::string expected = std::string(POSENC_TEST_DATA) + "/fixtures/expected/";
  std::set<std::string> methods, files;
  double worst = 0;
  const Json pairs = Json::parse(golden::slurp(expected + "manifest.json"));
  for (const Json& c : pairs.at("entries")) {
    const std::string id = c.at("id"), method = c.at("method");
    CAPTURE(id);
    methods.insert(method);
    for (const char* end : {"input", "output"}) CHECK(files.insert(c.at(end)).second);
    const Array in = golden::load_array(expected + c.at("input").get<std::string>());
    const Array want = golden::load_array(expected + c.at("output").get<std::string>());
    const Array got = resample(in, extended(c), DType::f32);
    CHECK(got.shape == want.shape);
    if (method == "tile" || method == "nearest_floor") {
      CHECK(got.values == want.values);
      continue;
    }
    // What the manifest states for these tables, a tenth of what kernel_tolerance's reasoning allows on one axis.
    CHECK(wrong_values(got, want, golden::absolute(1e-7), worst) == 0);
    const auto kept = static_cast<std::ptrdiff_t>((c.at("params").at("row_offset").get<std::int64_t>() + c.at("params").value("keep", 0)) * in.shape[1]);
    CHECK(std::equal(in.values.begin(), in.values.begin() + kept, got.values.begin()));
  }
  CHECK(methods.size() == 8);
  // Nothing in the folder but these pairs and the manifest.
  std::size_t there = 0;
  for (const auto& entry : std::filesystem::directory_iterator(expected)) there += entry.path().extension() == ".npy" ? 1 : 0;
  CHECK(there == files.size());
  MESSAGE("at most ", worst, " of what is allowed");
}

TEST_CASE("resample: the papers' tables") {
  const auto load = [](const std::string& name) { return golden::load_array(golden::folder + "papers/" + name + ".npy"); };
  double worst = 0;
  for (const golden::Case& c : golden::cases("papers")) {
    const std::string id = c.id();
    if (!id.starts_with("learned_") && !id.starts_with("hier_su_")) continue;
    CAPTURE(id);
    const Array in = load(id + ".in_P");
    const auto check = [&](const std::string& output, const Resampling& how, double atol) {
      CHECK_MESSAGE(wrong_values(resample(in, how), load(id + "." + output), golden::absolute(atol), worst) == 0, output);
    };
    const auto atol = [&](const std::string& output) { return c.entry.at("outputs").at(output).at("atol").get<double>(); };
    if (id == "learned_tile_extend") {
      check("table", {.method = ResampleMethod::tile, .length = 24, .prefix = 2}, 0);
    } else if (id == "learned_linear_1d") {
      check("align_false", {.length = 17}, atol("align_false"));
      check("align_true", {.alignment = Alignment::corners, .length = 17}, atol("align_true"));
    } else if (id == "learned_bicubic") {
      Resampling how{.rows = TableRowKind::grid, .method = ResampleMethod::cubic, .prefix = 0, .new_height = 6, .new_width = 6};
      check("table", how, atol("table"));
      how.method = ResampleMethod::linear;
      check("bilinear", how, atol("bilinear"));
    } else if (id == "hier_su_04") {
      check("table", {.method = ResampleMethod::hierarchical, .length = 64}, atol("table"));
    } else {
      FAIL_CHECK("nothing here knows this case");
    }
  }
  MESSAGE("at most ", worst, " of what is allowed");
}

TEST_CASE("resample: Hugging Face's ViT and BEiT") {
  double worst = 0;
  for (const golden::Case& c : golden::cases("hf")) {
    const std::string id = c.id();
    const Json& p = c.params();
    if (c.family() == "vit_interp") {
      CAPTURE(id);
      const Array in = golden::load_array(golden::folder + c.path("in_position_embeddings"));
      const auto patch = p.at("patch_size").get<std::int64_t>();
      const Resampling how{.rows = TableRowKind::grid, .method = ResampleMethod::cubic, .preset = ResamplePreset::torch, .prefix = 1,
                           .new_height = p.at("height").get<std::int64_t>() / patch, .new_width = p.at("width").get<std::int64_t>() / patch};
      CHECK(wrong_values(resample(in, how, DType::f32), golden::load_array(golden::folder + c.path("out")), golden::absolute(kernel_tolerance(largest(in), 4)), worst) == 0);
    } else if (id.starts_with("beit_bias_")) {
      CAPTURE(id);
      const Array in = golden::load_array(golden::folder + c.path("in_table")), want = golden::load_array(golden::folder + c.path("new_table"));
      const Json& window = p.at("window_size");
      const Resampling how{.rows = TableRowKind::window, .extra = 3, .new_height = window.at(0).get<std::int64_t>(), .new_width = window.at(1).get<std::int64_t>()};
      const Array got = resample(in, how, DType::f32);
      CHECK(wrong_values(got, want, golden::absolute(kernel_tolerance(largest(in), 5)), worst) == 0);
      CHECK(std::equal(in.values.end() - 6, in.values.end(), got.values.end() - 6));
    }
  }
  MESSAGE("at most ", worst, " of what is allowed");
}

}  // namespace
