// What posenc rescale writes: the input's storage, specs, configs, never the input itself; and what it says of it.
#include <nlohmann/json.hpp>

#include "cli/rescale.hpp"

namespace posenc::test {
namespace {

using Json = nlohmann::json;

}  // namespace

TEST_CASE("rescale: dtype, layout, names, tensors and form are the input's") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  const Words rule{"--method", "linear", "--factor", "2", "-o"};
  const auto same = [&](const Words& made, const std::string& file) {
    CAPTURE(joined(made));
    done(plus(plus({"generate", "rope", "--head-dim", "8", "--positions", "4"}, made), {"-o", file, "--quiet"}), here);
    done(plus(plus({"rescale", file}, rule), {"y-" + file, "--quiet"}), here);
    const auto a = formats::open(scratch / file), b = formats::open(scratch / ("y-" + file));
    REQUIRE(a->tensors().size() == b->tensors().size());
    for (std::size_t i = 0; i < a->tensors().size(); ++i) {
      const StoredTensor &s = a->tensors()[i], &t = b->tensors()[i];
      if (a->format() != "npy") CHECK(s.name == t.name);
      CHECK((s.dtype == t.dtype && s.shape == t.shape && s.is_complex == t.is_complex && s.axis_names == t.axis_names));
    }
    CHECK(run({"verify", "y-" + file, "--quiet"}, here).status == 0);
  };
  same({"--dtype", "bf16", "--layout", "interleaved"}, "a.safetensors");
  same({"--tensor", "sin", "--dtype", "f16"}, "b.npy");
  same({"--stack"}, "c.npy");
  same({"--layout", "complex"}, "d.npz");
  same({"--layout", "complex", "--complex", "pair"}, "e.npz");
  same({"--layout", "complex", "--complex", "split"}, "f.h5");
  same({"--arithmetic", "float32", "--offset", "3"}, "g.h5");
  // And can be had otherwise.
  done(plus(plus({"rescale", "g.h5", "--dtype", "f64", "--layout", "half", "--tensor", "cos"}, rule), {"h.npy"}), here);
  CHECK(formats::open(scratch / "h.npy")->tensors().at(0).dtype == DType::f64);
  CHECK(load_array(scratch / "h.npy").shape == std::vector<std::int64_t>{4, 8});
}

TEST_CASE("rescale: a spec comes out as a spec") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  done({"generate", "rope", "--head-dim", "8", "--positions", "4", "-o", "rope.npz", "--quiet"}, here);
  const Words rule{"--method", "ntk", "--factor", "2"};
  done(plus({"rescale", "rope.npz", "-o", "new.json"}, rule), here);
  for (const Words& more : std::vector<Words>{{"--print-spec"}, {"--print-spec", "-o", "-"}})
    CHECK(done(plus(plus({"rescale", "rope.npz"}, rule), more), here).out == slurp(scratch / "new.json"));
  done(plus({"rescale", "rope.npz", "-o", "direct.npz", "--quiet"}, rule), here);
  done({"generate", "--spec", "new.json", "-o", "by_spec.npz", "--quiet"}, here);
  CHECK(slurp(scratch / "direct.npz") == slurp(scratch / "by_spec.npz"));
  CHECK(Json::parse(done(plus({"rescale", "rope.npz", "-o", "new.json", "--json"}, rule), here).out).at("written").at(0).at("format") == "spec");
  CHECK(mentions(done(plus({"rescale", llama, "--print-spec"}, rule)).out, "\"method\": \"ntk\""));
  CHECK(mentions(refused(plus({"rescale", scratch / "rope.npz", "-o", "x.npz", "--print-spec"}, rule), 2), "--print-spec"));
  CHECK(mentions(refused(plus({"rescale", scratch / "rope.npz", "-o", "x.json", "--stack"}, rule), 2), "--stack"));
  spill(scratch / "broken.json", R"({"posenc": 1, "encoding": "rope", "parameters": {"head_dim": "wide"}})");
  refused(plus({"rescale", scratch / "broken.json", "-o", "x.npz"}, rule), 2);
  spill(scratch / "torn.json", R"({"posenc": 1, "encoding": )");
  refused(plus({"rescale", scratch / "torn.json", "-o", "x.npz"}, rule), 3);
}

