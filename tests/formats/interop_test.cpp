// Files of every format, loaded by NumPy, h5py and a reader of safetensors written from its specification.
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "support.hpp"

#ifndef POSENC_PYTHON
#define POSENC_PYTHON "python3"
#endif

using namespace posenc;
using namespace posenc::test;

namespace {

// One long enough for chunks and threads, one of each kind, one with the named axes of a real table.
FilePlan real_plan(const formats::FormatTraits& format) {
  FilePlan plan;
  StoredTensor cos = tensor("cos", DType::f32, {70, 32}), sin = tensor("sin", DType::f32, {70, 32});
  cos.axis_names = sin.axis_names = {"position", "pair"};
  plan.tensors = {cos};
  if (format.many_tensors) {
    StoredTensor bias = tensor("bias", DType::f64, {4, 9, 10});
    bias.axis_names = {"head", "query", "key"};
    StoredTensor ids = tensor("position", DType::i64, {70});  // a tensor named like an axis
    ids.axis_names = {"position"};
    StoredTensor other = tensor("other", DType::i32, {3});  // another size of the same axis
    other.axis_names = {"position"};
    plan.tensors.insert(plan.tensors.end(), {sin, bias, ids, other});
  }
  return plan;
}

}  // namespace

TEST_SUITE("formats") {
  TEST_CASE("numpy, h5py and the safetensors specification read the same values") {
    const std::string probe = fmt::format("{} -c 'import numpy, h5py' 2>/dev/null", POSENC_PYTHON);
    if (std::system(probe.c_str()) != 0) {
      MESSAGE("no numpy or h5py: not tried");
      return;
    }
    const Scratch folder;
    nlohmann::json files = nlohmann::json::array();
    int number = 0;
    for (const formats::FormatTraits& format : formats::formats()) {
      std::vector<Case> all = cases(format);
      all.push_back({"real", real_plan(format)});
      if (format.chunking) {
        all.push_back({"real packed", real_plan(format)});
        all.back().plan.chunking = {.chunked = true, .chunk_bytes = 2048, .gzip_level = 4};
      }
      for (Case& c : all) {
        c.plan.metadata = {{"posenc_spec", R"({"encoding":"rope","base":10000.0})"}, {"note", "\xCE\xB8 and \"quotes\""}};
        if (number % 7 == 0) c.plan.metadata["long"] = std::string(200000, 'x');
        if (number % 5 == 0) c.plan.metadata.clear();
        const std::vector<Bytes> values = values_of(c.plan);
        const std::string name = fmt::format("{}{}", number, format.suffixes[0]);
        write_file(format, folder / name, c.plan, values, 2, 3);
        nlohmann::json tensors = nlohmann::json::array();
        for (std::size_t t = 0; t < values.size(); ++t) {
          const std::string raw = fmt::format("{}.{}.raw", number, t);
          spill(folder / raw, std::string_view(reinterpret_cast<const char*>(values[t].data()), values[t].size()));
          const StoredTensor& s = c.plan.tensors[t];
          tensors.push_back({{"name", s.name}, {"dtype", name_of(s.dtype)}, {"shape", s.shape}, {"complex", s.is_complex},
                             {"axes", s.axis_names}, {"raw", raw}});
        }
        files.push_back({{"file", name}, {"format", format.name}, {"metadata", c.plan.metadata}, {"tensors", tensors}});
        ++number;
      }
    }
    spill(folder / "expected.json", nlohmann::json{{"files", files}}.dump());
    const std::string log = folder / "log";
    const std::string command = fmt::format("{} {}/interop/check_formats.py {} >{} 2>&1", POSENC_PYTHON, POSENC_TEST_DATA, folder.path().string(), log);
    const int status = std::system(command.c_str());
    const std::string said = slurp(log);
    std::string failures;
    for (std::size_t at = 0; at < said.size();) {
      const std::size_t end = std::min(said.find('\n', at), said.size());
      if (said.compare(at, 3, "ok ") != 0) failures += said.substr(at, end - at) + "\n";
      at = end + 1;
    }
    CAPTURE(failures);
    CHECK(status == 0);
  }
}
