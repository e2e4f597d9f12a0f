// What is JSON and what is wrong with it: by every command, from every place that text comes from.
#include <hdf5.h>

#include "cli/process.hpp"

namespace posenc::test {
namespace {

using namespace std::string_literals;

const std::string llama = R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 128})";

// Every way to give a file, or its folder, to a command that takes a config.
std::vector<Words> readers(const std::string& path) {
  std::vector<Words> calls;
  for (const std::string& given : {path, fs::path(path).parent_path().string()}) {
    calls.push_back({"inspect", given});
    calls.push_back({"inspect", given, "--config-dialect", "5"});
    calls.push_back({"analyze", given});
    calls.push_back({"rescale", given, "--method", "linear", "--factor", "2", "-o", "x.json"});
    calls.push_back({"rescale", given, "--method", "linear", "--factor", "2", "-o", "x.npz"});
    calls.push_back({"generate", "--config", given, "-o", "x.npz"});
  }
  return calls;
}

// Replaces the root's attribute by a text of fixed length that NULs pad, as NumPy's bytes are stored.
void put_attribute(const std::string& path, const std::string& name, const std::string& value) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  REQUIRE((file >= 0 && H5Tset_size(type, value.size()) >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0));
  REQUIRE(H5Adelete(file, name.c_str()) >= 0);
  const hid_t attribute = H5Acreate2(file, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE((attribute >= 0 && H5Awrite(attribute, type, value.data()) >= 0));
  H5Aclose(attribute), H5Sclose(space), H5Tclose(type);
  REQUIRE(H5Fclose(file) >= 0);
}

}  // namespace

TEST_CASE("a config with a byte-order mark is read by every command") {
  const Scratch scratch;
  spill(scratch / "config.json", "\xEF\xBB\xBF" + llama);
  for (Words words : readers(scratch / "config.json")) {
    const Scratch results;
    CAPTURE(joined(words));
    const Outcome outcome = run(words, {.folder = results.path()});
    CHECK_MESSAGE(outcome.status == 0, outcome.err);
  }
  CHECK(mentions(done({"inspect", scratch / "config.json"}).out, "byte-order mark"));
  // The mark is of the file, not of its name.
  fs::rename(scratch / "config.json", scratch / "config.txt");
  CHECK(mentions(done({"inspect", scratch / "config.txt"}).out, "config of llama"));
}

TEST_CASE("a config that is none: every command says the same, and what is wrong") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "is empty"},          {" \n\t ", "is empty"},           {"\xEF\xBB\xBF", "is empty"},        {"[]", "holds [], not a JSON object"},
      {"null", "holds null"},    {"17", "holds 17"},               {"// made by hand\n" + llama, "a comment"}, {"\xFF\xFE{\0}\0"s, "UTF-16"},
      {"{\0}\0"s, "UTF-16"},     {"\x89HDF\r\n\x1A\n", "line 1 column 1"}, {"{\"a\": 1,}", "a comma too many"}, {llama + '\0', "a NUL byte"},
      {llama + "\0garbage"s, "a NUL byte"}};
  for (const auto& [text, words] : cases) {
    const Scratch scratch;
    spill(scratch / "config.json", text);
    std::string first;
    for (const Words& call : readers(scratch / "config.json")) {
      std::string line = refused(call, 3);
      CHECK_MESSAGE((mentions(line, words) && mentions(line, scratch.path().string())), line);
      CHECK_MESSAGE(!mentions(line, "first bytes"), line);
      // A folder is called by its own name where its config becomes another.
      if (const std::size_t at = line.find("/config.json"); at != std::string::npos) line.erase(at, std::string_view("/config.json").size());
      if (first.empty()) first = line;
      CHECK(line == first);
    }
  }
}

TEST_CASE("a file of arrays is none of JSON's, whatever its first byte") {
  const Scratch scratch;
  // The header of safetensors begins with its length: 0x5B is '[' and 0x7B is '{'.
  for (const std::size_t length : {std::size_t{0x5B}, std::size_t{0x7B}}) {
    std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
    header.resize(length, ' ');
    spill(scratch / "x.safetensors", std::string(1, static_cast<char>(length)) + std::string(7, '\0') + header + "x");
    CHECK(mentions(done({"inspect", scratch / "x.safetensors"}).out, "safetensors"));
  }
}

TEST_CASE("a NUL byte ends no JSON, wherever it comes from") {
  const Scratch scratch;
  const Setup here{.folder = scratch.path()};
  for (const char* name : {"x.h5", "x.npy", "x.safetensors"}) done({"generate", "rope", "--positions", "4", "--tensor", "cos", "-o", name}, here);
  const std::string spec = done({"generate", "rope", "--positions", "4", "--print-spec"}).out;
  const auto says = [&](const Words& words) {
    const Outcome outcome = run(words, here);
    CAPTURE(joined(words));
    CHECK(outcome.status == 3);
    CHECK_MESSAGE((mentions(outcome.err, "a NUL byte") && mentions(outcome.err, "line ") && outcome.error_lines() == 1), outcome.err);
  };
  spill(scratch / "spec.json", spec + "\0garbage"s);
  says({"generate", "--spec", "spec.json", "-o", "y.npz"});
  says({"inspect", "spec.json"});
  says({"analyze", "spec.json"});
  const std::string sidecar = slurp(scratch / "x.npy.json");
  spill(scratch / "x.npy.json", sidecar + "\0garbage"s);
  says({"inspect", "x.npy"});
  says({"verify", "x.npy"});
  std::string tensors = slurp(scratch / "x.safetensors");
  const std::size_t blank = tensors.find_last_of('}', 8 + static_cast<unsigned char>(tensors[0]) + 256 * static_cast<unsigned char>(tensors[1]) - 1);
  tensors[blank] = '\0';
  spill(scratch / "x.safetensors", tensors);
  const Outcome header = run({"inspect", "x.safetensors"}, here);
  CHECK_MESSAGE((header.status == 3 && (mentions(header.err, "a NUL byte") || mentions(header.err, "zero bytes"))), header.err);
  put_attribute(scratch / "x.h5", "posenc_spec", spec + "\0garbage"s);
  says({"inspect", "x.h5"});
  says({"verify", "x.h5"});
  put_attribute(scratch / "x.h5", "posenc_spec", spec + std::string(5, '\0'));  // padding
  CHECK(mentions(done({"inspect", "x.h5"}, here).out, "made by posenc"));
}

}  // namespace posenc::test
