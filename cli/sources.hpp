// Where a spec comes from: the flags of an encoding, a model's config, a saved spec, or a file that carries one.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "field_options.hpp"
#include "posenc/io.hpp"
#include "posenc/plan.hpp"

namespace posenc::cli {

struct SpecOptions {
  Given given;
  std::string config, spec, preset, dtype, index_dtype, arithmetic, complex_form;
  std::vector<std::string> tensors;
};
void add_spec_options(CLI::App& app, SpecOptions& options, const std::vector<std::string>& words);

/// The spec that the options describe, or nothing when they name no source. What is said on the way (values taken from a
/// config, warnings) goes into `remarks`.
std::optional<Spec> spec_from(const SpecOptions& options, std::vector<std::string>& remarks);
/// The spec that a file carries; nothing when it has none.
std::optional<Spec> spec_in(const Reader& reader, const std::string& path);
/// --dtype, --index-dtype, --arithmetic, --for, --tensor.
void override_storage(Spec& spec, const SpecOptions& options);
/// An encoding that is named beside a spec must be the spec's.
void check_encoding(const Spec& spec, const Given& given, const std::string& path);
/// How complex tensors are stored; nothing when neither --complex nor a preset says.
std::optional<ComplexForm> complex_form_of(const SpecOptions& options);

/// A whole file, or standard input for "-".
std::string read_text(const std::string& path);
/// config.json itself, or the one in a folder.
std::string config_path(const std::string& path);
/// Whether a file is to be read as JSON (by its name, *.json, or since it begins as an object or a list does), and whether such a text
/// says that it is a spec; it is a config otherwise.
bool starts_like_json(const std::string& path);
bool is_spec(const std::string& text);

}  // namespace posenc::cli
