// analyze: a question per table of a spec or reading of a config, put to every section of list.inc.
#include "posenc/analyze.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/fields.hpp"
#include "analyze/section.hpp"
#include "analyze/turning.hpp"
#include "context/encoding_of.hpp"
#include "posenc/error.hpp"
#include "posenc/positions.hpp"
#include "rescale/successor.hpp"

namespace posenc {

#define POSENC_SECTION(function) \
  namespace analyze_sections {   \
  std::optional<Section> function(const Question&); \
  }
#include "analyze/list.inc"
#undef POSENC_SECTION

namespace {

using namespace analyze_sections;

constexpr MakeSection all_sections[] = {
#define POSENC_SECTION(function) analyze_sections::function,
#include "analyze/list.inc"
#undef POSENC_SECTION
};

struct Length {
  std::optional<std::int64_t> positions;
  std::string from;
};

// The fields by which rules know the trained length.
Length trained_by_rule(const Encoding& encoding) {
  for (const std::string_view field : rescale::trained_fields)
    if (const auto n = field_count(encoding, field)) return {n, std::string(field)};
  return {};
}

// How many positions a table has.
Length of_table(const Encoding& encoding) {
  for (const FieldView& f : encoding.fields()) {
    if (!f.present || !f.group.empty()) continue;  // "length" is also a parameter of dynamic rules
    if (f.type == "positions" && f.name == "positions") {
      const double n = Positions::parse(f.value).length();
      if (n >= 1) return {static_cast<std::int64_t>(std::min(std::ceil(n), static_cast<double>(max_position))), "the table's positions"};
    }
    if (f.name == "key_length" || f.name == "length") return {field_count(encoding, f.name), "the table's " + f.name};
  }
  return {};
}

void check_context(const AnalysisOptions& options) {
  if (options.context && (*options.context < 1 || *options.context > max_position))
    fail_usage(fmt::format("context must be in [1, {}], got {}", max_position, *options.context));
}

// `declared`: what the config or the table says.
Question question(const Encoding& encoding, const Length& declared, const AnalysisOptions& options, DType dtype) {
  Question q{.encoding = encoding, .dtype = options.dtype.value_or(dtype), .explain = options.explain, .exhaustive = options.exhaustive};
  const Length rule = trained_by_rule(encoding);
  q.trained = rule.positions ? rule.positions : declared.positions;
  q.trained_from = rule.positions ? rule.from : declared.from;
  q.context = declared.positions;
  q.context_from = declared.from;
  if (options.context) {
    q.context = options.context;
    q.context_from = "asked for";
  } else if (q.trained && (!q.context || *q.context < *q.trained)) {
    q.context = q.trained;  // a table shorter than what its rule was made for says nothing about the context
    q.context_from = q.trained_from;
  }
  return q;
}

Subject subject(const std::string& layer_type, Question q) {
  Subject out{layer_type, std::string(q.encoding.name()), {}};
  const auto turning = turning_of(q);
  if (turning) q.turning = &*turning;
  for (const MakeSection make : all_sections)
    if (auto section = make(q)) out.sections.push_back(std::move(*section));
  return out;
}

std::string who(const std::string& layer_type) { return layer_type.empty() ? "" : layer_type + ": "; }

void remark_silence(Analysis& out, const AnalysisOptions& options) {
  for (const Subject& s : out.subjects)
    if (s.sections.empty())
      out.remarks.push_back(fmt::format("{}nothing to say about {}{}", who(s.layer_type), s.encoding,
                                        s.encoding == "mrope" && !options.context ? " without a context; say --context" : ""));
}

}  // namespace

Analysis analyze(const Spec& spec, const AnalysisOptions& options) {
  check_context(options);
  Analysis out;
  for (const Table& table : spec.tables) {
    table.encoding->check();
    out.subjects.push_back(subject(table.name, question(*table.encoding, of_table(*table.encoding), options, spec.dtype)));
  }
  remark_silence(out, options);
  return out;
}

Analysis analyze(const ConfigReading& config, const AnalysisOptions& options) {
  check_context(options);
  Analysis out;
  for (const std::string& warning : config.warnings) out.remarks.push_back("warning: " + warning);
  for (const Reading& reading : config.readings) {
    for (const std::string& note : reading.notes) out.remarks.push_back(who(reading.layer_type) + note);
    if (reading.encoding == "none" || !reading.open.empty()) {  // no positions, or sizes that no config tells
      out.subjects.push_back({reading.layer_type, reading.encoding, {}});
      continue;
    }
    const auto encoding = config::encoding_of(reading);
    Question q = question(*encoding, {reading.context, reading.context_origin}, options, DType::f32);
    q.reading = &reading;
    out.subjects.push_back(subject(reading.layer_type, q));
  }
  remark_silence(out, options);
  return out;
}

}  // namespace posenc
