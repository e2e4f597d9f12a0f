// posenc verify: what it passes, what it finds, and what it calls broken.
#include <nlohmann/json.hpp>

#include "cli/process.hpp"
#include "posenc/formats.hpp"
#include "support/arrays.hpp"

namespace posenc::test {
namespace {

using Json = nlohmann::json;

// The same file with the lowest bit of one value turned: one unit in the last place.
void write_with_one_ulp(const std::string& from, const std::string& to, std::size_t tensor, std::int64_t value) {
  const auto reader = formats::open(from);
  FilePlan plan;
  plan.tensors = reader->tensors();
  plan.metadata = reader->metadata();
  const auto writer = formats::create(formats::parse_format(reader->format()), to, plan);
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    std::vector<std::byte> bytes = read_tensor(*reader, t);
    if (t == tensor) bytes[static_cast<std::size_t>(value) * size_of(plan.tensors[t].dtype)] ^= std::byte{1};
    writer->write(t, 0, bytes);
  }
  writer->finish();
}

struct Case {
  std::string file;
  Words words;
  std::int64_t value;
};

std::vector<Case> all_cases() {
  std::vector<Case> list;
  for (const auto& format : formats::formats())
    for (const DTypeInfo& dtype : dtypes()) {
      if (dtype.integer || (dtype.dtype == DType::bf16 && !format.bf16)) continue;
      const std::string file = std::string(dtype.name) + std::string(format.suffixes.front());
      Words words{"generate", "rope", "--positions", "100:140", "--head-dim", "12", "--dtype", std::string(dtype.name), "-o", file};
      if (!format.many_tensors) words.insert(words.end(), {"--tensor", "sin"});
      list.push_back({file, words, 77});
    }
  return list;
}

}  // namespace

TEST_CASE("its own output holds, and one ulp is found and named") {
  for (const Case& c : all_cases()) {
    CAPTURE(c.file);
    const Scratch scratch;
    const Setup here{.folder = scratch.path()};
    REQUIRE(run(c.words, here).status == 0);
    const Outcome good = run({"verify", c.file}, here);
    CHECK_MESSAGE(good.status == 0, good.out << good.err);
    CHECK(mentions(good.out, "all holds"));
    CHECK(good.err.empty());

    fs::create_directory(scratch / "bad");
    write_with_one_ulp(scratch / c.file, scratch / ("bad/" + c.file), 0, c.value);
    const Outcome bad = run({"verify", "bad/" + c.file, "--json"}, here);
    CHECK(bad.status == 1);
    const Json report = Json::parse(bad.out);
    CHECK(report["holds"] == false);
    int wrong = 0;
    for (const Json& tensor : report["tensors"])
      if (tensor["wrong"] != 0) {
        ++wrong;
        CHECK(tensor["wrong"] == 1);
        CHECK(tensor["worst_ulp"] == 1.0);
        CHECK(tensor["first"][0]["index"] == Json({c.value / 6, c.value % 6}));
      }
    CHECK(wrong == 1);
    const Outcome text = run({"verify", "bad/" + c.file}, here);
    CHECK(text.status == 1);
    CHECK(mentions(text.out, "does not hold"));

    CHECK(run({"verify", c.file, "--against", c.file}, here).status == 0);
    const Outcome against = run({"verify", c.file, "--against", "bad/" + c.file, "--json"}, here);
    CHECK(against.status == 1);
    CHECK(Json::parse(against.out)["tensors"][0]["worst_ulp"] == 1.0);
  }
}

TEST_CASE("formats hold the same values") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  for (const auto& format : formats::formats())
    REQUIRE(run({"generate", "sinusoidal", "--positions", "50", "-o", "x" + std::string(format.suffixes.front())}, here).status == 0);
  for (const auto& a : formats::formats())
    for (const auto& b : formats::formats()) {
      const Outcome outcome = run({"verify", "x" + std::string(a.suffixes.front()), "--against", "x" + std::string(b.suffixes.front())}, here);
      CHECK_MESSAGE(outcome.status == 0, outcome.out << outcome.err);
    }
}

