// posenc rescale as a process: every kind of input, the laws of the rules, what is refused, and tables resized.
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>

#include "cli/process.hpp"
#include "posenc/encoding.hpp"
#include "posenc/formats.hpp"
#include "posenc/pipeline.hpp"

namespace posenc::test {
namespace {

using Json = nlohmann::json;

const std::string data = POSENC_TEST_DATA;
const std::string llama = data + "/configs/meta-llama--Llama-2-7b-hf", gemma = data + "/configs/google--gemma-3-4b-it",
                  llama31 = data + "/configs/meta-llama--Llama-3.1-8B";

Outcome done(const Words& words, const Setup& setup = {}) {
  CAPTURE(joined(words));
  Outcome outcome = run(words, setup);
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  return outcome;
}

Words plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

struct Values {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  DType dtype;
};

Values load(const std::string& path, const std::string& name = "") {
  const auto reader = formats::open(path);
  for (std::size_t i = 0; i < reader->tensors().size(); ++i) {
    const StoredTensor& t = reader->tensors()[i];
    if (!name.empty() && t.name != name) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(t.bytes()));
    reader->read(i, 0, bytes);
    Values out{t.shape, {}, t.dtype};
    for (std::size_t at = 0; at < bytes.size(); at += size_of(t.dtype)) out.values.push_back(stored_value(t.dtype, bytes.data() + at));
    return out;
  }
  FAIL("no tensor " << name << " in " << path);
  return {};
}

void save(const std::string& path, const std::vector<std::int64_t>& shape, const std::vector<double>& values, const std::string& name = "t") {
  FilePlan plan;
  plan.tensors = {{name, DType::f64, shape, {}, false, ""}};
  const auto writer = formats::create(formats::format_of_suffix(path), path, plan);
  writer->write(0, 0, std::as_bytes(std::span(values)));
  writer->finish();
}

// Numbers as good as any, none of them special: k sqrt(2) mod 1.
std::vector<double> numbers(std::int64_t count) {
  std::vector<double> out;
  for (std::int64_t k = 0; k < count; ++k) out.push_back(std::fmod(static_cast<double>(k + 1) * 1.4142135623730951, 1.0) - 0.5);
  return out;
}

void check_close(const std::string& path, const std::vector<double>& want, double tolerance) {
  const std::vector<double> got = load(path).values;
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(std::fabs(got[i] - want[i]) <= tolerance);
}

// What each rule needs besides a factor, for a head of 8 lanes trained for 32 positions, and what makes it the identity.
Words needs(const std::string& method) {
  if (method.starts_with("longrope")) return {"--short-factor", "1,1,1,1", "--long-factor", "1,1,1,1"};
  if (method == "divisors") return {"--divisors", "1,1,1,1"};
  if (method == "base") return {"--new-base", "10000"};
  return {};
}

std::vector<FieldView> fields_under(const std::string& method) {
  auto rope = make_encoding("rope");
  rope->set("method", method);
  return rope->fields();
}
bool has_field(const std::string& method, const std::string& name) {
  const auto fields = fields_under(method);
  return std::any_of(fields.begin(), fields.end(), [&](const FieldView& f) { return f.name == name; });
}

Words methods() {
  Words out;
  for (const FieldView& f : make_encoding("rope")->fields())
    if (f.name == "method")
      for (const auto& [name, help] : f.choices) out.push_back(name);
  return out;
}

// A rope of 8 lanes and 32 positions, as one NPY file whose bytes are its values.
std::string small_rope(const Scratch& scratch, const Words& more = {}) {
  const std::string path = scratch / "rope.npy";
  done(plus({"generate", "rope", "--head-dim", "8", "--positions", "32", "--layout", "cache", "-o", path, "--quiet"}, more));
  return path;
}

}  // namespace

