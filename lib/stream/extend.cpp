#include "posenc/extend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "posenc/error.hpp"
#include "posenc/positions.hpp"
#include "posenc/text.hpp"
#include "stream/block_source.hpp"

namespace posenc {
namespace {

constexpr const char* instead = "make the longer table anew with posenc generate";

std::int64_t rows_of(const StoredTensor& tensor) { return tensor.shape.empty() ? 1 : tensor.shape[0]; }

// As `a` but for the size of the first axis.
bool same_but_rows(const StoredTensor& a, const StoredTensor& b) {
  return a.name == b.name && a.dtype == b.dtype && a.is_complex == b.is_complex && a.axis_names == b.axis_names && a.shape.size() == b.shape.size() &&
         std::equal(a.shape.begin() + (a.shape.empty() ? 0 : 1), a.shape.end(), b.shape.begin() + (b.shape.empty() ? 0 : 1));
}

// The planned tensors in the complex form that the file has, and where they are in it.
struct InFile {
  std::vector<PlannedTensor> tensors;
  std::vector<std::size_t> sources;
  ComplexForm form = ComplexForm::pair;
};

std::optional<InFile> find(const Spec& spec, const Reader& reader, ComplexForm form) {
  InFile found;
  found.form = form;
  try {
    found.tensors = plan(spec, form);
  } catch (const Error&) {
    if (form == ComplexForm::native) return std::nullopt;  // this dtype has no complex elements
    throw;
  }
  const std::vector<StoredTensor>& stored = reader.tensors();
  if (found.tensors.size() != stored.size()) return std::nullopt;
  for (const PlannedTensor& p : found.tensors) {
    std::size_t at = stored.size();
    for (std::size_t i = 0; i < stored.size(); ++i)
      if (stored.size() == 1 || stored[i].name == p.stored.name) at = i;
    if (at == stored.size() || stored[at].shape != p.stored.shape || stored[at].dtype != p.stored.dtype || stored[at].is_complex != p.stored.is_complex)
      return std::nullopt;
    found.sources.push_back(at);
  }
  return found;
}

InFile find(const Spec& spec, const Reader& reader, const std::string& what) {
  for (const ComplexForm form : {ComplexForm::split, ComplexForm::pair, ComplexForm::native})
    if (std::optional<InFile> found = find(spec, reader, form)) return *found;
  throw Error(Failure::difference, fmt::format("{} does not hold the tensors of the spec it carries; see posenc verify {}", what, what));
}

// What is asked for: `count` positions, or those of `range`.
struct Wanted {
  std::int64_t count;
  std::optional<Positions> range;
};

Wanted parse(std::string_view text) {
  const Positions positions = Positions::parse(text);
  if (!positions.is_range()) fail_usage(fmt::format("--positions wants a number or a range to extend to, got {}", quoted_word(text)));
  if (positions.start() == 0 && positions.step() == 1) return {positions.size(), std::nullopt};
  return {positions.size(), positions};
}

// A parameter of an encoding that may say how many positions there are: how many now, and as text as many as wanted and one more.
struct Candidate {
  std::string field;
  std::int64_t count;
  std::string wanted, one_more;
};

std::vector<Candidate> candidates(const Encoding& encoding, const Wanted& wanted) {
  std::vector<Candidate> out;
  const std::vector<FieldView> fields = encoding.fields();
  for (const FieldView& field : fields) {
    if (field.type != "positions" || !field.present) continue;
    const Positions now = Positions::parse(field.value);
    if (!now.is_range()) fail_usage(fmt::format("its {} are a list, which has no next one; {}", field.name, instead));
    const auto of = [&](std::int64_t count) { return Positions::range(now.start(), now.start() + count * now.step(), now.step()); };
    const Positions then = wanted.range.value_or(of(wanted.count));
    if (now.size() > 0 && (then.start() != now.start() || then.step() != now.step()))
      fail_usage(fmt::format("its {} are {}, which {} does not continue", field.name, now.text(), then.text()));
    out.push_back({field.name, now.size(), then.text(), of(now.size() + 1).text()});
  }
  if (!out.empty()) return out;
  if (wanted.range) fail_usage(fmt::format("{} counts its positions from 0; --positions wants a number", encoding.name()));
  for (const FieldView& field : fields) {
    if (field.type != "integer" || !field.present || field.unit != "positions") continue;
    const std::int64_t now = parse_int(field.value, field.name);
    out.push_back({field.name, now, print(wanted.count), print(now + 1)});
  }
  return out;
}

// How a longer plan differs from the old one. `by`: rows that each growing tensor has to gain.
struct Change {
  bool grown = false;
  std::string why_not = "";  // why it is not the old one with more rows
};

Change change_of(const std::vector<PlannedTensor>& before, const std::vector<PlannedTensor>& after, std::int64_t by) {
  if (before.size() != after.size()) return {true, "there would be other tensors"};
  Change change;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const StoredTensor &a = before[i].stored, &b = after[i].stored;
    if (a.shape == b.shape && same_but_rows(a, b)) continue;
    change.grown = true;
    for (std::size_t axis = 1; axis < std::min(a.shape.size(), b.shape.size()); ++axis)
      if (a.shape[axis] != b.shape[axis])
        return {true, fmt::format("{} would grow along its axis {}, between the values that are there", a.name, b.axis_names[axis])};
    if (!same_but_rows(a, b) || rows_of(b) - rows_of(a) != by) return {true, fmt::format("{} would not get one row for each of them", a.name)};
  }
  return change;
}

// The plan of one table alone, whatever the others are.
std::vector<PlannedTensor> plan_of(const Spec& spec, std::size_t table, std::shared_ptr<const Encoding> encoding, ComplexForm form) {
  Spec changed = spec;
  changed.tables[table].encoding = std::move(encoding);
  std::vector<PlannedTensor> all = plan(changed, form);
  std::erase_if(all, [&](const PlannedTensor& p) { return p.table != table; });
  return all;
}

// The table's encoding with the wanted number of positions; itself when it has them.
std::shared_ptr<const Encoding> lengthened(const Spec& spec, std::size_t table, const Wanted& wanted, ComplexForm form) {
  const std::shared_ptr<const Encoding>& encoding = spec.tables[table].encoding;
  const std::vector<PlannedTensor> before = plan_of(spec, table, encoding, form);
  std::string refusal, failure;
  for (const Candidate& c : candidates(*encoding, wanted)) {
    // Where nothing is to be added, one more position tells whether this parameter counts the rows.
    const bool more = wanted.count > c.count;
    const std::shared_ptr<Encoding> changed = encoding->clone();
    Change change;
    try {
      changed->set(c.field, more ? c.wanted : c.one_more);
      changed->check();
      change = change_of(before, plan_of(spec, table, changed, form), more ? wanted.count - c.count : 1);
    } catch (const Error& e) {
      if (failure.empty()) failure = e.what();
      continue;
    }
    if (!change.grown) continue;
    if (change.why_not.empty() && more) return changed;
    if (change.why_not.empty() && wanted.count == c.count) return encoding;
    if (!refusal.empty()) continue;
    refusal = change.why_not.empty() ? fmt::format("has {} positions already, and extend does not cut a table to {}", c.count, wanted.count)
                                     : fmt::format("a larger {} means more than new rows at the end: {}; {}", c.field, change.why_not, instead);
  }
  if (refusal.empty()) refusal = failure;
  if (refusal.empty()) refusal = fmt::format("{} has no parameter that counts rows by position; {}", encoding->name(), instead);
  fail_usage(refusal);
}

struct Piece {
  std::int64_t first, count;
};

// Which values are compared: all of a small tensor; of a large one the first rows, those around powers of two, the last, and some between.
std::vector<Piece> probes(const StoredTensor& tensor) {
  constexpr std::int64_t all = 1 << 16, widest = 1024, between = 61;
  const std::int64_t values = tensor.values();
  if (values <= all) return values == 0 ? std::vector<Piece>{} : std::vector<Piece>{{0, values}};
  const std::int64_t rows = rows_of(tensor), width = values / rows;
  std::vector<std::int64_t> chosen{0, 1, 2, rows - 2, rows - 1};
  for (std::int64_t power = 4; power < rows && power > 0; power *= 2) chosen.insert(chosen.end(), {power - 1, power});
  for (std::int64_t k = 1; k <= between; ++k) chosen.push_back(rows / (between + 1) * k);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  std::vector<Piece> pieces;
  for (const std::int64_t row : chosen) {
    if (row < 0 || row >= rows) continue;
    const std::int64_t count = std::min(width, widest);
    for (const std::int64_t at : {std::int64_t{0}, width / 2, width - count})
      if (at + count <= width && (at == 0 || width > widest)) pieces.push_back({row * width + at, count});
  }
  return pieces;
}

void compare_old_rows(const Spec& spec, const Extension& e, const Reader& reader, const std::string& what) {
  const Evaluators old_evaluators(spec), new_evaluators(e.spec);
  BlockSource old_source(old_evaluators), new_source(new_evaluators);
  std::vector<std::byte> old_bytes, new_bytes, file_bytes;
  for (std::size_t i = 0; i < e.before.size(); ++i) {
    const StoredTensor& tensor = e.before[i].stored;
    const std::size_t size = size_of(tensor.dtype);
    for (const Piece& piece : probes(tensor)) {
      const std::size_t bytes = static_cast<std::size_t>(piece.count) * size;
      old_bytes.resize(bytes);
      new_bytes.resize(bytes);
      file_bytes.resize(bytes);
      old_source.produce(e.before[i], piece.first, piece.count, old_bytes.data());
      new_source.produce(e.after[i], piece.first, piece.count, new_bytes.data());
      reader.read(e.sources[i], piece.first, file_bytes);
      const auto row_of = [&](const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
        const std::size_t at = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
        return (piece.first + static_cast<std::int64_t>(at / size)) / std::max<std::int64_t>(1, tensor.values() / rows_of(tensor));
      };
      if (file_bytes != old_bytes)
        throw Error(Failure::difference, fmt::format("{}: row {} of {} is not what the spec says; see posenc verify {}", what, row_of(file_bytes, old_bytes), tensor.name, what));
      if (new_bytes != old_bytes)
        fail_usage(fmt::format("{}: row {} of {} would change, for the values depend on the number of positions; {}, or rescale it", what, row_of(new_bytes, old_bytes), tensor.name, instead));
    }
  }
}

}  // namespace

bool Extension::grows() const {
  return !std::equal(before.begin(), before.end(), after.begin(), [](const PlannedTensor& a, const PlannedTensor& b) { return a.stored.shape == b.stored.shape; });
}

Extension extend(const Spec& spec, const Reader& reader, std::string_view positions, const std::string& what) {
  spec.check();
  const Wanted wanted = parse(positions);
  InFile stored = find(spec, reader, what);
  Extension e{spec, std::move(stored.tensors), {}, std::move(stored.sources)};
  for (std::size_t t = 0; t < spec.tables.size(); ++t) try {
      if (std::none_of(e.before.begin(), e.before.end(), [&](const PlannedTensor& p) { return p.table == t; })) continue;  // left out with --tensor
      e.spec.tables[t].encoding = lengthened(spec, t, wanted, stored.form);
    } catch (const Error& error) {
      throw Error(error.failure(), fmt::format("{}: {}{}", what, spec.tables[t].name.empty() ? "" : spec.tables[t].name + ": ", error.what()));
    }
  e.spec.check();
  e.after = plan(e.spec, stored.form);
  compare_old_rows(spec, e, reader, what);
  return e;
}

}  // namespace posenc