TEST_CASE("another spec than the file's is a difference") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  REQUIRE(run({"generate", "rope", "--positions", "64", "-o", "x.npz"}, here).status == 0);
  CHECK(run({"verify", "x.npz", "rope", "--positions", "64"}, here).status == 0);
  CHECK(run({"verify", "x.npz", "rope", "--positions", "64", "--base", "500000"}, here).status == 1);
  CHECK(run({"verify", "x.npz", "rope", "--positions", "65"}, here).status == 1);
  CHECK(run({"verify", "x.npz", "rope", "--positions", "64", "--dtype", "f64"}, here).status != 70);
}

TEST_CASE("a broken file is status 3, wherever it is cut") {
  for (const auto& format : formats::formats()) {
    const std::string name = "x" + std::string(format.suffixes.front());
    const Scratch scratch;
    const Setup here{.folder = scratch.path()};
    REQUIRE(run({"generate", "rope", "--positions", "30", "--head-dim", "8", "--tensor", "cos", "-o", name}, here).status == 0);
    const std::string whole = slurp(scratch / name);
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{64}, whole.size() / 2, whole.size() - 1}) {
      CAPTURE(format.name);
      CAPTURE(size);
      spill(scratch / ("cut" + name), whole.substr(0, size));
      for (const char* command : {"verify", "inspect"}) {
        const Outcome outcome = run({command, "cut" + name}, here);
        CHECK_MESSAGE(outcome.status == 3, outcome.out << outcome.err);
        CHECK_MESSAGE((outcome.err.starts_with("posenc: ") && outcome.error_lines() == 1), outcome.err);
        CHECK(outcome.out.empty());
      }
    }
  }
}

TEST_CASE("a value changed in the bytes of the file itself") {
  // NPY has no checksum: verify finds the value. NPZ has one, too, and its readers refuse the member.
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  for (const std::string name : {"x.npy", "x.npz"}) {
    REQUIRE(run({"generate", "rope", "--positions", "30", "--head-dim", "8", "--tensor", "cos", "-o", name}, here).status == 0);
    std::string values;
    {
      const auto reader = formats::open(scratch / name);
      values.resize(static_cast<std::size_t>(reader->tensors()[0].bytes()));
      reader->read(0, 0, std::as_writable_bytes(std::span(values)));
    }
    std::string bytes = slurp(scratch / name);
    const std::size_t at = bytes.find(values);
    REQUIRE(at != std::string::npos);
    bytes[at + 4 * 50] = static_cast<char>(bytes[at + 4 * 50] ^ 1);
    spill(scratch / name, bytes);
    const Outcome outcome = run({"verify", name}, here);
    CAPTURE(name);
    CHECK_MESSAGE((outcome.status == 1 || (outcome.status == 3 && name == "x.npz")), outcome.out << outcome.err);
  }
}

TEST_CASE("a checksum that is wrong over values that are right") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  REQUIRE(run({"generate", "rope", "--positions", "30", "--head-dim", "8", "--tensor", "cos", "-o", "x.npz"}, here).status == 0);
  const std::string whole = slurp(scratch / "x.npz");
  // CRC-32 lies 16 bytes into an entry of the central directory and 14 into the header before a member's bytes.
  for (std::size_t entry = whole.find("PK\x01\x02"); entry != std::string::npos; entry = whole.find("PK\x01\x02", entry + 1)) {
    std::size_t header = 0;
    for (int i = 3; i >= 0; --i) header = header << 8 | static_cast<unsigned char>(whole[entry + 42 + static_cast<std::size_t>(i)]);
    std::string bytes = whole;
    bytes[entry + 16] = static_cast<char>(bytes[entry + 16] ^ 1);
    bytes[header + 14] = static_cast<char>(bytes[header + 14] ^ 1);
    spill(scratch / "x.npz", bytes);
    const Outcome outcome = run({"verify", "x.npz"}, here);
    CAPTURE(entry);
    CHECK_MESSAGE(outcome.status == 3, outcome.out << outcome.err);
  }
}

TEST_CASE("every complex form in every format verifies by itself") {
  for (const formats::FormatTraits& format : formats::formats())
    for (const std::string form : {"native", "pair", "split"}) {
      const Scratch scratch;
      const Setup here{.folder = scratch.path()};
      const std::string name = "c" + std::string(format.suffixes[0]);
      const Outcome made = run({"generate", "rope", "--layout", "complex", "--head-dim", "8", "--positions", "5", "--complex", form, "-o", name}, here);
      if (form == "native" && !format.complex) {
        CHECK(made.status == 2);
        continue;
      }
      REQUIRE_MESSAGE(made.status == 0, made.err);
      int files = 0;
      for (const auto& entry : fs::directory_iterator(scratch.path())) {
        const std::string file = entry.path().filename();
        if (file.ends_with(".json")) continue;
        ++files;
        const Outcome outcome = run({"verify", file}, here);
        CHECK_MESSAGE(outcome.status == 0, file << ": " << outcome.out << outcome.err);
      }
      CHECK(files == (form == "split" && !format.many_tensors ? 2 : 1));
    }
}

