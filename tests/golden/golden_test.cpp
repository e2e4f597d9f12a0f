// Every golden case of the encodings and rules that exist is reproduced by a command line within its comparison rule, every
// other one is named in later.hpp. POSENC_WRITE_GOLDEN=1 in the environment rewrites README.md's list.
#include "golden/golden.hpp"

#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "golden/hf_apply.hpp"
#include "golden/hf_rope.hpp"
#include "golden/later.hpp"
#include "golden/papers_rope.hpp"
#include "golden/table_cases.hpp"
#include "numeric/real.hpp"

using namespace golden;

namespace {

Checks rope_checks(const Case& c) {
  if (c.set == "papers") return PapersRope(c).checks();
  const std::string family = c.family(), id = c.id();
  if (id == "rope_esm2_d32") return hf_esm(c);
  if (id == "cs_v438_linear_factor3_positions_scaled") return hf_scaled_positions(c);
  if (family == "rope_cossin") return hf_cos_sin(c);
  if (family == "rope_apply") return hf_apply(c);
  if (family.starts_with("rope_invfreq_") || id.starts_with("hftest_inv_")) return hf_inv_freq(c);
  return {};
}
Checks checks_of(const Case& c, const std::vector<std::vector<std::string>>& lines) {
  Checks checks = rope_checks(c);
  std::ranges::move(table_checks(c, lines), std::back_inserter(checks));
  return checks;
}

bool matches(std::string_view pattern, std::string_view text) {
  return pattern.ends_with('*') ? text.starts_with(pattern.substr(0, pattern.size() - 1)) : pattern == text;
}
// What an entry of later.hpp says about an output.
std::optional<Part> part_of(const Later& l, const Case& c, const std::string& output) {
  const Part part{std::string(l.what)};
  const bool about = l.set == c.set && (matches(part.name, c.id()) || matches(part.name, c.id() + "." + output) ||
                                        matches(part.name, c.family()) || matches(part.name, c.family() + "/" + c.id()));
  return about ? std::optional(part) : std::nullopt;
}
// Whether all of an output is for later.
bool is_later(const Case& c, const std::string& output) {
  return std::ranges::any_of(later, [&](const Later& l) {
    const auto part = part_of(l, c, output);
    return part && part->whole();
  });
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
  REQUIRE(check.first < want.size());
  const std::size_t count = std::min(check.count, want.size() - check.first);
  const posenc::Spec spec = one_tensor(check.command);
  if (posenc::info(posenc::plan(spec, posenc::ComplexForm::pair)[0].stored.dtype).integer)
    CHECK_MESSAGE(check.rule.text == exact().text, c.id(), ".", check.output, ": integers are equal or wrong");
  Values got = produced(spec, 0, check.from, check.taken);
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

// Everything stored must be compared, wholly, but for what later.hpp names.
void check_covered(const Case& c, const Checks& checks) {
  for (const std::string& output : c.outputs()) {
    const bool compared = std::ranges::find(checks, output, &Check::output) != checks.end();
    if (is_later(c, output)) {  // its array need not be here
      CHECK_MESSAGE(!compared, c.id(), ".", output, " is compared and in later.hpp");
      continue;
    }
    const std::size_t size = c.values(output).size();
    std::set<std::size_t> seen, postponed;
    const auto add = [size](std::set<std::size_t>& to, std::size_t first, std::size_t count) {
      for (std::size_t at = first; at < size && at - first < count; ++at) to.insert(at);
    };
    for (const Check& check : checks)
      if (check.output == output) add(seen, check.first, check.count);
    for (const Later& l : later)
      if (const auto part = part_of(l, c, output)) add(postponed, part->first, part->count);
    std::size_t twice = 0;
    for (const std::size_t at : postponed) twice += seen.contains(at) ? 1 : 0;
    CHECK_MESSAGE(twice == 0, c.id(), ".", output, ": ", twice, " values are compared and in later.hpp");
    CHECK_MESSAGE(seen.size() + postponed.size() == size + twice, c.id(), ".", output, ": ", seen.size() + postponed.size() - twice, " of ", size,
                  " values have a command that reproduces them or stand in later.hpp");
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
      if (std::ranges::all_of(c.outputs(), [&](const std::string& o) { return is_later(c, o); })) {
        CHECK_MESSAGE(std::ranges::none_of(lines, [&](const auto& cells) { return cells[0] == c.id(); }), "has lines and is in later.hpp");
        continue;
      }
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
      if (check.count != all_values)
        output += fmt::format("[{}:{}]", check.first, check.first + check.count);
      text += fmt::format("| {} | {} | `{}` | {} | {} |\n", c.id(), output, shortened(check.command.text()), check.rule.text, check.remark);
    }
  text += "| softmax_scale_deepseek | scaling | `posenc generate rope --config config.json --print-spec` | within 8.9e-16 relative | softmax_multiplier / sqrt(192) of three configs in hf_rope.hpp |\n";
  text += "\n## Cases not compared here\n\n| set | cases | wait for, or why |\n|---|---|---|\n";
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
        found = found || part_of(l, c, output);
    CHECK(found);
  }
}