TEST_CASE("rescale: linear by 2 is the plain table at half positions, and verifies") {
  const Scratch scratch;
  const std::string rope = small_rope(scratch);
  done({"rescale", rope, "--method", "linear", "--factor", "2", "-o", scratch / "y.npy"});
  // Row 2k is row k of the plain table: cos(2k (w / 2)) = cos(k w).
  const Values plain = load(rope), slow = load(scratch / "y.npy");
  REQUIRE(slow.shape == plain.shape);
  for (std::size_t k = 0; k < 16; ++k)
    for (std::size_t lane = 0; lane < 8; ++lane) CHECK(slow.values[2 * k * 8 + lane] == plain.values[k * 8 + lane]);
  CHECK(run({"verify", scratch / "y.npy"}).status == 0);
}

TEST_CASE("rescale: every kind of input gives what generate gives under the rule") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  const Words plain{"--head-dim", "128", "--positions", "64", "--layout", "half"};
  const Words rule{"--method", "yarn", "--factor", "4", "--original-max-position-embeddings", "4096"};
  done(plus(plus({"generate", "rope", "-o", "want.npz", "--quiet"}, plain), rule), here);
  const std::string want = slurp(scratch / "want.npz");
  const auto same = [&](Words words) {
    CAPTURE(joined(words));
    done(plus(words, {"-o", "got.npz", "--quiet"}), here);
    CHECK(slurp(scratch / "got.npz") == want);
    CHECK(run({"verify", "got.npz", "--quiet"}, here).status == 0);
  };
  for (const formats::FormatTraits& format : formats::formats()) {
    if (!format.many_tensors) continue;
    const std::string file = "in" + std::string(format.suffixes[0]);
    done(plus({"generate", "rope", "-o", file, "--quiet"}, plain), here);
    same(plus({"rescale", file}, rule));
  }
  spill(scratch / "spec.json", done(plus({"generate", "rope", "--print-spec"}, plain)).out);
  same(plus({"rescale", "spec.json"}, rule));
  done(plus({"rescale", "-", "-o", "got.npz", "--quiet"}, rule), {.folder = scratch.path(), .input = slurp(scratch / "spec.json")});
  CHECK(slurp(scratch / "got.npz") == want);

  // A bare table: the same arrays without metadata.
  const auto reader = formats::open(scratch / "in.npz");
  FilePlan bare;
  bare.tensors = reader->tensors();
  for (StoredTensor& t : bare.tensors) t.axis_names.clear();
  const auto writer = formats::create(formats::parse_format("npz"), scratch / "bare.npz", bare);
  for (std::size_t t = 0; t < bare.tensors.size(); ++t) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(bare.tensors[t].bytes()));
    reader->read(t, 0, bytes);
    writer->write(t, 0, bytes);
  }
  writer->finish();
  same(plus(plus({"rescale", "bare.npz", "rope"}, plain), rule));
  same(plus({"rescale", "bare.npz", "--spec", "spec.json"}, rule));
  CHECK(mentions(refused(plus({"rescale", scratch / "bare.npz", "-o", "x.npz"}, rule), 2), "carries no spec"));

  // A config knows the trained length, and its folder is as good as itself. Its spec says more (rotary_dim), the values are the same.
  for (const std::string& in : {llama, llama + "/config.json"}) {
    done({"rescale", in, "--method", "yarn", "--factor", "4", "--layout", "half", "--positions", "64", "-o", "config.npz", "--quiet"}, here);
    CHECK(run({"verify", "config.npz", "--against", "want.npz", "--quiet"}, here).status == 0);
  }
}

TEST_CASE("rescale: every rule at factor 1 leaves the bytes as they were") {
  const Scratch scratch;
  const std::string rope = small_rope(scratch);
  const std::string before = slurp(rope);
  for (const std::string& method : methods()) {
    CAPTURE(method);
    Words words = plus({"rescale", rope, "--method", method, "-o", scratch / "y.npy"}, needs(method));
    if (has_field(method, "factor")) words = plus(words, {"--factor", "1"});
    if (has_field(method, "original_max_position_embeddings") || has_field(method, "max_position_embeddings"))
      words = plus(words, {"--original-max-position-embeddings", "32"});
    done(words);
    CHECK(slurp(scratch / "y.npy") == before);
    CHECK(run({"verify", scratch / "y.npy", "--quiet"}).status == 0);
  }
}