// The config that is written says what the tables that are written hold: two paths, one of them through transformers' keys.
TEST_CASE("rescale: a config comes out as a config of the same tables") {
  const Scratch scratch;
  const std::string qwen = configs + "Qwen--Qwen2.5-7B-Instruct", bloom = scratch / "bloom.json";
  Json alibi = Json::parse(slurp(configs + "bigscience--bloom-7b1/config.json"));
  alibi["seq_length"] = 2048;
  spill(bloom, alibi.dump(2));
  struct Case {
    std::string in;
    Words rule;
  };
  const std::vector<Case> cases{{llama, {"--method", "yarn", "--factor", "4"}},
                                {llama, {"--method", "linear", "--context", "16k"}},
                                {llama, {"--method", "ntk", "--factor", "2"}},
                                {llama, {"--method", "llama3", "--factor", "8", "--low-freq-factor", "1", "--high-freq-factor", "4"}},
                                {qwen, {"--method", "yarn", "--factor", "4", "--beta-fast", "16"}},
                                {llama31, {"--method", "yarn", "--factor", "16", "--replace"}},
                                {bloom, {"--context", "4096"}}};
  for (const Case& c : cases)
    for (const Words& dialect : std::vector<Words>{{}, {"--config-dialect", "4"}, {"--config-dialect", "5"}}) {
      CAPTURE(c.in);
      CAPTURE(joined(c.rule));
      CAPTURE(joined(dialect));
      // A config holds ntk's base as a double, whose frequencies are those of the real base to binary32.
      const std::string dtype = c.rule[1] == "ntk" ? "f32" : "f64";
      const Words storage = c.in == bloom ? Words{"--quiet"} : Words{"--positions", "64", "--dtype", dtype, "--quiet"};
      done(plus(plus({"rescale", c.in, "-o", scratch / "config.json"}, c.rule), dialect));
      done(plus({"generate", "--config", scratch / "config.json", "-o", scratch / "through.npz"}, storage));
      done(plus(plus({"rescale", c.in, "-o", scratch / "direct.npz"}, c.rule), storage));
      CHECK(run({"verify", scratch / "direct.npz", "--against", scratch / "through.npz"}).status == 0);
    }
  // What the config declares moves with the factor, and so does its table; the dynamic rules keep the trained length.
  for (const auto& [method, rows] : {std::pair<std::string, std::int64_t>{"yarn", 8192}, {"dynamic", 4096}}) {
    done({"rescale", llama, "--method", method, "--factor", "2", "--tensor", "cos", "-o", scratch / "moved.npy", "--quiet"});
    CHECK(load_array(scratch / "moved.npy").shape[0] == rows);
  }
  CHECK(Json::parse(done({"rescale", llama, "--method", "linear", "--factor", "2", "-o", scratch / "config.json", "--json", "--quiet"}).out).at("written").at(0).at("format") ==
        "config");
  CHECK(mentions(done({"rescale", configs + "bigscience--bloom-7b1", "--context", "4096", "-o", scratch / "config.json"}).err, "declares no length"));
  CHECK(mentions(refused({"rescale", llama31, "--method", "yarn", "--factor", "4", "-o", scratch / "x.json"}, 2), "llama3"));
  CHECK(mentions(refused({"rescale", llama, "--method", "ntk-by-parts", "--factor", "4", "-o", scratch / "x.json"}, 2), "ntk-by-parts"));
  CHECK(mentions(refused({"rescale", llama, "--method", "yarn", "--factor", "4", "--dtype", "f64", "-o", scratch / "x.json"}, 2), "--dtype"));
  CHECK(mentions(refused({"rescale", llama, "--method", "yarn", "--factor", "4", "--positions", "64", "-o", scratch / "x.json"}, 2), "positions 64 has no key"));
  CHECK(mentions(refused({"rescale", llama, "--method", "yarn", "--factor", "4", "--config-dialect", "5", "-o", scratch / "x.npz"}, 2), "--config-dialect"));
  CHECK(mentions(refused({"rescale", configs + "openai-community--gpt2", "--context", "4096", "-o", scratch / "x.json"}, 2), "learned table"));
  CHECK_FALSE(fs::exists(scratch / "x.json"));
}

