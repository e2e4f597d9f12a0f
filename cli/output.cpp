#include "output.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cstdlib>
#include <memory>

#include "command.hpp"
#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc::cli {

void add_output_options(CLI::App& app, OutputOptions& o) {
  add_text(app, "-o,--output", o.output, "FILE", "where to write; '-' is standard output (one tensor, npy)");
  add_text(app, "--format", o.format, "NAME", "format, when the suffix does not say it");
  add_text(app, "--chunk", o.chunk, "BYTES", "hdf5: chunked storage with chunks near this size (1M when only --compress is given)");
  add_text(app, "--compress", o.compress, "gzip[:LEVEL]", "hdf5: compressed chunks with the shuffle filter (level 1 to 9, default 4)");
  app.add_flag("--yes", o.yes, "try even when the disk looks too small");
  add_text(app, "--block-bytes", o.block_bytes, "N", "")->group("");
}

const formats::FormatTraits& output_format(const OutputOptions& o, const std::string& command) {
  if (o.output.empty()) fail_usage(fmt::format("{} wants -o FILE (a suffix of 'posenc list formats'; '-' is standard output)", command));
  const formats::FormatTraits& format = !o.format.empty() ? formats::parse_format(o.format)
                                        : o.output == "-" ? formats::parse_format("npy")
                                                          : formats::format_of_suffix(o.output);
  if (o.output == "-" && !format.stdout_ok) fail_usage(fmt::format("{} cannot be written to standard output; npy can", format.name));
  return format;
}

FilePlan::Chunking chunking_of(const OutputOptions& o, const formats::FormatTraits& format) {
  FilePlan::Chunking chunking;
  if (o.chunk.empty() && o.compress.empty()) return chunking;
  if (!format.chunking) fail_usage(fmt::format("--{} is for hdf5; {} has no chunks", o.chunk.empty() ? "compress" : "chunk", format.name));
  chunking.chunked = true;
  if (!o.chunk.empty()) {
    chunking.chunk_bytes = parse_int(o.chunk, "--chunk", true);
    if (chunking.chunk_bytes < 1 || chunking.chunk_bytes > (std::int64_t{1} << 31))
      fail_usage(fmt::format("--chunk wants 1 to 2G bytes, got {}", o.chunk));
  }
  if (!o.compress.empty()) {
    const std::size_t colon = o.compress.find(':');
    if (o.compress.substr(0, colon) != "gzip") fail_usage(fmt::format("--compress wants gzip or gzip:LEVEL, got {}", quoted_word(o.compress)));
    const std::int64_t level = colon == std::string::npos ? 4 : parse_int(o.compress.substr(colon + 1), "--compress gzip level");
    if (level < 1 || level > 9) fail_usage(fmt::format("--compress gzip level must be in [1, 9], got {}", level));
    chunking.gzip_level = static_cast<int>(level);
  }
  return chunking;
}

void set_block_bytes(const OutputOptions& o, PipelineOptions& pipeline) {
  if (o.block_bytes.empty()) return;
  pipeline.block_bytes = parse_int(o.block_bytes, "--block-bytes", true);
  if (pipeline.block_bytes < 1 || pipeline.block_bytes > (std::int64_t{1} << 28)) fail_usage(fmt::format("--block-bytes wants 1 to 256M, got {}", o.block_bytes));
}

void check_space(const std::vector<PlannedFile>& files, const formats::FormatTraits& format, const OutputOptions& o, const std::string& instead) {
  std::uint64_t needed = 0;
  for (const PlannedFile& file : files) {
    if (file.path == "-" || file.plan.chunking.gzip_level > 0) return;
    needed += formats::file_size(format, file.plan);
  }
  if (is_stream(o)) return;  // a device or a FIFO takes what it takes
  // A link's target is what is written.
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(files.front().path.c_str(), nullptr), &std::free);
  const std::string path = real ? real.get() : files.front().path;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : (slash == 0 ? "/" : path.substr(0, slash));
  struct statvfs disk {};
  if (o.yes || ::statvfs(folder.c_str(), &disk) != 0) return;  // a missing folder is the writer's to report
  const std::uint64_t free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (needed > free_bytes)
    throw Error(Failure::system, fmt::format("{} would take {} and {} has {} free; {}, or give --yes to try", files.front().path, human_bytes(needed), folder,
                                             human_bytes(free_bytes), instead));
}

bool is_stream(const OutputOptions& o) {
  struct stat status {};
  return o.output == "-" || (::stat(o.output.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat one {}, other {};
  return a == b || (::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino);
}

}  // namespace posenc::cli