TEST_CASE("rescale: a context is a factor and as many positions") {
  const Scratch scratch;
  const std::string rope = small_rope(scratch);
  const Words trained{"--original-max-position-embeddings", "32"};
  for (const std::string& method : methods()) {
    CAPTURE(method);
    const bool wants_length = has_field(method, "original_max_position_embeddings") || has_field(method, "max_position_embeddings"),
               wants_factor = has_field(method, "factor");
    const Words call = plus({"rescale", rope, "--method", method}, needs(method));
    done(plus(plus(call, trained), {"--context", "80", "-o", scratch / "context.npy"}));
    Words factor = plus(call, {"--positions", "80", "-o", scratch / "factor.npy"});
    if (wants_factor) factor = plus(factor, {"--factor", "2.5"});
    if (wants_length) factor = plus(factor, trained);
    done(factor);
    CHECK(slurp(scratch / "context.npy") == slurp(scratch / "factor.npy"));
    CHECK(load(scratch / "context.npy").shape == std::vector<std::int64_t>{80, 8});
    CHECK(run({"verify", scratch / "context.npy", "--quiet"}).status == 0);
    // The length of a table is not the length that a model was trained for.
    if (wants_length || wants_factor) CHECK(mentions(refused(plus(call, {"--context", "80", "-o", "x.npy"}), 2), "max-position-embeddings"));
  }
  CHECK(mentions(refused({"rescale", rope, "--method", "yarn", "--factor", "4", "-o", "x.npy"}, 2), "--original-max-position-embeddings"));
  CHECK(mentions(refused({"rescale", rope, "--method", "dynamic", "--factor", "4", "-o", "x.npy"}, 2), "--max-position-embeddings"));
  CHECK(mentions(refused(plus({"rescale", rope, "--method", "linear", "--context", "64", "--factor", "4", "-o", "x.npy"}, trained), 2),
                 "give one of them"));
  CHECK(mentions(refused({"rescale", rope, "--method", "linear", "--original-max-position-embeddings", "32", "--max-position-embeddings", "16",
                          "--context", "64", "-o", "x.npy"},
                         2),
                 "32 and 16"));
  CHECK(mentions(refused({"rescale", rope, "--method", "linear", "-o", "x.npy"}, 2), "needs --factor or --context"));
  // 1.1 is no double, and 4400 / 4000 is the one nearest to it.
  done({"rescale", rope, "--method", "linear", "--factor", "1.1", "--context", "4400", "--original-max-position-embeddings", "4000", "-o",
        scratch / "both.npy"});
  // Positions of one's own stay.
  done({"rescale", llama, "--method", "ntk", "--context", "8192", "--positions", "7:9", "-o", scratch / "two.npz"});
  CHECK(load(scratch / "two.npz", "cos").shape == std::vector<std::int64_t>{2, 64});
}

