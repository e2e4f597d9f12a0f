// posenc extend by real processes: the longer file against the one that generate makes, old bytes, inodes, refusals, ends in the middle.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <random>
#include <thread>

#include "cli/process.hpp"
#include "posenc/formats.hpp"

namespace posenc::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Words table(const std::string& positions, const std::string& name, const Words& more = {}) {
  return plus({"generate", "rope", "--head-dim", "16", "--positions", positions, "-o", name}, more);
}

void made(const Scratch& scratch, const Words& words) { done(words, {.folder = scratch.path()}); }

ino_t inode(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

bool verifies(const Scratch& scratch, const std::string& name) { return run({"verify", name}, {.folder = scratch.path()}).status == 0; }

struct Form {
  std::string name;
  Words words;
  bool in_place;
};
// 7 positions of 8 pairs in f32 are 224 bytes: chunks that 100 positions do not fill, that 70 do, and one for all.
const std::vector<Form> forms{{"x.npz", {}, false},
                              {"x.safetensors", {}, false},
                              {"x.h5", {}, false},
                              {"x.npy", {"--tensor", "cos"}, false},
                              {"x.npy", {"--stack"}, false},
                              {"x.h5", {"--stack", "--chunk", "32"}, false},
                              {"x.h5", {"--chunk", "224"}, true},
                              {"x.h5", {"--chunk", "1M"}, true},
                              {"x.h5", {"--chunk", "16"}, true},
                              {"x.h5", {"--chunk", "224", "--compress", "gzip:6"}, true},
                              {"x.h5", {"--dtype", "bf16", "--chunk", "224", "--compress", "gzip"}, true},
                              {"x.safetensors", {"--layout", "complex", "--complex", "pair"}, false},
                              {"x.npz", {"--layout", "complex"}, false},
                              {"x.h5", {"--layout", "complex", "--chunk", "224"}, true}};

// Slow rows (a model's arithmetic step by step), so that the signal comes while they are being made.
Outcome struck(const Scratch& scratch, const Form& form, int number, const std::vector<std::pair<std::string, std::string>>& env = {}) {
  const Words names = scratch.names();
  const std::uintmax_t size = fs::file_size(scratch / form.name);
  Process process({"extend", form.name, "--positions", "4M"}, {.folder = scratch.path(), .env = env});
  // Packed chunks wait in a file without a name: there is nothing to see.
  const bool visible = form.words.size() < 4;
  const auto end = steady_clock::now() + milliseconds(visible ? 30000 : 300);
  const auto begun = [&] { return scratch.names() != names || fs::file_size(scratch / form.name) != size; };
  while (!begun() && process.running() && steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(30));
  REQUIRE(process.running());
  process.signal(number);
  return process.wait();
}

}  // namespace

TEST_CASE("extend gives what generate gives with more positions") {
  for (const Form& form : forms)
    for (const std::string& before : Words{"100", "70", "1"}) {
      CAPTURE(form.name);
      CAPTURE(joined(form.words));
      CAPTURE(before);
      const Scratch scratch;
      made(scratch, table(before, form.name, form.words));
      const ino_t old_inode = inode(scratch / form.name);
      const Outcome outcome = run({"extend", form.name, "--positions", "301"}, {.folder = scratch.path()});
      REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
      CHECK(mentions(outcome.err, form.in_place ? "in place" : "rewritten"));
      CHECK((inode(scratch / form.name) == old_inode) == form.in_place);
      CHECK(verifies(scratch, form.name));
      const Scratch whole;
      made(whole, table("301", form.name, form.words));
      if (form.in_place) {
        CHECK(run({"verify", form.name, "--against", whole / form.name}, {.folder = scratch.path()}).status == 0);
        CHECK(run({"inspect", form.name, "--json"}, {.folder = scratch.path()}).out == run({"inspect", form.name, "--json"}, {.folder = whole.path()}).out);
        CHECK(scratch.names() == Words{form.name});
      } else if (form.words.empty() || form.words[0] != "--stack" || form.name != "x.h5") {
        CHECK(scratch.names() == whole.names());
        for (const std::string& name : whole.names()) CHECK_MESSAGE(slurp(scratch / name) == slurp(whole / name), name);
      }
    }
}

TEST_CASE("a file grows step by step, each step in place") {
  for (const Words& more : {Words{"--chunk", "224"}, Words{"--chunk", "224", "--compress", "gzip"}}) {
    const Scratch scratch;
    made(scratch, table("5", "x.h5", more));
    const ino_t old_inode = inode(scratch / "x.h5");
    for (const char* positions : {"6", "7", "8", "14", "15", "100", "101"}) made(scratch, {"extend", "x.h5", "--positions", positions});
    CHECK(inode(scratch / "x.h5") == old_inode);
    CHECK(verifies(scratch, "x.h5"));
    made(scratch, table("101", "whole.h5"));
    CHECK(run({"verify", "x.h5", "--against", "whole.h5"}, {.folder = scratch.path()}).status == 0);
  }
}

