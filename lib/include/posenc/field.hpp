// Parameters described once. An encoding or rule lists its fields in
//   template <class Self, class V> static void fields(Self& self, V&& visit)
// by calling visit(Field{...}, self.member) for each; command line, JSON, metadata, help and validation are loops over
// that list. A member is std::int64_t, double, bool, an enum with EnumNames, Positions, std::vector<double>, Array, or a
// std::optional of one of these (absent = not given).
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace posenc {

struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool open_min = false, open_max = false;  ///< true: the end itself is refused
};
inline constexpr Range positive{0, std::numeric_limits<double>::infinity(), true, false};
inline constexpr Range at_least(double min) { return {min, std::numeric_limits<double>::infinity(), false, false}; }
inline constexpr Range between(double min, double max) { return {min, max, false, false}; }

struct Field {
  std::string_view name;         ///< snake_case; --kebab-case on the command line
  std::string_view metavar;      ///< "N", "X", "LIST"
  std::string_view help;         ///< one sentence
  std::string_view unit = "";    ///< "lanes", "radians per position", ...
  Range range = {};              ///< of the number, or of each number of a list
  std::string_view source = "";  ///< paper and equation, or who uses it
  bool count = false;            ///< a count: 1e6, 128k and 1M are allowed
};

/// Specialise for each enum used as a field:
///   template <> struct EnumNames<Layout> { static constexpr std::array<EnumName<Layout>, n> values{{...}}; };
template <class E>
struct EnumName {
  E value;
  std::string_view name;
  std::string_view help;
};
template <class E>
struct EnumNames;

/// A field with its type erased: what the loops see.
struct FieldView {
  std::string name, metavar, help, unit, source;
  std::string type;      ///< "integer", "real", "boolean", "choice", "positions", "list", "array", "spans"
  std::string range;     ///< "> 0", "[0, 1]", "" when any
  std::string group;     ///< "" or the rule that it belongs to
  std::string fallback;  ///< text of the value of a default-constructed encoding; "" when absent
  std::string value;     ///< current text; "" when absent
  bool present = false;  ///< false: an optional that was not given
  std::vector<std::pair<std::string, std::string>> choices;  ///< (name, help), for type "choice"
};

}  // namespace posenc
