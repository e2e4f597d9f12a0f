// HDF5's names of axes and links to dimension scales lie where the format has no checksum: every flipped bit of them is seen.
#include "support.hpp"

using namespace posenc;
using namespace posenc::test;

namespace {

// Offsets of the bytes that the objects of the global heaps of a file hold: those that an attribute points to by the offset of the heap
// (8 bytes) and the index (4); the library leaves behind what it wrote before the last axis was labelled. Index 0 is the free space.
std::vector<std::size_t> heap_bytes(const std::string& file) {
  const auto number = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(file.at(at + i));
    return value;
  };
  std::vector<std::size_t> out;
  for (std::size_t heap = file.find("GCOL"); heap != std::string::npos; heap = file.find("GCOL", heap + 1)) {
    const std::size_t end = heap + number(heap + 8, 8);
    for (std::size_t at = heap + 16; at + 16 <= end && number(at, 2) != 0;) {
      const std::size_t size = number(at + 8, 8);
      std::string pointer;
      for (int i = 0; i < 12; ++i) pointer += static_cast<char>(i < 8 ? heap >> 8 * i & 255 : number(at, 2) >> 8 * (i - 8) & 255);
      const bool used = file.find(pointer) != std::string::npos;
      for (std::size_t i = 0; used && i < size; ++i) out.push_back(at + 16 + i);
      at += 16 + (size + 7) / 8 * 8;
    }
  }
  return out;
}

std::vector<std::vector<std::string>> axes_of(const Reader& reader) {
  std::vector<std::vector<std::string>> out;
  for (const StoredTensor& t : reader.tensors()) out.push_back(t.axis_names);
  return out;
}

}  // namespace

TEST_SUITE("formats") {
  TEST_CASE("hdf5: a bit flipped in the name of an axis or in its link to a scale is seen") {
    const auto& format = formats::parse_format("hdf5");
    FilePlan plan;
    plan.tensors = {tensor("cos", DType::f32, {5, 3}), tensor("sin", DType::f32, {7, 3})};
    for (StoredTensor& t : plan.tensors) t.axis_names = {"position", "pair"};
    plan.metadata = {{std::string(version_key), "0"}};
    for (const bool chunked : {false, true}) {
      const Scratch scratch;
      plan.chunking.chunked = chunked;
      write_file(format, scratch / "x.h5", plan, values_of(plan));
      const auto sound = formats::open(scratch / "x.h5");
      CHECK(formats::faults(*sound).empty());
      CHECK(formats::remarks(*sound).empty());
      const std::string bytes = slurp(scratch / "x.h5");
      const std::vector<std::size_t> places = heap_bytes(bytes);
      REQUIRE(places.size() >= 2 * (8 + 4) + 4 * 8);  // the names, and an address for each axis
      for (const std::size_t place : places)
        for (int bit = 0; bit < 8; ++bit) {
          std::string changed = bytes;
          changed[place] = static_cast<char>(changed[place] ^ 1 << bit);
          spill(scratch / "y.h5", changed);
          bool seen = false;
          const auto failure = failure_of([&] {
            const auto reader = formats::open(scratch / "y.h5");
            seen = !formats::faults(*reader).empty() || axes_of(*reader) != axes_of(*sound);
            return 0;
          });
          CHECK_MESSAGE((seen || failure), "bit ", bit, " of byte ", place);
        }
    }
  }

  TEST_CASE("hdf5: a file of another program may have what scales it likes") {
    const Scratch scratch;
    FilePlan plan;
    plan.tensors = {tensor("t", DType::f32, {5, 3})};
    write_file(formats::parse_format("hdf5"), scratch / "x.h5", plan, values_of(plan));
    std::string bytes = slurp(scratch / "x.h5");
    bytes[heap_bytes(bytes).back()] ^= 1;
    spill(scratch / "x.h5", bytes);
    CHECK(formats::faults(*formats::open(scratch / "x.h5")).empty());
  }
}
