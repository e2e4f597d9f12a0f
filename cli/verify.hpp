// What `verify` does, for commands that must know first whether a table is what it is said to be.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "posenc/plan.hpp"
#include "report.hpp"

namespace posenc::cli {

/// Opens a file of arrays; one written with --stack comes apart.
std::unique_ptr<Reader> open_array_file(const std::string& path);

/// Which stored tensor (sources) is which planned one (tensors): by name, else a single stored one by shape.
struct Matching {
  std::vector<PlannedTensor> tensors;
  std::vector<std::size_t> sources;
};
/// `whole`: the file must hold all of the spec and nothing else. What does not match becomes problems of the report; a foreign
/// table is judged in its own dtype and, unless `asked` says otherwise, in the complex form that it has.
Matching match_tensors(const Spec& spec, const Reader& reader, std::optional<ComplexForm> asked, bool whole, VerifyReport& report);
/// Laws and every value, into the report.
void check_values(const Spec& spec, const Reader& reader, const Matching& matching, const PipelineOptions& options, VerifyReport& report);

}  // namespace posenc::cli
