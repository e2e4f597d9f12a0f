// Where results go: -o and what belongs to it, the same for every command that writes files.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "posenc/formats.hpp"
#include "posenc/pipeline.hpp"

namespace posenc::cli {

struct OutputOptions {
  std::string output, format, chunk, compress, block_bytes;
  bool yes = false;
};
void add_output_options(CLI::App& app, OutputOptions& options);

/// By --format, else by the suffix; npy for standard output. Throws usage where -o is missing or the format cannot go there.
const formats::FormatTraits& output_format(const OutputOptions& options, const std::string& command);
FilePlan::Chunking chunking_of(const OutputOptions& options, const formats::FormatTraits& format);
/// --block-bytes into the pipeline's options.
void set_block_bytes(const OutputOptions& options, PipelineOptions& pipeline);

/// One output file and what it holds.
struct PlannedFile {
  std::string path;
  FilePlan plan;
};
/// Refuses what the disk cannot hold before a byte is written; `instead` says what would be smaller.
void check_space(const std::vector<PlannedFile>& files, const formats::FormatTraits& format, const OutputOptions& options, const std::string& instead);
/// What goes to standard output, a FIFO or a device is the values and nothing else: no report.
bool is_stream(const OutputOptions& options);
/// Whether two paths lead to one file, under whatever names; files that are not there are equal by name only.
bool same_file(const std::string& a, const std::string& b);

}  // namespace posenc::cli
