// What a spec or a config means: wavelengths, decay, precision, settings in other programs' words. Pure: no file is opened
// here and nothing is printed; a report is data, which the command line lays out as text or JSON.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "posenc/config.hpp"
#include "posenc/dtype.hpp"
#include "posenc/spec.hpp"

namespace posenc {

/// Nothing, yes or no, a count, a number, words.
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// One number of a report. `key` is its name in JSON and never changes; `label` is what people read.
struct Figure {
  std::string key, label;
  Cell value;
  std::string unit;  ///< "" when it has none
};
struct Column {
  std::string key, label, unit;
};
/// Rows of equal length, one cell per column.
struct Grid {
  std::string key, label;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};
/// One part of a report.
struct Section {
  std::string key, title;
  std::vector<Figure> figures{};
  std::vector<Grid> grids{};
  std::vector<std::string> findings{};  ///< sentences to act on, the most important first
};
/// All about one table of a spec, or one reading of a config.
struct Subject {
  std::string layer_type;  ///< "" when there is one
  std::string encoding;
  std::vector<Section> sections;
};
struct Analysis {
  std::vector<Subject> subjects;
  std::vector<std::string> remarks;  ///< warnings of the config reader, what was left out
};

struct AnalysisOptions {
  std::optional<std::int64_t> context{};  ///< positions asked for; absent: what the spec or config declares
  std::optional<DType> dtype{};           ///< the stored type that precision is about; absent: the spec's, f32 for a config
  bool explain = false;                   ///< adds the settings in the words of other programs
  bool exhaustive = false;                ///< the search of the smallest base goes to its end, however long that takes
};

[[nodiscard]] Analysis analyze(const Spec& spec, const AnalysisOptions& options);
[[nodiscard]] Analysis analyze(const ConfigReading& config, const AnalysisOptions& options);

}  // namespace posenc
