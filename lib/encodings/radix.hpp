// radix: a position as its digits (Su, kexue.fm/archives/9675 and 9706), the view in which RoPE's angles are digits too.
//
// Digit m, m = 1 the last, of n to the base b is floor(n / b^(m-1)) mod b; with mixed radices b_1, b_2, ... it is
// floor(n / (b_1 .. b_(m-1))) mod b_m. What one does to a table that grew too short:
//   direct extrapolation   reserved digits in front, zero in training       1749 -> [1,7,4,9]
//   interpolation          factor: n / factor, the fraction stays in the last digit   1749 / 2 = 874.5 -> [8,7,4.5]
//   base conversion        a larger base                                    1749 -> [6,13,5] in base 16
//                          base_rule smallest finds ceil(capacity^(1/width)): 2000 numbers in 3 digits want base 13
// The same quotients without floor and with the periodic cos and sin in place of mod are RoPE: pair m of head_dim d has the
// angle n / beta^(m-1), beta = rope_base^(2/d). Forms quotients, remainders and rope show the three stages.
#pragma once
#include <memory>
#include <optional>

#include "numeric/real.hpp"
#include "posenc/encoding.hpp"
#include "posenc/positions.hpp"

namespace posenc {

enum class RadixBase : std::uint8_t { given, smallest };
template <>
struct EnumNames<RadixBase> {
  static constexpr std::array<EnumName<RadixBase>, 2> values{{
      {RadixBase::given, "given", "base, or radices, say it"},
      {RadixBase::smallest, "smallest", "the smallest base whose width digits hold capacity numbers: ceil(capacity^(1/width))"},
  }};
};

enum class RadixOverflow : std::uint8_t { refuse, wrap };
template <>
struct EnumNames<RadixOverflow> {
  static constexpr std::array<EnumName<RadixOverflow>, 2> values{{
      {RadixOverflow::refuse, "refuse", "a position that the digits cannot hold is an error"},
      {RadixOverflow::wrap, "wrap", "digits above the first are lost: positions are taken modulo the capacity"},
  }};
};

enum class RadixOrder : std::uint8_t { high_first, low_first };
template <>
struct EnumNames<RadixOrder> {
  static constexpr std::array<EnumName<RadixOrder>, 2> values{{
      {RadixOrder::high_first, "high-first", "as numbers are written: 104 -> [1,0,4]"},
      {RadixOrder::low_first, "low-first", "the last digit first, as RoPE's pairs go from fast to slow"},
  }};
};

enum class RadixForm : std::uint8_t { digits, quotients, remainders, rope };
template <>
struct EnumNames<RadixForm> {
  static constexpr std::array<EnumName<RadixForm>, 4> values{{
      {RadixForm::digits, "digits", "digits [position, digit]; integers unless factor or a position is not one"},
      {RadixForm::quotients, "quotients", "n / (b_1 .. b_(m-1)), neither cut nor reduced: 9999 -> 9999, 999.9, 99.99, 9.999"},
      {RadixForm::remainders, "remainders", "the quotients modulo their radix, not cut: 9999 -> 9, 9.9, 9.99, 9.999"},
      {RadixForm::rope, "rope", "beta, angles n / beta^(m-1) and their cos and sin: RoPE's as the same quotients"},
  }};
};

struct Radix {
  static constexpr std::string_view name = "radix";
  static constexpr std::string_view summary = "a position as digits, and RoPE's angles as the same quotients";
  static constexpr std::string_view source = "Su 2023, kexue.fm/archives/9675 and 9706, equation 7";

  std::int64_t base = 10;
  RadixBase base_rule = RadixBase::given;
  std::optional<double> capacity{};
  std::vector<double> radices{};
  std::int64_t width = 4;
  std::int64_t reserved = 0;
  double factor = 1;
  RadixOverflow overflow = RadixOverflow::refuse;
  RadixOrder order = RadixOrder::high_first;
  RadixForm form = RadixForm::digits;
  std::int64_t head_dim = 8;
  double rope_base = 10000;
  Positions positions = Positions::range(0, 2048);

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "base", .metavar = "N", .help = "base of the digits", .range = between(2, 0x1p53)}, s.base);
    v(Field{.name = "base_rule", .metavar = "NAME", .help = "where the base comes from"}, s.base_rule);
    v(Field{.name = "capacity", .metavar = "N", .help = "numbers that base_rule smallest makes room for; absent: the positions, divided by factor",
            .unit = "positions", .range = between(1, 0x1p53)},
      s.capacity);
    v(Field{.name = "radices", .metavar = "LIST", .help = "a radix for each digit, the last digit's first (mixed radix, in place of base and width)",
            .range = between(2, 0x1p53), .source = "kexue.fm/archives/9706, equation 7"},
      s.radices);
    v(Field{.name = "width", .metavar = "N", .help = "digits, those in front that are reserved not counted", .unit = "digits", .range = between(1, 64)},
      s.width);
    v(Field{.name = "reserved", .metavar = "N", .help = "digits in front of them, zero for every number that width digits hold", .unit = "digits",
            .range = between(0, 64), .source = "kexue.fm/archives/9675: direct extrapolation"},
      s.reserved);
    v(Field{.name = "factor", .metavar = "X", .help = "positions are divided by it; the fraction stays in the last digit", .range = positive,
            .source = "kexue.fm/archives/9675: interpolation"},
      s.factor);
    v(Field{.name = "overflow", .metavar = "NAME", .help = "what happens to positions that do not fit (negative ones among them)"}, s.overflow);
    v(Field{.name = "order", .metavar = "NAME", .help = "order of the digits in a row"}, s.order);
    v(Field{.name = "form", .metavar = "NAME", .help = "which stage on the way from digits to RoPE"}, s.form);
    v(Field{.name = "head_dim", .metavar = "N", .help = "form rope: lanes, two for each angle", .unit = "lanes", .range = between(2, 1 << 16)},
      s.head_dim);
    v(Field{.name = "rope_base", .metavar = "X", .help = "form rope: beta = rope_base^(2 / head_dim)", .range = positive}, s.rope_base);
    v(Field{.name = "positions", .metavar = "P", .help = "N, A:B, A:B:S, a list, or a file of integers or reals", .unit = "positions"},
      s.positions);
  }

  void check() const;
  /// `digits`, `quotients` or `remainders` [position, digit]; of form rope `beta` [1], `angles`, `cos` and `sin` [position, pair].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// Digits in a row, reserved ones included.
  [[nodiscard]] std::int64_t digits() const { return reserved + (radices.empty() ? width : static_cast<std::int64_t>(radices.size())); }
  /// The base in force, from base or found by base_rule.
  [[nodiscard]] std::int64_t base_in_force() const;
  /// Radix of each digit, the last digit's first, digits() of them; a reserved digit of mixed radices has the highest one's.
  [[nodiscard]] std::vector<std::int64_t> all_radices() const;
  /// Whether every digit is an integer.
  [[nodiscard]] bool integral() const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// What computes a Radix's values.
class Radix::Table {
 public:
  explicit Table(const Radix& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;
  [[nodiscard]] std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Radix& encoding);

}  // namespace posenc