TEST_CASE("rescale: a rule is not put on a rule, and --replace puts it on the plain frequencies") {
  const Scratch scratch;
  const std::string rope = small_rope(scratch), yarned = scratch / "yarn.npy";
  done({"rescale", rope, "--method", "yarn", "--factor", "4", "--original-max-position-embeddings", "32", "--attention-factor", "1.5", "-o", yarned});
  const std::string sentence = refused({"rescale", yarned, "--method", "linear", "--factor", "2", "-o", "x.npy"}, 2);
  CHECK_MESSAGE((mentions(sentence, "already under method yarn (factor 4") && mentions(sentence, "--replace")), sentence);
  CHECK(mentions(refused({"rescale", yarned, "--method", "default", "-o", "x.npy"}, 2), "--replace"));
  CHECK(mentions(refused({"rescale", yarned, "--context", "64", "-o", "x.npy"}, 2), "method yarn"));

  // The amplitude was the old rule's and goes with it.
  const Outcome said = done({"rescale", yarned, "--method", "linear", "--factor", "2", "--replace", "-o", scratch / "linear.npy"});
  CHECK(mentions(said.err, "attention_factor 1.5 dropped"));
  done({"rescale", rope, "--method", "linear", "--factor", "2", "-o", scratch / "direct.npy"});
  CHECK(slurp(scratch / "linear.npy") == slurp(scratch / "direct.npy"));
  done({"rescale", yarned, "--method", "default", "--replace", "-o", scratch / "plain.npy"});
  CHECK(slurp(scratch / "plain.npy") == slurp(rope));

  // The trained length is what the replaced rule recorded: 128 / 32 is 4.
  CHECK(mentions(done({"rescale", yarned, "--method", "linear", "--context", "128", "--replace", "--print-spec"}).out, "\"factor\": 4"));
  // What a config declares under a rule is the length after it: Gemma 3 does not say what it was trained for, Llama 3.1 does.
  CHECK(mentions(refused({"rescale", gemma, "--method", "yarn", "--factor", "4", "--replace", "-o", "x.npz"}, 2),
                 "--original-max-position-embeddings"));
  CHECK(mentions(done({"rescale", llama31, "--method", "yarn", "--context", "256k", "--replace", "--print-spec"}).out, "\"factor\": 32"));

  // A rule that replaces itself keeps what is not said anew: DeepSeek's two weights, which make its amplitude 1 and not
  // 0.1 ln(80) + 1; the factor on the softmax was the old factor's.
  const Outcome deepseek = done({"rescale", data + "/configs/deepseek-ai--DeepSeek-V3", "--method", "yarn", "--factor", "80", "--replace",
                                 "--positions", "1", "-o", scratch / "d.npz"});
  CHECK(mentions(deepseek.err, "softmax_multiplier 1.8738542070926265 dropped"));
  CHECK(load(scratch / "d.npz", "cos").values == std::vector<double>(32, 1.0));

  // An amplitude without a rule would overrule the new rule's.
  done({"generate", "rope", "--head-dim", "8", "--positions", "4", "--attention-factor", "1.25", "-o", scratch / "loud.npz", "--quiet"});
  CHECK(mentions(refused({"rescale", scratch / "loud.npz", "--method", "linear", "--factor", "2", "-o", "x.npz"}, 2), "attention_factor 1.25"));
  // Factor 1 of the dynamic rule is no identity.
  done({"generate", "rope", "--head-dim", "8", "--positions", "64", "--method", "dynamic", "--max-position-embeddings", "32", "-o", scratch / "d.npz",
        "--quiet"});
  CHECK(mentions(refused({"rescale", scratch / "d.npz", "--method", "dynamic", "--factor", "4", "-o", "x.npz"}, 2), "--replace"));
  // p-RoPE as trained is a rule whose factor is 1: another factor composes nothing.
  done({"generate", "rope", "--head-dim", "8", "--positions", "4", "--method", "proportional", "-o", scratch / "p.npz", "--quiet"});
  done({"rescale", scratch / "p.npz", "--method", "proportional", "--factor", "2", "-o", scratch / "p2.npz"});
  CHECK(mentions(refused({"rescale", scratch / "p2.npz", "--method", "proportional", "--factor", "4", "-o", "x.npz"}, 2), "--replace"));
}

