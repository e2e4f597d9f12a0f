// xpos: the scales that make rotary scores fall with the distance (Sun et al. 2023, arXiv:2212.10554, section 3.2; torchscale).
//
// Pair i of a rotated vector of head_dim lanes, d, is multiplied by zeta_i^(n / scale_base) in queries and divided by it in
// keys, so that a score holds zeta_i^((query - key) / scale_base):
//   zeta_i = (2i + gamma d) / ((1 + gamma) d),   n = position - centre
// Of length + offset positions n = 0 is number ceil(total / 2) (rule floor: Python's -(total) // 2) or floor(total / 2); the
// last `length` of them are rows. The rotation itself is rope with base 10000, layout interleaved, positions from 0.
#pragma once
#include <memory>

#include "posenc/encoding.hpp"

namespace posenc {

enum class XposOutput : std::uint8_t { query, key, zeta };
template <>
struct EnumNames<XposOutput> {
  static constexpr std::array<EnumName<XposOutput>, 3> values{{
      {XposOutput::query, "query", "factors of queries, zeta^(n / scale_base), [position, pair]"},
      {XposOutput::key, "key", "factors of keys, zeta^(-n / scale_base), [position, pair]"},
      {XposOutput::zeta, "zeta", "zeta [pair]"},
  }};
};

enum class XposCentre : std::uint8_t { floor, half };
template <>
struct EnumNames<XposCentre> {
  static constexpr std::array<EnumName<XposCentre>, 2> values{{
      {XposCentre::floor, "floor", "n starts at -(total) // 2 rounded down: an odd total at -(total + 1) / 2; torchscale"},
      {XposCentre::half, "half", "n starts at -(total // 2): an odd total at -(total - 1) / 2; the earlier code of its author"},
  }};
};

struct Xpos {
  static constexpr std::string_view name = "xpos";
  static constexpr std::string_view summary = "factors that make rotary scores fall with the distance";
  static constexpr std::string_view source = "Sun et al. 2023, arXiv:2212.10554";

  XposOutput output = XposOutput::query;
  std::int64_t head_dim = 64;
  std::int64_t length = 2048;
  std::int64_t offset = 0;
  double scale_base = 512;
  double gamma = 0.4;
  XposCentre centre = XposCentre::floor;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which tensor"}, s.output);
    v(Field{.name = "head_dim", .metavar = "N", .help = "width of a head, even", .unit = "lanes", .range = between(2, 1 << 16)}, s.head_dim);
    v(Field{.name = "length", .metavar = "N", .help = "rows of the table", .unit = "positions", .range = between(1, 0x1p40), .count = true},
      s.length);
    v(Field{.name = "offset", .metavar = "N", .help = "positions before the first row, as in cached decode", .unit = "positions",
            .range = between(0, 0x1p40), .count = true},
      s.offset);
    v(Field{.name = "scale_base", .metavar = "X", .help = "distance at which a factor reaches zeta", .unit = "positions", .range = positive,
            .source = "torchscale: 512"},
      s.scale_base);
    v(Field{.name = "gamma", .metavar = "X", .help = "keeps zeta away from 0", .range = positive, .source = "torchscale: 0.4"}, s.gamma);
    v(Field{.name = "centre", .metavar = "NAME", .help = "where n is 0"}, s.centre);
  }

  void check() const;
  /// `scale` [position, pair] or `zeta` [pair].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// n of a row.
  [[nodiscard]] std::int64_t n(std::int64_t row) const {
    const std::int64_t total = length + offset;
    return offset + row - (centre == XposCentre::floor ? (total + 1) / 2 : total / 2);
  }

  /// zeta of a pair, and the factor zeta^(n / scale_base).
  template <class T>
  [[nodiscard]] T zeta(std::int64_t pair) const {
    const T g = T::of(gamma), dim = T::of(head_dim);
    return (T::of(2 * pair) + g * dim) / ((T::of(std::int64_t{1}) + g) * dim);
  }
  template <class T>
  [[nodiscard]] T factor(std::int64_t pair, std::int64_t at) const {
    return pow(zeta<T>(pair), T::of(at) / T::of(scale_base));
  }

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes an Xpos's values.
class Xpos::Table {
 public:
  explicit Table(const Xpos& spec) : spec_(std::make_shared<const Xpos>(spec)) {}
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  std::shared_ptr<const Xpos> spec_;
};
inline Xpos::Table Xpos::table() const { return Table(*this); }

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Xpos& encoding);

}  // namespace posenc
