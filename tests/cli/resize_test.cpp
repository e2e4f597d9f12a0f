// posenc rescale on tables that have values but no formula: resized as their frameworks do, recorded, refused.
#include <nlohmann/json.hpp>

#include "cli/rescale.hpp"

namespace posenc::test {
namespace {

using Json = nlohmann::json;

void check_close(const std::string& path, const std::vector<double>& want, double tolerance) {
  const std::vector<double> got = load_array(path).values;
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(std::fabs(got[i] - want[i]) <= tolerance);
}

}  // namespace

TEST_CASE("rescale: the expected files of one-dimensional tables") {
  const Scratch scratch;
  const std::string folder = data + "/fixtures/expected/";
  int cases = 0;
  const Json manifest = Json::parse(slurp(folder + "manifest.json"));
  for (const Json& c : manifest.at("entries")) {
    const std::string id = c.at("id"), method = c.at("method");
    CAPTURE(id);
    const Json& p = c.at("params");
    Words words{"rescale",  folder + c.at("input").get<std::string>(),     "-o",        scratch / "y.npy",
                "--prefix", std::to_string(p.at("row_offset").get<int>()), "--context", std::to_string(p.at("N").get<int>())};
    const std::vector<std::pair<std::string, Words>> spelt{{"tile", {"tile"}},
                                                           {"nearest_floor", {"nearest"}},
                                                           {"linear_half_pixel", {"linear"}},
                                                           {"linear_align_corners", {"linear", "--alignment", "corners"}},
                                                           {"linear_stride", {"linear", "--alignment", "stride"}},
                                                           {"cubic_half_pixel a=-0.75", {"cubic"}},
                                                           {"cubic_align_corners a=-0.75", {"cubic", "--alignment", "corners", "--cubic-a", "-0.75"}},
                                                           {"keep_then_stretch", {"stretch"}}};
    for (const auto& [name, flags] : spelt)
      if (name == method) words = plus(plus(words, {"--method"}), flags);
    if (p.contains("keep")) words = plus(words, {"--keep", std::to_string(p.at("keep").get<int>())});
    done(words);
    const Array got = load_array(scratch / "y.npy"), want = load_array(folder + c.at("output").get<std::string>());
    CHECK(got.shape == want.shape);
    // The manifest's tolerance: bit-exact copies, else 1e-7 for tables of std 0.02.
    const double tolerance = method == "tile" || method == "nearest_floor" ? 0 : 1e-7;
    REQUIRE(got.values.size() == want.values.size());
    for (std::size_t i = 0; i < want.values.size(); ++i) CHECK(std::fabs(got.values[i] - want.values[i]) <= tolerance);
    ++cases;
  }
  CHECK(cases == 30);
}

TEST_CASE("rescale: timm's grids and bert4keras' hierarchical tables") {
  const Scratch scratch;
  int cases = 0;
  for (const Json& c : Json::parse(slurp(data + "/golden/timm/manifest.json"))) {
    const Json& p = c.at("params");
    if (c.at("function") != "resample_abs_pos_embed" || !p.at("old_size").is_null() || p.at("interpolation") != "bicubic" ||
        c.at("in_dtype") != "float32")
      continue;
    CAPTURE(c.at("id").get<std::string>());
    const std::string folder = data + "/golden/timm/";
    done({"rescale", folder + c.at("input").get<std::string>(), "--rows", "grid", "--method", "cubic", "--preset",
          p.at("antialias") ? "torch-aa" : "torch", "--prefix", std::to_string(p.at("num_prefix_tokens").get<int>()), "--new-height",
          std::to_string(p.at("new_size").at(0).get<int>()), "--new-width", std::to_string(p.at("new_size").at(1).get<int>()), "-o",
          scratch / "y.npy", "--quiet"});
    const Array got = load_array(scratch / "y.npy"), want = load_array(folder + c.at("output").get<std::string>());
    CHECK(got.shape == want.shape);
    // binary32 inside timm: 3 (12.6 n + 120 + 2 n + 4) u of the largest value, n <= 16 (derived in tests/resample/golden_test.cpp).
    double most = 0;
    for (const double v : load_array(folder + c.at("input").get<std::string>()).values) most = std::max(most, std::fabs(v));
    REQUIRE(got.values.size() == want.values.size());
    for (std::size_t i = 0; i < want.values.size(); ++i)
      CHECK(std::fabs(got.values[i] - want.values[i]) <= 3 * (12.6 * 16 + 120 + 36) * 0x1p-24 * most);
    ++cases;
  }
  CHECK(cases >= 3);
  const std::string hier = data + "/golden/hier/h_n16_N40_ragged_a04";
  done({"rescale", hier + ".in.npy", "--method", "hierarchical", "--alpha", "0.4", "--length", "40", "--dtype", "f64", "-o", scratch / "y.npy",
        "--quiet"});
  // Six steps of binary64 with values up to (1 + alpha) / (1 - alpha) of the largest, which is below 0.1 here.
  check_close(scratch / "y.npy", load_array(hier + ".f64.npy").values, 6 * (1.4 / 0.6) * 0.1 * 0x1p-53);
  const Array old = load_array(hier + ".in.npy"), made = load_array(scratch / "y.npy");
  CHECK(std::equal(old.values.begin(), old.values.end(), made.values.begin()));
}

TEST_CASE("B24: kernels, antialias and corners") {
  const Scratch scratch;
  save(scratch / "x.npy", {4, 1}, {0, 1, 4, 9});
  const auto check = [&](const Words& how, const std::vector<double>& want) {
    CAPTURE(joined(how));
    done(plus(plus({"rescale", scratch / "x.npy", "-o", scratch / "y.npy", "--quiet"}, how), {"--length", std::to_string(want.size())}));
    check_close(scratch / "y.npy", want, 5.1e-11);  // ten decimals are given
  };
  check({"--method", "cubic"}, {-0.0992164723, 0.15625, 0.8042091837, 2.125, 4.4246537901, 7.4807762391, 9.4960823615});
  check({"--method", "cubic", "--preset", "torch-aa"}, {-0.0793269231, 0.1875106058, 0.8625704417, 2.25, 4.3184875477, 7.60427626, 9.3966346154});
  check({"--method", "cubic", "--preset", "jax"}, {-0.0793269231, 0.1875106058, 0.8625704417, 2.25, 4.3184875477, 7.60427626, 9.3966346154});
  check({"--method", "cubic", "--alignment", "corners"}, {0, 0.21875, 1, 2.125, 4, 6.78125, 9});
  check({"--method", "cubic"}, {0.0914351852, 2.125, 8.3344907407});
  check({"--method", "cubic", "--antialias", "true"}, {0.0755148741, 2.3591954023, 7.9359267735});
  check({"--method", "linear"}, {0.1666666667, 2.5, 8.1666666667});
  check({"--method", "linear", "--preset", "torch-aa"}, {0.3, 2.5, 7.5});
}

TEST_CASE("B25: grids are never guessed") {
  const Scratch scratch;
  const auto grid = [&](std::int64_t rows, const Words& more) {
    save(scratch / "x.npy", {rows, 2}, numbers(rows * 2));
    return run(
        plus({"rescale", scratch / "x.npy", "--rows", "grid", "--method", "cubic", "--new-height", "3", "--new-width", "4", "-o", scratch / "y.npy"},
             more));
  };
  for (const auto& [rows, understood] : std::vector<std::pair<std::int64_t, std::string>>{{196, ": grid 14x14"},
                                                                                          {197, "1 prefix row, grid 14x14"},
                                                                                          {198, "2 prefix rows, grid 14x14"},
                                                                                          {201, "5 prefix rows, grid 14x14"},
                                                                                          {577, "1 prefix row, grid 24x24"},
                                                                                          {1370, "1 prefix row, grid 37x37"},
                                                                                          {1374, "5 prefix rows, grid 37x37"}}) {
    const Outcome outcome = grid(rows, {});
    CHECK_MESSAGE((outcome.status == 0 && mentions(outcome.err, understood)), outcome.err);
  }
  for (const std::int64_t rows : {192, 193}) {
    const Outcome outcome = grid(rows, {});
    CHECK_MESSAGE((outcome.status == 2 && mentions(outcome.err, "--height and --width") && outcome.error_lines() == 1), outcome.err);
    CHECK(grid(rows, {"--height", "16", "--width", "12"}).status == 0);
  }
  // (2, 8) -> (4, 4) is a resample; prefix rows keep their bits.
  save(scratch / "x.npy", {17, 2}, numbers(34));
  done({"rescale", scratch / "x.npy", "--rows", "grid", "--method", "cubic", "--height", "2", "--width", "8", "--prefix", "1", "--new-height", "4",
        "--new-width", "4", "-o", scratch / "y.npy"});
  const Array made = load_array(scratch / "y.npy");
  const std::vector<double> old = numbers(34);
  CHECK(made.shape == std::vector<std::int64_t>{17, 2});
  CHECK(std::equal(old.begin(), old.begin() + 2, made.values.begin()));
  CHECK(made.values != old);
}

TEST_CASE("B26, B27: RoBERTa's reserved rows, eight whole copies") {
  const Scratch scratch;
  save(scratch / "x.npy", {514, 3}, numbers(514 * 3));
  CHECK(mentions(done({"rescale", scratch / "x.npy", "--method", "tile", "--prefix", "2", "--length", "4096", "-o", scratch / "y.npy"}).err,
                 "2 prefix rows, sequence of 512 -> 4096, tile"));
  const Array made = load_array(scratch / "y.npy");
  const std::vector<double> old = numbers(514 * 3);
  REQUIRE(made.shape == std::vector<std::int64_t>{4098, 3});
  for (std::size_t k = 0; k < 4098; ++k)
    for (std::size_t lane = 0; lane < 3; ++lane) REQUIRE(made.values[k * 3 + lane] == old[(k < 2 ? k : 2 + (k - 2) % 512) * 3 + lane]);
}

TEST_CASE("B34: BEiT's extra rows stay, the window grows") {
  const Scratch scratch;
  save(scratch / "x.npy", {732, 2}, numbers(732 * 2));
  const Outcome outcome = done({"rescale", scratch / "x.npy", "--rows", "window", "--method", "geometric", "--new-height", "32", "--new-width", "32",
                                "-o", scratch / "y.npy"});
  CHECK(mentions(outcome.err, "3 extra rows, window 14x14 -> 32x32"));
  const Array made = load_array(scratch / "y.npy");
  const std::vector<double> old = numbers(732 * 2);
  CHECK(made.shape == std::vector<std::int64_t>{3972, 2});
  CHECK(std::equal(old.end() - 6, old.end(), made.values.end() - 6));
  // The offset 0, 0 of the old window is that of the new one: row 13 * 27 + 13 and row 31 * 63 + 31.
  CHECK(made.values[(31 * 63 + 31) * 2] == old[(13 * 27 + 13) * 2]);
}

TEST_CASE("rescale: what was done to a table is recorded, and its dtype kept") {
  const Scratch scratch;
  const std::vector<double> x{1, 2, 3, 4};
  save(scratch / "x.h5", {2, 2}, x, "wpe");
  for (const std::string name : {"y.npy", "y.npz", "y.h5", "y.safetensors"}) {
    done({"rescale", scratch / "x.h5", "--length", "4", "--alignment", "stride", "-o", scratch / name, "--quiet"});
    const Json inspected = Json::parse(done({"inspect", scratch / name, "--json"}).out), record = inspected.at("resampled");
    CHECK(record.at("method") == "linear");
    CHECK(record.at("alignment") == "stride");
    CHECK(record.at("length") == "4");
    CHECK(record.at("understood") == "sequence of 2 -> 4, linear, stride, edges clamp");
    // zlib.crc32 of the 32 little-endian bytes of 1.0, 2.0, 3.0, 4.0 (python3: zlib.crc32(struct.pack('<4d', 1, 2, 3, 4))).
    CHECK(record.at("from") == Json{{"tensor", "wpe"}, {"dtype", "f64"}, {"shape", {2, 2}}, {"crc32", "0ced622b"}});
    if (name != "y.npy") CHECK(inspected.at("tensors").at(0).at("name") == "wpe");
    CHECK(load_array(scratch / name).values == std::vector<double>{1, 2, 2, 3, 3, 4, 3, 4});  // x = k / 2, held at the end
    CHECK(mentions(done({"inspect", scratch / name}).out, "posenc rescale"));
    CHECK(run({"verify", scratch / name}).status == 2);
  }
  done({"rescale", scratch / "x.h5", "--length", "3", "--dtype", "bf16", "-o", scratch / "y.safetensors", "--quiet"});
  CHECK(formats::open(scratch / "y.safetensors")->tensors().at(0).dtype == DType::bf16);
  CHECK(mentions(done({"rescale", scratch / "x.h5", "--length", "3", "--json", "-o", scratch / "y.npz"}).out, "\"written\""));
}

TEST_CASE("rescale: a resized table has the same bytes with any threads, blocks and chunks") {
  const Scratch scratch;
  save(scratch / "x.npy", {1, 50, 6}, numbers(300));
  const Words call{"rescale", scratch / "x.npy", "--rows", "grid",    "--method", "cubic",  "--new-height",
                   "11",      "--new-width",     "13",     "--dtype", "f32",      "--quiet"};
  done(plus(call, {"-o", scratch / "want.npy"}));
  const std::string want = slurp(scratch / "want.npy");
  for (const std::string threads : {"1", "2", "5"})
    for (const std::string block : {"1", "100", "4097"}) {
      done(plus(call, {"--threads", threads, "--block-bytes", block, "-o", scratch / "got.npy"}));
      CHECK(slurp(scratch / "got.npy") == want);
      done(plus(call, {"--threads", threads, "--block-bytes", block, "--chunk", "700", "--compress", "gzip", "-o", scratch / "got.h5"}));
      CHECK(load_array(scratch / "got.h5").values == load_array(scratch / "want.npy").values);
    }
  CHECK(done(plus(call, {"-o", "-"})).out == want);
}

TEST_CASE("rescale: a learned table goes on from its seed, or is resized when that is what is asked") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  done({"generate", "learned", "--length", "4", "--dim", "3", "-o", "l.npz", "--quiet"}, here);
  done({"generate", "learned", "--length", "8", "--dim", "3", "-o", "want.npz", "--quiet"}, here);
  for (const Words& more : std::vector<Words>{{"--context", "8"}, {"--length", "8"}}) {
    done(plus({"rescale", "l.npz", "-o", "y.npz", "--quiet"}, more), here);
    CHECK(slurp(scratch / "y.npz") == slurp(scratch / "want.npz"));
  }
  done({"rescale", "l.npz", "--context", "8", "--method", "tile", "-o", "t.npz"}, here);
  std::vector<double> twice = load_array(scratch / "l.npz").values;
  const std::vector<double> once = twice;
  twice.insert(twice.end(), once.begin(), once.end());
  CHECK(load_array(scratch / "t.npz").values == twice);
  CHECK(Json::parse(done({"inspect", "t.npz", "--json"}, here).out).at("resampled").at("spec").at("encoding") == "learned");
  // Values that were given have no more rows to go on with.
  save(scratch / "u.npy", {4, 3}, {.1, .2, .3, .4, .5, .6, .7, .8, .9, .15, .25, .35});
  done({"generate", "learned", "--length", "4", "--dim", "3", "--uniforms", "u.npy", "-o", "given.npz", "--quiet"}, here);
  CHECK(mentions(refused({"rescale", scratch / "given.npz", "--context", "8", "-o", "x.npz"}, 2), "--method linear, cubic, tile"));
  done({"rescale", "given.npz", "--context", "8", "--method", "cubic", "-o", "y.npz"}, here);
  CHECK(load_array(scratch / "y.npz").shape == std::vector<std::int64_t>{8, 3});
}

