// Lists of numbers from files: --inv-freq FILE, --divisors FILE and LongRoPE's two lists are what the numbers typed out are.
#include "cli/process.hpp"

namespace posenc::test {
namespace {

// The one tensor that a command writes to standard output.
std::string table(const Words& words, const Setup& setup) {
  return done(plus({"generate", "rope", "--positions", "100", "-o", "-"}, words), setup).out;
}
void write(const Words& words, const Setup& setup) { done(plus({"generate", "rope"}, words), setup); }

}  // namespace

TEST_CASE("lists: frequencies and divisors come from files") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  // Frequencies of binary64 read back are the frequencies.
  write({"--head-dim", "8", "--layout", "inv-freq", "--dtype", "f64", "-o", "f.npy"}, here);
  const std::string plain = table({"--head-dim", "8", "--tensor", "cos"}, here);
  CHECK(table({"--head-dim", "8", "--inv-freq", "f.npy", "--tensor", "cos"}, here) == plain);
  CHECK(table({"--head-dim", "8", "--inv-freq", "1,0.1,0.01,0.001", "--tensor", "cos"}, here) == plain);
  // An array of an HDF5 file, by name; float32 ones, which the typed numbers round to.
  write({"--head-dim", "8", "--layout", "divisors", "--method", "linear", "--factor", "3", "-o", "d.h5"}, here);
  const std::string divided = table({"--head-dim", "8", "--method", "divisors", "--divisors", "3,3,3,3", "--tensor", "sin"}, here);
  CHECK(table({"--head-dim", "8", "--method", "divisors", "--divisors", "d.h5#rope_freqs", "--tensor", "sin"}, here) == divided);
  CHECK(table({"--head-dim", "8", "--method", "linear", "--factor", "3", "--tensor", "sin"}, here) == divided);
  CHECK(divided != table({"--head-dim", "8", "--tensor", "sin"}, here));
  for (const std::string set : {"short", "long"}) {
    const Words rest{"--head-dim", "8", "--method", "longrope", "--factor", "2", "--original-max-position-embeddings", "64", "--tensor", set + ".cos"};
    const auto with = [&](const std::string& a, const std::string& b) {
      Words words = rest;
      words.insert(words.end(), {"--short-factor", a, "--long-factor", b});
      return table(words, here);
    };
    CHECK(with("f.npy", "d.h5") == with("1,0.1,0.01,0.001", "3,3,3,3"));
  }
}

TEST_CASE("lists: a file that does not fit is refused") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  write({"--head-dim", "8", "--layout", "inv-freq", "-o", "f.npy"}, here);
  write({"--head-dim", "8", "--positions", "4", "--tensor", "cos", "-o", "c.npy"}, here);
  spill(scratch / "list.txt", "1,0.1,0.01,0.001\n");
  const auto refuse = [&](const Words& words, int status) {
    Words all{"generate", "rope", "--head-dim", "8", "-o", "out.h5"};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = run(all, here);
    CHECK_MESSAGE(outcome.status == status, joined(all), ": ", outcome.err);
    CHECK(outcome.error_lines() == 1);
    CHECK(!fs::exists(scratch.path() / "out.h5"));
    return outcome.err;
  };
  CHECK(mentions(refuse({"--rotary-dim", "6", "--inv-freq", "f.npy"}, 2), "4 entries"));
  CHECK(mentions(refuse({"--method", "divisors", "--divisors", "c.npy"}, 2), "2 axes"));
  CHECK(mentions(refuse({"--inv-freq", "none.npy"}, 4), "none.npy"));
  CHECK(mentions(refuse({"--inv-freq", "list.txt"}, 2), "@list.txt"));
  CHECK(mentions(refuse({"--inv-freq", "@list.txt"}, 3), "list.txt"));
}

}  // namespace posenc::test
