// posenc apply as a process: files in every format, sizes taken from the array, scores, refusals.
#include <nlohmann/json.hpp>

#include "cli/process.hpp"
#include "posenc/formats.hpp"
#include "support/arrays.hpp"

namespace posenc::test {
namespace {

// An input made by the binary itself: sinusoids, which are as good as any numbers.
std::string vectors(const Scratch& scratch, const std::string& name, const std::string& dim, const std::string& positions) {
  const std::string path = scratch / name;
  REQUIRE(run({"generate", "sinusoidal", "--dim", dim, "--positions", positions, "-o", path, "--quiet"}).status == 0);
  return path;
}

std::vector<std::byte> bytes_of(const std::string& path) { return read_tensor(*formats::open(path), 0); }

}  // namespace

TEST_CASE("apply: the same values from and to every format, and back again by the opposite angle") {
  const Scratch scratch;
  const std::string npy = vectors(scratch, "x.npy", "16", "12");
  std::vector<std::byte> first;
  for (const formats::FormatTraits& format : formats::formats()) {
    const std::string suffix(format.suffixes[0]), x = vectors(scratch, "x" + suffix, "16", "12"), y = scratch / ("y" + suffix);
    const Outcome made = run({"apply", "rope", "--layout", "half", "--input", x, "-o", y});
    CHECK_MESSAGE(made.status == 0, made.err);
    CHECK(mentions(made.err, "positions 12, head_dim 16"));
    if (first.empty()) first = bytes_of(y);
    CHECK(bytes_of(y) == first);
  }
  REQUIRE(run({"apply", "rope", "--layout", "half", "--operation", "rotate-back", "--dtype", "f64", "--input", scratch / "y.npy", "-o", scratch / "back.npy"}).status == 0);
  REQUIRE(run({"apply", "rope", "--layout", "half", "--dtype", "f32", "--input", npy, "-o", scratch / "again.npy"}).status == 0);
  CHECK(slurp(scratch / "again.npy") == slurp(scratch / "y.npy"));
}

TEST_CASE("apply: a spec, a config and a file of tables say the same") {
  const Scratch scratch;
  const std::string x = vectors(scratch, "x.npy", "128", "9");
  spill(scratch / "config.json", R"({"model_type":"llama","hidden_size":4096,"num_attention_heads":32,"max_position_embeddings":2048,"rope_theta":10000.0})");
  const auto made = [&](const Words& more) {
    Words words{"apply", "--input", x, "-o", scratch / "y.npy"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run(words);
    CHECK_MESSAGE(outcome.status == 0, outcome.err);
    return slurp(scratch / "y.npy");
  };
  const std::string plain = made({"rope", "--layout", "half"});
  CHECK(made({"--config", scratch / "config.json", "--pairing", "half"}) == plain);
  const Outcome spec = run({"generate", "rope", "--layout", "half", "--positions", "9", "--print-spec"});
  spill(scratch / "spec.json", spec.out);
  CHECK(made({"--spec", scratch / "spec.json"}) == plain);
  // Tables already rounded to f64 give the same f32 here: nothing lies that near a tie.
  REQUIRE(run({"generate", "rope", "--layout", "half", "--positions", "9", "--dtype", "f64", "-o", scratch / "tables.npz"}).status == 0);
  CHECK(made({"--table", scratch / "tables.npz", "--pairing", "half"}) == plain);
}

TEST_CASE("apply: a bias takes its sizes from the scores; scores print") {
  const Scratch scratch;
  REQUIRE(run({"generate", "alibi", "--num-heads", "3", "--form", "matrix", "--query-length", "4", "--key-length", "6", "-o", scratch / "scores.npy"}).status == 0);
  const Outcome outcome = run({"apply", "alibi", "--input", scratch / "scores.npy", "-o", scratch / "y.h5"});
  CHECK_MESSAGE(outcome.status == 0, outcome.err);
  CHECK(mentions(outcome.err, "key_length 6, query_length 4, num_heads 3"));
  const std::string x = vectors(scratch, "x.npy", "4", "1");  // 0, 1, 0, 1
  const Outcome text = run({"apply", "rope", "--layout", "interleaved", "--input", x, "--score", "0,0"});
  CHECK(text.out == "q(0) . k(0) = 2\n");
  const auto json = nlohmann::json::parse(run({"apply", "rope", "--layout", "interleaved", "--input", x, "--score", "0,0", "--json"}).out);
  CHECK(json == nlohmann::json{{"query", 0}, {"key", 0}, {"scores", {{{"at", nlohmann::json::array()}, {"score", 2.0}}}}});
}

TEST_CASE("apply: widths are taken before anything is checked, and only where an encoding has one") {
  const Scratch scratch;
  const std::string x = vectors(scratch, "x.npy", "10", "4");
  const Outcome partial = run({"apply", "rope", "--layout", "half", "--partial-rotary-factor", "0.4", "--input", x, "-o", scratch / "y.npy"});
  CHECK_MESSAGE(partial.status == 0, partial.err);
  // No head_dim given: attention_temperature divides by none.
  const Outcome factor = run({"apply", "attention_temperature", "--input", x, "--input-axes", "position,key", "-o", scratch / "y.npy"});
  CHECK_MESSAGE((factor.status == 0 && !mentions(factor.err, "head_dim")), factor.err);
  CHECK(mentions(run({"apply", "rope", "--layout", "half", "--pairing", "interleaved", "--input", x, "-o", scratch / "y.npy"}).err, "no rotation"));
}

TEST_CASE("apply: a result says what was done, and that it carries no spec to verify by") {
  const Scratch scratch;
  const std::string x = vectors(scratch, "x.npy", "8", "4");
  for (const std::string name : {"y.npy", "y.npz", "y.h5", "y.safetensors"}) {
    REQUIRE(run({"apply", "rope", "--layout", "half", "--input", x, "--input-axes", "position,lane", "-o", scratch / name}).status == 0);
    const auto record = nlohmann::json::parse(run({"inspect", scratch / name, "--json"}).out).at("applied");
    CHECK(record.at("operation") == "rotate");
    CHECK(record.at("pairing") == "half");
    CHECK(record.at("input_axes") == "position,lane");
    CHECK(record.at("spec").at("encoding") == "rope");
    CHECK(mentions(run({"inspect", scratch / name}).out, "posenc apply"));
    const Outcome verify = run({"verify", scratch / name});
    CHECK(verify.status == 2);
    CHECK(mentions(verify.err, "spec"));
  }
}

TEST_CASE("apply: a file that holds more than the result is not written over, names with # are found, specs tell the pairing") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  const std::string x = vectors(scratch, "x.npy", "8", "4");
  REQUIRE(run({"generate", "rope", "--head-dim", "8", "--positions", "4", "--layout", "half", "--dtype", "f64", "-o", "tables.npz", "--quiet"}, here).status == 0);
  const std::string before = slurp(scratch / "tables.npz");
  CHECK(mentions(refused({"apply", "sinusoidal", "--input", scratch / "tables.npz#cos", "-o", scratch / "tables.npz"}, 2), "another file"));
  CHECK(slurp(scratch / "tables.npz") == before);
  CHECK(mentions(refused({"apply", "--table", scratch / "tables.npz", "--input", x, "-o", scratch / "tables.npz"}, 2), "another file"));
  CHECK(slurp(scratch / "tables.npz") == before);
  const Outcome said = run({"apply", "--table", "tables.npz", "--input", x, "-o", "y.npy"}, here);
  CHECK_MESSAGE(said.status == 0, said.err);
  REQUIRE(run({"apply", "rope", "--layout", "half", "--input", x, "-o", "z.npy"}, here).status == 0);
  CHECK(slurp(scratch / "y.npy") == slurp(scratch / "z.npy"));
  fs::copy_file(x, scratch / "a#b.npy");
  CHECK(run({"apply", "rope", "--layout", "half", "--input", "a#b.npy", "-o", "z.npy"}, here).status == 0);
  REQUIRE(run({"generate", "rope", "--head-dim", "8", "--positions", "4", "--layout", "half", "-o", "tables.h5", "--quiet"}, here).status == 0);
  CHECK(run({"apply", "sinusoidal", "--input", "tables.h5#/cos", "-o", "z.npy"}, here).status == 0);
}

TEST_CASE("apply: refusals") {
  const Scratch scratch;
  const std::string x = vectors(scratch, "x.npy", "8", "4");
  const auto no = [&](Words words, const std::string& word) {
    words.insert(words.begin(), "apply");
    const std::string line = refused(words, 2);
    CHECK_MESSAGE(mentions(line, word), line);
  };
  no({"rope", "-o", "y.npy"}, "--input");
  no({"rope", "--input", x}, "-o FILE");
  no({"--input", x, "-o", "y.npy"}, "an encoding, --config, --spec or --table");
  no({"rope", "--layout", "half", "--input", x, "-o", "y.npy", "--score-key", x}, "--score");
  no({"rope", "--layout", "half", "--input", x, "-o", "y.npy", "--score", "1,2"}, "leave -o out");
  no({"rope", "--layout", "half", "--input", x, "--score", "1"}, "M,N");
  no({"rope", "--layout", "half", "--input", x, "--score", "1,4"}, "there is no 4");
  no({"rope", "--layout", "cache", "--input", x, "-o", "y.npy"}, "cos and sin");
  no({"rope", "--layout", "half-width", "--head-dim", "16", "--input", x, "-o", "y.npy"}, "turns 16 lanes");
  no({"rope", "--positions", "5", "--layout", "half", "--input", x, "-o", "y.npy"}, "5 positions, the input has 4");
  no({"rope", "--layout", "half", "--input", x + "#nothing", "-o", "y.npy"}, "has no array");
  no({"rope", "--layout", "half", "--pairing", "halves", "--input", x, "-o", "y.npy"}, "half");
  no({"rope", "--layout", "half", "--operation", "rotate", "--tensor", "cos", "--input", x, "-o", "y.npy"}, "leave --tensor");
  no({"sinusoidal", "--set", "long", "--input", x, "-o", "y.npy"}, "for rotate");
  no({"rope", "--layout", "half", "--complex", "pair", "--input", x, "-o", "y.npy"}, "unknown option '--complex'");
  no({"rope", "--layout", "half", "--index-dtype", "i32", "--input", x, "-o", "y.npy"}, "unknown option '--index-dtype'");
  no({"rope", "--layout", "half", "--input-axes", "position,", "--input", x, "-o", "y.npy"}, "--input-axes");
  no({"rope", "--layout", "half", "--input-axes", "lane,position", "--input", x, "-o", "y.npy"}, "last axis");
  no({"rope", "--layout", "half", "--input-axes", "position,position", "--input", x, "-o", "y.npy"}, "named twice");
  no({"--table", x, "rope", "--input", x, "-o", "y.npy"}, "leave the encoding out");
  CHECK(mentions(refused({"apply", "rope", "--layout", "half", "--input", "gone.npy", "-o", "y.npy"}, 4), "gone.npy"));
  spill(scratch / "bad.npy", "not an array");
  refused({"apply", "rope", "--layout", "half", "--input", scratch / "bad.npy", "-o", "y.npy"}, 3);
}

}  // namespace posenc::test