// Whatever stands in one block or in many: what a rule does to a config it does to its tables, and to no others.
TEST_CASE("rescale: tables of a rescaled config are the rescaled tables of the config") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  std::size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(configs))
    for (const Words& rule : std::vector<Words>{{"--method", "linear", "--factor", "4"}, {"--method", "yarn", "--context", "64k"}}) {
      const Words call = plus({"rescale", entry.path().string(), "--original-max-position-embeddings", "8192", "--replace", "--quiet"}, rule);
      CAPTURE(joined(call));
      if (run(plus(call, {"-o", "changed.json"}), here).status != 0) continue;
      const Words rows{"--positions", "9", "--dtype", "f64"};
      if (run(plus(plus(call, rows), {"-o", "direct.npz"}), here).status != 0) continue;
      done(plus({"generate", "--config", "changed.json", "-o", "through.npz", "--quiet"}, rows), here);
      const Outcome held = run({"verify", "direct.npz", "--against", "through.npz"}, here);
      CHECK_MESSAGE(held.status == 0, held.out);
      // As many rows, too.
      const auto lengths = [&](const Words& words) {
        std::vector<std::string> out;
        const Json spec = Json::parse(done(plus(words, {"--print-spec"}), here).out);
        for (const Json& table : spec.contains("tables") ? spec.at("tables") : Json::array({spec})) out.push_back(table.at("parameters").at("positions"));
        return out;
      };
      CHECK(lengths(call) == lengths({"generate", "--config", "changed.json", "--quiet"}));
      ++compared;
    }
  CHECK(compared >= 60);
}

TEST_CASE("rescale: layer types of a config, named one by one or all at once") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  const auto written = [&](const std::string& model, const Words& more) {
    done(plus({"rescale", model, "--method", "linear", "--factor", "2", "--replace", "--quiet", "-o", "made.json"}, more), here);
    return slurp(scratch / "made.json");
  };
  const Words all{"--layer-type", "all"}, both{"--layer-type", "full_attention", "--layer-type", "sliding_attention"};
  // One block speaks for all.
  const std::string gemma2 = configs + "google--gemma-2-9b", by_default = written(gemma2, {});
  CHECK(written(gemma2, all) == by_default);
  CHECK(written(gemma2, both) == by_default);
  CHECK(written(llama, all) == written(llama, {}));
  CHECK(mentions(refused({"rescale", gemma2, "--method", "linear", "--factor", "2", "--layer-type", "sliding_attention", "-o", "x.json"}, 2),
                 "for all layers, so that no rule can be for sliding_attention alone; leave --layer-type out"));
  // Each has its own, in dialect 5: the same change in both, one length.
  const Words trained{"--original-max-position-embeddings", "16384", "--config-dialect", "5"};
  const Json five = Json::parse(written(gemma, plus(trained, all))).at("text_config");
  CHECK(Json::parse(written(gemma, plus(trained, both))).at("text_config") == five);
  CHECK(five.at("max_position_embeddings") == 32768);
  CHECK(five.at("rope_parameters") == Json::parse(R"({"full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 2.0},
                                                      "sliding_attention": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}})"));
  CHECK(mentions(refused({"rescale", gemma, "--method", "linear", "--factor", "2", "--replace", "--original-max-position-embeddings", "16384", "--layer-type",
                          "all", "-o", "x.json"},
                         2),
                 "reaches full_attention only; ask for --config-dialect 5"));
  CHECK(mentions(refused({"rescale", gemma, "--method", "linear", "--factor", "2", "--replace", "--layer-type", "nope", "-o", "x.json"}, 2),
                 "has no layer type 'nope' whose positions are encoded; there are sliding_attention or full_attention"));
}

TEST_CASE("rescale: a config and its tables are refused alike") {
  const Scratch scratch;
  // The trained length is known: no matter whether the rule needs it.
  const Words gemma_call{"rescale", gemma, "--method", "linear", "--factor", "16", "--original-max-position-embeddings", "16384", "--replace", "--quiet"};
  done(plus(gemma_call, {"-o", scratch / "g.json"}));
  CHECK(Json::parse(slurp(scratch / "g.json")).at("text_config").at("max_position_embeddings") == 262144);
  CHECK(mentions(done(plus(gemma_call, {"--print-spec"})).out, "\"positions\": \"262144\""));
  for (const std::string out : {"x.json", "x.npz"})
    CHECK(mentions(refused(plus(gemma_call, {"--context", "131072", "-o", out}), 2), "--factor 16 times the trained length 16384 is 262144"));
  // Partly still pairs are no plain ones.
  for (const std::string out : {"x.json", "x.npz"}) {
    CHECK(mentions(refused({"rescale", configs + "google--gemma-4-31B", "--method", "yarn", "--factor", "4", "--original-max-position-embeddings", "8192",
                            "--replace", "-o", out},
                           2),
                   "only --method proportional lengthens"));
    CHECK(mentions(refused({"rescale", llama, "--method", "proportional", "--factor", "4", "-o", out}, 2), "these do not"));
  }
  // A table is no config, whatever is read.
  done({"generate", "rope", "--head-dim", "8", "--positions", "4", "-o", scratch / "z.npz", "--quiet"});
  save(scratch / "bare.npy", {4, 2}, numbers(8));
  for (const std::string word : {"5", "9"}) {
    CHECK(mentions(refused({"rescale", scratch / "z.npz", "--method", "linear", "--factor", "2", "--config-dialect", word, "-o", "x.npz"}, 2), "--config-dialect"));
    CHECK(mentions(refused({"rescale", scratch / "bare.npy", "--length", "8", "--config-dialect", word, "-o", "x.npy"}, 2), "--config-dialect"));
  }
}

