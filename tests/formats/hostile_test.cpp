// Damaged files: every cut and every flipped bit of small files is either noticed or harmless, and numbers in a file never
// decide how much is allocated.
#include <fmt/format.h>

#include "checked.hpp"
#include "support.hpp"

using namespace posenc;
using namespace posenc::test;

namespace {

FilePlan small_plan(const formats::FormatTraits& format, bool chunked) {
  FilePlan plan;
  plan.tensors = {tensor("cos", DType::f32, {5, 3})};
  if (format.many_tensors) {
    plan.tensors.push_back(tensor("ids", DType::i64, {4}));
    plan.tensors.push_back(tensor("group/half", DType::f16, {2, 2, 2}));
  }
  if (format.complex && format.many_tensors) plan.tensors.push_back(tensor("z", DType::f32, {3}, true));
  plan.metadata = {{"posenc_version", "0.1.0"}, {"title", "damage"}};
  if (chunked) plan.chunking = {.chunked = true, .chunk_bytes = 24, .gzip_level = 6};
  return plan;
}

struct Outcome {
  bool refused = false;
  std::vector<StoredTensor> tensors;
  std::vector<Bytes> values;
};

// Reads what can be read; nothing but Error with bad_input may come out. No array may be larger than the file can back.
Outcome try_file(const std::string& path, std::size_t file_bytes) {
  Outcome outcome;
  try {
    const auto reader = formats::open(path);
    for (std::size_t t = 0; t < reader->tensors().size(); ++t) {
      outcome.tensors.push_back(reader->tensors()[t]);
      // Widening doubles to quadruples, deflate gives at most 1032 times; a never-written dataset may be small and free.
      REQUIRE(static_cast<std::size_t>(reader->tensors()[t].bytes()) <= (std::size_t{1} << 26) + 4 * 1032 * file_bytes);
      outcome.values.push_back(read_tensor(*reader, t));
    }
  } catch (const Error& e) {
    outcome.refused = true;
    CAPTURE(e.what());
    REQUIRE(e.failure() == Failure::bad_input);
  }
  return outcome;
}

template <class F>
void for_small_files(F&& f) {
  for (const formats::FormatTraits& format : formats::formats())
    for (const bool chunked : {false, true}) {
      if (chunked && !format.chunking) continue;
      const Scratch folder;
      const FilePlan plan = small_plan(format, chunked);
      const std::string path = folder / "file";
      write_file(format, path, plan, values_of(plan));
      std::error_code ignored;
      fs::remove(path + ".json", ignored);
      CAPTURE(format.name);
      CAPTURE(chunked);
      f(format, path, slurp(path));
    }
}

}  // namespace

