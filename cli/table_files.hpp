// From a spec to the files that hold its tables: the same for every command that makes tables.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "output.hpp"
#include "posenc/plan.hpp"

namespace posenc::cli {

struct TableFiles {
  OutputOptions out;
  bool stack = false, print_spec = false;
  std::optional<ComplexForm> complex_form{};  ///< absent: what suits the format
  std::vector<std::string> inputs{};          ///< files that are read and must not be written over
};
/// -o and what belongs to it, --stack and --print-spec.
void add_table_file_options(CLI::App& app, TableFiles& options);

/// Throws usage when `path` is one of the inputs, under whatever name.
void check_input(const TableFiles& options, const std::string& path);
/// Plans, writes and reports; `command` is for messages. Nothing is left behind when it throws.
void write_tables(const Spec& spec, const TableFiles& options, const Common& common, const std::string& command);
/// One file whose values `fill` gives to the writer: room, writing, progress, report.
void write_file(const PlannedFile& file, const formats::FormatTraits& format, const OutputOptions& out, const Common& common,
                const std::string& command, const std::function<void(Writer&, const PipelineOptions&)>& fill);
/// The spec on standard output, once it is known that its tables can be made.
void print_spec(const Spec& spec);

}  // namespace posenc::cli
