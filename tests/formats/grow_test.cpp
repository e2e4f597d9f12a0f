// Bytes replaced at once, through a journal: whatever was written of it when the process ended, the next one completes it.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "grow_journal.hpp"
#include "support.hpp"

using namespace posenc;
using namespace posenc::test;

namespace {

constexpr const char* old_text = "0123456789abcdefghij";
constexpr const char* new_text = "01XX456789abcdefYYYj";
const std::vector<formats::Patch> patches{{2, "23", "XX"}, {16, "ghi", "YYY"}};

std::string journal(const Scratch& folder) { return folder / ".file.posenc-journal"; }

int open_file(const Scratch& folder) {
  const int fd = ::open((folder / "file").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0);
  return fd;
}

// The journal as it lies there between its commit and its end.
std::string journal_text(const Scratch& folder) {
  spill(folder / "file", old_text);
  const int fd = open_file(folder);
  std::string text;
  formats::replace_bytes(folder / "file", fd, 20, patches, [&] { text = slurp(journal(folder)); });
  ::close(fd);
  CHECK(slurp(folder / "file") == new_text);
  CHECK(folder.names() == std::vector<std::string>{"file"});
  return text;
}

}  // namespace

TEST_SUITE("formats") {
  TEST_CASE("a journal is completed from any state between before and after") {
    const Scratch folder;
    const std::string text = journal_text(folder);
    // Each of the five bytes that change is old or new.
    const std::size_t places[] = {2, 3, 16, 17, 18};
    for (unsigned state = 0; state < 32; ++state) {
      std::string torn = old_text;
      for (unsigned i = 0; i < 5; ++i)
        if (state >> i & 1) torn[places[i]] = new_text[places[i]];
      spill(folder / "file", torn);
      spill(journal(folder), text);
      formats::complete_replacement(folder / "file");
      CHECK(slurp(folder / "file") == new_text);
      CHECK(folder.names() == std::vector<std::string>{"file"});
    }
  }

  TEST_CASE("a journal that is not this file's, or is no journal, does nothing") {
    const Scratch folder;
    const std::string text = journal_text(folder);
    for (const char* other : {"something else there", "0123456789abcdefghij and more", "short", ""}) {
      spill(folder / "file", other);
      spill(journal(folder), text);
      formats::complete_replacement(folder / "file");
      CHECK(slurp(folder / "file") == other);
    }
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
      spill(folder / "file", old_text);
      spill(journal(folder), text.substr(0, cut));
      formats::complete_replacement(folder / "file");
      CHECK(slurp(folder / "file") == old_text);
    }
    for (std::size_t at = 0; at < text.size(); ++at) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
      spill(folder / "file", old_text);
      spill(journal(folder), damaged);
      formats::complete_replacement(folder / "file");
      CHECK(slurp(folder / "file") == old_text);
    }
  }

  TEST_CASE("a journal of another user is not carried out: whoever may create files in a folder must not write others' files") {
    const Scratch folder;
    const std::string text = journal_text(folder);
    const auto put = [&](const char* file, uid_t file_owner, uid_t journal_owner) {
      spill(folder / "file", file);
      spill(journal(folder), text);
      return ::chown((folder / "file").c_str(), file_owner, static_cast<gid_t>(-1)) == 0 &&
             ::chown(journal(folder).c_str(), journal_owner, static_cast<gid_t>(-1)) == 0;
    };
    constexpr uid_t someone = 54321;
    if (!put(old_text, ::geteuid(), someone)) {
      REQUIRE(::geteuid() != 0);  // only root can give files away
      return;
    }
    CHECK(failure_of([&] { formats::complete_replacement(folder / "file"); }) == Failure::system);
    CHECK(slurp(folder / "file") == old_text);
    CHECK(failure_of([&] { (void)formats::hold(folder / "file"); }) == Failure::system);
    CHECK(slurp(folder / "file") == old_text);
    REQUIRE(put("another file by now.", ::geteuid(), someone));
    formats::complete_replacement(folder / "file");  // not about this file, whoever's it is
    CHECK(slurp(folder / "file") == "another file by now.");
    REQUIRE(put(old_text, someone, someone));  // the owner's own
    formats::complete_replacement(folder / "file");
    CHECK(slurp(folder / "file") == new_text);
  }

  TEST_CASE("a journal is no link, no patch covers another, and it is no longer than its file allows") {
    const Scratch folder;
    const std::string text = journal_text(folder);
    spill(folder / "file", old_text);
    spill(folder / "elsewhere", text);
    REQUIRE(::symlink((folder / "elsewhere").c_str(), journal(folder).c_str()) == 0);
    formats::complete_replacement(folder / "file");
    CHECK(slurp(folder / "file") == old_text);
    REQUIRE(::unlink(journal(folder).c_str()) == 0);
    std::string made;
    {
      const int fd = open_file(folder);
      formats::replace_bytes(folder / "file", fd, 20, {{2, "23", "XX"}, {3, "3", "Y"}}, [&] { made = slurp(journal(folder)); });
      ::close(fd);
    }
    spill(folder / "file", old_text);
    spill(journal(folder), made);
    formats::complete_replacement(folder / "file");
    CHECK(slurp(folder / "file") == old_text);
    spill(journal(folder), "posenc-journal-1");
    REQUIRE(::truncate(journal(folder).c_str(), off_t{4} << 30) == 0);  // a hole: reading it would take 4 GiB
    formats::complete_replacement(folder / "file");
    CHECK(slurp(folder / "file") == old_text);
  }

  TEST_CASE("a held file with a journal that is not about it can be opened") {
    const Scratch folder;
    const std::string text = journal_text(folder);
    spill(folder / "file", "something else there");
    spill(journal(folder), text);
    const auto held = formats::hold(folder / "file");
    ::alarm(60);  // a wait for the own lock would have no end
    formats::complete_replacement(folder / "file");
    ::alarm(0);
    CHECK(slurp(folder / "file") == "something else there");
  }

  TEST_CASE("killed right after the commit: opening the file completes it") {
    const Scratch folder;
    spill(folder / "file", old_text);
    const pid_t id = ::fork();
    REQUIRE(id >= 0);
    if (id == 0) {
      const int fd = ::open((folder / "file").c_str(), O_RDWR);
      formats::replace_bytes(folder / "file", fd, 20, patches, [] { ::_exit(0); });
      ::_exit(1);
    }
    int status = 0;
    REQUIRE(::waitpid(id, &status, 0) == id);
    REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    CHECK(slurp(folder / "file") == old_text);
    CHECK(failure_of([&] { (void)formats::open(folder / "file"); }) == Failure::bad_input);  // it is no array, but it is complete
    CHECK(slurp(folder / "file") == new_text);
    CHECK(folder.names() == std::vector<std::string>{"file"});
  }

  TEST_CASE("a held file is not held twice, and holding it completes it") {
    const Scratch folder;
    const std::string text = journal_text(folder);
    spill(folder / "file", old_text);
    spill(journal(folder), text);
    {
      const auto held = formats::hold(folder / "file");
      CHECK(slurp(folder / "file") == new_text);
      CHECK(failure_of([&] { (void)formats::hold(folder / "file"); }) == Failure::system);
    }
    CHECK(formats::hold(folder / "file") != nullptr);
  }

  // Rows by rows: what is grown in memory-sized steps reads back as what was written, old values included.
  TEST_CASE("values of a grown file") {
    for (const int level : {0, 5}) {
      CAPTURE(level);
      const Scratch folder;
      FilePlan plan;
      plan.tensors = {tensor("b", DType::f16, {10, 6}), tensor("c", DType::i64, {10, 3})};
      plan.metadata = {{"title", "short"}, {"other", "stays"}};
      plan.chunking = {.chunked = true, .chunk_bytes = 48, .gzip_level = level};  // 4 rows of b, 2 rows of c
      FilePlan longer = plan;
      longer.tensors[0].shape[0] = 23;
      longer.tensors[1].shape[0] = 23;
      longer.metadata["title"] = std::string(100000, 'x');
      const std::vector<Bytes> values = values_of(longer);
      std::vector<Bytes> first = values;
      for (std::size_t t = 0; t < first.size(); ++t) first[t].resize(static_cast<std::size_t>(plan.tensors[t].bytes()));
      const formats::FormatTraits& format = formats::parse_format("hdf5");
      REQUIRE(format.grows);
      write_file(format, folder / "file", plan, first);
      const std::string before = slurp(folder / "file");
      { const auto dropped = formats::grow(format, folder / "file", longer); }
      CHECK(slurp(folder / "file") == before);
      {
        const auto growth = formats::grow(format, folder / "file", longer);
        CHECK(growth.rewritten == "");
        CHECK(growth.from == std::vector<std::int64_t>{48, 30});  // whole chunks: 8 rows of 6, 10 rows of 3
        for (std::size_t t = 0; t < values.size(); ++t) {
          const auto at = static_cast<std::size_t>(growth.from[t]) * size_of(plan.tensors[t].dtype);
          growth.writer->write(t, growth.from[t], std::span(values[t]).subspan(at));
        }
        CHECK(slurp(folder / "file").substr(0, before.size()) == before);
        growth.writer->finish();
      }
      const auto reader = formats::open(folder / "file");
      CHECK(reader->metadata() == longer.metadata);
      REQUIRE(reader->tensors().size() == 2);
      for (std::size_t t = 0; t < 2; ++t) {
        CHECK(reader->tensors()[t].shape == longer.tensors[t].shape);
        CHECK(reader->tensors()[t].axis_names == longer.tensors[t].axis_names);
        Bytes got(values[t].size());
        reader->read(t, 0, got);
        CHECK(got == values[t]);
      }
    }
  }

  TEST_CASE("a sidecar of two arrays speaks of the one that is there") {
    const Scratch folder;
    const formats::FormatTraits& format = formats::parse_format("npy");
    for (const std::int64_t rows : {3, 5}) {
      FilePlan plan;
      plan.tensors = {tensor("file", DType::f32, {rows, 2})};
      write_file(format, folder / "file.npy", plan, values_of(plan));
      spill(folder / "file.npy.json", R"({"posenc_sidecar": true, "title": "new", "posenc_before": "{\"title\": \"old\", \"posenc_shape\": \"3,2\"}"})");
      const auto reader = formats::open(folder / "file.npy");
      CHECK(reader->metadata() == std::map<std::string, std::string>{{"title", rows == 3 ? "old" : "new"}});
    }
    spill(folder / "file.npy.json", R"({"posenc_sidecar": true, "posenc_before": "no object"})");
    CHECK(failure_of([&] { (void)formats::open(folder / "file.npy"); }) == Failure::bad_input);
  }

  TEST_CASE("bytes behind the end, of an extension that was killed, are ignored and go with the next") {
    const Scratch folder;
    FilePlan plan;
    plan.tensors = {tensor("c", DType::f32, {10, 3})};
    plan.chunking = {.chunked = true, .chunk_bytes = 48, .gzip_level = 0};
    const std::vector<Bytes> values = values_of(plan);
    const formats::FormatTraits& format = formats::parse_format("hdf5");
    write_file(format, folder / "file", plan, values);
    const std::string before = slurp(folder / "file");
    spill(folder / "file", before + std::string(100000, 'z'));
    Bytes got(values[0].size());
    formats::open(folder / "file")->read(0, 0, got);
    CHECK(got == values[0]);
    FilePlan longer = plan;
    longer.tensors[0].shape[0] = 11;
    { const auto dropped = formats::grow(format, folder / "file", longer); }
    CHECK(slurp(folder / "file") == before);
  }
}