TEST_CASE("rescale: what resampling refuses") {
  const Scratch scratch;
  save(scratch / "x.npy", {6, 2}, numbers(12));
  const auto says = [&](const Words& how, const std::string& word) {
    const std::string sentence = refused(plus({"rescale", scratch / "x.npy", "-o", "x.npz"}, how), 2);
    CHECK_MESSAGE(mentions(sentence, word), sentence);
  };
  says({}, "--length is missing");
  says({"--length", "0"}, "length");
  says({"--length", "99999999999999999999"}, "length");
  says({"--length", "4", "--context", "5"}, "--length 4");
  says({"--rows", "grid", "--context", "5"}, "--context");
  says({"--rows", "window", "--method", "geometric"}, "--new-height and --new-width are missing");
  says({"--rows", "grids", "--length", "4"}, "did you mean 'grid'");
  says({"--method", "yarn", "--factor", "4"}, "carries no spec");
  says({"--method", "linear", "--factor", "4"}, "--spec or --config");
  says({"--method", "ti", "--length", "4"}, "method");
  says({"--length", "4", "--replace"}, "--replace");
  says({"--length", "4", "--for", "vllm"}, "--for");
  says({"--length", "4", "--arithmetic", "float32"}, "--arithmetic");
  says({"--length", "4", "--layer-type", "all"}, "--layer-type");
  says({"--length", "4", "--stack"}, "--stack");
  says({"--length", "4", "--print-spec"}, "--print-spec");
  says({"--length", "4", "--beta-fast", "3"}, "carries no spec");
  says({"--length", "4", "--head-dim", "3"}, "--head-dim");
  says({"--length", "4", "--dtype", "i32"}, "i32");
  says({"--length", "4", "--tensor", "t"}, "#t");
  CHECK(mentions(refused({"rescale", scratch / "x.npy", "--length", "4"}, 2), "-o"));
  CHECK(mentions(refused({"rescale"}, 2), "rescale wants"));
  CHECK(mentions(refused({"rescale", scratch / "x.npy", "--length", "4", "-o", "x.json"}, 2), ".json"));

  std::vector<double> values = numbers(12);
  values[5] = std::nan("");
  save(scratch / "nan.npy", {6, 2}, values);
  CHECK(mentions(refused({"rescale", scratch / "nan.npy", "--method", "tile", "--length", "12", "-o", "x.npz"}, 2), "row 2"));
  values[5] = 1e6;
  save(scratch / "large.npy", {6, 2}, values);
  CHECK(mentions(refused({"rescale", scratch / "large.npy", "--method", "tile", "--length", "12", "--dtype", "f16", "-o", "x.npz"}, 2),
                 "too large for f16"));
  // Complex numbers, no numbers, one number.
  done({"generate", "rope", "--layout", "complex", "--head-dim", "4", "--positions", "2", "-o", scratch / "c.npy", "--quiet"});
  fs::remove(scratch / "c.npy.json");
  CHECK(mentions(refused({"rescale", scratch / "c.npy", "--length", "4", "-o", "x.npz"}, 2), "complex"));
  save(scratch / "none.npy", {0, 2}, {});
  refused({"rescale", scratch / "none.npy", "--length", "4", "-o", "x.npz"}, 2);
  save(scratch / "one.npy", {}, {3});
  refused({"rescale", scratch / "one.npy", "--length", "4", "-o", "x.npz"}, 2);
  // Inputs that are none.
  refused({"rescale", scratch / "absent.npy", "--length", "4", "-o", "x.npz"}, 4);
  refused({"rescale", scratch / "", "--length", "4", "-o", "x.npz"}, 4);
  spill(scratch / "rubbish.npy", "rubbish");
  refused({"rescale", scratch / "rubbish.npy", "--length", "4", "-o", "x.npz"}, 3);
}

}  // namespace posenc::test