TEST_CASE("old chunks stay where they are, byte for byte") {
  const Scratch scratch;
  made(scratch, table("70", "x.h5", {"--chunk", "224"}));  // ten whole chunks a tensor
  const std::string before = slurp(scratch / "x.h5");
  made(scratch, {"extend", "x.h5", "--positions", "700"});
  const std::string after = slurp(scratch / "x.h5");
  REQUIRE(after.size() > before.size());
  // Of 64 bytes that are values no one may differ: each position's cosines of the first pair start with cos(position).
  made(scratch, table("70", "plain.npy", {"--tensor", "cos"}));
  const std::string values = slurp(scratch / "plain.npy").substr(128);
  for (std::size_t chunk = 0; chunk < 10; ++chunk) {
    const std::size_t at = before.find(values.substr(chunk * 224, 224));
    REQUIRE(at != std::string::npos);
    CHECK(after.compare(at, 224, before, at, 224) == 0);
  }
}

TEST_CASE("layer types of which the file has no tensor are passed over") {
  const Scratch scratch;
  const std::string gemma = std::string(POSENC_TEST_DATA) + "/configs/google--gemma-4-31B";
  for (const std::string name : {"x.h5", "x.npz"}) {
    made(scratch, {"generate", "--config", gemma, "--positions", "64", "--tensor", "full_attention.cos", "-o", name});
    made(scratch, {"extend", name, "--positions", "100"});
    CHECK(verifies(scratch, name));
    made(scratch, {"generate", "--config", gemma, "--positions", "100", "--tensor", "full_attention.cos", "-o", "direct.npz"});
    CHECK(run({"verify", name, "--against", "direct.npz"}, {.folder = scratch.path()}).status == 0);
  }
}

TEST_CASE("several tables, ranges and lengths under other names") {
  const Scratch scratch;
  made(scratch, {"generate", "rope", "--positions", "100:0:-2", "--head-dim", "16", "-o", "down.npz"});
  made(scratch, {"extend", "down.npz", "--positions", "75"});
  made(scratch, {"generate", "rope", "--positions", "100:-50:-2", "--head-dim", "16", "-o", "whole.npz"});
  CHECK(slurp(scratch / "down.npz") == slurp(scratch / "whole.npz"));
  made(scratch, {"generate", "learned", "--length", "10", "--dim", "8", "--offset", "2", "--seed", "7", "-o", "l.npz"});
  made(scratch, {"extend", "l.npz", "--positions", "30"});
  made(scratch, {"generate", "learned", "--length", "30", "--dim", "8", "--offset", "2", "--seed", "7", "-o", "whole.npz"});
  CHECK(slurp(scratch / "l.npz") == slurp(scratch / "whole.npz"));
  made(scratch, {"generate", "sinusoidal", "--positions", "5:9", "--dim", "8", "-o", "s.npy"});
  made(scratch, {"extend", "s.npy", "--positions", "5:20"});
  made(scratch, {"generate", "sinusoidal", "--positions", "5:20", "--dim", "8", "-o", "whole.npy"});
  CHECK(slurp(scratch / "s.npy") == slurp(scratch / "whole.npy"));
  CHECK(slurp(scratch / "s.npy.json") == slurp(scratch / "whole.npy.json"));
}

TEST_CASE("-o leaves the file alone, enough positions leave it as it is") {
  for (const Form& form : forms) {
    CAPTURE(form.name);
    const Scratch scratch;
    made(scratch, table("100", form.name, form.words));
    const std::string before = slurp(scratch / form.name);
    const std::string other = "y" + form.name.substr(1);
    made(scratch, {"extend", form.name, "--positions", "150", "-o", other});
    CHECK(slurp(scratch / form.name) == before);
    CHECK(verifies(scratch, other));
    const Outcome same = run({"extend", form.name, "--positions", "100"}, {.folder = scratch.path()});
    CHECK(same.status == 0);
    CHECK(mentions(same.err, "already"));
    CHECK(slurp(scratch / form.name) == before);
  }
}

