// Every golden case of the encodings and rules that exist is reproduced by a command line within its comparison rule, every
// other one is named in later.hpp. POSENC_WRITE_GOLDEN=1 in the environment rewrites README.md's list.
#include "golden/golden.hpp"

#include <cstdlib>
#include <map>
#include <set>

#include "golden/hf_rope.hpp"
#include "golden/later.hpp"
#include "golden/papers_rope.hpp"
#include "golden/table_cases.hpp"
#include "numeric/real.hpp"

using namespace golden;

namespace {

Checks checks_of(const Case& c, const std::vector<std::vector<std::string>>& lines) {
  if (c.set == "papers") {
    Checks checks = PapersRope(c).checks();
    return checks.empty() ? table_checks(c, lines) : checks;
  }
  const std::string family = c.family(), id = c.id();
  if (id == "rope_esm2_d32") return hf_esm(c);
  if (id == "cs_v438_linear_factor3_positions_scaled") return hf_scaled_positions(c);
  if (family == "rope_cossin") return hf_cos_sin(c);
  if (family.starts_with("rope_invfreq_") || id.starts_with("hftest_inv_")) return hf_inv_freq(c);
  return table_checks(c, lines);
}

bool matches(std::string_view pattern, std::string_view text) {
  return pattern.ends_with('*') ? text.starts_with(pattern.substr(0, pattern.size() - 1)) : pattern == text;
}
const Later* later_of(const Case& c, const std::string& output) {
  for (const Later& l : later)
    if (l.set == c.set && (matches(l.what, c.id()) || matches(l.what, c.id() + "." + output) || matches(l.what, c.family()) ||
                           matches(l.what, c.family() + "/" + c.id())))
      return &l;
  return nullptr;
}

Values golden_values(const Case& c, const std::string& output) {
  if (output.starts_with("scalars.")) return {c.entry.at("scalars").at(output.substr(8)).at("value").get<double>()};
  return c.values(output);
}

// What one check found: values compared, and the largest share of what the rule allows.
struct Result {
  std::size_t compared = 0;
  double worst = 0;
};

Result compare(const Case& c, const Check& check) {
  Values want = golden_values(c, check.output);
  const std::size_t count = std::min(check.count, want.size() - check.first);
  Values got = produced(check.command);
  if (check.derive) got = check.derive(std::move(got));
  REQUIRE(got.size() == count);
  Result result{count};
  std::size_t wrong = 0, worst_at = 0;
  for (std::size_t at = 0; at < count; ++at) {
    const double share = check.rule.share(at, got[at], want[check.first + at]);
    if (!(share <= 1)) ++wrong;
    if (!(share <= result.worst)) {
      result.worst = share;
      worst_at = at;
    }
  }
  CHECK_MESSAGE(wrong == 0, c.id(), ".", check.output, ": ", wrong, " of ", count, " values differ by more than ", check.rule.text, "; worst at ",
                worst_at, ": got ", posenc::print(got[worst_at]), " want ", posenc::print(want[check.first + worst_at]), " share ", result.worst);
  return result;
}

// Everything stored must be compared, wholly.
void check_covered(const Case& c, const Checks& checks) {
  for (const std::string& output : c.outputs()) {
    if (later_of(c, output) != nullptr) continue;
    std::set<std::size_t> seen;
    const std::size_t size = c.values(output).size();
    for (const Check& check : checks)
      if (check.output == output)
        for (std::size_t at = check.first; at < size && at - check.first < check.count; ++at) seen.insert(at);
    CHECK_MESSAGE(seen.size() == size, c.id(), ".", output, ": ", seen.size(), " of ", size, " values have a command that reproduces them");
  }
}

struct Owned {
  Case golden;
  Checks checks;
};

// Every case that is not wholly for later work.
std::vector<Owned> owned() {
  std::vector<Owned> all;
  const auto lines = table_lines();
  std::set<std::string> known;
  for (const std::string set : {"hf", "papers"})
    for (const Case& c : cases(set)) {
      INFO(c.id());
      known.insert(c.id());
      const bool postponed = std::ranges::all_of(c.outputs(), [&](const std::string& o) { return later_of(c, o) != nullptr; });
      if (postponed) continue;
      try {
        all.push_back({c, checks_of(c, lines)});
      } catch (const posenc::Error& error) {
        FAIL_CHECK(std::string(error.what()));
      }
    }
  for (const auto& cells : lines) CHECK_MESSAGE(known.contains(cells[0]), cells[0], " is no golden case");
  return all;
}

// A list of numbers as a reader wants it: the first few.
std::string shortened(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) {
    if (word.size() > 48 && std::count(word.begin(), word.end(), ',') > 4) {
      std::size_t end = 0;
      for (int i = 0; i < 3; ++i) end = word.find(',', end + 1);
      word = word.substr(0, end) + ",...";
    }
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

std::string readme_list(const std::vector<Owned>& all) {
  std::string text = "| case | output | command | rule | remark |\n|---|---|---|---|---|\n";
  for (const auto& [c, checks] : all)
    for (const Check& check : checks) {
      std::string output = check.output;
      if (check.count != std::numeric_limits<std::size_t>::max())
        output += fmt::format("[{}:{}]", check.first, check.first + check.count);
      text += fmt::format("| {} | {} | `{}` | {} | {} |\n", c.id(), output, shortened(check.command.text()), check.rule.text, check.remark);
    }
  text += "| softmax_scale_deepseek | scaling | `posenc generate rope --config config.json --print-spec` | within 8.9e-16 relative | softmax_multiplier / sqrt(192) of three configs in hf_rope.hpp |\n";
  text += "\n## Cases of later work\n\n| set | cases | wait for |\n|---|---|---|\n";
  for (const Later& l : later) text += fmt::format("| {} | {} | {} |\n", l.set, l.what, l.needs);
  return text;
}

constexpr std::string_view mark = "<!-- below: written by golden_test.cpp -->\n";

}  // namespace

TEST_CASE("golden: every case of the encodings and rules here is reproduced") {
  const std::vector<Owned> all = owned();
  struct Count {
    int cases = 0, checks = 0;
    std::size_t values = 0;
    double worst = 0;
  };
  std::map<std::string, Count> counts;
  for (const auto& [c, checks] : all) {
    const std::string id = c.id();
    Count& count = counts[c.set + " " + (c.set == "hf" ? c.family() : id.substr(0, id.find('_')))];
    ++count.cases;
    if (id == "softmax_scale_deepseek") {
      compare_softmax_scales(c);
      count.checks += 3;
      count.values += 3;
      continue;
    }
    check_covered(c, checks);
    for (const Check& check : checks) {
      INFO(id, ".", check.output, "  ", check.command.text());
      try {
        const Result result = compare(c, check);
        ++count.checks;
        count.values += result.compared;
        count.worst = std::max(count.worst, result.worst);
      } catch (const posenc::Error& error) {
        FAIL_CHECK(std::string(error.what()));
      } catch (const posenc::num::Undecided&) {
        FAIL_CHECK("num::Undecided escapes from the library");
      }
    }
  }
  for (const auto& [family, count] : counts)
    MESSAGE(family, ": ", count.cases, " cases, ", count.checks, " comparisons, ", count.values, " values, at most ", count.worst, " of what is allowed");
}

TEST_CASE("golden: README.md lists the command of every case") {
  const std::string path = folder + "README.md";
  const std::string text = slurp(path);
  const std::size_t at = text.find(mark);
  REQUIRE(at != std::string::npos);
  const std::string list = readme_list(owned());
  const char* write = std::getenv("POSENC_WRITE_GOLDEN");
  if (write != nullptr && std::string_view(write) == "1") {
    std::ofstream(path, std::ios::binary) << text.substr(0, at + mark.size()) << '\n' << list;
    return;
  }
  CHECK_MESSAGE(text.substr(at + mark.size()) == "\n" + list, "README.md is out of date: run with POSENC_WRITE_GOLDEN=1");
}

TEST_CASE("golden: later.hpp names nothing that is compared or gone") {
  std::vector<Case> every;
  for (const std::string set : {"hf", "papers"})
    for (const Case& c : cases(set)) every.push_back(c);
  for (const Later& l : later) {
    INFO(l.what);
    bool found = false;
    for (const Case& c : every)
      for (const std::string& output : c.outputs())
        found = found || (l.set == c.set && later_of(c, output) == &l);
    CHECK(found);
  }
}
