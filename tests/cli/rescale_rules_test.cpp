// posenc rescale and the rules on frequencies: every kind of input, the laws of the rules, directions, layers, what is refused.
#include <optional>

#include "cli/rescale.hpp"
#include "posenc/encoding.hpp"

namespace posenc::test {
namespace {

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

}  // namespace

TEST_CASE("rescale: linear by 2 is the plain table at half positions, and verifies") {
  const Scratch scratch;
  const std::string rope = small_rope(scratch);
  done({"rescale", rope, "--method", "linear", "--factor", "2", "-o", scratch / "y.npy"});
  // Row 2k is row k of the plain table: cos(2k (w / 2)) = cos(k w).
  const Array plain = load_array(rope), slow = load_array(scratch / "y.npy");
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
  for (std::size_t t = 0; t < bare.tensors.size(); ++t) writer->write(t, 0, read_tensor(*reader, t));
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
    CHECK(load_array(scratch / "context.npy").shape == std::vector<std::int64_t>{80, 8});
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
  CHECK(load_array(scratch / "two.npz", "cos").shape == std::vector<std::int64_t>{2, 64});
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
  const Outcome deepseek = done({"rescale", configs + "deepseek-ai--DeepSeek-V3", "--method", "yarn", "--factor", "80", "--replace",
                                 "--positions", "1", "-o", scratch / "d.npz"});
  CHECK(mentions(deepseek.err, "softmax_multiplier 1.8738542070926265 dropped"));
  CHECK(load_array(scratch / "d.npz", "cos").values == std::vector<double>(32, 1.0));

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
  CHECK(load_array(scratch / "y.npy").values[0] == 4095.875);  // 32767 / 8, not times 8
  CHECK(mentions(refused({"rescale", rope, "--method", "linear", "--factor", "0.125", "-o", "x.npy"}, 2), "a frequency scale of 0.125 is factor 8"));
  CHECK(mentions(refused({"rescale", llama, "--method", "linear", "--context", "2048", "-o", "x.npz"}, 2), "less than the trained length 4096"));
  const std::string loud = refused({"rescale", llama, "--method", "yarn", "--factor", "40", "--attention-factor", "40", "-o", "x.npz"}, 2);
  CHECK_MESSAGE((mentions(loud, "--attention-factor 40") && mentions(loud, "--force")), loud);
  done({"rescale", rope, "--method", "linear", "--factor", "0.5", "--force", "-o", scratch / "y.npy"});
  CHECK(load_array(scratch / "y.npy").values[0] == 65534);

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
    const Array got = load_array(scratch / "y.npy"), plain = load_array(rope);
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
    return std::pair(load_array(scratch / "y.npz", "full_attention.cos").values != load_array(scratch / "plain.npz", "full_attention.cos").values,
                     load_array(scratch / "y.npz", "sliding_attention.cos").values != load_array(scratch / "plain.npz", "sliding_attention.cos").values);
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
  CHECK(load_array(scratch / "long.npz", "sliding_attention.sin").shape[0] == 8192);
  CHECK(load_array(scratch / "long.npz", "full_attention.sin").shape[0] == 8192);
}

TEST_CASE("rescale: encodings without rules become longer, and say so") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  done({"generate", "sinusoidal", "--dim", "8", "--positions", "10", "-o", "s.npy", "--quiet"}, here);
  CHECK(mentions(done({"rescale", "s.npy", "--context", "20", "-o", "y.npy"}, here).err,
                 "sinusoidal has no rules on frequencies, only its length changes: positions 20 (was 10)"));
  done({"generate", "sinusoidal", "--dim", "8", "--positions", "20", "-o", "want.npy", "--quiet"}, here);
  CHECK(slurp(scratch / "y.npy") == slurp(scratch / "want.npy"));
  CHECK(mentions(refused({"rescale", scratch / "s.npy", "--method", "linear", "--factor", "2", "-o", "x.npy"}, 2), "no rules on frequencies"));
  CHECK(mentions(refused({"rescale", scratch / "s.npy", "--factor", "2", "-o", "x.npy"}, 2), "no rules on frequencies"));
  CHECK(mentions(refused({"rescale", scratch / "s.npy", "-o", "x.npy"}, 2), "--context"));
  done({"generate", "alibi", "--num-heads", "2", "--form", "matrix", "--key-length", "4", "-o", "a.npy", "--quiet"}, here);
  done({"rescale", "a.npy", "--context", "6", "-o", "b.npy"}, here);
  CHECK(load_array(scratch / "b.npy").shape == std::vector<std::int64_t>{2, 6, 6});
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

TEST_CASE("rescale: a context below what is there is refused, as one below the trained length is") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  struct Case {
    Words made, call;
    std::string file, length;
  };
  const std::vector<Case> cases{{{"sinusoidal", "--dim", "8", "--positions", "100"}, {}, "s.npy", "100"},
                                {{"learned", "--dim", "4", "--length", "100", "--seed", "1"}, {}, "l.npy", "100"},
                                {{"alibi", "--num-heads", "2", "--form", "matrix", "--key-length", "24"}, {}, "a.npy", "24"},
                                {{"xpos", "--head-dim", "8", "--length", "64"}, {}, "x.npz", "64"},
                                {{"rope", "--head-dim", "8", "--positions", "4096"}, {"--method", "linear", "--factor", "2"}, "r.npz", "4096"}};
  for (const Case& c : cases) {
    CAPTURE(c.file);
    done(plus(plus({"generate"}, c.made), {"-o", c.file, "--quiet"}), here);
    const Words call = plus({"rescale", scratch / c.file, "--context", "20"}, c.call);
    const std::string sentence = refused(plus(call, {"-o", "x.npz"}), 2);
    CHECK_MESSAGE(mentions(sentence, "--context 20 is less than the length " + c.length + " of what is there and would shorten it; give --force"), sentence);
    const Outcome said = done(plus(call, {"--force", "-o", "forced.npz"}), here);
    CHECK(!mentions(said.err, "longer"));
    CHECK(run({"verify", "forced.npz", "--quiet"}, here).status == 0);
  }
  CHECK(load_array(scratch / "forced.npz", "cos").shape[0] == 20);
}