TEST_CASE("what is more than new rows is refused, and nothing changes") {
  struct Case {
    Words make;
    std::string positions, says;
    int status = 2;
  };
  const std::vector<Case> cases{
      {{"rope", "--positions", "64", "--method", "dynamic", "--factor", "2", "--max-position-embeddings", "32"}, "128", "depend on the number of positions"},
      {{"rope", "--positions", "64"}, "32", "does not cut"},
      {{"rope", "--positions", "64"}, "x", "positions want"},
      {{"rope", "--positions", "64"}, "1:128", "does not continue"},
      {{"rope", "--positions", "1,5,7"}, "128", "are a list"},
      {{"alibi", "--key-length", "32"}, "64", "along its axis"},
      {{"t5", "--key-length", "32"}, "64", "along its axis"},
      {{"transformer_xl", "--key-length", "32", "--dim", "8"}, "64", "depend on the number of positions"},
      {{"learned", "--length", "32", "--dim", "8", "--initialiser", "xavier-uniform"}, "64", "depend on the number of positions"},
      {{"sincos_2d"}, "64", "no parameter that counts rows by position"},
      {{"zigzag", "--length", "64"}, "128", "along its axis"}};
  for (const Case& c : cases) {
    CAPTURE(joined(c.make));
    const Scratch scratch;
    Words words{"generate"};
    words.insert(words.end(), c.make.begin(), c.make.end());
    words.insert(words.end(), {"-o", "x.npz"});
    made(scratch, words);
    const std::string before = slurp(scratch / "x.npz");
    const std::string says = refused({"extend", "x.npz", "--positions", c.positions}, c.status, {.folder = scratch.path()});
    CHECK_MESSAGE(mentions(says, c.says), says);
    CHECK(slurp(scratch / "x.npz") == before);
    CHECK(scratch.names() == Words{"x.npz"});
  }
  const Scratch scratch;
  made(scratch, table("100", "x.npz"));
  refused({"extend", "x.npz"}, 2, {.folder = scratch.path()});
  refused({"extend", "--positions", "7"}, 2, {.folder = scratch.path()});
  refused({"extend", "none.npz", "--positions", "7"}, 4, {.folder = scratch.path()});
  refused({"extend", ".", "--positions", "7"}, 4, {.folder = scratch.path()});
  refused({"extend", "x.npz", "--positions", "200", "-o", "x.h5"}, 2, {.folder = scratch.path()});
  made(scratch, table("100", "y.npy", {"--tensor", "cos"}));
  fs::remove(scratch / "y.npy.json");
  CHECK(mentions(refused({"extend", "y.npy", "--positions", "200"}, 2, {.folder = scratch.path()}), "carries no spec"));
}

TEST_CASE("a file that is not what its spec says is not made longer") {
  const Scratch scratch;
  made(scratch, table("100", "x.npy", {"--tensor", "cos"}));
  std::string bytes = slurp(scratch / "x.npy");
  bytes[128 + 40 * 32] ^= 1;  // the first value of row 40
  spill(scratch / "x.npy", bytes);
  const std::string says = refused({"extend", "x.npy", "--positions", "200"}, 1, {.folder = scratch.path()});
  CHECK_MESSAGE(mentions(says, "row 40"), says);
  CHECK(slurp(scratch / "x.npy") == bytes);
}

TEST_CASE("whatever byte of an HDF5 file is wrong, the file is to blame and not the system, and a refusal changes nothing") {
  const Scratch scratch;
  made(scratch, {"generate", "rope", "--head-dim", "8", "--positions", "16", "--chunk", "1k", "-o", "x.h5"});
  const std::string bytes = slurp(scratch / "x.h5");
  for (std::size_t at = 0; at < bytes.size(); at += 93) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(~damaged[at]);
    spill(scratch / "x.h5", damaged);
    const Outcome r = run({"extend", "x.h5", "--positions", "40"}, {.folder = scratch.path()});
    CHECK_MESSAGE((r.status >= 0 && r.status <= 3), at << ": " << r.status << " " << r.err);
    CHECK((r.status == 0 || slurp(scratch / "x.h5") == damaged));
  }
}

TEST_CASE("no room: the old file stays") {
  for (const Form& form : forms) {
    CAPTURE(form.name);
    CAPTURE(joined(form.words));
    const Scratch scratch;
    made(scratch, table("100", form.name, form.words));
    const Words names = scratch.names();
    const std::string before = slurp(scratch / form.name);
    refused({"extend", form.name, "--positions", "20000"}, 4, {.folder = scratch.path(), .file_limit = 150000});
    CHECK(slurp(scratch / form.name) == before);
    CHECK(scratch.names() == names);
    CHECK(verifies(scratch, form.name));
  }
  const Scratch scratch;
  made(scratch, table("100", "x.h5", {"--chunk", "224"}));
  const std::string before = slurp(scratch / "x.h5");
  const std::string says = refused({"extend", "x.h5", "--positions", "1000000000000"}, 4, {.folder = scratch.path()});  // 64 TB
  CHECK_MESSAGE(mentions(says, "needs"), says);
  CHECK(slurp(scratch / "x.h5") == before);
}