TEST_SUITE("formats") {
  TEST_CASE("every truncation of a small file is refused") {
    for_small_files([](const formats::FormatTraits&, const std::string& path, const std::string& whole) {
      const std::size_t step = std::max<std::size_t>(1, whole.size() / 800);
      for (std::size_t size = 0; size < whole.size(); size += size + 200 < whole.size() ? step : 1) {
        CAPTURE(size);
        spill(path, whole.substr(0, size));
        CHECK(try_file(path, size).refused);
      }
      spill(path, whole);
      CHECK_FALSE(try_file(path, whole.size()).refused);
    });
  }

  TEST_CASE("trailing bytes are refused where the format says its length") {
    for_small_files([](const formats::FormatTraits& format, const std::string& path, const std::string& whole) {
      if (format.name == "hdf5") return;  // the library allows them
      spill(path, whole + std::string(1, '\0'));
      CHECK(try_file(path, whole.size() + 1).refused);
      spill(path, "x" + whole);
      CHECK(try_file(path, whole.size() + 1).refused);
    });
  }

  TEST_CASE("every flipped bit is noticed or harmless") {
    for_small_files([](const formats::FormatTraits& format, const std::string& path, const std::string& whole) {
      spill(path, whole);
      const Outcome sound = try_file(path, whole.size());
      const std::size_t bits = whole.size() * 8, cases = format.name == "hdf5" ? 2000 : 12000;  // a process each
      const std::size_t step = std::max<std::size_t>(1, bits / cases);
      for (std::size_t bit = 0; bit < bits; bit += step) {
        std::string damaged = whole;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
        spill(path, damaged);
        CAPTURE(bit);
        const Outcome outcome = try_file(path, whole.size());
        // Only the archive has a sum over all values. Flips of names, padding and dates change no value there.
        if (format.name == "npz" && !outcome.refused && outcome.values.size() == sound.values.size()) CHECK(outcome.values == sound.values);
      }
    });
  }

  TEST_CASE("structures that break the HDF5 library are an error like any other") {
    // A file of the old kind, whose structure has no checksums.
    const std::string whole = slurp(POSENC_TEST_DATA "/fixtures/hdf5/valid/layouts_and_filters.h5");
    const Scratch folder;
    // The first three once crashed the reading process, the last two kept it busy for ever.
    for (const std::size_t bit : {16262, 57816, 59142, 57043, 57104}) {
      std::string damaged = whole;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
      spill(folder / "f", damaged);
      static_cast<void>(try_file(folder / "f", damaged.size()));
    }
  }

  TEST_CASE("random damage in many places") {
    for_small_files([](const formats::FormatTraits& format, const std::string& path, const std::string& whole) {
      std::mt19937_64 random(42);
      const int rounds = format.name == "hdf5" ? 200 : 2000;
      for (int round = 0; round < rounds; ++round) {
        std::string damaged = whole;
        const int edits = 1 + static_cast<int>(random() % 8);
        for (int i = 0; i < edits; ++i) {
          const std::size_t at = random() % damaged.size();
          const int kind = static_cast<int>(random() % 3);
          const std::size_t run = std::min<std::size_t>(damaged.size() - at, 1 + random() % 8);
          for (std::size_t k = 0; k < run; ++k)
            damaged[at + k] = kind == 0 ? '\xFF' : kind == 1 ? '\0' : static_cast<char>(random());
        }
        spill(path, damaged);
        CAPTURE(round);
        static_cast<void>(try_file(path, damaged.size()));
      }
    });
  }

  TEST_CASE("unsigned values that do not fit, odd truth values") {
    const Scratch folder;
    const auto npy = [&](const std::string& descr, const std::string& values) {
      std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", descr, 2);
      header.append(118 - 1 - header.size(), ' ');
      std::string text = "\x93NUMPY\x01";
      text += '\0';
      formats::put_le(text, std::uint16_t{118});
      spill(folder / "a.npy", text + header + "\n" + values);
      return folder / "a.npy";
    };
    const auto read = [](const std::string& path) { return read_tensor(*formats::open(path), 0); };
    const auto as = [](const auto& bytes, auto zero) {
      std::vector<decltype(zero)> out(bytes.size() / sizeof zero);
      std::memcpy(out.data(), bytes.data(), bytes.size());
      return out;
    };
    CHECK(as(read(npy("|u1", {"\xFF\x01", 2})), std::int32_t{}) == std::vector<std::int32_t>{255, 1});
    CHECK(as(read(npy("|i1", {"\xFF\x01", 2})), std::int32_t{}) == std::vector<std::int32_t>{-1, 1});
    CHECK(as(read(npy(">i2", {"\xFF\xFE\x01\x00", 4})), std::int32_t{}) == std::vector<std::int32_t>{-2, 256});
    CHECK(as(read(npy("<u4", {"\xFF\xFF\xFF\xFF\x00\x00\x00\x00", 8})), std::int64_t{}) == std::vector<std::int64_t>{4294967295, 0});
    CHECK(as(read(npy("|b1", {"\x00\x01", 2})), std::int32_t{}) == std::vector<std::int32_t>{0, 1});
    CHECK(failure_of([&] { read(npy("|b1", {"\x00\x02", 2})); }) == Failure::bad_input);
    CHECK(as(read(npy("<u8", {"\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16})), std::int64_t{}) == std::vector<std::int64_t>{1, 0});
    CHECK(failure_of([&] { read(npy("<u8", {"\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80", 16})); }) == Failure::bad_input);
    // complex, big-endian: each half is turned by itself
    CHECK(as(read(npy(">c8", {"\x3F\x80\0\0\xC0\0\0\0\0\0\0\0\x40\x40\0\0", 16})), float{}) == std::vector<float>{1, -2, 0, 3});
    for (const std::string descr : {"|V2", "|O", "<U3", "<f16", "<M8[s]", "f", "", "<c4", "<f2222222222222222222222"})
      CHECK(failure_of([&] { read(npy(descr, "")); }) == Failure::bad_input);
  }
}
