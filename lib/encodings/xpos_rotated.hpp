// xpos_rotated: queries and keys rotated and scaled by xPos (Sun et al. 2023, arXiv:2212.10554, section 3.2; torchscale XPOS),
// of given ones.
//
// Pair i of a vector at position p, lanes 2i and 2i + 1, is turned by p base^(-2i / head_dim) and multiplied by
// zeta_i^(n / scale_base) in queries, divided by it in keys; zeta, n and the centre are those of xpos, with p = offset + row.
// A score then depends on the distance alone:
//   query_i . key_j = sum over pairs of zeta^((n_i - n_j) / scale_base) Re(q_i conj(k_j) exp(i (p_i - p_j) theta))
// In cached decode the queries are the last positions of the keys.
#pragma once
#include <memory>
#include <optional>

#include "xpos.hpp"
#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

struct XposRotated {
  static constexpr std::string_view name = "xpos_rotated";
  static constexpr std::string_view summary = "queries and keys rotated and scaled so that scores fall with the distance";
  static constexpr std::string_view source = "Sun et al. 2023, arXiv:2212.10554";

  Array query{}, key{};
  std::optional<std::int64_t> query_offset{};
  std::int64_t key_offset = 0;
  double base = 10000;
  double scale_base = 512;
  double gamma = 0.4;
  XposCentre centre = XposCentre::floor;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "query", .metavar = "FILE", .help = "queries [position, lane] or [head, position, lane]; absent: keys alone"}, s.query);
    v(Field{.name = "key", .metavar = "FILE", .help = "keys [position, lane] or [head, position, lane]; absent: queries alone"}, s.key);
    v(Field{.name = "query_offset", .metavar = "N",
            .help = "position of the first query; absent: the queries are the last positions of the keys, or begin at 0 without keys",
            .unit = "positions", .range = between(0, 0x1p40), .source = "torchscale: offset", .count = true},
      s.query_offset);
    v(Field{.name = "key_offset", .metavar = "N", .help = "position of the first key", .unit = "positions", .range = between(0, 0x1p40),
            .source = "torchscale: offset", .count = true},
      s.key_offset);
    v(Field{.name = "base", .metavar = "X", .help = "ratio of the rotation's frequencies", .range = positive, .source = "torchscale: 10000"}, s.base);
    v(Field{.name = "scale_base", .metavar = "X", .help = "distance at which a factor reaches zeta", .unit = "positions", .range = positive,
            .source = "torchscale: 512"},
      s.scale_base);
    v(Field{.name = "gamma", .metavar = "X", .help = "keeps zeta away from 0", .range = positive, .source = "torchscale: 0.4"}, s.gamma);
    v(Field{.name = "centre", .metavar = "NAME", .help = "where n is 0"}, s.centre);
  }

  void check() const;
  /// `query` and `key`, each with the axes of what is given.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// What is rotated, in the order of the tensors.
  [[nodiscard]] std::vector<const Array*> given() const;
  /// Factors of the rows of a given array.
  [[nodiscard]] Xpos scales(const Array& vectors) const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes an XposRotated's values. Copies share their state.
class XposRotated::Table {
 public:
  explicit Table(const XposRotated& spec);
  template <class T>
  T element(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const XposRotated& encoding);

}  // namespace posenc
