// pose: position ids that make a short training window look like a long one (PoSE: Zhu et al. 2023, arXiv:2309.10400, section 3).
//
// The chunk_length tokens of a sample keep their ids 0 .. rt1 - 1 up to rt1 and jump by skip from there:
//   id(i) = i for i < rt1, i + skip for i >= rt1,   1 <= rt1 <= (chunk_length + 1) // 2,   0 <= skip <= target - chunk_length
// so that ids stay below target and distances inside either chunk are untouched. rt1 and skip are given, or drawn for each sample
// uniformly from these ranges: number 0 and 1 of row `sample` of the seed (numeric/philox.hpp, stream 0). The first chunk starts
// at 0, as in the released training code.
#pragma once
#include <memory>
#include <optional>

#include "posenc/encoding.hpp"

namespace posenc {

struct Pose {
  static constexpr std::string_view name = "pose";
  static constexpr std::string_view summary = "position ids with one skip: a short window trains long positions";
  static constexpr std::string_view source = "PoSE: Zhu et al. 2023, arXiv:2309.10400, section 3";

  std::int64_t chunk_length = 2048;
  std::int64_t target = 8192;
  std::optional<std::int64_t> rt1{};
  std::optional<std::int64_t> skip{};
  std::optional<std::int64_t> samples{};
  std::int64_t seed = 0;

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "chunk_length", .metavar = "N", .help = "tokens of a sample", .unit = "positions", .range = between(1, 0x1p40),
            .source = "arXiv:2309.10400: L_c", .count = true},
      s.chunk_length);
    v(Field{.name = "target", .metavar = "N", .help = "length that training imitates: ids stay below it", .unit = "positions", .range = between(1, 0x1p53),
            .source = "arXiv:2309.10400: L_t", .count = true},
      s.target);
    v(Field{.name = "rt1", .metavar = "N", .help = "tokens before the skip; absent: drawn", .unit = "positions", .range = between(1, 0x1p40),
            .source = "train_pose.py", .count = true},
      s.rt1);
    v(Field{.name = "skip", .metavar = "N", .help = "ids left out; absent: drawn", .unit = "positions", .range = between(0, 0x1p53), .count = true}, s.skip);
    v(Field{.name = "samples", .metavar = "N", .help = "rows, each with its own draw; absent: one, without an axis for it", .range = between(1, 0x1p40), .count = true}, s.samples);
    v(Field{.name = "seed", .metavar = "N", .help = "seed of what is drawn", .range = between(0, 0x1p53)}, s.seed);
  }

  void check() const;
  /// `position_ids` [sample, position], or [position] of one.
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  /// Tokens before the skip, and ids left out, of a sample.
  [[nodiscard]] std::int64_t first_chunk(std::int64_t sample) const;
  [[nodiscard]] std::int64_t skipped(std::int64_t sample) const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a Pose's ids.
class Pose::Table {
 public:
  explicit Table(const Pose& spec) : spec_(spec) {}
  [[nodiscard]] std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  Pose spec_;
};
inline Pose::Table Pose::table() const { return Table(*this); }

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Pose& encoding);

}  // namespace posenc
