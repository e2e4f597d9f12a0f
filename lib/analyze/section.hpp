// What every section of a report gets and gives. One section = one file; list.inc names them in the order of the report.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "posenc/analyze.hpp"
#include "posenc/encoding.hpp"

namespace posenc::analyze_sections {

struct Turning;  // turning.hpp

/// One encoding and what is asked about it, understood once for all sections.
struct Question {
  const Encoding& encoding;
  const Reading* reading = nullptr;     ///< where the question comes from a config
  std::optional<std::int64_t> trained{};  ///< positions that the model was trained for, before any rescaling
  std::optional<std::int64_t> context{};  ///< positions asked for, or declared
  DType dtype = DType::f32;
  bool explain = false;
  bool exhaustive = false;
  const Turning* turning = nullptr;  ///< where pairs turn with the position: their frequencies at the context
  std::string trained_from{}, context_from{};  ///< where the two lengths come from, in words
};

/// Nothing where the section has nothing to say about this encoding.
using MakeSection = std::optional<Section> (*)(const Question&);

}  // namespace posenc::analyze_sections
