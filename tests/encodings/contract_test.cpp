// What every encoding owes, looping over the list: nothing here knows one by name. Samples are the defaults under every
// value of every choice; parameters that a choice makes necessary are supplied as the refusal asks for them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "encodings/memory_file.hpp"
#include "posenc/array.hpp"
#include "posenc/error.hpp"
#include "posenc/pipeline.hpp"
#include "posenc/spec.hpp"

using namespace posenc;
using testing_support::generated;
using testing_support::MemoryFile;

namespace {

const DType float_dtypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16};
constexpr std::int64_t largest = 20000;  // values of a sample; larger ones are shrunk or looked at through windows

std::int64_t total_values(const Encoding& e) {
  std::int64_t n = 0;
  for (const Tensor& t : e.tensors()) n += t.elements();
  return n;
}

// An array of the shape that a refusal names: "query wants shape [2, any], got nothing". Any size is 6; the values differ.
std::string array_for(const std::string& message) {
  const std::size_t open = message.find('['), close = message.find(']', open);
  if (open == std::string::npos || close == std::string::npos) return "";
  Array array;
  std::istringstream sizes(message.substr(open + 1, close - open - 1));
  std::int64_t count = 1;
  for (std::string size; std::getline(sizes >> std::ws, size, ',');) {
    array.shape.push_back(size == "any" ? 6 : std::stoll(size));
    count *= array.shape.back();
  }
  for (std::int64_t i = 0; i < count; ++i) array.values.push_back(static_cast<double>(7 * i % 11 - 5) / 4);
  return array.text();
}

// A value that a field may well take.
std::string candidate(const FieldView& f, const std::string& message) {
  if (f.type == "array") return message.starts_with(f.name + " wants shape") ? array_for(message) : f.value;
  if (f.type == "list") {
    std::string text = "1.5";
    for (int i = 1; i < 64; ++i) text += ",1.5";
    return text;
  }
  if (f.type == "real") return "2";
  if (f.type == "integer") return "64";
  return f.value;
}

// Makes check() pass by setting what its message names; false when that does not help.
bool satisfied(Encoding& e) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    try {
      e.check();
      return true;
    } catch (const Error& error) {
      REQUIRE(error.failure() == Failure::usage);
      const std::string message = error.what();
      bool changed = false;
      for (const FieldView& f : e.fields())
        if (!f.present && message.find(f.name) != std::string::npos && f.type != "choice") {
          try {
            e.set(f.name, candidate(f, message));
            changed = true;
          } catch (const Error&) {
          }
        }
      if (!changed) return false;
    }
  }
  return false;
}

// Fewer positions, and smaller counts where a sample would be large.
void shrink(std::unique_ptr<Encoding>& e) {
  for (const FieldView& f : e->fields())
    if (f.type == "positions" && f.present) e->set(f.name, "0:70");
  if (!satisfied(*e)) return;
  for (const FieldView& f : e->fields()) {
    if (total_values(*e) <= largest) return;
    if (f.type != "integer" || !f.present || std::stoll(f.value) <= 64) continue;
    auto smaller = e->clone();
    smaller->set(f.name, "48");
    if (satisfied(*smaller)) e = std::move(smaller);
  }
}

struct Sample {
  std::string what;
  std::unique_ptr<Encoding> encoding;
};

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const EncodingEntry& entry : encodings()) {
    const auto add = [&](std::string what, std::unique_ptr<Encoding> e) {
      try {
        shrink(e);
        if (satisfied(*e)) out.push_back({std::string(entry.name) + " " + what, std::move(e)});
      } catch (const Error&) {
      }
    };
    add("default", entry.make());
    std::vector<FieldView> fields = entry.make()->all_fields();
    for (const FieldView& f : fields)
      for (const auto& [choice, help] : f.choices) {
        auto e = entry.make();
        try {
          if (!f.group.empty()) e->set("method", f.group);
          e->set(f.name, choice);
        } catch (const Error&) {
          continue;
        }
        add(f.name + "=" + choice, std::move(e));
      }
  }
  return out;
}