TEST_CASE("rescale: what is read is never written over, under whatever name") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  const Words rule{"--method", "linear", "--factor", "2", "-o"};
  done({"generate", "rope", "--head-dim", "8", "--positions", "4", "-o", "rope.npz", "--quiet"}, here);
  done({"generate", "rope", "--head-dim", "8", "--positions", "4", "-o", "r.npy", "--quiet"}, here);
  fs::create_symlink("rope.npz", scratch / "soft.npz");
  fs::create_hard_link(scratch / "rope.npz", scratch / "hard.npz");
  const std::string before = slurp(scratch / "rope.npz"), cos = slurp(scratch / "r.cos.npy"), sidecar = slurp(scratch / "r.cos.npy.json");
  for (const std::string out : {"rope.npz", "./rope.npz", "soft.npz", "hard.npz"})
    CHECK(mentions(refused(plus(plus({"rescale", scratch / "rope.npz"}, rule), {scratch / out}), 2), "write to another file"));
  CHECK(slurp(scratch / "rope.npz") == before);
  // Names that come of -o, and what NPY keeps beside itself.
  const Outcome two = run(plus(plus({"rescale", "r.cos.npy", "--tensor", "cos", "--tensor", "sin"}, rule), {"r.npy"}), here);
  CHECK_MESSAGE((two.status == 2 && mentions(two.err, "write to another file")), two.err);
  CHECK(mentions(refused(plus(plus({"rescale", scratch / "r.cos.npy"}, rule), {scratch / "r.cos.npy.json"}), 2), "write to another file"));
  for (int twice = 0; twice < 2; ++twice) done(plus(plus({"rescale", "rope.npz"}, rule), {"rope.npz.json"}), here);  // no sidecar of anything
  CHECK(slurp(scratch / "r.cos.npy") == cos);
  CHECK(slurp(scratch / "r.cos.npy.json") == sidecar);
  save(scratch / "t.npy", {4, 2}, numbers(8));
  CHECK(mentions(refused({"rescale", scratch / "t.npy", "--length", "8", "-o", scratch / "t.npy"}, 2), "write to another file"));
  CHECK(mentions(refused({"rescale", scratch / "t.npy#t", "--length", "8", "-o", scratch / "t.npy"}, 2), "write to another file"));
  CHECK(load_array(scratch / "t.npy").values == numbers(8));
}

TEST_CASE("rescale: what was done is said") {
  const Scratch scratch;
  const std::string table = scratch / "t.npz", out = scratch / "out.npz", config = scratch / "config.json";
  done({"generate", "rope", "--positions", "64", "-o", table});
  CHECK(mentions(done({"rescale", table, "--method", "linear", "--factor", "2", "-o", out}).err, "factor 2; positions stay 64"));
  const std::string longer = done({"rescale", table, "--method", "linear", "--factor", "2", "--positions", "128", "-o", out}).err;
  CHECK((mentions(longer, "positions 128 (was 64)") && !mentions(longer, "stay")));
  CHECK(!mentions(done({"rescale", table, "--method", "linear", "--factor", "2", "--layout", "inv-freq", "-o", out}).err, "stay"));  // no rows
  CHECK(mentions(done({"rescale", llama, "--method", "yarn", "--factor", "4", "-o", config}).err,
                 "method yarn, factor 4, trained length 4096, positions 16384 (was 4096)"));
  CHECK(mentions(done({"rescale", llama, "--method", "base", "--new-base", "500000", "-o", config}).err, "method base, base 500000 (was 10000)"));
  save(scratch / "t5.npy", {32, 1}, std::vector<double>(32, 0.5));
  CHECK(mentions(done({"rescale", scratch / "t5.npy", "--rows", "buckets", "--method", "rebucket", "--new-max-distance", "512", "-o", scratch / "b.npy"}).err,
                 "buckets 32 -> 32, max_distance 128 -> 512, rebucket"));
}

}  // namespace posenc::test