TEST_CASE("B30: directions and units") {
  const Scratch scratch;
  const std::string rope = scratch / "rope.npy";
  done({"generate", "rope", "--layout", "angles", "--positions", "32767,", "--dtype", "f64", "-o", rope, "--quiet"});
  done({"rescale", rope, "--method", "linear", "--factor", "8", "-o", scratch / "y.npy"});
  CHECK(load(scratch / "y.npy").values[0] == 4095.875);  // 32767 / 8, not times 8
  CHECK(mentions(refused({"rescale", rope, "--method", "linear", "--factor", "0.125", "-o", "x.npy"}, 2), "a frequency scale of 0.125 is factor 8"));
  CHECK(mentions(refused({"rescale", llama, "--method", "linear", "--context", "2048", "-o", "x.npz"}, 2), "less than the trained length 4096"));
  const std::string loud = refused({"rescale", llama, "--method", "yarn", "--factor", "40", "--attention-factor", "40", "-o", "x.npz"}, 2);
  CHECK_MESSAGE((mentions(loud, "--attention-factor 40") && mentions(loud, "--force")), loud);
  done({"rescale", rope, "--method", "linear", "--factor", "0.5", "--force", "-o", scratch / "y.npy"});
  CHECK(load(scratch / "y.npy").values[0] == 65534);

  // alpha: base 10000 alpha^(d/(d-2)). The second frequency of d lanes is that base^(-2/d).
  struct Alpha {
    std::string alpha, lanes;
    double base;
  };
  for (const Alpha& a : {Alpha{"2", "128", 20221.2616897},
                         {"4", "128", 40889.9424325},
                         {"8", "128", 82684.6226406},
                         {"4", "64", 41829.3659289},
                         {"4", "80", 41447.412846},
                         {"4", "256", 40439.0198916}}) {
    done({"generate", "rope", "--head-dim", a.lanes, "--layout", "inv-freq", "--dtype", "f64", "-o", rope, "--quiet"});
    done({"rescale", rope, "--method", "ntk", "--factor", a.alpha, "-o", scratch / "y.npy"});
    const Values got = load(scratch / "y.npy"), plain = load(rope);
    // Twelve digits of the base leave 2 / d of their relative error, 5e-13 * 2 / 64, in the frequency.
    CHECK(std::fabs(got.values[1] / std::pow(a.base, -2 / std::stod(a.lanes)) - 1) < 5e-14);
    CHECK(std::fabs(plain.values.back() / got.values.back() / std::stod(a.alpha) - 1) < 4e-16);  // the last wavelength grows by alpha
  }
}

