// Right values of problems that users of position tables report, as printed: what posenc gives must round to the printed digits.
#pragma once
#include <cmath>

#include "encodings/model.hpp"
#include "encodings/oracle.hpp"
#include "encodings/rope.hpp"
#include "golden/golden.hpp"
#include "numeric/decide.hpp"
#include "numeric/real.hpp"
#include "rescale/turns_ramp.hpp"
#include "support/configs.hpp"
#include "support/refusals.hpp"

namespace field_log {

using golden::Command;
using golden::produced;
using golden::Settings;
using golden::Values;
using oracle::Big;
using posenc::test::check_words, posenc::test::config_of, posenc::test::reading_of, posenc::test::refusal_of, posenc::test::setting;

inline int significant(std::string_view text) {
  int digits = 0;
  for (const char c : text.substr(0, text.find_first_of("eE")))
    if (c >= '0' && c <= '9' && (c != '0' || digits > 0)) ++digits;
  return digits;
}

/// Whether x, known to within `off`, rounds to what `text` prints with `digits` significant digits, trailing zeros of which are
/// not printed; with more where it prints more. Half a unit of the last digit is all that is allowed.
inline bool rounds_to(const Big& x, std::string_view text, int digits = 12, const Big& off = 0) {
  const Big printed{std::string(text)};
  if (printed == 0) return abs(x) <= off;
  const int leading = static_cast<int>(floor(log10(abs(printed)) + Big(1e-30)));
  return abs(x - printed) <= pow(Big(10), leading + 1 - std::max(digits, significant(text))) / 2 + off;
}
/// The same for a value rounded to binary64: at most 2^-53 of it away from the true one.
inline void check(double got, std::string_view text, int digits = 12, double off = 0) {
  CHECK_MESSAGE(rounds_to(Big(got), text, digits, Big(std::fabs(got) * 0x1p-53 + off)), "got ", posenc::print(got), ", right is ", text);
}
inline void check(double got, double right) { CHECK_MESSAGE(got == right, "got ", posenc::print(got), ", right is ", posenc::print(right)); }

struct Entry {
  std::size_t at;
  std::string_view text;
};
inline void check(const Values& got, std::initializer_list<Entry> right, int digits = 12) {
  for (const Entry& entry : right) {
    INFO("[", entry.at, "]");
    REQUIRE(entry.at < got.size());
    check(got[entry.at], entry.text, digits);
  }
}

/// Rotary embeddings of a command line, in binary64.
inline Command rope(const Settings& settings) { return Command{"rope"}.with(settings).as("f64"); }
inline Values inv_freq(const Settings& settings, const std::string& tensor = "") {
  return produced(rope(settings).with({{"layout", "inv-freq"}}).only(tensor));
}
/// One position and no other.
inline std::string only(std::int64_t position) { return fmt::format("{}:{}", position, position + 1); }
/// [cos | sin] of one position.
inline Values row(const Settings& settings, std::int64_t position) {
  return produced(rope(settings).with({{"layout", "cache"}, {"positions", only(position)}}));
}

/// The table that a config says for a kind of layer.
inline posenc::Spec spec_of(const posenc::Reading& reading, const Settings& more) {
  posenc::Spec spec;
  spec.tables = {golden::table_of(reading, more)};
  spec.tables[0].name.clear();
  spec.dtype = posenc::DType::f64;
  spec.check();
  return spec;
}
inline Values inv_freq_of(const posenc::Reading& reading, const Settings& more = {}) {
  Settings settings = more;
  settings.emplace_back("layout", "inv-freq");
  return produced(spec_of(reading, settings));
}
inline const posenc::Rope& typed(const posenc::Spec& spec) {
  return dynamic_cast<const posenc::detail::Model<posenc::Rope>&>(*spec.tables[0].encoding).typed();
}
inline double amplitude(const posenc::Spec& spec) { return posenc::facts(typed(spec)).attention_factor; }
inline double amplitude(const Settings& settings) { return amplitude(golden::spec_of(rope(settings))); }

/// That a config's text is refused, in these words among others.
inline void refused(const std::string& text, std::initializer_list<std::string_view> words) {
  check_words(refusal_of([&] { return posenc::read_config(text, "config.json"); }, posenc::Failure::bad_input), words);
}

/// Ends of YaRN's ramp before and after they are made whole pairs.
struct Ends {
  double low, high;
};
inline Ends raw_ends(std::int64_t d, double base, std::int64_t original) {
  const posenc::RopeGeometry g{d, d, d, base, 0};
  return posenc::num::at_precision(128, [&] {
    return Ends{posenc::rescale::pair_of_turns(g, original, 32).to_double(), posenc::rescale::pair_of_turns(g, original, 1).to_double()};
  });
}
inline void check_used_ends(std::int64_t d, double base, std::int64_t original, double low, double high) {
  const posenc::RopeGeometry g{d, d, d, base, 0};
  const auto used = posenc::num::at_precision(128, [&] {
    const posenc::rescale::TurnsRamp ramp(g, original, 32, 1, true);
    return Ends{ramp.low.to_double(), ramp.high.to_double()};
  });
  CHECK(used.low == low);
  CHECK(used.high == high);
}

}  // namespace field_log