TEST_CASE("a -0 where the spec says 0 is another byte") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  REQUIRE(run({"generate", "rope", "--head-dim", "8", "--positions", "4", "--tensor", "sin", "-o", "x.npy"}, here).status == 0);
  std::string bytes = slurp(scratch / "x.npy");
  bytes[128 + 3] = static_cast<char>(0x80);
  spill(scratch / "x.npy", bytes);
  CHECK(run({"verify", "x.npy"}, here).status == 1);
}

TEST_CASE("a law that needs a tensor that is not there is said to be skipped, not to hold") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  REQUIRE(run({"generate", "rope", "--positions", "8", "--tensor", "cos", "-o", "x.npz"}, here).status == 0);
  const Outcome outcome = run({"verify", "x.npz"}, here);
  CHECK(outcome.status == 0);
  CHECK(mentions(outcome.out, "skipped  law norm"));
  CHECK_FALSE(mentions(outcome.out, "holds    law norm"));
}

TEST_CASE("a file without a spec says how to give one") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  REQUIRE(run({"generate", "rope", "--positions", "8", "--tensor", "cos", "-o", "x.npy"}, here).status == 0);
  fs::create_directory(scratch / "bare");
  fs::copy_file(scratch / "x.npy", scratch / "bare/x.npy");
  const Outcome outcome = run({"verify", "bare/x.npy"}, here);
  CHECK(outcome.status == 2);
  CHECK(mentions(outcome.err, "--spec"));
  CHECK(run({"verify", "bare/x.npy", "rope", "--positions", "8", "--tensor", "cos"}, here).status == 0);
  CHECK(run({"verify", "bare/x.npy", "rope", "--positions", "8", "--tensor", "sin"}, here).status == 1);
}

TEST_CASE("bytes behind the end of an HDF5 file are said and no fault, until the next extend") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  done({"generate", "rope", "--positions", "8", "--chunk", "1M", "-o", "x.h5"}, here);
  const std::string whole = slurp(scratch / "x.h5");
  CHECK(done({"verify", "x.h5"}, here).err.empty());
  spill(scratch / "x.h5", whole + std::string(1234, 'x'));
  const std::string words = "the last 1234 bytes of x.h5 belong to nothing";
  CHECK(mentions(done({"verify", "x.h5"}, here).err, words));
  CHECK(mentions(done({"inspect", "x.h5"}, here).out, words));
  CHECK(mentions(Json::parse(done({"inspect", "x.h5", "--json"}, here).out).at("remarks").at(0).get<std::string>(), words));
  done({"extend", "x.h5", "--positions", "9"}, here);
  CHECK(done({"verify", "x.h5"}, here).err.empty());
}

TEST_CASE("the axes of an HDF5 file are its own") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  for (const Words& form : std::vector<Words>{{}, {"--chunk", "1M"}, {"--stack"}, {"--layout", "complex", "--complex", "split"}}) {
    CAPTURE(joined(form));
    done(plus({"generate", "rope", "--positions", "8", "-o", "x.h5"}, form), here);
    CHECK(run({"verify", "x.h5"}, here).status == 0);
    // A name of an axis in the global heap, of 4096 bytes, the last one, since the library leaves behind what it wrote before.
    std::string bytes = slurp(scratch / "x.h5");
    const std::size_t heap = bytes.find("GCOL");
    REQUIRE(heap != std::string::npos);
    const std::size_t name = bytes.rfind("position", heap + 4096);
    REQUIRE((name != std::string::npos && name > heap));
    bytes[name] = 'P';
    spill(scratch / "x.h5", bytes);
    const Outcome outcome = run({"verify", "x.h5"}, here);
    CHECK(outcome.status == 1);
    CHECK_MESSAGE(mentions(outcome.out, "Position"), outcome.out);
    CHECK(mentions(done({"inspect", "x.h5"}, here).out, "fault: axis "));
  }
}

}  // namespace posenc::test