TEST_CASE("rescale: the rule goes on full attention, on what is named, or on all") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  done({"generate", "--config", gemma, "--positions", "8", "-o", "plain.npz", "--quiet"}, here);
  const Words call{"rescale", "plain.npz", "--method", "yarn", "--factor", "2", "--original-max-position-embeddings", "4096", "--replace", "--quiet"};
  const auto changed = [&](const Words& more) {
    done(plus(plus(call, more), {"-o", "y.npz"}), here);
    CHECK(run({"verify", "y.npz", "--quiet"}, here).status == 0);
    return std::pair(load(scratch / "y.npz", "full_attention.cos").values != load(scratch / "plain.npz", "full_attention.cos").values,
                     load(scratch / "y.npz", "sliding_attention.cos").values != load(scratch / "plain.npz", "sliding_attention.cos").values);
  };
  CHECK(changed({}) == std::pair(true, false));
  const Outcome said = done({"rescale", gemma, "--method", "linear", "--factor", "16", "--replace", "--positions", "8", "-o", "y.npz"}, here);
  CHECK_MESSAGE((mentions(said.err, "full_attention: positions 8 (was 131072), factor 16 (was 8)") &&
                 mentions(said.err, "sliding_attention: its frequencies are left as they are")),
                said.err);
  CHECK(changed({"--layer-type", "sliding_attention"}) == std::pair(false, true));
  CHECK(changed({"--layer-type", "all"}) == std::pair(true, true));
  CHECK(
      mentions(refused(plus({"rescale", scratch / "plain.npz", "--layer-type", "vision", "-o", "x.npz"}, {"--method", "linear", "--factor", "2"}), 2),
               "full_attention"));
  // All layers of a longer model have as many positions.
  done(plus(call, {"--context", "8192", "-o", "long.npz"}), here);
  CHECK(load(scratch / "long.npz", "sliding_attention.sin").shape[0] == 8192);
  CHECK(load(scratch / "long.npz", "full_attention.sin").shape[0] == 8192);
}

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
  CHECK(load(scratch / "h.npy").dtype == DType::f64);
  CHECK(load(scratch / "h.npy").shape == std::vector<std::int64_t>{4, 8});
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
  const std::string qwen = data + "/configs/Qwen--Qwen2.5-7B-Instruct", bloom = scratch / "bloom.json";
  Json alibi = Json::parse(slurp(data + "/configs/bigscience--bloom-7b1/config.json"));
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
    CHECK(load(scratch / "moved.npy").shape[0] == rows);
  }
  CHECK(Json::parse(done({"rescale", llama, "--method", "linear", "--factor", "2", "-o", scratch / "config.json", "--json", "--quiet"}).out).at("written").at(0).at("format") ==
        "config");
  CHECK(mentions(done({"rescale", data + "/configs/bigscience--bloom-7b1", "--context", "4096", "-o", scratch / "config.json"}).err, "declares no length"));
  CHECK(mentions(refused({"rescale", llama31, "--method", "yarn", "--factor", "4", "-o", scratch / "x.json"}, 2), "llama3"));
  CHECK(mentions(refused({"rescale", llama, "--method", "ntk-by-parts", "--factor", "4", "-o", scratch / "x.json"}, 2), "ntk-by-parts"));
  CHECK(mentions(refused({"rescale", llama, "--method", "yarn", "--factor", "4", "--dtype", "f64", "-o", scratch / "x.json"}, 2), "--dtype"));
  CHECK(mentions(refused({"rescale", llama, "--method", "yarn", "--factor", "4", "--positions", "64", "-o", scratch / "x.json"}, 2), "positions 64 has no key"));
  CHECK(mentions(refused({"rescale", llama, "--method", "yarn", "--factor", "4", "--config-dialect", "5", "-o", scratch / "x.npz"}, 2), "--config-dialect"));
  CHECK(mentions(refused({"rescale", data + "/configs/openai-community--gpt2", "--context", "4096", "-o", scratch / "x.json"}, 2), "learned table"));
  CHECK_FALSE(std::filesystem::exists(scratch / "x.json"));
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
  CHECK(load(scratch / "t.npy").values == numbers(8));
}

TEST_CASE("rescale: encodings without rules become longer, and say so") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  done({"generate", "sinusoidal", "--dim", "8", "--positions", "10", "-o", "s.npy", "--quiet"}, here);
  CHECK(mentions(done({"rescale", "s.npy", "--context", "20", "-o", "y.npy"}, here).err,
                 "sinusoidal has no rules on frequencies, it is made longer: positions 20 (was 10)"));
  done({"generate", "sinusoidal", "--dim", "8", "--positions", "20", "-o", "want.npy", "--quiet"}, here);
  CHECK(slurp(scratch / "y.npy") == slurp(scratch / "want.npy"));
  CHECK(mentions(refused({"rescale", scratch / "s.npy", "--method", "linear", "--factor", "2", "-o", "x.npy"}, 2), "no rules on frequencies"));
  CHECK(mentions(refused({"rescale", scratch / "s.npy", "--factor", "2", "-o", "x.npy"}, 2), "no rules on frequencies"));
  CHECK(mentions(refused({"rescale", scratch / "s.npy", "-o", "x.npy"}, 2), "--context"));
  done({"generate", "alibi", "--num-heads", "2", "--form", "matrix", "--key-length", "4", "-o", "a.npy", "--quiet"}, here);
  done({"rescale", "a.npy", "--context", "6", "-o", "b.npy"}, here);
  CHECK(load(scratch / "b.npy").shape == std::vector<std::int64_t>{2, 6, 6});
  CHECK(run({"verify", "b.npy", "--quiet"}, here).status == 0);
  // Arrays that an encoding takes are no learned values: linear means the rule here, and mrope has none.
  done({"generate", "mrope", "--head-dim", "16", "--mrope-section", "2,3,3", "-o", "m.npz", "--quiet"}, here);
  CHECK(mentions(refused({"rescale", scratch / "m.npz", "--method", "linear", "--factor", "2", "-o", "x.npz"}, 2), "mrope has no rules on frequencies"));
  // Frequencies that were given are not made of a base.
  done({"generate", "rope", "--head-dim", "4", "--inv-freq", "1,0.5", "--positions", "2", "-o", "f.npz", "--quiet"}, here);
  CHECK(mentions(refused({"rescale", scratch / "f.npz", "--method", "linear", "--factor", "2", "-o", "x.npz"}, 2), "gives the frequencies themselves"));
  done({"generate", "swin", "--window-height", "2", "--window-width", "2", "-o", "w.npz", "--quiet"}, here);
  CHECK(mentions(refused({"rescale", scratch / "w.npz", "--context", "6", "-o", "x.npz"}, 2), "depends on no length"));
}