TEST_CASE("a file that is locked is refused") {
  const Scratch scratch;
  made(scratch, table("100", "x.h5", {"--chunk", "224"}));
  const int fd = ::open((scratch / "x.h5").c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(::flock(fd, LOCK_SH) == 0);  // as HDF5 does for readers
  CHECK(mentions(refused({"extend", "x.h5", "--positions", "200"}, 4, {.folder = scratch.path()}), "locks it"));
  ::close(fd);
  made(scratch, {"extend", "x.h5", "--positions", "200"});
}

TEST_CASE("two at once: one extends, and the other is refused or comes after") {
  for (const Form& form : {forms[0], forms[6], forms[9]}) {
    CAPTURE(joined(form.words));
    const Scratch scratch;
    made(scratch, table("100", form.name, form.words));
    Process one({"extend", form.name, "--positions", "3000"}, {.folder = scratch.path()});
    Process other({"extend", form.name, "--positions", "3000"}, {.folder = scratch.path()});
    const Outcome first = one.wait(), second = other.wait();
    CHECK((first.status == 0 || second.status == 0));
    for (const Outcome& outcome : {first, second})
      if (outcome.status != 0) CHECK((outcome.status == 4 && mentions(outcome.err, "being extended")));
    CHECK(verifies(scratch, form.name));
    CHECK(scratch.names() == Words{form.name});
  }
}

TEST_CASE("a signal leaves the old file, byte for byte, and nothing beside it") {
  for (const Form& form : {forms[1], forms[3], forms[6], forms[9]})
    for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGXCPU}) {
      CAPTURE(joined(form.words));
      const Scratch scratch;
      made(scratch, table("1000", form.name, plus(form.words, {"--arithmetic", "float32"})));
      const Words names = scratch.names();
      const std::string before = slurp(scratch / form.name);
      CHECK(struck(scratch, form, number).status == 128 + number);
      CHECK(slurp(scratch / form.name) == before);
      CHECK(scratch.names() == names);
    }
}

// The memory of a process that breaks down is not trusted with the length of a file: what was added stays, behind the end.
TEST_CASE("a process that breaks down leaves every byte of the old file and nothing beside it") {
  for (const Form& form : {forms[1], forms[6]})
    for (const int number : {SIGSEGV, SIGABRT}) {
      CAPTURE(joined(form.words));
      const Scratch scratch;
      made(scratch, table("1000", form.name, plus(form.words, {"--arithmetic", "float32"})));
      const Words names = scratch.names();
      const std::string before = slurp(scratch / form.name);
      CHECK(struck(scratch, form, number, faults_are_ours).status == 128 + number);
      CHECK(slurp(scratch / form.name).starts_with(before));
      CHECK(scratch.names() == names);
      CHECK(verifies(scratch, form.name));
      made(scratch, {"extend", form.name, "--positions", "1100"});
      CHECK(verifies(scratch, form.name));
    }
}

TEST_CASE("killed at any time, the file holds with the old or the new positions, and can be extended again") {
  std::mt19937 random(20240517);
  for (const Form& form : {forms[0], forms[3], forms[6], forms[7], forms[9]}) {
    CAPTURE(joined(form.words));
    const Scratch scratch;
    made(scratch, table("100", "start" + form.name, form.words));
    for (int round = 0; round < 12; ++round) {
      CAPTURE(round);
      for (const std::string& name : scratch.names())
        if (!name.starts_with("start")) fs::remove(scratch.path() / name);
      for (const std::string& name : scratch.names()) fs::copy_file(scratch.path() / name, scratch.path() / name.substr(5));
      const auto started = steady_clock::now();
      Process process({"extend", form.name, "--positions", "5000"}, {.folder = scratch.path()});
      const auto delay = std::chrono::microseconds(random() % 40000);
      while (process.running() && steady_clock::now() - started < delay) std::this_thread::sleep_for(std::chrono::microseconds(100));
      process.signal(SIGKILL);
      (void)process.wait();
      CHECK(verifies(scratch, form.name));
      const Outcome shown = run({"inspect", form.name}, {.folder = scratch.path()});
      CHECK((mentions(shown.out, "[position 100,") || mentions(shown.out, "[position 5000,") || mentions(shown.out, "[100,") || mentions(shown.out, "[5000,")));
      made(scratch, {"extend", form.name, "--positions", "6000"});
      CHECK(verifies(scratch, form.name));
    }
  }
}

}  // namespace posenc::test
