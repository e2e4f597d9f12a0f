// --stack into HDF5 chunks: the values of the array without chunks, whatever a chunk would hold.
#include "cli/process.hpp"
#include "posenc/formats.hpp"

namespace posenc::test {
namespace {

// The file's one array, and its metadata beside.
std::pair<StoredTensor, std::vector<std::byte>> array_in(const std::string& path) {
  const auto reader = formats::open(path);
  REQUIRE(reader->tensors().size() == 1);
  std::vector<std::byte> bytes(static_cast<std::size_t>(reader->tensors()[0].bytes()));
  reader->read(0, 0, bytes);
  return {reader->tensors()[0], bytes};
}

}  // namespace

TEST_CASE("a stack in chunks holds the values of one without, over sizes around the chunk's") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  // A row of one tensor is 8 pairs of f32, 32 bytes: a chunk of 1024 is 32 rows, of 16 in each of two tensors.
  for (const std::string positions : {"1", "5", "15", "16", "17", "31", "32", "33", "37", "64", "100"}) {
    const Words words{"rope", "--head-dim", "16", "--positions", positions, "--stack"};
    done(plus(plus({"generate"}, words), {"-o", "plain.h5"}), here);
    const auto [form, values] = array_in(scratch / "plain.h5");
    CHECK(form.shape == std::vector<std::int64_t>{2, std::stoll(positions), 8});
    for (const Words& how : {Words{"--chunk", "1"}, Words{"--chunk", "96"}, Words{"--chunk", "1024"}, Words{"--chunk", "1M"}, Words{"--chunk", "1G"},
                             Words{"--compress", "gzip"}, Words{"--compress", "gzip:1", "--chunk", "1024"}}) {
      CAPTURE(joined(how));
      CAPTURE(positions);
      std::string one_thread;
      for (const Words& run_so : {Words{"--threads", "1"}, Words{"--threads", "4", "--block-bytes", "64"}}) {
        done(plus(plus(plus({"generate"}, words), how), plus(run_so, {"-o", "chunked.h5"})), here);
        const auto [chunked_form, chunked] = array_in(scratch / "chunked.h5");
        CHECK(chunked_form.shape == form.shape);
        CHECK(chunked == values);
        if (one_thread.empty()) one_thread = slurp(scratch / "chunked.h5");
        CHECK(slurp(scratch / "chunked.h5") == one_thread);
      }
      done({"verify", "chunked.h5"}, here);
    }
  }
}

TEST_CASE("a stack in chunks grows to what generate makes, and under a rule") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  for (const Words& how : {Words{}, Words{"--chunk", "1024"}, Words{"--compress", "gzip"}})
    for (const std::string positions : {"17", "32", "100"}) {
      const Words words{"generate", "rope", "--head-dim", "16", "--stack"};
      done(plus(plus(words, how), {"--positions", "16", "-o", "x.h5"}), here);
      done(plus(words, {"--positions", positions, "-o", "long.h5"}), here);
      done({"extend", "x.h5", "--positions", positions, "-o", "y.h5"}, here);
      done({"extend", "x.h5", "--positions", positions}, here);
      for (const char* name : {"x.h5", "y.h5"}) {
        CHECK(array_in(scratch / name).second == array_in(scratch / "long.h5").second);
        done({"verify", name}, here);
      }
      done(plus({"rescale", "x.h5", "--method", "linear", "--factor", "2", "--stack", "-o", "z.h5"}, how), here);
      done({"verify", "z.h5"}, here);
    }
}

}  // namespace posenc::test