TEST_CASE("rescale: a bare table that is not what it is said to be is refused with the place") {
  const Scratch scratch;
  const std::string rope = small_rope(scratch);
  Values values = load(rope);
  values.values[3 * 8 + 5] += 1e-3;
  save(scratch / "bare.npy", values.shape, values.values);
  const Words said{"rope", "--head-dim", "8", "--positions", "32", "--layout", "cache", "--method", "linear", "--factor", "2", "-o", "x.npy"};
  CHECK(mentions(refused(plus({"rescale", scratch / "bare.npy"}, said), 1), "first at ["));
  CHECK(mentions(refused(plus({"rescale", scratch / "bare.npy", "rope", "--head-dim", "8", "--positions", "31", "--layout", "cache", "--method",
                               "linear", "--factor", "2"},
                              {"-o", "x.npy"}),
                         1),
                 "[32, 8]"));
  // A place alone: exact doubles of an angle table, one of them moved.
  std::vector<double> angles;
  for (int k = 0; k < 6; ++k) angles.push_back(k), angles.push_back(k / 2.0);
  save(scratch / "angles.npy", {6, 2}, angles);
  const Words exact{"rope", "--head-dim", "4", "--base", "4", "--positions", "6", "--layout", "angles", "--method", "linear", "--factor", "2"};
  done(plus(plus({"rescale", scratch / "angles.npy"}, exact), {"-o", scratch / "half.npy"}));
  CHECK(load(scratch / "half.npy").dtype == DType::f64);
  for (double& a : angles) a /= 2;
  CHECK(load(scratch / "half.npy").values == angles);
  CHECK(run({"verify", scratch / "half.npy", "--quiet"}).status == 0);
  for (double& a : angles) a *= 2;
  angles[7] += 0.25;
  save(scratch / "angles.npy", {6, 2}, angles);
  CHECK(mentions(refused(plus(plus({"rescale", scratch / "angles.npy"}, exact), {"-o", "x.npy"}), 1), "first at [3,1] with 1.75 for 1.5"));
  // A file that knows what it is takes no second word for it; an encoding beside it must be its own.
  CHECK(mentions(refused({"rescale", rope, "--config", llama, "--method", "linear", "--factor", "2", "-o", "x.npy"}, 2), "carries its spec"));
  CHECK(mentions(refused({"rescale", rope, "sinusoidal", "--context", "64", "-o", "x.npy"}, 2), "describes rope"));
  CHECK(mentions(refused({"rescale", llama, "--spec", llama, "--method", "linear", "--factor", "2", "-o", "x.npy"}, 2), "itself"));
}

