// Files that other programs wrote, sound and broken: what must be delivered, what must be refused.
#include <nlohmann/json.hpp>

#include "crc32.hpp"
#include "posenc/json.hpp"
#include "support.hpp"

using namespace posenc;
using namespace posenc::test;

namespace {

const std::string fixtures = POSENC_TEST_DATA "/fixtures/";

std::uint32_t crc_of(const Bytes& bytes) {
  formats::Crc32 crc;
  crc.add(0, bytes);
  return crc.of(bytes.size()).value();
}

// Reads all of a file in blocks, as the pipeline does.
void read_everything(const std::string& path) {
  const auto reader = formats::open(path);
  Bytes block(1 << 16);
  for (std::size_t t = 0; t < reader->tensors().size(); ++t) {
    const auto step = static_cast<std::int64_t>(block.size() / size_of(reader->tensors()[t].dtype));
    const std::int64_t values = reader->tensors()[t].values();
    for (std::int64_t first = 0; first < values; first += step) {
      const auto bytes = static_cast<std::size_t>(std::min(step, values - first)) * size_of(reader->tensors()[t].dtype);
      reader->read(t, first, std::span(block).first(bytes));
    }
  }
}

}  // namespace

TEST_SUITE("formats") {
  TEST_CASE("fixtures: every value of sound files, one sentence for broken ones") {
    const auto manifest = json::parse(slurp(fixtures + "formats.json"), "formats.json");
    int seen = 0;
    for (const auto& entry : manifest["entries"]) {
      const auto file = entry["file"].get<std::string>();
      CAPTURE(file);
      ++seen;
      std::string message;
      const auto failure = failure_of([&] { read_everything(fixtures + file); }, &message);
      CAPTURE(message);
      if (entry["expect"] == "reject") {
        // A file with other, sound datasets opens; then the one that must not be read is reported.
        if (!failure) {
          CHECK_FALSE(formats::skipped(*formats::open(fixtures + file)).empty());
        } else {
          CHECK(*failure == Failure::bad_input);
          CHECK(message.find(file) != std::string::npos);
          CHECK(message.find('\n') == std::string::npos);
        }
        continue;
      }
      if (!entry.contains("tensors")) {
        CHECK(!failure);
        continue;
      }
      const auto reader = formats::open(fixtures + file);
      CHECK(reader->tensors().size() == entry["tensors"].size());
      for (const auto& wanted : entry["tensors"]) {
        const std::size_t index = find_tensor(*reader, wanted["name"].get<std::string>());
        const StoredTensor& got = reader->tensors()[index];
        CAPTURE(got.name);
        CHECK(name_of(got.dtype) == wanted["dtype"].get<std::string>());
        CHECK(got.shape == wanted["shape"].get<std::vector<std::int64_t>>());
        if (wanted.contains("unfit")) CHECK(failure_of([&] { return read_tensor(*reader, index); }) == Failure::bad_input);  // u64 above i64
        else CHECK(crc_of(read_tensor(*reader, index)) == wanted["crc32"].get<std::uint32_t>());
      }
    }
    CHECK(seen > 100);
  }

  TEST_CASE("fixtures: what is left out is said") {
    const auto skips = formats::skipped(*formats::open(fixtures + "safetensors/valid/edge_all_22_dtypes.safetensors"));
    CHECK(skips.size() == 8);
    for (const std::string& skip : skips) CHECK(skip.find("dtype F") != std::string::npos);
  }
}
