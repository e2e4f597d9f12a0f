// Bad cases by name: what is refused, with which status, in what words, and what is left behind (nothing).
#include <sys/mount.h>
#include <sys/stat.h>

#include "cli/process.hpp"
#include "posenc/encoding.hpp"
#include "posenc/formats.hpp"

namespace posenc::test {
namespace {

Words rope(std::initializer_list<std::string> more) {
  Words words{"generate", "rope", "-o", "x.npz"};
  words.insert(words.end(), more);
  return words;
}

// A tmpfs of `size`, for as long as it lives; nothing when this process may not mount.
class Mount {
 public:
  Mount(const std::string& where, const char* options, unsigned long flags = 0) : where_(where) {
    fs::create_directories(where);
    mounted_ = ::mount("tmpfs", where.c_str(), "tmpfs", 0, options) == 0;
    if (mounted_ && flags != 0) mounted_ = ::mount("tmpfs", where.c_str(), "tmpfs", MS_REMOUNT | flags, options) == 0;
  }
  ~Mount() {
    if (mounted_) ::umount2(where_.c_str(), MNT_DETACH);
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  explicit operator bool() const { return mounted_; }

 private:
  std::string where_;
  bool mounted_ = false;
};

}  // namespace

TEST_CASE("a spec that makes no sense") {
  CHECK(mentions(refused(rope({"--rotary-dim", "7"}), 2), "even"));
  CHECK(mentions(refused(rope({"--head-dim", "7"}), 2), "even"));
  CHECK(mentions(refused(rope({"--head-dim", "64", "--rotary-dim", "128"}), 2), "--head-dim"));
  CHECK(mentions(refused(rope({"--base", "0"}), 2), "base"));
  CHECK(mentions(refused(rope({"--base", "-10000"}), 2), "base"));
  CHECK(mentions(refused(rope({"--head-dim", "2", "--method", "ntk", "--factor", "4"}), 2), "ntk"));
  CHECK(mentions(refused(rope({"--method", "ntk"}), 2), "factor"));
  CHECK(mentions(refused(rope({"--factor", "4"}), 2), "method"));
  CHECK(mentions(refused(rope({"--inv-freq", "1,2,3"}), 2), "--inv-freq"));
}

TEST_CASE("a bias too large for any disk is refused with its size and the form that fits") {
  const std::string line = refused({"generate", "alibi", "--num-heads", "32", "--form", "matrix", "--key-length", "1M", "-o", "x.npy"}, 4);
  CHECK_MESSAGE((mentions(line, "128.0 TiB") && mentions(line, "--form toeplitz takes 256.0 MiB") && mentions(line, "--yes")), line);
  const std::string t5 = refused({"generate", "t5", "--key-length", "4M", "-o", "x.h5"}, 4);
  CHECK_MESSAGE(mentions(t5, "--form toeplitz takes 64.0 MiB"), t5);
  // No smaller form: rows are rows.
  CHECK(mentions(refused({"generate", "sinusoidal", "--dim", "1024", "--positions", "1e12", "-o", "x.npy"}, 4), "smaller dtype"));
}

TEST_CASE("an output that is called like an encoding") {
  const Scratch scratch;
  const Outcome outcome = run({"generate", "--json", "rope", "--head-dim", "8", "--positions", "4", "--format", "npz", "-o", "t5"}, {.folder = scratch.path()});
  CHECK_MESSAGE(outcome.status == 0, outcome.err);
  spill(scratch / "spec.json", run({"generate", "rope", "--positions", "4", "--print-spec"}).out);
  const Outcome spec = run({"generate", "--spec", "spec.json", "--positions", "16", "-o", "rope", "--format", "npz"}, {.folder = scratch.path()});
  CHECK_MESSAGE(spec.status == 0, spec.err);
}

TEST_CASE("positions") {
  for (const char* range : {"0:9007199254740994", "9007199254740991:9007199254740995", "9e18", "99999999999999999999", "-5", "0:10:0", "1:2:3:4", "1:", ":1", "0:4,nan"})
    CHECK(mentions(refused(rope({"--positions", range}), 2), "position"));
  CHECK(mentions(refused(rope({"--positions", "4", "--offset", "9007199254740992"}), 2), "2^53"));
  // A count that is right in itself and larger than any disk: refused before a byte is written.
  CHECK(mentions(refused(rope({"--positions", "9007199254740992"}), 4), "free"));
  refused({"generate", "rope", "-o", "x.npy", "--head-dim", "1048576", "--positions", "9007199254740992", "--yes"}, 2);
}

TEST_CASE("words of the command line, with the word that was meant") {
  CHECK(mentions(refused({"genrate"}, 2), "did you mean 'generate'?"));
  CHECK(mentions(refused({"generate", "rop", "-o", "x.npz"}, 2), "did you mean 'rope'?"));
  CHECK(mentions(refused(rope({"--haed-dim", "4"}), 2), "did you mean '--head-dim'?"));
  CHECK(mentions(refused(rope({"--haed-dim=4"}), 2), "did you mean '--head-dim'?"));
  CHECK(mentions(refused({"verify", "x.npz", "--agianst", "y.npz"}, 2), "did you mean '--against'?"));
  CHECK(mentions(refused({"list", "encodngs"}, 2), "did you mean 'encodings'?"));
  CHECK(mentions(refused(rope({"--method", "yran"}), 2), "did you mean 'yarn'?"));
  CHECK(mentions(refused(rope({"--layout", "interleavd"}), 2), "did you mean 'interleaved'?"));
  CHECK(mentions(refused(rope({"--format", "nps"}), 2), "did you mean"));
  CHECK(mentions(refused(rope({"--for", "vlm"}), 2), "did you mean 'vllm'?"));
  CHECK(mentions(refused(rope({"--tensor", "csin"}), 2), "did you mean"));
  CHECK(mentions(refused(rope({"--dtype", "f23"}), 2), "f32"));
  CHECK(mentions(refused({"generate", "rope", "-o", "x.npq"}, 2), ".npq"));
  CHECK(mentions(refused({"generate", "rope", "-o", "x"}, 2), "suffix"));
  CHECK(mentions(refused({"generate", "rope"}, 2), "-o FILE"));
  CHECK(mentions(refused({"generate", "rope", "-o"}, 2), "output"));
  CHECK(mentions(refused({"generate", "-o", "x.npz"}, 2), "encoding"));
  CHECK(mentions(refused({"generate", "--head-dim", "8", "-o", "x.npz"}, 2), "encoding"));
  CHECK(mentions(refused(rope({"left-over"}), 2), "left-over"));
  CHECK(mentions(refused({"verify"}, 2), "file"));
  CHECK(mentions(refused({"inspect"}, 2), "file"));
  refused(rope({"--positions="}), 2);
  refused(rope({"-"}), 2);
  refused({"-x"}, 2);
  refused({std::string(5000, 'x')}, 2);
}

TEST_CASE("an option given twice") {
  refused(rope({"--head-dim", "8", "--head-dim", "8"}), 2);
  refused(rope({"-o", "y.npz"}), 2);
  refused(rope({"--threads", "1", "--threads", "1"}), 2);
  refused(rope({"--dtype", "f32", "--dtype", "f16"}), 2);
}

TEST_CASE("--for against what it means") {
  CHECK(mentions(refused(rope({"--for", "vllm", "--layout", "half"}), 2), "contradicts"));
  CHECK(mentions(refused(rope({"--for", "vllm", "--dtype", "f32"}), 2), "contradicts"));
  CHECK(mentions(refused({"generate", "alibi", "--for", "vllm", "-o", "x.npz"}, 2), "rope"));
}

TEST_CASE("what a format cannot hold") {
  refused({"generate", "rope", "-o", "x.npy", "--dtype", "bf16"}, 2);
  refused({"generate", "rope", "-o", "x.npz", "--dtype", "i32"}, 2);
  refused({"generate", "rope", "-o", "x.npz", "--compress", "gzip"}, 2);
  refused({"generate", "rope", "-o", "x.npz", "--chunk", "1M"}, 2);
  refused({"generate", "rope", "-o", "x.h5", "--compress", "zstd"}, 2);
  refused({"generate", "rope", "-o", "x.h5", "--compress", "gzip:10"}, 2);
  refused({"generate", "rope", "-o", "x.safetensors", "--layout", "complex", "--complex", "native"}, 2);
  refused({"generate", "rope", "-o", "-"}, 2);                      // two tensors
  refused({"generate", "rope", "-o", "-", "--format", "hdf5"}, 2);  // not front to back
}

TEST_CASE("sources that contradict or are missing") {
  refused({"generate", "--config", "a.json", "--spec", "b.json", "-o", "x.npz"}, 2);
  refused({"generate", "--config", "nothing.json", "-o", "x.npz"}, 4);
  refused({"generate", "--spec", "nothing.json", "-o", "x.npz"}, 4);
  refused({"generate", "--spec", "-", "-o", "x.npz"}, 3, {.input = "{"});
  refused({"generate", "--spec", "-", "-o", "x.npz"}, 3, {.input = ""});
  refused({"generate", "--spec", "-", "-o", "x.npz"}, 3, {.input = R"({"encoding": 7})"});
  refused({"generate", "--spec", "-", "-o", "x.npz"}, 2, {.input = R"({"posenc": 1, "encoding": "rope", "parameters": {"head_dim": 7}})"});
  refused({"generate", "--spec", "-", "-o", "x.npz"}, 3, {.input = std::string(200'000, '[')});
  refused({"verify", "nothing.npz"}, 4);
  refused({"inspect", "nothing.npz"}, 4);
  refused({"verify", "/dev/null"}, 3);
}

TEST_CASE("places that cannot be written") {
  const Scratch scratch;
  fs::create_directory(scratch / "folder.npz");
  spill(scratch / "file", "x");
  fs::create_symlink("loop.npz", scratch / "loop.npz");
  const Words before = scratch.names();
  const auto to = [&](const std::string& path) { return Words{"generate", "rope", "--positions", "4", "-o", path}; };
  refused(to("folder.npz"), 2, {.folder = scratch.path()});
  refused(to("folder.npz/"), 2, {.folder = scratch.path()});
  refused(to("missing/x.npz"), 4, {.folder = scratch.path()});
  refused(to("file/x.npz"), 4, {.folder = scratch.path()});
  refused(to("loop.npz"), 4, {.folder = scratch.path()});
  refused(to("/proc/x.npz"), 4, {.folder = scratch.path()});
  refused(to(std::string(300, 'n') + ".npz"), 4, {.folder = scratch.path()});
  refused(to(std::string(5000, 'n') + ".npz"), 4, {.folder = scratch.path()});
  CHECK(scratch.names() == before);
  CHECK(slurp(scratch / "file") == "x");
}

TEST_CASE("a folder without write permission") {
  const Scratch scratch;
  if (::geteuid() != 0) {
    fs::create_directory(scratch / "closed");
    fs::permissions(scratch / "closed", fs::perms::owner_read | fs::perms::owner_exec);
    refused({"generate", "rope", "--positions", "4", "-o", "closed/x.npz"}, 4, {.folder = scratch.path()});
    fs::permissions(scratch / "closed", fs::perms::owner_all);
    return;
  }
  const Mount read_only(scratch / "closed", "size=1m", MS_RDONLY);
  if (!read_only) {
    MESSAGE("this process may not mount: /proc and a file as a folder, above, stand for a read-only folder");
    return;
  }
  refused({"generate", "rope", "--positions", "4", "-o", "closed/x.npz", "--yes"}, 4, {.folder = scratch.path()});
}

TEST_CASE("a full disk, every format") {
  const Scratch scratch;
  const Mount tiny(scratch / "tiny", "size=1m");
  for (const auto& format : formats::formats()) {
    CAPTURE(format.name);
    const std::string name = "x" + std::string(format.suffixes.front());
    const Words words{"generate", "rope", "--positions", "64k", "--tensor", "cos", "-o", "tiny/" + name};
    Words tried = words;
    tried.push_back("--yes");
    if (tiny) {
      CHECK(mentions(refused(words, 4, {.folder = scratch.path()}), "free"));
      refused(tried, 4, {.folder = scratch.path()});
      CHECK(fs::is_empty(scratch / "tiny"));
    } else {
      MESSAGE("this process may not mount a tmpfs: the file size limit alone stands for the full disk");
    }
    // Two limits, one that the reservation meets and one that only the compressed chunks reach.
    const Scratch folder;
    refused({"generate", "rope", "--positions", "64k", "--tensor", "cos", "-o", name}, 4, {.folder = folder.path(), .file_limit = 1 << 20});
    if (format.chunking)
      refused({"generate", "rope", "--positions", "64k", "--tensor", "cos", "-o", name, "--compress", "gzip:1"}, 4, {.folder = folder.path(), .file_limit = 1 << 20});
    spill(folder / name, "kept");
    CHECK(run({"generate", "rope", "--positions", "64k", "--tensor", "cos", "-o", name}, {.folder = folder.path(), .file_limit = 1 << 20}).status == 4);
    CHECK(folder.names() == Words{name});
    CHECK(slurp(folder / name) == "kept");
  }
}

TEST_CASE("standard output that takes nothing") {
  for (const Words& words : std::vector<Words>{{"list"}, {"list", "rope", "--json"}, {"generate", "rope", "--print-spec"}, {"--help"}, {"--version"}, {"generate", "rope", "--tensor", "cos", "-o", "-"}}) {
    CAPTURE(joined(words));
    const Outcome full = run(words, {.out_path = "/dev/full"});
    CHECK(full.status == 4);
    CHECK_MESSAGE((full.err.starts_with("posenc: ") && full.error_lines() == 1), full.err);
    const Outcome closed = run(words, {.close_out = true});
    CHECK(closed.status == 4);
    CHECK_MESSAGE((closed.err.starts_with("posenc: ") && closed.error_lines() == 1), closed.err);
  }
  const Scratch scratch;
  REQUIRE(run({"generate", "rope", "--positions", "4", "-o", "x.npz"}, {.folder = scratch.path()}).status == 0);
  for (const Words& words : std::vector<Words>{{"verify", "x.npz"}, {"verify", "x.npz", "--json"}, {"inspect", "x.npz"}}) {
    CAPTURE(joined(words));
    const Outcome full = run(words, {.folder = scratch.path(), .out_path = "/dev/full"});
    CHECK(full.status == 4);
    CHECK_MESSAGE((full.err.starts_with("posenc: ") && full.error_lines() == 1), full.err);
  }
}

TEST_CASE("POSENC_SIMD that is no instruction set") {
  CHECK(mentions(refused(rope({}), 2, {.env = {{"POSENC_SIMD", "bogus"}}}), "POSENC_SIMD"));
}

TEST_CASE("a number in a config that is too large is said in posenc's words") {
  const Scratch scratch;
  spill(scratch / "config.json", R"({"max_position_embeddings": 1e400})");
  const Outcome outcome = run({"inspect", "config.json"}, {.folder = scratch.path()});
  CHECK(outcome.status == 3);
  CHECK(outcome.err == "posenc: config.json: is not JSON: line 1 column 29: the number 1e400 is too large for a double\n");
}

}  // namespace posenc::test
