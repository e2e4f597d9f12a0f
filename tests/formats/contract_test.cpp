// What every format promises, tried on every format.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "support.hpp"

using namespace posenc;
using namespace posenc::test;

TEST_SUITE("formats") {
  TEST_CASE("every shape and dtype comes back, whatever the order and number of threads") {
    for (const formats::FormatTraits& format : formats::formats()) {
      const Scratch folder;
      for (Case& c : cases(format)) {
        CAPTURE(format.name);
        CAPTURE(c.name);
        c.plan.metadata = {{"title", "a test"}};
        const std::vector<Bytes> values = values_of(c.plan);
        const std::string path = folder / ("file" + std::string(format.suffixes[0]));
        write_file(format, path, c.plan, values, 1, 0);
        const std::string once = slurp(path);
        write_file(format, path, c.plan, values, 3, 7, 333);
        CHECK(slurp(path) == once);

        const std::uint64_t foretold = formats::file_size(format, c.plan);
        if (format.chunking) CHECK(foretold >= once.size());
        else CHECK(foretold == once.size());

        const auto reader = formats::open(path);
        CHECK(reader->format() == format.name);
        REQUIRE(reader->tensors().size() == c.plan.tensors.size());
        for (std::size_t t = 0; t < c.plan.tensors.size(); ++t) {
          const StoredTensor& wanted = c.plan.tensors[t];
          const std::size_t index = format.many_tensors ? find_tensor(*reader, wanted.name) : 0;
          const StoredTensor& got = reader->tensors()[index];
          CAPTURE(wanted.name);
          CHECK(got.dtype == wanted.dtype);
          CHECK(got.shape == wanted.shape);
          CHECK(got.is_complex == wanted.is_complex);
          if (!got.axis_names.empty()) CHECK(got.axis_names == wanted.axis_names);
          CHECK(read_tensor(*reader, index) == values[t]);
          // Any part, from any value: also one that begins inside a complex element or a chunk.
          const std::size_t size = size_of(got.dtype);
          const std::int64_t total = got.values();
          for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{1, 5}, {total / 3, total / 2}, {total - 1, 1}, {total, 0}}) {
            if (first < 0 || first + count > total) continue;
            Bytes part(static_cast<std::size_t>(count) * size);
            reader->read(index, first, part);
            CHECK(std::equal(part.begin(), part.end(), values[t].begin() + first * static_cast<std::int64_t>(size)));
          }
          Bytes beyond(size);
          CHECK(failure_of([&] { reader->read(index, total, beyond); }) == Failure::usage);
        }
      }
    }
  }

  TEST_CASE("no file carries a date") {
    std::vector<std::string> first;
    const auto write_all = [&](const auto& use) {
      for (const formats::FormatTraits& format : formats::formats()) {
        const Scratch folder;  // another path each time
        Case c = cases(format).back();
        for (const Case& candidate : cases(format))
          if (candidate.name.starts_with("several")) c = candidate;
        c.plan.metadata = {{"title", "undated"}};
        const std::string path = folder / "file";
        write_file(format, path, c.plan, values_of(c.plan));
        use(slurp(path));
      }
    };
    write_all([&](std::string bytes) { first.push_back(std::move(bytes)); });
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // zip counts in 2 s, HDF5 in 1 s
    std::size_t i = 0;
    write_all([&](const std::string& bytes) { CHECK(bytes == first[i++]); });
  }

  TEST_CASE("metadata of any length and script comes back") {
    std::string large;
    for (int i = 0; large.size() < 200000; ++i) large += "line " + std::to_string(i) + " \xE2\x80\x94 \"quoted\"\n";
    FilePlan plan;
    plan.tensors = {tensor("x", DType::f32, {4, 4})};
    plan.metadata = {{"posenc_spec", R"({"encoding":"rope","base":10000.0,"x":[1,2]})"},
                     {"posenc_version", "0.1.0"},
                     {"empty", ""},
                     {"greek", "\xCE\xB8 = p \xC2\xB7 base^(-2i/d)"},
                     {"json_like", "{\"a\": 1}"},
                     {"large", large}};
    for (const formats::FormatTraits& format : formats::formats()) {
      CAPTURE(format.name);
      const Scratch folder;
      const std::string path = folder / ("file" + std::string(format.suffixes[0]));
      write_file(format, path, plan, values_of(plan));
      CHECK(formats::open(path)->metadata() == plan.metadata);
      // A spec whose text is not what a JSON printer would make stays as it was written.
      FilePlan odd = plan;
      odd.metadata = {{"posenc_spec", R"({"base": 1e4})"}};
      write_file(format, path, odd, values_of(odd));
      CHECK(formats::open(path)->metadata() == odd.metadata);
      odd.metadata.clear();
      write_file(format, path, odd, values_of(odd));
      CHECK(formats::open(path)->metadata().empty());
      CHECK(folder.names().size() == 1);
    }
  }

  TEST_CASE("names of axes come back from formats that keep them") {
    FilePlan plan;
    StoredTensor cos = tensor("position", DType::f32, {6, 4}), sin = tensor("sin", DType::bf16, {6, 4}), other = tensor("other", DType::f32, {9});
    cos.axis_names = sin.axis_names = {"position", "pair"};
    other.axis_names = {"position"};
    plan.tensors = {cos, sin, other};
    const Scratch folder;
    const std::string path = folder / "named.h5";
    write_file(formats::parse_format("hdf5"), path, plan, values_of(plan));
    const auto reader = formats::open(path);
    REQUIRE(reader->tensors().size() == 3);
    for (const StoredTensor& t : plan.tensors) CHECK(reader->tensors()[find_tensor(*reader, t.name)].axis_names == t.axis_names);
    CHECK(reader->tensors()[find_tensor(*reader, "sin")].help == sin.help);
  }

  TEST_CASE("a file appears whole or not at all") {
    for (const formats::FormatTraits& format : formats::formats()) {
      for (Case& c : cases(format)) {
        if (c.plan.tensors.empty() || c.plan.tensors[0].values() < 300) continue;
        CAPTURE(format.name);
        CAPTURE(c.name);
        const Scratch folder;
        c.plan.metadata = {{"title", "unfinished"}};
        const std::string path = folder / "file";
        const std::vector<Bytes> values = values_of(c.plan);
        {
          const auto writer = formats::create(format, path, c.plan);
          CHECK_FALSE(fs::exists(path));
          const auto part = static_cast<std::size_t>(writer->granule(0)) * size_of(c.plan.tensors[0].dtype);
          writer->write(0, 0, std::span(values[0]).first(std::min(part, values[0].size())));
        }
        CHECK(folder.names().empty());
        {  // values missing: finish refuses
          const auto writer = formats::create(format, path, c.plan);
          CHECK(failure_of([&] { writer->finish(); }) == Failure::usage);
        }
        CHECK(folder.names().empty());
        // A failure leaves the old file as it was.
        spill(path, "old");
        { const auto writer = formats::create(format, path, c.plan); }
        CHECK(slurp(path) == "old");
        CHECK(folder.names().size() == 1);
      }
    }
  }

  TEST_CASE("writes outside a tensor are refused") {
    FilePlan plan;
    plan.tensors = {tensor("x", DType::f32, {8})};
    const Bytes bytes(16);
    for (const formats::FormatTraits& format : formats::formats()) {
      const Scratch folder;
      const auto writer = formats::create(format, folder / "f", plan);
      CHECK(failure_of([&] { writer->write(0, 5, bytes); }) == Failure::usage);
      CHECK(failure_of([&] { writer->write(0, -1, bytes); }) == Failure::usage);
      CHECK(failure_of([&] { writer->write(0, INT64_MAX, bytes); }) == Failure::usage);
      CHECK(failure_of([&] { writer->write(0, 0, std::span(bytes).first(3)); }) == Failure::usage);
    }
  }

  TEST_CASE("the target: modes, links, folders") {
    FilePlan plan;
    plan.tensors = {tensor("x", DType::f32, {8})};
    for (const formats::FormatTraits& format : formats::formats()) {
      CAPTURE(format.name);
      const Scratch folder;
      const auto write = [&](const std::string& path) { write_file(format, path, plan, values_of(plan)); };
      const auto mode = [](const std::string& path) {
        struct stat status {};
        REQUIRE(::stat(path.c_str(), &status) == 0);
        return status.st_mode & 07777;
      };
      const mode_t mask = ::umask(0);
      ::umask(mask);
      write(folder / "new");
      CHECK(mode(folder / "new") == (0666 & ~mask));
      spill(folder / "old", "x");
      REQUIRE(::chmod((folder / "old").c_str(), 0640) == 0);
      REQUIRE(::symlink("old", (folder / "link").c_str()) == 0);
      write(folder / "link");
      CHECK(fs::is_symlink(folder / "link"));
      CHECK(mode(folder / "old") == 0640);
      CHECK(formats::open(folder / "old")->tensors().size() == 1);
      REQUIRE(::symlink("made", (folder / "dangling").c_str()) == 0);
      write(folder / "dangling");
      CHECK(fs::is_regular_file(folder / "made"));
      REQUIRE(::symlink("loop", (folder / "loop").c_str()) == 0);
      CHECK(failure_of([&] { write(folder / "loop"); }) == Failure::system);
      CHECK(failure_of([&] { write(folder.path().string()); }) == Failure::usage);
      CHECK(failure_of([&] { write(folder / "no/such/file"); }) == Failure::system);
      if (!format.stdout_ok) {
        CHECK(failure_of([&] { write("/dev/null"); }) == Failure::usage);
        CHECK(failure_of([&] { write("-"); }) == Failure::usage);
      } else {
        write("/dev/null");
      }
      const std::string longest(240, 'n');
      write(folder / longest);
      CHECK(formats::open(folder / longest)->tensors().size() == 1);
      for (const std::string& name : folder.names()) CHECK(name.find(".posenc-") == std::string::npos);
    }
  }

  TEST_CASE("inputs that are no regular file are refused") {
    const Scratch folder;
    CHECK(failure_of([&] { return formats::open(folder.path().string()); }) == Failure::bad_input);
    CHECK(failure_of([&] { return formats::open(folder / "absent"); }) == Failure::system);
    REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    CHECK(failure_of([&] { return formats::open(folder / "fifo"); }) == Failure::bad_input);
    spill(folder / "text.npy", "{\"spec\": {\"encoding\": \"rope\"}}");
    CHECK(failure_of([&] { return formats::open(folder / "text.npy"); }) == Failure::bad_input);
  }

  TEST_CASE("a FIFO gets the same bytes, from threads in any order") {
    FilePlan plan;
    plan.tensors = {tensor("x", DType::f64, {500, 41})};
    plan.metadata = {{"title", "not kept in a pipe"}};
    const std::vector<Bytes> values = values_of(plan);
    const Scratch folder;
    const formats::FormatTraits& npy = formats::parse_format("npy");
    FilePlan bare = plan;
    bare.metadata.clear();
    write_file(npy, folder / "file.npy", bare, values);
    REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    std::string got;
    std::thread reader([&] { got = slurp(folder / "fifo"); });
    write_file(npy, folder / "fifo", plan, values, 3, 5);
    reader.join();
    CHECK(got == slurp(folder / "file.npy"));
    CHECK(folder.names().size() == 2);
  }

  TEST_CASE("what a format cannot hold is refused before anything is written, with the way out") {
    const auto refused = [](std::string_view format, FilePlan plan, std::string_view word) {
      std::string message;
      CHECK(failure_of([&] { formats::check_plan(formats::parse_format(format), plan); }, &message) == Failure::usage);
      CAPTURE(message);
      CHECK(message.find(word) != std::string::npos);
    };
    const auto plan = [](std::vector<StoredTensor> tensors) {
      FilePlan p;
      p.tensors = std::move(tensors);
      return p;
    };
    const StoredTensor x = tensor("x", DType::f32, {4});
    refused("npy", plan({x, tensor("y", DType::f32, {4})}), "--tensor");
    refused("npy", plan({}), "one tensor");
    for (const std::string_view numpy : {"npy", "npz"}) refused(numpy, plan({tensor("x", DType::bf16, {4})}), "f32");
    refused("safetensors", plan({tensor("x", DType::f32, {4}, true)}), "complex");
    refused("safetensors", plan({tensor("__metadata__", DType::f32, {4})}), "__metadata__");
    refused("npz", plan({tensor("../x", DType::f32, {4})}), "../x");
    refused("hdf5", plan({tensor("a", DType::f32, {4}), tensor("a/b", DType::f32, {4})}), "group");
    refused("hdf5", plan({tensor("/a", DType::f32, {4})}), "/a");
    for (const formats::FormatTraits& format : formats::formats()) {
      if (format.many_tensors) refused(format.name, plan({x, x}), "two tensors");
      refused(format.name, plan({tensor("x", DType::f64, {INT64_MAX / 4, 4})}), "2^63");
      refused(format.name, plan({tensor("x", DType::f32, {-1})}), "-1");
      refused(format.name, plan({tensor("x", DType::f32, std::vector<std::int64_t>(33, 1))}), "32");
      refused(format.name, plan({tensor("bad\xFF", DType::f32, {1})}), "UTF-8");
      if (!format.chunking) {
        FilePlan chunked = plan({x});
        chunked.chunking.chunked = true;
        refused(format.name, chunked, "hdf5");
      }
    }
  }

  TEST_CASE("formats are found by name and by suffix") {
    for (const formats::FormatTraits& format : formats::formats()) {
      CHECK(formats::parse_format(format.name).name == format.name);
      for (const std::string_view suffix : format.suffixes) CHECK(formats::format_of_suffix("dir.x/file" + std::string(suffix)).name == format.name);
    }
    std::string message;
    CHECK(failure_of([] { return &formats::parse_format("safetensor"); }, &message) == Failure::usage);
    CHECK(message.find("did you mean 'safetensors'") != std::string::npos);
    CHECK(failure_of([] { return &formats::format_of_suffix("a.npyy"); }, &message) == Failure::usage);
    CHECK(message.find("'.npy'?") != std::string::npos);
    CHECK(failure_of([] { return &formats::format_of_suffix("dir.npy/file"); }) == Failure::usage);
  }

  TEST_CASE("NPY's sidecar is never taken from someone else") {
    FilePlan plan;
    plan.tensors = {tensor("x", DType::f32, {8})};
    plan.metadata = {{"title", "mine"}};
    const formats::FormatTraits& npy = formats::parse_format("npy");
    const Scratch folder;
    const std::string path = folder / "a.npy";
    spill(path + ".json", "{\"labels\": []}");
    CHECK(failure_of([&] { write_file(npy, path, plan, values_of(plan)); }) == Failure::usage);
    CHECK(slurp(path + ".json") == "{\"labels\": []}");
    fs::remove(path + ".json");
    write_file(npy, path, plan, values_of(plan));
    CHECK(formats::open(path)->metadata().at("title") == "mine");
    spill(path + ".json", "[1]");
    std::string message;
    CHECK(failure_of([&] { return formats::open(path); }, &message) == Failure::bad_input);
    CHECK(message.find("a.npy.json") != std::string::npos);
  }
}
