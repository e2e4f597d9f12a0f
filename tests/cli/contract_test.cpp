// Every parameter of every encoding, fed words that are not values. The lists are posenc's own: a new encoding, rule or
// parameter is tested by existing.
#include <set>

#include "cli/process.hpp"
#include "posenc/encoding.hpp"
#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "posenc/pipeline.hpp"
#include "posenc/resample.hpp"
#include "posenc/rescale.hpp"

namespace posenc::test {
namespace {

const std::string very_long(100'000, '7');

Words bad_words(const std::string& type) {
  Words words{"",   "abc",  "nan", "inf",  "-inf", "-1", "-0",     "0",   "1e400", "1e-400", "99999999999999999999",
              "1.5", "0x10", "010x", " 8", "8 ",   "-",  "+8",     "--",  "1e6x",  "\xff\xfe", "8\n9", very_long};
  if (type == "list" || type == "positions")
    for (const char* word : {"1,,2", "1,", ",", ",1", "1;2", "1,nan", "1,1e400", "2,1,0", "0:4:0", "4:0:-1", "0::2", ":", "1:2:3:4"}) words.emplace_back(word);
  return words;
}

std::string flag(const std::string& field) {
  std::string text = "--" + field;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

// An encoding under each choice of its field "method", or as it is when it has none.
Words methods_of(const Encoding& encoding) {
  for (const FieldView& f : encoding.all_fields())
    if (f.name == "method") {
      Words names;
      for (const auto& [name, help] : f.choices) names.push_back(name);
      return names;
    }
  return {""};
}

bool has(const Encoding& encoding, std::string_view field) {
  const auto fields = encoding.fields();
  return std::any_of(fields.begin(), fields.end(), [&](const FieldView& f) { return f.name == field; });
}

// Small enough to be made in no time, when the encoding has such fields.
const std::vector<std::pair<std::string, std::string>> small{{"positions", "3"}, {"head_dim", "8"}, {"dim", "8"}, {"heads", "4"}, {"num_heads", "4"}};

void make_small(Encoding& encoding, std::string_view except) {
  for (const auto& [field, value] : small)
    if (field != except && has(encoding, field)) encoding.set(field, value);
}

// What a rule insists on, in values that any rule takes.
void complete(Encoding& encoding, std::string_view except) {
  const auto fields = encoding.fields();
  for (const FieldView& f : fields) {
    if (f.group.empty() || f.present || f.name == except) continue;
    try {
      encoding.set(f.name, f.type == "list" ? "1,1,1,1" : f.type == "integer" ? "16" : "2");
    } catch (const Error&) {
    }
  }
}

std::int64_t elements(const Encoding& encoding) {
  std::int64_t sum = 0;
  for (const Tensor& t : encoding.tensors()) sum += std::min<std::int64_t>(t.elements(), 1 << 24);
  return sum;
}

// The file that a spec gives, made and verified without a process.
void make_and_verify(const Spec& spec, const std::string& path) {
  const auto& format = formats::parse_format("npz");
  const auto tensors = plan(spec, ComplexForm::pair);
  FilePlan file;
  for (const PlannedTensor& t : tensors) file.tensors.push_back(t.stored);
  file.metadata = provenance(spec);
  const auto writer = formats::create(format, path, file);
  const Target target{writer.get(), tensors};
  PipelineOptions options;
  options.threads = 1;
  generate(spec, {&target, 1}, options);
  writer->finish();

  const auto reader = formats::open(path);
  const Spec again = Spec::parse(reader->metadata().at(std::string(spec_key)), "the file");
  CHECK(again.json() == spec.json());
  std::vector<std::size_t> sources(tensors.size());
  for (std::size_t i = 0; i < sources.size(); ++i) sources[i] = i;
  for (const LawVerdict& law : check_laws(again, *reader, tensors, sources)) CHECK_MESSAGE(!law.failure, law.name << ": " << law.failure.value_or(""));
  for (const TensorVerdict& verdict : compare(again, *reader, tensors, sources, options)) CHECK(verdict.wrong == 0);
}

// The same from the outside. A table that was resized has no spec to be verified by.
void offer(const Words& words, bool has_spec = true) {
  CAPTURE(joined(words));
  const Scratch scratch;
  const Outcome outcome = run(words, {.folder = scratch.path()});
  CHECK((outcome.status == 0 || outcome.status == 2));
  if (outcome.status == 0) {
    CHECK(scratch.names() == Words{"x.npz"});
    const Outcome verified = run({"verify", "x.npz", "--quiet"}, {.folder = scratch.path()});
    CHECK_MESSAGE(verified.status == (has_spec ? 0 : 2), verified.out << verified.err);
  } else {
    CHECK_MESSAGE((outcome.err.starts_with("posenc: ") && outcome.error_lines() == 1 && outcome.err.size() < 2000), outcome.err.substr(0, 2000));
    CHECK(outcome.out.empty());
    CHECK(scratch.names().empty());
  }
}

}  // namespace

TEST_CASE("every parameter under every method takes a word or refuses it in one sentence") {
  const Scratch scratch;
  int accepted = 0, refusals = 0;
  for (const EncodingEntry& entry : encodings()) {
    for (const std::string& method : methods_of(*entry.make())) {
      auto base = entry.make();
      if (!method.empty()) base->set("method", method);
      for (const FieldView& f : base->fields()) {
        for (const std::string& word : bad_words(f.type)) {
          CAPTURE(entry.name);
          CAPTURE(method);
          CAPTURE(f.name);
          CAPTURE(word.substr(0, 40));
          const auto encoding = base->clone();
          try {
            make_small(*encoding, f.name);
            complete(*encoding, f.name);
            encoding->set(f.name, word);
            encoding->check();
            if (elements(*encoding) > 4096) continue;
            Spec spec;
            spec.tables.push_back({"", encoding->clone()});
            spec.check();
            make_and_verify(spec, scratch / "x.npz");
            ++accepted;
          } catch (const Error& e) {
            ++refusals;
            CHECK_MESSAGE(e.failure() == Failure::usage, e.what());
            const std::string sentence = e.what();
            CHECK(!sentence.empty());
            CHECK_MESSAGE(sentence.size() < 1500, sentence.substr(0, 1500));
          } catch (const std::exception& e) {
            FAIL_CHECK("not a posenc::Error: " << e.what());
          }
          CHECK((scratch.names().empty() || scratch.names() == Words{"x.npz"}));
        }
      }
    }
  }
  CHECK(accepted > 20);
  CHECK(refusals > 500);
}

TEST_CASE("every parameter as an option of the real binary") {
  // Two words for each option, another two for the next, so that all words meet all kinds of options.
  std::size_t turn = 0;
  for (const EncodingEntry& entry : encodings()) {
    std::set<std::string> seen;
    for (const FieldView& f : entry.make()->all_fields()) {
      if (!seen.insert(f.name + "/" + f.group).second) continue;
      const Words words = bad_words(f.type);
      for (int k = 0; k < 2; ++k) {
        Words call{"generate", std::string(entry.name), "-o", "x.npz"};
        for (const auto& [field, value] : small)
          if (field != f.name && has(*entry.make(), field)) call.insert(call.end(), {flag(field), value});
        if (!f.group.empty()) call.insert(call.end(), {"--method", f.group});
        const std::string& word = words[(turn + static_cast<std::size_t>(k) * 11) % words.size()];
        if (word.find('\0') != std::string::npos) continue;
        call.push_back(turn % 2 == 0 ? flag(f.name) : flag(f.name) + "=" + word);
        if (turn % 2 == 0) call.push_back(word);
        offer(call);
      }
      ++turn;
    }
  }
}

TEST_CASE("every word as every type of option of the real binary") {
  std::set<std::string> types;
  for (const EncodingEntry& entry : encodings())
    for (const FieldView& f : entry.make()->all_fields()) {
      if (!f.group.empty() || !types.insert(f.type).second) continue;
      for (const std::string& word : bad_words(f.type)) {
        Words call{"generate", std::string(entry.name), "-o", "x.npz"};
        for (const auto& [field, value] : small)
          if (field != f.name && has(*entry.make(), field)) call.insert(call.end(), {flag(field), value});
        call.insert(call.end(), {flag(f.name), word});
        offer(call);
      }
    }
}

TEST_CASE("rescale: every parameter of rules and of resampling as an option of the real binary") {
  const Scratch inputs;
  REQUIRE(run({"generate", "rope", "--head-dim", "8", "--positions", "3", "-o", inputs / "rope.npz", "--quiet"}).status == 0);
  REQUIRE(run({"generate", "learned", "--length", "4", "--dim", "2", "-o", inputs / "values.npz", "--quiet"}).status == 0);
  std::size_t turn = 0;
  const auto offer_words = [&](const Words& call, const FieldView& f, bool has_spec) {
    const Words words = bad_words(f.type);
    for (std::size_t k = 0; k < 3; ++k) {
      Words with = call;
      with.insert(with.end(), {flag(f.name), words[(turn + k * 11) % words.size()]});
      offer(with, has_spec);
    }
    ++turn;
  };
  for (const EncodingEntry& entry : encodings()) {
    if (!takes_rules(*entry.make())) continue;
    for (const FieldView& f : entry.make()->all_fields()) {
      if (f.group.empty()) continue;
      Words call{"rescale", inputs / "rope.npz", "-o", "x.npz", "--method", f.group};
      if (f.name != "factor" && f.group != "base" && f.group != "divisors" && !f.group.starts_with("dynamic-"))
        call.insert(call.end(), {"--factor", "2"});
      offer_words(call, f, true);
    }
  }
  for (const FieldView& f : Resampling{}.views()) {
    Words call{"rescale", inputs / "values.npz", "-o", "x.npz"};
    if (f.name != "method") call.insert(call.end(), {"--method", "linear"});
    if (f.name != "length") call.insert(call.end(), {"--length", "6"});
    offer_words(call, f, false);
  }
}

TEST_CASE("numbers of the command itself") {
  const Scratch inputs;
  REQUIRE(run({"generate", "rope", "--head-dim", "4", "--positions", "2", "-o", inputs / "in.h5", "--quiet"}).status == 0);
  const std::vector<std::pair<Words, Words>> commands{
      {{"generate", "rope", "--head-dim", "4", "--positions", "2"}, {}},
      {{"rescale", inputs / "in.h5", "--method", "linear", "--max-position-embeddings", "2", "--context", "4"}, {"--layer-type"}},
      {{"rescale", inputs / "in.h5", "--method", "linear", "--max-position-embeddings", "2"}, {"--context"}}};
  const Words common{"--threads",    "--block-bytes", "--chunk",  "--compress", "--dtype", "--index-dtype",
                     "--arithmetic", "--complex",     "--tensor", "--for",      "--format"};
  std::vector<std::pair<Words, std::string>> calls;
  for (const auto& [call, own] : commands) {
    for (const std::string& option : own) calls.emplace_back(call, option);
    if (&call != &commands.back().first)
      for (const std::string& option : common) calls.emplace_back(call, option);
  }
  for (const auto& [call, option] : calls)
    for (const std::string& word : bad_words("")) {
      CAPTURE(joined(call));
      CAPTURE(option);
      CAPTURE(word.substr(0, 40));
      const Scratch scratch;
      Words words = call;
      words.insert(words.end(), {"-o", "x.h5", option, word});
      const Outcome outcome = run(words, {.folder = scratch.path()});
      CHECK_MESSAGE((outcome.status == 0 || outcome.status == 2), outcome.err.substr(0, 300));
      if (outcome.status == 0) continue;
      CHECK_MESSAGE((outcome.err.starts_with("posenc: ") && outcome.error_lines() == 1 && outcome.err.size() < 2000), outcome.err.substr(0, 2000));
      CHECK(outcome.out.empty());
      CHECK(scratch.names().empty());
    }
}

}  // namespace posenc::test