Spec spec_of(const Encoding& e, DType dtype) {
  Spec spec;
  spec.tables.push_back({"", std::shared_ptr<const Encoding>(e.clone())});
  spec.dtype = dtype;
  return spec;
}

std::vector<std::size_t> identity(std::size_t n) {
  std::vector<std::size_t> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = i;
  return out;
}

std::vector<std::int64_t> unravel(std::int64_t flat, const Tensor& t) {
  std::vector<std::int64_t> index(t.axes.size());
  for (std::size_t i = t.axes.size(); i-- > 0;) {
    index[i] = flat % t.axes[i].size;
    flat /= t.axes[i].size;
  }
  return index;
}

}  // namespace

TEST_CASE("every choice of every encoding gives a sample") {
  const auto all = samples();
  std::size_t choices = 0, reached = 0;
  std::string missed;
  for (const EncodingEntry& entry : encodings())
    for (const FieldView& f : entry.make()->all_fields())
      for (const auto& [choice, help] : f.choices) {
        ++choices;
        const std::string what = std::string(entry.name) + " " + f.name + "=" + choice;
        if (std::any_of(all.begin(), all.end(), [&](const Sample& s) { return s.what == what; }))
          ++reached;
        else
          missed += " " + f.name + "=" + choice;
      }
  CAPTURE(missed);
  CHECK(choices > 20);
  // Some choices make sense only together with others (mscale_rule ratio, pair strides); most stand alone.
  CHECK(reached * 10 >= choices * 8);
}

TEST_CASE("specs print and parse back to themselves") {
  for (const Sample& s : samples()) {
    CAPTURE(s.what);
    const Spec spec = spec_of(*s.encoding, DType::bf16);
    const std::string text = spec.json();
    CHECK(Spec::parse(text, "sample").json() == text);
    CHECK(Spec::parse(spec.json(2), "sample").json() == text);
  }
}

TEST_CASE("every field documents itself") {
  for (const EncodingEntry& entry : encodings()) {
    CHECK(!entry.summary.empty());
    CHECK(!entry.source.empty());
    for (const FieldView& f : entry.make()->all_fields()) {
      CAPTURE(entry.name);
      CAPTURE(f.name);
      CHECK(!f.help.empty());
      CHECK(!f.metavar.empty());
      CHECK(f.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos);
    }
  }
}

TEST_CASE("any block cut and thread count gives the same bytes, at every dtype") {
  for (const Sample& s : samples()) {
    if (total_values(*s.encoding) > largest) continue;
    CAPTURE(s.what);
    for (const DType dtype : float_dtypes) {
      // f64 of an encoding without a two-double fill is decided element by element: small samples show the kind.
      if (dtype == DType::f64 && total_values(*s.encoding) > 4000) continue;
      const Spec spec = spec_of(*s.encoding, dtype);
      const auto planned = plan(spec, ComplexForm::pair);
      const MemoryFile whole = generated(spec, planned, {.threads = 1});
      CHECK(generated(spec, planned, {.threads = 2, .block_bytes = 1000}).bytes == whole.bytes);
      if (dtype == DType::f32) CHECK(generated(spec, planned, {.threads = 5, .block_bytes = 4097}).bytes == whole.bytes);
    }
  }
}

