// Reading one value out of a config: every place where it may stand, its kind, its range, and where it came from.
// Two places that disagree, a wrong kind and a number out of range are errors that name the key and the value.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace posenc::config {

using Json = nlohmann::ordered_json;

/// An object of the file. A key in it is called prefix + key; in a class default it is called `label` instead.
struct Place {
  const Json* object = nullptr;
  std::string prefix;
  std::string label;
  /// "text_config.rope_scaling" of the prefix "text_config.rope_scaling.".
  [[nodiscard]] std::string name() const { return prefix.empty() ? prefix : prefix.substr(0, prefix.size() - 1); }
};

/// A value with its origin, as Setting::origin tells it.
template <class T>
struct Given {
  T value;
  std::string origin;
};

/// What is noted while a file is read.
struct Log {
  std::vector<std::string> warnings;
  std::map<std::string, std::vector<std::string>> also;  ///< origin of a value -> other places that say the same
};

/// The numbers that a key may hold.
struct Limits {
  double min = 0, max = 0;
  bool open_min = false;  ///< true: min itself is refused
};
inline constexpr Limits lanes{1, 1048576};                 ///< widths and numbers of heads
inline constexpr Limits positions{1, 9007199254740992.0};  ///< up to 2^53, where doubles are still whole
inline constexpr Limits layer_counts{1, 65536};
inline constexpr Limits bases{1, 1e30, true};  ///< at base 1 all frequencies are alike
inline constexpr Limits factors{0, 1e9, true};
inline constexpr Limits shares{0, 1, true};

/// Names of one value, the first to be preferred.
using Keys = const std::vector<std::string_view>&;

/// What a person can read of a value, on one line and never long.
[[nodiscard]] std::string shown(const Json& value);
[[nodiscard]] std::string in_quotes(std::string_view text);

/// A number as people write it in a sentence: 500000, not 5e+05.
[[nodiscard]] std::string plain(double value);

/// A NaN, an infinity or an integer beyond 64 bits that Python wrote: the reader puts a string in its place that starts so.
inline constexpr char unreadable_mark = '\x7f';

class Lookup {
 public:
  /// `defaults` may be null; `owner` is the model_type that supplies them.
  Lookup(std::string_view file, Log& log, std::vector<Place> places, const Json* defaults, std::string_view owner)
      : file_(file), log_(&log), places_(std::move(places)), defaults_(defaults), owner_(owner) {}

  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  [[nodiscard]] const std::string& owner() const { return owner_; }
  [[nodiscard]] const Json* defaults() const { return defaults_; }
  [[nodiscard]] Lookup explicit_only() const { return {file_, *log_, places_, nullptr, owner_}; }
  [[nodiscard]] Lookup at(std::vector<Place> places) const { return {file_, *log_, std::move(places), defaults_, owner_}; }
  [[nodiscard]] Lookup with_defaults(const Json* defaults, std::string_view owner) const {
    return {file_, *log_, places_, defaults, owner};
  }
  /// The first place only: a width of the text part is never taken from around it.
  [[nodiscard]] Lookup innermost() const { return at({places_.front()}); }
  /// The objects that stand under `key` in the places; something else there is an error, null is nothing.
  [[nodiscard]] std::vector<Place> objects(std::string_view key) const;

  /// True when a place holds one of the keys, be it null.
  [[nodiscard]] bool has(Keys keys) const;
  /// The value of the first key that is there; all others of them must agree. Null is no value, but it keeps the class
  /// default out.
  [[nodiscard]] std::optional<Given<const Json*>> find(Keys keys) const;

  [[nodiscard]] std::optional<Given<std::int64_t>> count(Keys keys, Limits limits) const;
  [[nodiscard]] std::optional<Given<double>> real(Keys keys, Limits limits) const;
  [[nodiscard]] std::optional<Given<bool>> flag(Keys keys) const;
  [[nodiscard]] std::optional<Given<std::string>> word(Keys keys) const;
  [[nodiscard]] std::optional<Given<std::vector<double>>> reals(Keys keys, Limits limits) const;
  [[nodiscard]] std::optional<Given<std::vector<std::int64_t>>> counts(Keys keys, Limits limits) const;

  [[nodiscard]] Given<std::int64_t> need_count(Keys keys, Limits limits) const;
  /// The first of several keys that may differ for a reason; a difference is said aloud.
  [[nodiscard]] std::optional<Given<std::int64_t>> first_count(Keys keys, Limits limits) const;
  [[nodiscard]] bool flag_or(Keys keys, bool fallback) const;

  /// Throws bad_input "FILE: sentence".
  [[noreturn]] void fail(const std::string& sentence) const;
  void warn(const std::string& sentence) const;
  /// Notes that `other` says the same as `origin`.
  void agree(const std::string& origin, const std::string& other) const;

 private:
  [[nodiscard]] std::int64_t as_count(const Json& value, const std::string& origin, Limits limits) const;
  [[nodiscard]] double as_real(const Json& value, const std::string& origin, Limits limits) const;

  std::string file_;
  Log* log_;
  std::vector<Place> places_;
  const Json* defaults_;
  std::string owner_;
};

/// "a, b or c".
[[nodiscard]] std::string either(Keys keys);

}  // namespace posenc::config