TEST_CASE("rescale: a range keeps its start and step, and its old rows where no rule changes them") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  struct Case {
    std::string positions, longer;
  };
  for (const Case& c : std::vector<Case>{{"1:101", "1:200"}, {"5:100", "5:200"}, {"0:100:2", "0:200:2"}, {"-3:10", "-3:200"}, {"100", "200"}}) {
    CAPTURE(c.positions);
    done({"generate", "sinusoidal", "--dim", "8", "--positions=" + c.positions, "-o", "s.npy", "--quiet"}, here);
    done({"generate", "sinusoidal", "--dim", "8", "--positions=" + c.longer, "-o", "want.npy", "--quiet"}, here);
    done({"rescale", "s.npy", "--context", "200", "-o", "y.npy", "--quiet"}, here);
    CHECK(slurp(scratch / "y.npy") == slurp(scratch / "want.npy"));
    const std::vector<double> old = load_array(scratch / "s.npy").values, now = load_array(scratch / "y.npy").values;
    REQUIRE(now.size() > old.size());
    CHECK(std::equal(old.begin(), old.end(), now.begin()));
    // And a rotation under a rule.
    done({"generate", "rope", "--head-dim", "8", "--positions=" + c.positions, "-o", "r.npz", "--quiet"}, here);
    done({"rescale", "r.npz", "--method", "linear", "--factor", "2", "--context", "200", "-o", "r2.npz", "--quiet"}, here);
    done({"generate", "rope", "--head-dim", "8", "--method", "linear", "--factor", "2", "--positions=" + c.longer, "-o", "want.npz", "--quiet"}, here);
    CHECK(slurp(scratch / "r2.npz") == slurp(scratch / "want.npz"));
  }
  for (const std::string positions : {"0,5,7", "0.5,1.5", "10:0:-1"}) {
    CAPTURE(positions);
    done({"generate", "sinusoidal", "--dim", "8", "--positions", positions, "-o", "s.npy", "--quiet"}, here);
    done({"generate", "rope", "--head-dim", "8", "--positions", positions, "-o", "r.npz", "--quiet"}, here);
    for (const Words& call : std::vector<Words>{{"rescale", scratch / "s.npy"}, {"rescale", scratch / "r.npz", "--method", "linear", "--factor", "2"}}) {
      const std::string sentence = refused(plus(call, {"--context", "200", "-o", "x.npz"}), 2);
      CHECK_MESSAGE((mentions(sentence, positions + " have no longer form") && mentions(sentence, "give --positions")), sentence);
    }
    done({"rescale", "r.npz", "--method", "linear", "--factor", "2", "--context", "200", "--positions", "200", "-o", "y.npz", "--quiet"}, here);
  }
  done({"generate", "sinusoidal", "--dim", "8", "--positions", "30:40", "-o", "s.npy", "--quiet"}, here);
  CHECK(mentions(refused({"rescale", scratch / "s.npy", "--context", "20", "--force", "-o", "x.npy"}, 2), "before the first position, 30"));
}

TEST_CASE("rescale: the one query of cached decode stays one, at the end of the keys") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  const auto same = [&](const Words& made, const Words& longer, const std::string& remark) {
    CAPTURE(joined(made));
    done(plus(plus({"generate"}, made), {"-o", "t.npy", "--quiet"}), here);
    done(plus(plus({"generate"}, longer), {"-o", "want.npy", "--quiet"}), here);
    CHECK(mentions(done({"rescale", "t.npy", "--context", "32", "-o", "y.npy"}, here).err, remark));
    CHECK(slurp(scratch / "y.npy") == slurp(scratch / "want.npy"));
  };
  for (const Words& encoding : std::vector<Words>{{"alibi", "--num-heads", "2", "--form", "matrix"}, {"t5"}}) {
    same(plus(encoding, {"--key-length", "16", "--query-length", "1"}), plus(encoding, {"--key-length", "32", "--query-length", "1"}),
         "key_length 32 (was 16); query_length stays 1");
    same(plus(encoding, {"--key-length", "16", "--query-length", "1", "--query-offset", "15"}),
         plus(encoding, {"--key-length", "32", "--query-length", "1", "--query-offset", "31"}), "query_offset 31 (was 15); query_length stays 1");
    // A query that was somewhere else stays there.
    same(plus(encoding, {"--key-length", "16", "--query-length", "4", "--query-offset", "8"}),
         plus(encoding, {"--key-length", "32", "--query-length", "4", "--query-offset", "8"}), "key_length 32 (was 16); query_length stays 4");
    same(plus(encoding, {"--key-length", "16", "--query-length", "16"}), plus(encoding, {"--key-length", "32", "--query-length", "32"}), "query_length 32 (was 16)");
  }
}

}  // namespace posenc::test
