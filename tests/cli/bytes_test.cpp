// The same bytes, whatever the instruction set, the number of threads and the size of a block.
#include "cli/process.hpp"
#include "posenc/dtype.hpp"
#include "posenc/encoding.hpp"
#include "posenc/formats.hpp"
#include "simd/kernels.hpp"

namespace posenc::test {
namespace {

struct Way {
  std::string simd, threads, block;
};

const Words threads{"1", "2", "5"}, blocks{"1", "1000", "4097"};

// Every pair of (instruction set, threads), (threads, block) and (instruction set, block) occurs.
std::vector<Way> all_ways() {
  std::vector<Way> list;
  std::size_t shift = 0;
  for (const simd::Kernels* k : simd::available()) {
    for (std::size_t i = 0; i < threads.size(); ++i) list.push_back({std::string(k->name), threads[i], blocks[(i + shift) % blocks.size()]});
    ++shift;
  }
  return list;
}

// Each instruction set once, each number of threads and each block size too when there are three sets.
std::vector<Way> few_ways() {
  std::vector<Way> list;
  for (const simd::Kernels* k : simd::available()) {
    const std::size_t i = list.size() % threads.size();
    list.push_back({std::string(k->name), threads[i], blocks[(i + 1) % blocks.size()]});
  }
  return list;
}

std::string flag_of(std::string field) {
  std::replace(field.begin(), field.end(), '_', '-');
  return "--" + field;
}

// All files that a call leaves, by name.
std::string bytes_of(const Words& words, const Setup& setup, int* status) {
  const Scratch scratch;
  Setup inside = setup;
  inside.folder = scratch.path();
  const Outcome outcome = run(words, inside);
  *status = outcome.status;
  if (outcome.status != 0) return outcome.err;
  std::string all = outcome.out;
  for (const std::string& name : scratch.names()) all += name + '\n' + slurp(scratch / name);
  return all;
}

// False when the command refuses what is asked (a format without bfloat16).
bool same_bytes(const Words& words, const std::vector<Way>& ways) {
  CAPTURE(joined(words));
  int status = 0;
  const std::string want = bytes_of(words, {}, &status);
  if (status == 2) return false;
  REQUIRE_MESSAGE(status == 0, want);
  for (const Way& way : ways) {
    CAPTURE(way.simd);
    CAPTURE(way.threads);
    CAPTURE(way.block);
    Words call = words;
    call.insert(call.end(), {"--threads", way.threads, "--block-bytes", way.block});
    const std::string got = bytes_of(call, {.env = {{"POSENC_SIMD", way.simd}}}, &status);
    CHECK(status == 0);
    CHECK(got == want);
  }
  return true;
}

}  // namespace

TEST_CASE("every format and dtype") {
  int held = 0;
  for (const auto& format : formats::formats())
    for (const DTypeInfo& dtype : dtypes()) {
      if (dtype.integer) continue;
      const Words words{"generate", "rope", "--positions", "16380:16417", "--head-dim", "34", "-o", "x" + std::string(format.suffixes.front()), "--dtype", std::string(dtype.name)};
      held += same_bytes(words, all_ways());
      if (!format.chunking) continue;
      for (const char* gzip : {"gzip:1", "gzip:9"}) {
        Words packed = words;
        packed.insert(packed.end(), {"--chunk", "1000", "--compress", gzip});
        same_bytes(packed, few_ways());
      }
    }
  CHECK(held >= 13);  // all but bfloat16 in NPY and NPZ, and what a later format lacks
}

TEST_CASE("every layout and every choice of every encoding") {
  for (const EncodingEntry& entry : encodings())
    for (const FieldView& f : entry.make()->all_fields()) {
      if (f.type != "choice" || !f.group.empty()) continue;
      for (const auto& [choice, help] : f.choices) {
        Words words{"generate", std::string(entry.name), "-o", "x.safetensors", "--quiet", flag_of(f.name), choice};
        // Small, whatever the encoding calls its sizes: lengths and widths of hundreds become 24, positions a short range.
        for (const FieldView& g : entry.make()->fields()) {
          const std::string option = flag_of(g.name);
          if (g.type == "positions" && !g.fallback.empty()) words.insert(words.end(), {option, "8175:8200"});
          if (g.type == "integer" && g.fallback.size() >= 3) words.insert(words.end(), {option, "24"});
        }
        same_bytes(words, few_ways());
      }
    }
}

TEST_CASE("every arithmetic") {
  for (const auto& arithmetic : EnumNames<Arithmetic>::values)
    same_bytes({"generate", "rope", "-o", "x.npz", "--positions", "20", "--head-dim", "8", "--arithmetic", std::string(arithmetic.name)}, few_ways());
}

TEST_CASE("a table of many blocks, by default options and to standard output") {
  same_bytes({"generate", "rope", "--positions", "1000003:1010003", "--head-dim", "8", "--tensor", "cos", "-o", "-"}, all_ways());
  int status = 0;
  const Words large{"generate", "rope", "--positions", "60000", "--dtype", "f16", "-o", "x.npz"};
  const std::string want = bytes_of(large, {}, &status);
  for (const char* threads : {"1", "2", "5"}) {
    Words call = large;
    call.insert(call.end(), {"--threads", threads});
    CHECK(bytes_of(call, {}, &status) == want);
  }
}

TEST_CASE("time, host, locale and folder do not show") {
  const Words words{"generate", "rope", "--positions", "40", "--base", "1234.5", "-o", "x.h5"};
  int status = 0;
  const std::string want = bytes_of(words, {}, &status);
  CHECK(bytes_of(words, {.env = {{"LC_ALL", "de_DE.UTF-8"}, {"TZ", "Asia/Tokyo"}, {"USER", "somebody"}, {"HOME", "/"}}}, &status) == want);
}

}  // namespace posenc::test
