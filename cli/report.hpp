// Reports on stdout: text for people, or JSON with a stable shape (README, "JSON reports").
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "posenc/io.hpp"
#include "posenc/pipeline.hpp"

namespace posenc::cli {

void add_common(CLI::App& app, Common& common);
PipelineOptions pipeline_options(const Common& common);

/// "f32 [position 4096, pair 64]"
std::string form_text(const StoredTensor& tensor);
/// "3,17"
std::string index_text(const std::vector<std::int64_t>& index);

struct FileReport {
  std::string path, format;
  std::vector<StoredTensor> tensors;
};
/// JSON as text; bytes that are not UTF-8 (file names, names inside files) become replacement characters.
std::string json_text(const nlohmann::ordered_json& json);
/// A remark on stderr; nobody there to hear it is no failure.
void say(const std::string& line);

void report_written(const std::vector<FileReport>& files, bool json, bool quiet);

struct VerifyReport {
  std::string file, format, against;  ///< against: what it was compared with
  std::vector<std::string> problems;  ///< tensors that are missing, of another shape or dtype, or unknown
  std::vector<LawVerdict> laws;
  std::vector<TensorVerdict> tensors;
  [[nodiscard]] bool holds() const;
};
void report_verify(const VerifyReport& report, bool json, bool quiet);

}  // namespace posenc::cli