TEST_CASE("stored values are the truth, and the fill keeps its bound") {
  for (const Sample& s : samples()) {
    CAPTURE(s.what);
    const auto evaluator = s.encoding->evaluator();
    const auto tensors = s.encoding->tensors();
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t].kind == Kind::integer) continue;
      const std::int64_t n = tensors[t].elements(), columns = tensors[t].columns();
      // Edges and a stride of elements in between.
      std::vector<std::int64_t> at;
      for (std::int64_t k = 0; k < std::min<std::int64_t>(n, 40); ++k) at.push_back(n <= 40 ? k : k * (n - 1) / 39);
      for (const std::int64_t flat : at) {
        const auto index = unravel(flat, tensors[t]);
        const double truth = evaluator->truth(t, index, DType::f64);
        for (const bool two : {false, true}) {
          double hi = 0, lo = 0;
          ErrorBound bound;
          Block block{{flat / columns, 1, flat % columns, 1}, &hi, two ? &lo : nullptr, &bound};
          evaluator->fill(t, block);
          if (std::isinf(truth)) {
            CHECK(hi == truth);
            continue;
          }
          const double weight = block.column_weight ? *block.column_weight : 1;
          const double allowed = bound.absolute * weight + bound.relative * std::fabs(hi) + std::fabs(truth) * 0x1p-53;
          CHECK_MESSAGE(std::fabs((hi - truth) + lo) <= allowed * (1 + 1e-9), tensors[t].name, " element ", flat);
        }
      }
      for (const DType dtype : float_dtypes) {
        if (total_values(*s.encoding) > (dtype == DType::f64 ? 4000 : largest)) continue;
        const Spec spec = spec_of(*s.encoding, dtype);
        const auto planned = plan(spec, ComplexForm::pair);
        const MemoryFile file = generated(spec, planned, {});
        for (const std::int64_t flat : at) {
          const double stored = stored_value(dtype, file.bytes[t].data() + static_cast<std::size_t>(flat) * size_of(dtype));
          const double truth = evaluator->truth(t, unravel(flat, tensors[t]), dtype);
          CHECK_MESSAGE(stored == truth, tensors[t].name, " element ", flat, " as ", name_of(dtype));
        }
      }
    }
  }
}

TEST_CASE("verification passes, laws hold, and one value off by one ulp is found") {
  for (const Sample& s : samples()) {
    if (total_values(*s.encoding) > largest) continue;
    CAPTURE(s.what);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Spec spec = spec_of(*s.encoding, dtype);
      const auto planned = plan(spec, ComplexForm::pair);
      MemoryFile file = generated(spec, planned, {});
      const auto sources = identity(planned.size());
      for (const LawVerdict& law : check_laws(spec, file, planned, sources)) CHECK_MESSAGE(!law.failure, law.name, ": ", law.failure.value_or(""));
      for (const TensorVerdict& v : compare(spec, file, planned, sources, {})) CHECK(v.wrong == 0);
      for (std::size_t t = 0; t < planned.size(); ++t) {
        if (file.bytes[t].empty()) continue;
        const std::size_t size = size_of(planned[t].stored.dtype);
        const std::size_t at = file.bytes[t].size() / size / 2 * size;
        file.bytes[t][at] ^= std::byte{1};  // the last place of a little-endian value
        const auto verdicts = compare(spec, file, planned, sources, {});
        CHECK(verdicts[t].wrong == 1);
        file.bytes[t][at] ^= std::byte{1};
      }
    }
  }
}

TEST_CASE("imitated arithmetics give finite values of the same kind, the same for any cut") {
  for (const Sample& s : samples()) {
    if (total_values(*s.encoding) > 60000) continue;
    CAPTURE(s.what);
    for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::bfloat16}) {
      Spec spec = spec_of(*s.encoding, DType::f32);
      spec.arithmetic = arithmetic;
      const auto planned = plan(spec, ComplexForm::pair);
      const MemoryFile a = generated(spec, planned, {.threads = 1});
      CHECK(generated(spec, planned, {.threads = 3, .block_bytes = 333}).bytes == a.bytes);
      for (std::size_t t = 0; t < planned.size(); ++t)
        for (std::size_t i = 0; i < a.bytes[t].size(); i += size_of(planned[t].stored.dtype))
          REQUIRE_FALSE(std::isnan(stored_value(planned[t].stored.dtype, a.bytes[t].data() + i)));
    }
  }
}
