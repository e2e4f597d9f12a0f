// zigzag: which positions each rank of a context-parallel group has, so that causal attention costs every rank the same (zigzag
// ring attention; Llama 3: Grattafiori et al. 2024, arXiv:2407.21783, section 3.3.2: 2 CP chunks, rank i has i and 2 CP - 1 - i).
//
// `length` positions fall into 2 n chunks; rank r of n has chunk r, then chunk 2n - 1 - r. Position p costs p + 1 keys, and the
// positions of every rank sum to the same. The ranks' positions one after the other are a permutation of 0 .. length - 1; part
// inverse is its inverse, which puts gathered outputs back in order.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>

#include "posenc/encoding.hpp"

namespace posenc {

enum class ZigzagPart : std::uint8_t { position_ids, inverse };
template <>
struct EnumNames<ZigzagPart> {
  static constexpr std::array<EnumName<ZigzagPart>, 2> values{{
      {ZigzagPart::position_ids, "position-ids", "position_ids [rank, position], or [position] of one rank"},
      {ZigzagPart::inverse, "inverse", "inverse [position]: its place among the ranks' positions, one rank after the other"},
  }};
};

struct Zigzag {
  static constexpr std::string_view name = "zigzag";
  static constexpr std::string_view summary = "position ids of the ranks of balanced context parallelism";
  static constexpr std::string_view source = "Llama 3: Grattafiori et al. 2024, arXiv:2407.21783, section 3.3.2";

  ZigzagPart output = ZigzagPart::position_ids;
  std::int64_t length = 2048;
  std::int64_t ranks = 4;
  std::optional<std::int64_t> rank{};

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "part", .metavar = "NAME", .help = "which tensor"}, s.output);
    v(Field{.name = "length", .metavar = "N", .help = "positions of the whole sequence, a multiple of 2 ranks", .unit = "positions",
            .range = between(2, 0x1p53), .count = true},
      s.length);
    v(Field{.name = "ranks", .metavar = "N", .help = "ranks of the group (context_parallel_size)", .range = between(1, 1 << 20)}, s.ranks);
    v(Field{.name = "rank", .metavar = "N", .help = "this rank's positions only; absent: all ranks'", .range = between(0, 1 << 20)}, s.rank);
  }

  void check() const;
  /// `position_ids` [rank, position] or [position], or `inverse` [position].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// Positions of a chunk.
  [[nodiscard]] std::int64_t chunk() const { return length / (2 * ranks); }
  /// Position number `i` of a rank.
  [[nodiscard]] std::int64_t position(std::int64_t of_rank, std::int64_t i) const {
    return i < chunk() ? of_rank * chunk() + i : (2 * ranks - 2 - of_rank) * chunk() + i;
  }
  /// Place of a position among all ranks' positions.
  [[nodiscard]] std::int64_t place(std::int64_t p) const {
    const std::int64_t c = p / chunk(), of_rank = std::min(c, 2 * ranks - 1 - c);
    return (2 * of_rank + (c < ranks ? 0 : 1)) * chunk() + p % chunk();
  }

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a Zigzag's ids.
class Zigzag::Table {
 public:
  explicit Table(const Zigzag& spec) : spec_(spec) {}
  [[nodiscard]] std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  Zigzag spec_;
};
inline Zigzag::Table Zigzag::table() const { return Table(*this); }

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Zigzag& encoding);

}  // namespace posenc
