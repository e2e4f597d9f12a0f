// randomized: position ids drawn in order from a range much longer than the sequence (Ruoss et al. 2023, arXiv:2305.16843,
// section 3).
//
//   form absolute   `length` numbers of 0 .. max_length - 1, without replacement, in rising order
//   form relative   ids of the distances -(length - 1) .. length - 1: 0 for 0, and length - 1 numbers of 1 .. max_length - 1 in
//                   rising order for those above; below, the same mirrored, or numbers of their own (sides independent). The
//                   released code puts one entry more in front, which only its shift of scores needs
// The numbers are drawn from a seed, or given (drawn). Drawing is Floyd's sampling (Bentley and Floyd 1987, "A sample of
// brilliance"): for j = n - k .. n - 1 take a number t of 0 .. j, and j where t is taken already; every set of k out of n is as
// likely. Draw number i of a sample is column i of row `sample` of the seed (numeric/philox.hpp), stream 0 above, 1 below.
#pragma once
#include <memory>
#include <optional>

#include "posenc/array.hpp"
#include "posenc/encoding.hpp"

namespace posenc {

enum class RandomizedForm : std::uint8_t { absolute, relative };
template <>
struct EnumNames<RandomizedForm> {
  static constexpr std::array<EnumName<RandomizedForm>, 2> values{{
      {RandomizedForm::absolute, "absolute", "position_ids [position]: sin/cos, learned, rotary"},
      {RandomizedForm::relative, "relative", "position_ids [distance]: Transformer-XL's and ALiBi's distances"},
  }};
};

enum class RandomizedSides : std::uint8_t { mirrored, independent };
template <>
struct EnumNames<RandomizedSides> {
  static constexpr std::array<EnumName<RandomizedSides>, 2> values{{
      {RandomizedSides::mirrored, "mirrored", "negative distances mirror the positive ones"},
      {RandomizedSides::independent, "independent", "negative distances are drawn by themselves (randomize_both_sides)"},
  }};
};

struct Randomized {
  static constexpr std::string_view name = "randomized";
  static constexpr std::string_view summary = "ordered position ids drawn from a longer range";
  static constexpr std::string_view source = "Ruoss et al. 2023, arXiv:2305.16843, section 3";

  RandomizedForm form = RandomizedForm::absolute;
  std::int64_t length = 512;
  std::int64_t max_length = 2048;
  RandomizedSides sides = RandomizedSides::mirrored;
  std::optional<std::int64_t> samples{};
  std::int64_t seed = 0;
  Array drawn{};

  static constexpr std::int64_t max_ids = std::int64_t{1} << 26;  ///< of all samples, held in memory

  template <class Self, class V>
  static void fields(Self& s, V&& v) {
    v(Field{.name = "form", .metavar = "NAME", .help = "what the ids stand for"}, s.form);
    v(Field{.name = "length", .metavar = "N", .help = "tokens of the sequence", .unit = "positions", .range = between(1, 1 << 26), .count = true}, s.length);
    v(Field{.name = "max_length", .metavar = "N", .help = "ids are drawn from below it", .unit = "positions", .range = between(1, 0x1p53),
            .source = "arXiv:2305.16843: L = 2048; noise_max_length", .count = true},
      s.max_length);
    v(Field{.name = "sides", .metavar = "NAME", .help = "form relative: where negative distances come from"}, s.sides);
    v(Field{.name = "samples", .metavar = "N", .help = "rows, each with its own draw; absent: one, without an axis for it", .range = between(1, 1 << 26), .count = true}, s.samples);
    v(Field{.name = "seed", .metavar = "N", .help = "seed of what is drawn", .range = between(0, 0x1p53)}, s.seed);
    v(Field{.name = "drawn", .metavar = "FILE", .help = "the numbers, drawn elsewhere, in any order: one row, form absolute, or relative with sides mirrored",
            .range = between(0, 0x1p53)},
      s.drawn);
  }

  void check() const;
  /// `position_ids` [sample, position] or [sample, distance]; without samples [position] or [distance].
  [[nodiscard]] std::vector<Tensor> tensors() const;
  [[nodiscard]] std::vector<Law> laws() const;

  class Table;
  [[nodiscard]] Table table() const;
};

/// Computes a Randomized's ids. Copies share their state.
class Randomized::Table {
 public:
  explicit Table(const Randomized& spec);
  [[nodiscard]] std::int64_t integer(std::size_t tensor, std::span<const std::int64_t> index) const;

 private:
  std::int64_t columns_;
  std::shared_ptr<const std::vector<std::int64_t>> ids_;  ///< [sample, column]
};

/// The encoding behind the seam, for the pipeline.
[[nodiscard]] std::unique_ptr<Encoding> erase(const Randomized& encoding);

}  // namespace posenc