TEST_CASE("rescale: one array of a file is a bare table too") {
  const Scratch scratch;
  FilePlan plan;
  plan.tensors = {{"layers/angles", DType::f64, {3, 2}, {}, false, ""}, {"w", DType::f64, {2}, {}, false, ""}};
  const std::vector<double> angles{0, 0, 1, 0.5, 2, 1}, w{1, 2};
  const auto writer = formats::create(formats::parse_format("hdf5"), scratch / "model.h5", plan);
  writer->write(0, 0, std::as_bytes(std::span(angles)));
  writer->write(1, 0, std::as_bytes(std::span(w)));
  writer->finish();
  const Words said{"rope", "--head-dim", "4", "--base", "4", "--positions", "3", "--layout", "angles", "--method", "linear", "--factor", "4", "-o"};
  done(plus(plus({"rescale", scratch / "model.h5#layers/angles"}, said), {scratch / "y.npy"}));
  CHECK(load(scratch / "y.npy").values == std::vector<double>{0, 0, 0.25, 0.125, 0.5, 0.25});
  CHECK(mentions(refused(plus(plus({"rescale", scratch / "model.h5#nothing"}, said), {"x.npy"}), 2), "nothing"));
  CHECK(mentions(refused({"rescale", scratch / "model.h5", "--length", "8", "-o", "x.npy"}, 2), "say which"));
  done({"rescale", scratch / "model.h5#layers/angles", "--length", "6", "--method", "tile", "-o", scratch / "z.h5"});
  CHECK(load(scratch / "z.h5", "layers/angles").shape == std::vector<std::int64_t>{6, 2});
  CHECK(mentions(refused({"rescale", scratch / "model.h5#w", "--tensor", "w", "--length", "8", "-o", "x.npy"}, 2), "#w"));
}

// --- tables without a formula ---------------------------------------------------------------------------------------

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
    const Values got = load(scratch / "y.npy"), want = load(folder + c.at("output").get<std::string>());
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
    const Values got = load(scratch / "y.npy"), want = load(folder + c.at("output").get<std::string>());
    CHECK(got.shape == want.shape);
    // binary32 inside timm: 3 (12.6 n + 120 + 2 n + 4) u of the largest value, n <= 16 (derived in tests/resample/golden_test.cpp).
    double most = 0;
    for (const double v : load(folder + c.at("input").get<std::string>()).values) most = std::max(most, std::fabs(v));
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
  check_close(scratch / "y.npy", load(hier + ".f64.npy").values, 6 * (1.4 / 0.6) * 0.1 * 0x1p-53);
  const Values old = load(hier + ".in.npy"), made = load(scratch / "y.npy");
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
  const Values made = load(scratch / "y.npy");
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
  const Values made = load(scratch / "y.npy");
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
  const Values made = load(scratch / "y.npy");
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
    CHECK(load(scratch / name).values == std::vector<double>{1, 2, 2, 3, 3, 4, 3, 4});  // x = k / 2, held at the end
    CHECK(mentions(done({"inspect", scratch / name}).out, "posenc rescale"));
    CHECK(run({"verify", scratch / name}).status == 2);
  }
  done({"rescale", scratch / "x.h5", "--length", "3", "--dtype", "bf16", "-o", scratch / "y.safetensors", "--quiet"});
  CHECK(load(scratch / "y.safetensors").dtype == DType::bf16);
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
      CHECK(load(scratch / "got.h5").values == load(scratch / "want.npy").values);
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
  std::vector<double> twice = load(scratch / "l.npz").values;
  const std::vector<double> once = twice;
  twice.insert(twice.end(), once.begin(), once.end());
  CHECK(load(scratch / "t.npz").values == twice);
  CHECK(Json::parse(done({"inspect", "t.npz", "--json"}, here).out).at("resampled").at("spec").at("encoding") == "learned");
  // Values that were given have no more rows to go on with.
  save(scratch / "u.npy", {4, 3}, {.1, .2, .3, .4, .5, .6, .7, .8, .9, .15, .25, .35});
  done({"generate", "learned", "--length", "4", "--dim", "3", "--uniforms", "u.npy", "-o", "given.npz", "--quiet"}, here);
  CHECK(mentions(refused({"rescale", scratch / "given.npz", "--context", "8", "-o", "x.npz"}, 2), "--method linear, cubic, tile"));
  done({"rescale", "given.npz", "--context", "8", "--method", "cubic", "-o", "y.npz"}, here);
  CHECK(load(scratch / "y.npz").shape == std::vector<std::int64_t>{8, 3});
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
